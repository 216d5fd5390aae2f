"""A comparison without a widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.agents.traces import TraceStep
from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from engine.diagnosis.compare import Change
from engine.workbench import RunSummary
from m4review.app.jobs import JobHandle, JobRunner
from m4review.compare.given import texts_of
from m4review.compare.reader import PAGE, Chosen, ComparisonFile, Page

if TYPE_CHECKING:
    from engine.workbench import Workbench

MOST = 8
"""Runs that can be compared at once."""


@dataclass(frozen=True)
class Side:
    """One run of the comparison."""

    summary: RunSummary
    """The run in a line."""
    steps: tuple[TraceStep, ...]
    """Its trace."""
    texts: Mapping[str, str]
    """What it was given to read, by name."""


Loaded = tuple[ComparisonFile, tuple[Side, ...]]


def comparable(runs: tuple[RunSummary, ...]) -> str:
    """Why these runs cannot be compared; empty where they can."""
    if not 2 <= len(runs) <= MOST:  # noqa: PLR2004 - two is a comparison
        return f"Choose two to {MOST} runs to compare them."
    if len({(run.task, run.source) for run in runs}) > 1:
        return "Only runs of one task on one source can be compared."
    if any(run.live for run in runs):
        return "A run that is still at work cannot be compared."
    return ""


class CompareViewModel(QObject):
    """Aligns runs, and reads pages of the aligned rows."""

    changed = Signal()
    """Another comparison, or none yet."""
    page_changed = Signal()
    """Other rows are listed."""
    busy_changed = Signal(bool)
    progressed = Signal(object)
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.runs: tuple[str, ...] = ()
        self.file: ComparisonFile | None = None
        self.sides: tuple[Side, ...] = ()
        self.chosen = Chosen()
        self.page: Page | None = None
        self._working: JobHandle | None = None
        self._reading: list[JobHandle] = []

    def show(self, runs: tuple[str, ...]) -> None:
        """Compare runs in the background."""
        if runs == self.runs and (self.file is not None or self._working is not None):
            return
        self.close()
        self.runs = runs
        self.changed.emit()

        def work(job: Job) -> Loaded:
            return self._load(runs, job)

        def done(loaded: Loaded) -> None:
            file, sides = loaded
            if self._working is not handle:
                file.close()
                return
            self.file, self.sides, self.chosen = file, sides, Chosen()
            self.changed.emit()
            self.read(0)

        def failed(error: M4Error) -> None:
            if self._working is handle:
                self.failed.emit(error)

        handle = self._runner.start(
            f"Compare {len(runs)} runs", work, on_done=done, on_failed=failed
        )
        self._working = handle
        handle.progressed.connect(self.progressed.emit)
        handle.over.connect(lambda: self._over(handle))
        self.busy_changed.emit(True)

    def _load(self, runs: tuple[str, ...], job: Job) -> Loaded:
        if len(runs) < 2:  # noqa: PLR2004 - two is a comparison
            raise UsageError(
                "One run alone cannot be compared.",
                todo=f"Choose two to {MOST} runs of one task in the list of runs.",
            )
        comparison, path = self._workbench.compare_runs(runs, job=job)
        try:
            sides = tuple(self._side(run_id) for run_id in runs)
            return ComparisonFile(path, comparison, self._workbench.home.scratch), sides
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _side(self, run_id: str) -> Side:
        record = self._workbench.run_record(run_id)
        try:
            steps = self._workbench.run_trace(run_id).steps
        except M4Error:
            steps = ()
        task = next((t for t in self._workbench.tasks() if t.name == record.summary.task), None)
        return Side(record.summary, tuple(steps), texts_of(record, task))

    def _over(self, handle: JobHandle) -> None:
        if self._working is handle:
            self._working = None
            self.busy_changed.emit(False)

    def cancel(self) -> None:
        """Stop comparing."""
        handle, self._working = self._working, None
        if handle is not None:
            handle.cancel()
            self.busy_changed.emit(False)

    def close(self) -> None:
        """Let the comparison go, once nothing reads it any more, with its file."""
        self.cancel()
        file, self.file, self.page, self.sides = self.file, None, None, ()
        self.runs = ()
        if file is None:
            return
        busy = [handle for handle in self._reading if not handle.state.over]
        self._reading = []
        left = len(busy)
        if not left:
            file.close()

        def over() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                file.close()

        for handle in busy:
            handle.cancel()
            handle.over.connect(over)

    # --- rows

    def choose(
        self, *, run: int | None = None, column: int | None = -1, only: Change | None = None
    ) -> None:
        """List other rows.

        Args:
            run: the run that is held against the first; as before when None.
            column: a scored column, None for whole rows; as before when -1.
            only: only rows (cells) with this change.
        """
        new = self.chosen
        if run is not None:
            new = replace(new, run=run)
        if column != -1:
            new = replace(new, column=column)
        if only is not None:
            new = replace(new, changes=frozenset((only,)))
        self._choose(new)

    def toggle(self, change: Change, on: bool) -> None:
        """List rows with this change, or leave them out."""
        now = self.chosen.changes
        self._choose(replace(self.chosen, changes=now | {change} if on else now - {change}))

    def _choose(self, chosen: Chosen) -> None:
        if chosen != self.chosen:
            self.chosen = chosen
            self.read(0)

    def turn(self, direction: int) -> None:
        """The next (1) or former (-1) page."""
        page = self.page
        if page is not None and 0 <= page.first + direction * PAGE < page.total:
            self.read(page.first + direction * PAGE)

    def read(self, first: int) -> None:
        """Read a page; an older read that is still going on is given up."""
        file, chosen = self.file, self.chosen
        if file is None:
            return
        for handle in self._reading:
            handle.cancel()

        def done(page: Page) -> None:
            if self.file is file and page.chosen == self.chosen:
                self.page = page
                self.page_changed.emit()

        handle = self._runner.start(
            "Read rows",
            lambda job: file.page(chosen, first, job),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )
        self._reading = [h for h in self._reading if not h.state.over]
        self._reading.append(handle)
