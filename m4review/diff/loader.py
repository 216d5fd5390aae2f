"""One thread that fetches blocks of rows: the newest request first, late answers dropped."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

import duckdb
from PySide6.QtCore import QObject, Signal

from engine.base.duck import in_words
from engine.base.errors import M4Error
from m4review.diff.reader import DiffFile, Record, View

log = logging.getLogger(__name__)

PLAIN_BLOCK = 64
"""Rows of a block where the view is the file itself: a range read."""
PICKED_BLOCK = 32
"""Rows of a block where rows are picked from all over the file: each costs about as much."""
_AT_ONCE = 8
"""Neighbouring blocks that are read together, at most."""


class BlockLoader(QObject):
    """Fetches blocks of the current view on a thread of its own.

    `request` replaces what was not fetched yet, so that a jump never waits for what the user
    scrolled past. Each view is a generation; blocks of older ones never come out.
    """

    loaded = Signal(int)
    """From this block of the present generation on, some can be collected."""
    failed = Signal(object)
    """Reading failed (an `M4Error`); the loader goes on with the next request."""

    def __init__(self, file: DiffFile) -> None:
        super().__init__()
        self._file = file
        self._condition = threading.Condition()
        self._view: View | None = None
        self._generation = 0
        self._wanted: list[int] = []
        self._fetching = range(0)
        self._ready: dict[int, list[Record]] = {}
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="diff blocks", daemon=True)
        self._thread.start()

    @staticmethod
    def block_rows(view: View) -> int:
        """Rows of a block of this view."""
        return PLAIN_BLOCK if view.rows is None else PICKED_BLOCK

    def use(self, view: View) -> None:
        """Fetch from this view from now on."""
        with self._condition:
            self._generation += 1
            self._view = view
            self._wanted = []
            self._fetching = range(0)
            self._ready = {}

    def request(self, blocks: Sequence[int]) -> None:
        """Fetch these blocks, the first one first; forgets what was asked before."""
        with self._condition:
            self._wanted = [
                block
                for block in blocks
                if block not in self._ready and block not in self._fetching
            ]
            self._condition.notify_all()

    def collect(self) -> dict[int, list[Record]]:
        """What has been fetched since the last call, by block."""
        with self._condition:
            ready, self._ready = self._ready, {}
        return ready

    def wait(self, blocks: Sequence[int], seconds: float) -> None:
        """Wait until these are fetched, at most `seconds`."""
        until = time.monotonic() + seconds
        with self._condition:
            while not all(block in self._ready for block in blocks):
                left = until - time.monotonic()
                if left <= 0 or self._stop:
                    return
                self._condition.wait(left)

    def close(self) -> None:
        """End the thread; returns when it has ended."""
        with self._condition:
            self._stop = True
            self._condition.notify_all()
        self._thread.join()

    def _run(self) -> None:
        with self._file.cursor() as cursor:
            while True:
                with self._condition:
                    while not self._wanted and not self._stop:
                        self._condition.wait()
                    if self._stop:
                        return
                    block, count = self._wanted.pop(0), 1
                    while count < _AT_ONCE and self._wanted[:1] == [block + count]:
                        del self._wanted[0]
                        count += 1
                    self._fetching = range(block, block + count)
                    view, generation = self._view, self._generation
                if view is not None:
                    self._fetch(cursor, view, generation, block, count)

    def _fetch(
        self, cursor: duckdb.DuckDBPyConnection, view: View, generation: int, block: int, count: int
    ) -> None:
        """Fetch `count` blocks from `block` on, in one query: a page often lies across two."""
        size = self.block_rows(view)
        try:
            records = self._file.read(cursor, view, block * size, count * size)
        except duckdb.Error as error:
            self._give_up(in_words(error, "reading the diff"))
            return
        except M4Error as error:
            self._give_up(error)
            return
        with self._condition:
            if generation != self._generation:
                return
            self._fetching = range(0)
            for at in range(count):
                self._ready[block + at] = records[at * size : (at + 1) * size]
            self._condition.notify_all()
        self.loaded.emit(block)

    def _give_up(self, error: M4Error) -> None:
        with self._condition:
            self._fetching = range(0)
        self.failed.emit(error)
