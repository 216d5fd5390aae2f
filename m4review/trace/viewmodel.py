"""A run's trace without a widget: read in the background, followed while the run lives."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, SignalInstance

from engine.agents.traces import Looker, TraceStep, pretty_sql
from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.base.text import neutralise
from engine.runs.apart import is_long, steps_apart
from engine.runs.kept import KeptFile, kept_file
from engine.runs.tracing import TraceOf, TraceTail
from m4review.app.jobs import JobHandle, JobRunner
from m4review.trace.steps import Steps, Told, marks
from m4review.trace.table import Loaded, make_ready
from m4review.trace.words import StepFilter

if TYPE_CHECKING:
    from engine.workbench import Workbench

OUTPUT_LIMIT = 400_000
"""Characters of one output that are shown at once: more would stop the window."""
_EVERY = 0.2
"""Seconds between two tidings of a long read."""
_EVERY_LONG = 0.6
"""The same for a long trace, whose first steps are shown already: each time is a painting."""
_PIECE = 8 << 10
"""Bytes that are read before the worker looks up."""
_REST = 0.02
"""Seconds that a worker that computes rests at most between two pieces."""
_FIRST = 64 << 10
"""Bytes of a long trace that are shown before its own process has begun."""
_MOST = 1_000
"""Steps that enter the table at once."""
_PATIENCE = 1.0
"""Seconds that a worker waits at most until the window has taken them."""
QUICK = 2_000
"""Steps that are filtered without a job."""


@dataclass
class _Batch:
    """What a worker read in one go."""

    steps: Sequence[Told]
    tail: TraceTail | None = None
    """Where the next read goes on; None: the trace is read whole and will not grow."""


class TraceViewModel(QObject):
    """One run's trace."""

    loaded = Signal(object)
    """`Loaded`: everything is new."""
    grown = Signal(object)
    """Steps that are new or have changed."""
    looking = Signal(int)
    """So many steps were looked into, for a filter that needs it."""
    output_read = Signal(int, str)
    """The whole output of a step."""
    sql_laid_out = Signal(int, str)
    """A step's SQL, laid out for reading."""
    file_read = Signal(object, object)
    """The `WrittenFile`'s path and the `KeptFile` (None: it was not kept)."""
    failed = Signal(object)
    read_out = Signal()
    """Everything that was there is read."""
    _batch = Signal(str, object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.run_id = ""
        self.filter = StepFilter()
        self._steps = Steps()
        self._tail: TraceTail | None = None
        self._whole = False
        self._unlooked = False
        self._looker, self._looker_lock = Looker(), threading.Lock()
        self._taken = threading.Event()
        self._handle: JobHandle | None = None
        self._looks: JobHandle | None = None
        self._batch.connect(self._take)

    def show(self, run_id: str) -> None:
        """Read a run's trace; of the run that is shown, what came since."""
        if run_id != self.run_id:
            self.stop()
            self.run_id = run_id
            self._steps = Steps()
            self._tail = None
            self._whole = self._unlooked = False
            self._looker = Looker()
            self.loaded.emit(Loaded(Steps(), [], self.filter))
        self.refresh()

    @property
    def reading(self) -> bool:
        """Is a read on its way?"""
        return self._handle is not None

    @property
    def looks(self) -> bool:
        """Are steps being looked into for the filter?"""
        return self._looks is not None

    def stop(self) -> None:
        """Let a read that is on its way go."""
        for handle in (self._handle, self._looks):
            if handle is not None:
                handle.cancel()
        self._handle = self._looks = None

    def refresh(self) -> None:
        """Read what is new; nothing while a read is on its way, or where nothing can come."""
        if self._handle is not None or not self.run_id:
            return
        if self._whole:
            self.read_out.emit()
            return
        run_id, tail = self.run_id, self._tail

        def work(job: Job) -> None:
            self._read(run_id, tail, job)

        handle = self._runner.start("Read the trace", work, quiet=True)
        self._handle = handle
        handle.done.connect(lambda _: self._read_out(handle))
        handle.failed.connect(lambda error: self._read_out(handle, error))

    def _read(self, run_id: str, tail: TraceTail | None, job: Job) -> None:
        """In a worker: read to the end, and tell what was found several times a second."""
        record = self._workbench.run_record(run_id)
        of, live = TraceOf.run(record), record.summary.live
        if tail is None and not live and is_long(of):
            self._read_long(run_id, of, job)
            return
        tail = tail or TraceTail(of)
        steps: dict[int, TraceStep] = {}
        told = time.monotonic()
        more = True
        while more:
            job.check()
            begun = time.monotonic()
            found, more = tail.more(_PIECE, ended=not live)
            steps.update((step.number, step) for step in found)
            now = time.monotonic()
            if not more or now - told > _EVERY:
                self._batch.emit(run_id, _Batch([steps[n] for n in sorted(steps)], tail))
                steps, told = {}, now
            if more:
                time.sleep(min(now - begun, _REST))  # the window's turn

    def _read_long(self, run_id: str, of: TraceOf, job: Job) -> None:
        """Its first steps at once, then all of them from a process of its own."""
        first, _ = TraceTail(of, looking=False).more(_FIRST)
        self._batch.emit(run_id, _Batch(first))
        steps: list[bytes] = []
        told = time.monotonic()
        for batch in steps_apart(self._workbench.home, run_id, of, job=job):
            steps += batch
            if len(steps) >= _MOST or time.monotonic() - told > _EVERY_LONG:
                self._taken.clear()
                self._batch.emit(run_id, _Batch(steps))
                self._taken.wait(_PATIENCE)  # several at once would keep the window busy
                steps, told = [], time.monotonic()
        self._batch.emit(run_id, _Batch(steps))

    def _take(self, run_id: str, batch: _Batch) -> None:
        self._taken.set()
        if run_id != self.run_id:
            return
        self._tail = batch.tail
        if batch.steps:
            self._put(batch.steps)

    def _read_out(self, handle: JobHandle, error: M4Error | None = None) -> None:
        if handle is not self._handle:
            return
        self._handle = None
        if error is not None:
            self._tail = None
            self.failed.emit(error)
        self._whole = error is None and self._tail is None and bool(self._steps)
        self.read_out.emit()
        if self.filter.looks and self._unlooked:
            self._look_at_all()

    def feed(self, steps: Sequence[TraceStep]) -> None:
        """Take steps that a living run told."""
        self._put(steps)

    def _put(self, steps: Sequence[Told]) -> None:
        self._steps.put(steps)
        self._unlooked = self._unlooked or any("u" in marks(one) for one in steps)
        self.grown.emit(steps)

    def ask(self, asked: StepFilter) -> None:
        """Show other steps; comes as `loaded`."""
        self.filter = asked
        if asked.looks and self._unlooked and not self.reading:
            self._look_at_all()
        steps = self._steps.copy()
        if len(steps) <= QUICK:
            self.loaded.emit(make_ready(steps, asked))
            return
        run_id = self.run_id

        def done(loaded: Loaded) -> None:
            if run_id == self.run_id and loaded.asked == self.filter:
                self.loaded.emit(loaded)
                late = self._steps.told[len(steps) :]
                if late:
                    self.grown.emit(late)

        self._runner.start(
            "Filter the steps",
            lambda _job: make_ready(steps, asked),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )

    # --- looking into steps

    def look(self, step: TraceStep) -> None:
        """Look into a step that was read without; comes as `grown`."""
        run_id, looker, before = self.run_id, self._looker, self._steps.copy()

        def work(_job: Job) -> TraceStep:
            with self._looker_lock:
                return looker.look(step, before)

        def done(found: TraceStep) -> None:
            if run_id == self.run_id and self._steps.numbered(step.number) == step:
                self._put([found])

        self._runner.start(
            "Look into the step", work, on_done=done, on_failed=self.failed.emit, quiet=True
        )

    def _look_at_all(self) -> None:
        """Look into every step: a filter asks for what only that tells."""
        if self._looks is not None:
            return
        run_id = self.run_id

        def work(job: Job) -> Steps:
            steps = Steps()
            of = TraceOf.run(self._workbench.run_record(run_id))
            for batch in steps_apart(self._workbench.home, run_id, of, looking=True, job=job):
                steps.put(batch)
                self.looking.emit(len(steps))
            return steps

        def done(steps: Steps) -> None:
            if handle is self._looks:
                self._looks = None
                self._steps, self._unlooked = steps, False
                self.ask(self.filter)

        def failed(error: M4Error) -> None:
            if handle is self._looks:
                self._looks = None
                self.failed.emit(error)

        handle = self._runner.start(
            "Look into the steps", work, on_done=done, on_failed=failed, quiet=True
        )
        self._looks = handle

    def _tell(self, run_id: str, signal: SignalInstance, *values: object) -> None:
        """Of a run that is no longer shown nothing is told."""
        if run_id == self.run_id:
            signal.emit(*values)

    # --- one step

    def read_output(self, step: TraceStep) -> None:
        """Read the whole output of a step."""
        run_id, number = self.run_id, step.number

        def work(_job: Job) -> str:
            text = self._workbench.step_output(run_id, step)
            if len(text) <= OUTPUT_LIMIT:
                return text
            return (
                f"{text[:OUTPUT_LIMIT]}\n… {len(text) - OUTPUT_LIMIT:,} further characters are in "
                f"trace.jsonl, line {step.line}, in the run's folder."
            )

        self._runner.start(
            "Read the output",
            work,
            on_done=lambda text: self._tell(run_id, self.output_read, number, text),
            on_failed=self.failed.emit,
            quiet=True,
        )

    def lay_out_sql(self, step: TraceStep) -> None:
        """Lay a step's SQL out for reading (a parser's work: not in the window's thread)."""
        run_id, number, parts = self.run_id, step.number, step.sql

        def work(_job: Job) -> str:
            return neutralise("\n\n".join(pretty_sql(part).strip() for part in parts))

        self._runner.start(
            "Lay out the SQL",
            work,
            on_done=lambda text: self._tell(run_id, self.sql_laid_out, number, text),
            on_failed=self.failed.emit,
            quiet=True,
        )

    def read_file(self, path: str) -> None:
        """Read what was kept of a file that a step wrote."""
        run_id = self.run_id

        def work(_job: Job) -> KeptFile | None:
            return kept_file(self._workbench.run_record(run_id).folder, path)

        self._runner.start(
            "Read the file",
            work,
            on_done=lambda kept: self._tell(run_id, self.file_read, path, kept),
            on_failed=self.failed.emit,
            quiet=True,
        )
