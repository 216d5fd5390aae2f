"""What the column page shows and can do, without a widget: one study at a time, in a job."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from engine.base.duck import interruptible
from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.diagnosis.columns import ColumnStudy, TolerancePoint, study_column, tolerance_curve
from m4review.app.jobs import JobHandle
from m4review.diff.viewmodel import DiffViewModel


class ColumnViewModel(QObject):
    """Studies columns of the open diff. A newer wish cancels an older one."""

    study_changed = Signal(object)
    """A `ColumnStudy`, or None while one is being made."""
    points_found = Signal(int, object)
    """The tolerances at which a column's match rate changes (tuple of `TolerancePoint`)."""
    progressed = Signal(object)
    """How far a study is (`Progress`)."""
    stopped = Signal()
    """The study was cancelled."""
    failed = Signal(object)
    """An `M4Error`."""
    left = Signal()
    """Rows are asked for: the page makes room for the table."""

    def __init__(self, diff: DiffViewModel) -> None:
        super().__init__(diff)
        self._diff = diff
        self.column: int | None = None
        self.study: ColumnStudy | None = None
        self._kept: dict[int, ColumnStudy] = {}
        self._points: dict[int, tuple[TolerancePoint, ...]] = {}
        self._studying: JobHandle | None = None
        self._counting: JobHandle | None = None

    def forget(self) -> None:
        """Another file is opened."""
        self.cancel()
        self.column, self.study = None, None
        self._kept.clear()
        self._points.clear()

    def show(self, column: int) -> None:
        """Study a column; `study_changed` follows."""
        if column == self.column and (self.study is not None or self._studying is not None):
            return
        self.cancel()
        self.column = column
        self.study = self._kept.get(column)
        self.study_changed.emit(self.study)
        file = self._diff.file
        if self.study is not None or file is None:
            return
        scored = file.layout.scored[column]

        def work(job: Job) -> ColumnStudy:
            with file.cursor() as cursor, interruptible(cursor, job):
                return study_column(cursor, scored.compared, tolerance=scored.tolerance, job=job)

        def done(study: ColumnStudy) -> None:
            if self._studying is handle:
                self._studying = None
                self.study = self._kept[column] = study
                self._points[column] = study.curve
                self.study_changed.emit(study)

        def over(error: M4Error | None) -> None:
            if self._studying is handle:
                self._studying = None
                if error is None:
                    self.stopped.emit()
                else:
                    self.failed.emit(error)

        handle = self._diff.read("Study a column", work)
        self._studying = handle
        handle.progressed.connect(self.progressed.emit)
        handle.done.connect(done)
        handle.failed.connect(over)
        handle.cancelled.connect(lambda: over(None))

    @property
    def busy(self) -> bool:
        """Is a study being made?"""
        return self._studying is not None

    def cancel(self) -> None:
        """Stop the study that is being made."""
        if self._studying is not None:
            self._studying.cancel()
            self._studying = None
            self.stopped.emit()

    def find_points(self, column: int) -> None:
        """The tolerances for the what-if slider; `points_found` follows."""
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
        file = self._diff.file
        if file is None:
            return
        if column in self._points:
            self.points_found.emit(column, self._points[column])
            return
        scored, rows = file.layout.scored[column], file.layout.reference_rows

        def work(job: Job) -> tuple[TolerancePoint, ...]:
            with file.cursor() as cursor, interruptible(cursor, job):
                return tolerance_curve(
                    cursor, scored.compared, own=scored.tolerance, reference_rows=rows, job=job
                )

        def done(points: tuple[TolerancePoint, ...]) -> None:
            if self._counting is handle:
                self._counting = None
                self._points[column] = points
                self.points_found.emit(column, points)

        handle = self._diff.read("Count distances", work)
        self._counting = handle
        handle.done.connect(done)
        handle.failed.connect(self.failed.emit)

    def show_rows(self, condition: str, words: str) -> None:
        """Show the rows behind a figure in the table."""
        column = self.column
        name = "" if column is None else f"{self._diff.layout.scored[column].name}: "
        self._diff.show_rows(condition, name + words, column=column)
        self.left.emit()
