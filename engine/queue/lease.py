"""Who works on the queue: one process of a home, known by a file lock that dies with it."""

from __future__ import annotations

from filelock import FileLock, Timeout

from engine.base.files import os_error
from engine.base.paths import Home


class Lease:
    """The right to carry out what stands in a home's queue.

    The operating system takes the lock away when the process ends, however it ends, so the next
    one can have it at once. Each holder also gets an epoch in the state file, without which it
    can change nothing there: a holder that was believed dead and is not can do no harm.
    """

    def __init__(self, home: Home) -> None:
        # Each has its own handle: two of one process exclude each other as well.
        self._lock = FileLock(home.root / "queue.lock", thread_local=False)

    def take(self) -> bool:
        """Have it, if nobody else does."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise os_error(error, "taking over the queue") from error
        return True

    def give_up(self) -> None:
        """Let another have it."""
        self._lock.release()
