"""The queue without a widget: the window's own work on it, and what the screen shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.workbench import Item, QueueState
from m4review.app.jobs import JobHandle, JobRunner
from m4review.queue.words import ACTIVE, ENDED
from m4review.run.words import state_words

if TYPE_CHECKING:
    from engine.workbench import Workbench
    from engine.workbench.queueing import Control

TITLE = "Work on the queue"


class QueueDesk(QObject):
    """The window as one of those who may work on the queue; one per window."""

    changed = Signal()
    """Began or ended to work."""
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.handle: JobHandle | None = None

    @property
    def working(self) -> bool:
        """Does this window work on it, or stand by to?"""
        return self.handle is not None and not self.handle.state.over

    def start(self, *, resume: bool = False) -> None:
        """Carry out the queue until nothing is left; while another program does, stand by.

        Args:
            resume: let a paused queue go on first.
        """
        if self.working:
            return

        def work(job: Job) -> QueueState:
            if resume:
                self._workbench.queue_control("resume")
            return self._workbench.work_queue(job)

        self.handle = self._runner.start(TITLE, work, on_failed=self.failed.emit)
        self.handle.over.connect(self.changed.emit)
        self.changed.emit()

    def stop(self) -> None:
        """Stop the runs at work; their items wait for another time."""
        if self.handle is not None:
            self.handle.cancel()


@dataclass(frozen=True)
class QueuePage:
    """What the screen shows."""

    state: QueueState
    """The queue."""
    stages: Mapping[int, str] = field(default_factory=dict)
    """Item to the words of where its run stands, of running ones."""

    def items(self, batch: str | None) -> tuple[Item, ...]:
        """Those of a batch in the order of work: at work, waiting, then ended, newest first."""
        items = self.state.of(batch)
        active = [item for item in items if item.state in ACTIVE]
        ended = [item for item in items if item.state in ENDED]
        waiting = [item for item in items if item.state not in ACTIVE and item.state not in ENDED]
        ended.sort(key=lambda item: item.ended_at or "", reverse=True)
        return (*active, *waiting, *ended)


def load_page(workbench: Workbench) -> QueuePage:
    """The queue now, and where its running runs stand."""
    state = workbench.queue()
    stages = {}
    for item in state.items:
        if item.state in ACTIVE and item.run_id is not None:
            try:
                stages[item.item] = state_words(workbench.run_record(item.run_id).summary)
            except M4Error:
                continue  # it ended and was deleted meanwhile
    return QueuePage(state, stages)


class QueueViewModel(QObject):
    """Reads the queue; steers it, whoever works on it."""

    changed = Signal()
    failed = Signal(object)
    ended = Signal()
    """An item has ended since the last look."""

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.page: QueuePage | None = None
        self._reading = self._again = False

    def reload(self) -> None:
        """Read the queue; once more where something was asked meanwhile."""
        if self._reading:
            self._again = True
            return
        self._reading, self._again = True, False
        self._runner.start(
            "Read the queue",
            lambda _job: load_page(self._workbench),
            on_done=self._done,
            on_failed=self._fail,
            quiet=True,
        )

    def _done(self, page: QueuePage) -> None:
        before, self.page = self.page, page
        self._reading = False
        self.changed.emit()
        if before is not None and before.state.count(*ENDED) != page.state.count(*ENDED):
            self.ended.emit()
        if self._again:
            self.reload()

    def _fail(self, error: M4Error) -> None:
        self._reading = False
        self.failed.emit(error)

    def control(self, action: Control, targets: Sequence[str | None] = (None,)) -> None:
        """Steer the queue; see `Workbench.queue_control`."""

        def work(_job: Job) -> None:
            for target in targets:
                self._workbench.queue_control(action, target)

        self._steer(work)

    def limit(self, at_once: int | None) -> None:
        """Let at most so many runs live at once."""
        self._steer(lambda _job: self._workbench.queue_limit(at_once))

    def _steer(self, work: object) -> None:
        self._runner.start(
            "Change the queue",
            work,  # type: ignore[arg-type]
            on_done=lambda _: self.reload(),
            on_failed=self.failed.emit,
            quiet=True,
            lane="queue",
        )
