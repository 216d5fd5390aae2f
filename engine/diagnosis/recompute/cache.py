"""What changes came out as, kept by content: the same change on the same data is computed once."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_MOST_BYTES = 256 * 2**20
"""Kept in memory."""
_MOST_FILES = 4000
"""Kept on disk."""


class Cache:
    """Tables by key; None is an outcome too (the change changes nothing).

    Args:
        folder: where tables are kept beyond this process (they hold data: a folder of the
            home); None for memory alone.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept: OrderedDict[str, pa.Table | None] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> tuple[bool, pa.Table | None]:
        """Whether the outcome is known, and the outcome."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return True, self._kept[key]
        if self._folder is not None:
            path = self._folder / f"{key}.parquet"
            if path.with_suffix(".none").exists():
                self._keep(key, None)
                return True, None
            if path.exists():
                with contextlib.suppress(OSError, pa.ArrowException):  # a broken file: anew
                    table = pq.read_table(path)
                    self._keep(key, table)
                    return True, table
        return False, None

    def put(self, key: str, table: pa.Table | None, *, lasting: bool = True) -> None:
        """Remember an outcome; a full disk only means that it is computed again.

        What is not `lasting` (it took too long, say) is known to this process alone.
        """
        self._keep(key, table)
        if self._folder is None or not lasting:
            return
        with contextlib.suppress(OSError, pa.ArrowException):
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{key}.parquet"
            if table is None:
                path.with_suffix(".none").touch()
                return
            part = path.with_suffix(f".{os.getpid()}.part")
            pq.write_table(table, part)
            part.replace(path)

    def trim(self) -> None:
        """Remove the oldest files beyond the limit."""
        if self._folder is None or not self._folder.is_dir():
            return
        with contextlib.suppress(OSError):
            files = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
            for path in files[: max(0, len(files) - _MOST_FILES)]:
                path.unlink(missing_ok=True)

    def _keep(self, key: str, table: pa.Table | None) -> None:
        self._kept[key] = table
        self._bytes += table.nbytes if table is not None else 0
        while self._bytes > _MOST_BYTES and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= gone.nbytes if gone is not None else 0


def key_of(*parts: str | Sequence[str] | Sequence[int] | None) -> str:
    """One hash for all that an outcome depends on."""
    return hashlib.sha256("\0".join(repr(part) for part in parts).encode()).hexdigest()
