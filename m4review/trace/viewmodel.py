"""A run's trace without a widget: read in the background, followed while the run lives."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, SignalInstance

from engine.agents.traces import TraceStep, TraceSummary, pretty_sql
from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.base.text import neutralise
from engine.runs.kept import KeptFile, kept_file
from engine.runs.tracing import TraceTail
from m4review.app.jobs import JobHandle, JobRunner
from m4review.trace.table import Loaded, make_ready
from m4review.trace.words import StepFilter

if TYPE_CHECKING:
    from engine.workbench import Workbench

OUTPUT_LIMIT = 400_000
"""Characters of one output that are shown at once: more would stop the window."""
_EVERY = 0.2
"""Seconds between two tidings of a long read."""
_PIECE = 16 << 10
"""Bytes that are read before the worker looks up."""
QUICK = 2_000
"""Steps that are filtered without a job."""


@dataclass
class _Batch:
    """What a worker read in one go."""

    tail: TraceTail
    steps: list[TraceStep]
    summary: TraceSummary


class TraceViewModel(QObject):
    """One run's trace."""

    loaded = Signal(object)
    """`Loaded`: everything is new."""
    grown = Signal(object)
    """Steps that are new or have changed."""
    summarised = Signal(object)
    """`TraceSummary`."""
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
        self.summary: TraceSummary | None = None
        self._known: dict[int, TraceStep] = {}
        self._tail: TraceTail | None = None
        self._handle: JobHandle | None = None
        self._batch.connect(self._take)

    def show(self, run_id: str) -> None:
        """Read a run's trace; of the run that is shown, what came since."""
        if run_id != self.run_id:
            self.stop()
            self.run_id = run_id
            self.summary = None
            self._known = {}
            self._tail = None
            self.loaded.emit(Loaded([], [], [], self.filter))
        self.refresh()

    @property
    def reading(self) -> bool:
        """Is a read on its way?"""
        return self._handle is not None

    def stop(self) -> None:
        """Let a read that is on its way go."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def refresh(self) -> None:
        """Read what is new; nothing while a read is on its way."""
        if self._handle is not None or not self.run_id:
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
        tail = tail or TraceTail(record)
        steps: dict[int, TraceStep] = {}
        told = time.monotonic()
        more = True
        while more:
            job.check()
            found, more = tail.more(_PIECE, ended=not record.summary.live)
            steps.update((step.number, step) for step in found)
            if not more or time.monotonic() - told > _EVERY:
                batch = _Batch(tail, [steps[n] for n in sorted(steps)], tail.summary)
                self._batch.emit(run_id, batch)
                steps, told = {}, time.monotonic()

    def _take(self, run_id: str, batch: _Batch) -> None:
        if run_id != self.run_id:
            return
        self._tail = batch.tail
        self.summary = batch.summary
        if batch.steps:
            self._put(batch.steps)
        self.summarised.emit(batch.summary)

    def _read_out(self, handle: JobHandle, error: M4Error | None = None) -> None:
        if handle is not self._handle:
            return
        self._handle = None
        if error is not None:
            self._tail = None
            self.failed.emit(error)
        self.read_out.emit()

    def feed(self, steps: Sequence[TraceStep]) -> None:
        """Take steps that a living run told."""
        self._put(steps)

    def _put(self, steps: Sequence[TraceStep]) -> None:
        self._known.update((step.number, step) for step in steps)
        self.grown.emit(steps)

    def ask(self, asked: StepFilter) -> None:
        """Show other steps; comes as `loaded`."""
        self.filter = asked
        steps = [self._known[number] for number in sorted(self._known)]
        if len(steps) <= QUICK:
            self.loaded.emit(make_ready(steps, asked))
            return
        run_id = self.run_id

        def done(loaded: Loaded) -> None:
            if run_id == self.run_id and loaded.asked == self.filter:
                self.loaded.emit(loaded)
                late = [s for n, s in self._known.items() if n > loaded.numbers[-1]]
                if late:
                    self.grown.emit(late)

        self._runner.start(
            "Filter the steps",
            lambda _job: make_ready(steps, asked),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )

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
