"""What long work is given: a way to tell progress and to be told to stop.

The engine's long functions take a `Job`. The command line prints from it, the
window turns it into signals, tests read it. There is no thread in here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from engine.base.errors import Cancelled


class Job(Protocol):
    """The worker's side of a running job."""

    def progress(self, stage: str, done: float, total: float, text: str = "") -> None:
        """Report that `done` of `total` (any unit) of `stage` is finished.

        `stage` is a stable machine name ("import:chartevents"); `text` is for people
        and holds no cell value, identifier or source path.
        """

    def message(self, text: str) -> None:
        """One line for people."""

    def check(self) -> None:
        """Raise `Cancelled` if the user asked to stop; call it often."""

    def on_cancel(self, stop: Callable[[], object]) -> Callable[[], None]:
        """Have `stop` called (from any thread) when the user cancels; returns a way to undo.

        Use it for what blocks: a query (`connection.interrupt`), a process. If the job is
        already cancelled, `stop` is called at once.
        """


@dataclass
class SimpleJob:
    """A `Job` without a front end: remembers, forwards to callbacks, can be cancelled."""

    on_progress: Callable[[str, float, float, str], object] | None = None
    on_message: Callable[[str], object] | None = None
    _stops: list[Callable[[], object]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def progress(self, stage: str, done: float, total: float, text: str = "") -> None:
        """See `Job.progress`."""
        if self.on_progress is not None:
            self.on_progress(stage, done, total, text)

    def message(self, text: str) -> None:
        """See `Job.message`."""
        if self.on_message is not None:
            self.on_message(text)

    def check(self) -> None:
        """See `Job.check`."""
        if self._cancelled.is_set():
            raise Cancelled

    @property
    def cancelled(self) -> bool:
        """Was `cancel` called?"""
        return self._cancelled.is_set()

    def on_cancel(self, stop: Callable[[], object]) -> Callable[[], None]:
        """See `Job.on_cancel`."""
        with self._lock:
            already = self._cancelled.is_set()
            if not already:
                self._stops.append(stop)
        if already:
            stop()

        def forget() -> None:
            with self._lock:
                if stop in self._stops:
                    self._stops.remove(stop)

        return forget

    def cancel(self) -> None:
        """Ask the work to stop; may be called from any thread, more than once."""
        with self._lock:
            self._cancelled.set()
            stops, self._stops = self._stops, []
        for stop in stops:
            stop()
