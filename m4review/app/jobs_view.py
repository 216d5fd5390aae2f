"""What is being worked on, in the status bar and as a list: progress, estimate, Cancel."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context
from m4review.app.jobs import JobHandle, JobRunner, Progress, State, duration
from m4review.app.widgets import button, clear, label


def progress_text(progress: Progress | None) -> str:
    """A job's progress in words."""
    if progress is None:
        return ""
    text = progress.text or progress.stage
    if progress.share is not None and progress.done > 0:
        text += f" · {progress.share:.0%}"
    if progress.left is not None and progress.left >= 1:
        text += f" · about {duration(progress.left)} left"
    return text


class JobRow(QFrame):
    """One job with its bar and its Cancel."""

    def __init__(self, context: Context, handle: JobHandle) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._handle = handle
        grid = QGridLayout(self)
        grid.setColumnStretch(0, 1)
        self._title = label(handle.title)
        self._text = label("", "muted")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 0)
        self._stop = button(context, "Cancel", self._cancel)
        self._stop.setAccessibleName(f"Cancel {handle.title}")
        grid.addWidget(self._title, 0, 0)
        grid.addWidget(self._stop, 0, 1, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self._text, 1, 0)
        grid.addWidget(self._bar, 2, 0, 1, 2)
        handle.progressed.connect(self._progressed)
        handle.started.connect(self._update)
        self._update()

    def _cancel(self) -> None:
        self._handle.cancel()
        self._stop.setEnabled(False)
        self._text.setText("Stopping…")

    def _progressed(self, _progress: Progress) -> None:
        self._update()

    def _update(self) -> None:
        handle = self._handle
        if handle.state is State.WAITING:
            self._text.setText("Waits for the job before it")
        elif handle.stopping:
            self._text.setText("Stopping…")
        else:
            self._text.setText(progress_text(handle.progress))
        show_share(self._bar, handle.progress)


def show_share(bar: QProgressBar, progress: Progress | None) -> None:
    """Set a bar to a progress; without a total it only shows that something moves."""
    share = progress.share if progress is not None else None
    if share is None:
        bar.setRange(0, 0)
    else:
        bar.setRange(0, 1000)
        bar.setValue(round(share * 1000))


class JobList(QDialog):
    """All jobs that the user started and that are not over."""

    def __init__(self, context: Context, runner: JobRunner, parent: QWidget) -> None:
        super().__init__(parent)
        self._context, self._runner = context, runner
        self.setWindowTitle("What is being worked on")
        self.resize(context.px(480), context.px(300))
        outer = QVBoxLayout(self)
        self._rows = QVBoxLayout()
        outer.addLayout(self._rows)
        outer.addStretch(1)
        close = button(context, "Close", self.accept)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(close)
        outer.addLayout(foot)
        self._shown: tuple[JobHandle, ...] | None = None
        runner.changed.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        jobs = self._runner.loud
        if jobs == self._shown:
            return
        self._shown = jobs
        clear(self._rows)
        if not jobs:
            self._rows.addWidget(label("Nothing is being worked on.", "muted"))
        for handle in jobs:
            self._rows.addWidget(JobRow(self._context, handle))


class JobBar(QWidget):
    """The status bar's part: the oldest job, and how many others there are."""

    def __init__(self, context: Context, runner: JobRunner) -> None:
        super().__init__()
        self._runner = runner
        self._handle: JobHandle | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(context.px(8), 2, context.px(8), 2)
        self._text = label("", "muted")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(context.px(140))
        self.more = QPushButton("Show")
        self.more.setProperty("kind", "chip")
        self.more.setAccessibleName("Show what is being worked on")
        row.addWidget(self._text)
        row.addWidget(self._bar)
        row.addWidget(self.more)
        runner.changed.connect(self._changed)
        self.hide()

    def _changed(self) -> None:
        jobs = self._runner.loud
        self.setVisible(bool(jobs))
        if not jobs:
            self._handle = None
            return
        if jobs[0] is not self._handle:
            self._handle = jobs[0]
            self._handle.progressed.connect(self._progressed)
        self._progressed(self._handle.progress)

    def _progressed(self, progress: Progress | None) -> None:
        handle = self._handle
        if handle is None or handle.state.over:
            return
        others = len(self._runner.loud) - 1
        more = f"   (+{others})" if others > 0 else ""
        words = "Stopping…" if handle.stopping else progress_text(handle.progress)
        self._text.setText(f"{handle.title}{': ' if words else ''}{words}{more}")
        show_share(self._bar, handle.progress)
