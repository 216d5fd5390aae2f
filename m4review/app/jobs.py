"""Long work beside the window: threads, progress, cancel, and one outcome each.

A worker is a plain function that is given an engine `Job`; it never touches a widget. What it
reports arrives in the window's thread as signals. Cancelled is an outcome of its own, not a
failure.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEventLoop, QObject, QTimer, Signal

from engine.base.errors import Cancelled, HarnessFault, M4Error
from engine.base.jobs import Job, SimpleJob
from m4review.app.faults import where

log = logging.getLogger(__name__)

Work = Callable[[Job], Any]
_EVERY = 0.05
"""Seconds between two progress signals of a job: more would only keep the window busy."""


class State(enum.Enum):
    """Where a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Will it not change any more?"""
        return self not in (State.WAITING, State.RUNNING)


@dataclass(frozen=True)
class Progress:
    """The latest that a job told."""

    stage: str
    """Machine name of the stage."""
    done: float
    """Finished, in the stage's unit."""
    total: float
    """All of it; 0 when unknown."""
    text: str
    """For people."""
    left: float | None
    """Estimated seconds to the end of this stage; None while nobody can know."""

    @property
    def share(self) -> float | None:
        """Finished part from 0 to 1; None when the total is unknown."""
        return min(1.0, self.done / self.total) if self.total > 0 else None


class JobHandle(QObject):
    """The window's side of one job.

    Signals arrive in the thread of the window. Exactly one of `done`, `failed`, `cancelled`
    is sent, then `over`.
    """

    started = Signal()
    progressed = Signal(object)
    said = Signal(str)
    done = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    over = Signal()
    _ended = Signal(object, object)

    def __init__(self, title: str, work: Work, *, quiet: bool, lane: str | None) -> None:
        super().__init__()
        self.title = title
        self.quiet = quiet
        self.lane = lane
        self.state = State.WAITING
        self.progress: Progress | None = None
        self.error: M4Error | None = None
        self._work = work
        self._job = SimpleJob(on_progress=self._on_progress, on_message=self.said.emit)
        self._stage = ("", 0.0)
        self._told = 0.0
        self.thread_of_work: threading.Thread | None = None

    def cancel(self) -> None:
        """Ask it to stop; returns at once."""
        if self.state.over:
            return
        # Stops may wait for locks that the worker holds: never in the window's thread.
        threading.Thread(target=self._job.cancel, name="cancel", daemon=True).start()

    @property
    def stopping(self) -> bool:
        """Was it asked to stop?"""
        return self._job.cancelled

    def begin(self) -> None:
        """Start the thread (the runner calls this when the lane is free)."""
        self.state = State.RUNNING
        self.started.emit()
        self.thread_of_work = threading.Thread(
            target=self._run, name=f"job: {self.title}", daemon=True
        )
        self.thread_of_work.start()

    def _run(self) -> None:
        try:
            self._job.check()
            result = self._work(self._job)
        except M4Error as error:
            _let_go(error)
            self._ended.emit(None, error)
        except Exception as error:
            log.error("A job failed in a way that nobody foresaw: %s", where(error))  # noqa: TRY400
            fault = HarnessFault(
                "The program met a fault of its own; nothing that was finished is lost.",
                todo="Try again. If it comes back, send the file m4review.log from the home "
                "folder's logs to whoever maintains the program.",
                details=type(error).__name__,
            )
            _let_go(error)
            self._ended.emit(None, fault)
        else:
            self._ended.emit(result, None)

    def _on_progress(self, stage: str, done: float, total: float, text: str) -> None:
        now = time.monotonic()
        if stage != self._stage[0]:
            self._stage = (stage, now)
        elif now - self._told < _EVERY and done < total:
            return
        self._told = now
        spent = now - self._stage[1]
        left = None
        if done > 0 and total > 0 and spent > 1:
            left = max(0.0, spent * (total - done) / done)
        self.progress = Progress(stage, done, total, text, left)
        self.progressed.emit(self.progress)


class JobRunner(QObject):
    """Starts jobs, keeps those of one lane in a queue, and ends all of them at the close."""

    added = Signal(object)
    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._live: list[JobHandle] = []
        self._queues: dict[str, deque[JobHandle]] = {}
        self._closed = False

    def start(
        self,
        title: str,
        work: Work,
        *,
        on_done: Callable[[Any], object] | None = None,
        on_failed: Callable[[M4Error], object] | None = None,
        on_cancelled: Callable[[], object] | None = None,
        quiet: bool = False,
        lane: str | None = None,
    ) -> JobHandle:
        """Run `work` beside the window.

        Args:
            title: what the user reads ("Import mimic-demo").
            work: takes a `Job`; its result goes to `on_done`, in the window's thread.
            on_done: gets the result.
            on_failed: gets the error.
            on_cancelled: called when the user stopped it.
            quiet: not shown in the list of jobs (short reads of the engine).
            lane: jobs of one lane run one after the other (one database, one writer).
        """
        handle = JobHandle(title, work, quiet=quiet, lane=lane)
        if on_done is not None:
            handle.done.connect(on_done)
        if on_failed is not None:
            handle.failed.connect(on_failed)
        if on_cancelled is not None:
            handle.cancelled.connect(on_cancelled)
        handle._ended.connect(lambda result, error: self._end(handle, result, error))  # noqa: SLF001
        self._live.append(handle)
        self.added.emit(handle)
        if lane is None:
            handle.begin()
        else:
            queue = self._queues.setdefault(lane, deque())
            queue.append(handle)
            if len(queue) == 1:
                handle.begin()
        self.changed.emit()
        return handle

    @property
    def live(self) -> tuple[JobHandle, ...]:
        """Jobs that are not over, oldest first."""
        return tuple(self._live)

    @property
    def loud(self) -> tuple[JobHandle, ...]:
        """The live ones that the user started and sees."""
        return tuple(handle for handle in self._live if not handle.quiet)

    def _end(self, handle: JobHandle, result: Any, error: M4Error | None) -> None:
        if handle.state.over:
            return
        if handle.thread_of_work is not None:
            handle.thread_of_work.join()  # it has nothing left to do but return
        self._live.remove(handle)
        if isinstance(error, Cancelled):
            handle.state = State.CANCELLED
        elif error is not None:
            handle.state = State.FAILED
            handle.error = error
        else:
            handle.state = State.DONE
        self._next(handle)
        if not self._closed:
            if handle.state is State.CANCELLED:
                handle.cancelled.emit()
            elif error is not None:
                handle.failed.emit(error)
            else:
                handle.done.emit(result)
        handle.over.emit()
        self.changed.emit()

    def _next(self, handle: JobHandle) -> None:
        if handle.lane is None:
            return
        queue = self._queues[handle.lane]
        queue.remove(handle)
        if queue and queue[0].state is State.WAITING:
            queue[0].begin()

    def shut_down(self, seconds: float = 20) -> bool:
        """Cancel everything and wait, with the window's events going on.

        Returns:
            True when every thread has ended. Outcomes are no longer told to anyone.
        """
        self._closed = True
        for handle in self.live:
            handle.cancel()
        if self._live:
            loop = QEventLoop()

            def left() -> None:
                if not self._live:
                    loop.quit()

            self.changed.connect(left)
            timer = QTimer()
            timer.setSingleShot(True)
            timer.timeout.connect(loop.quit)
            timer.start(int(seconds * 1000))
            if self._live:
                loop.exec()
        return not self._live


def _let_go(error: BaseException | None) -> None:
    """Forget where an error came from: it may stay on screen, and its frames hold open files."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def duration(seconds: float) -> str:
    """Seconds in a person's words: "8 s", "3 min 20 s", "1 h 5 min"."""
    whole = max(0, round(seconds))
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"  # noqa: PLR2004
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
