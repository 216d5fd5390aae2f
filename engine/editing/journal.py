"""The history of a text as a file of the home: appended to while somebody types.

One line per record: its CRC-32 and a JSON array. A line that a crash cut short, and what follows
it, is not read; what stands before holds. The file never lies beside the text.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from engine.base.errors import Busy, MissingPrerequisite
from engine.base.files import os_error, writing
from engine.base.paths import Home
from engine.editing.history import History, Record

LARGE = 2 << 20
"""Bytes of a journal above which it is written anew, shorter."""
KEPT = 1 << 20
"""Characters of edits that stay then."""


class Journal:
    """One text's journal, held by one program at a time."""

    def __init__(self, home: Home, path: Path) -> None:
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:24]
        self.folder = home.editing / name
        self.path = self.folder / "journal"
        self._lock = FileLock(self.folder / "lock", thread_local=False)
        self._size = 0
        self.stale = False
        """Was it to be written anew, and could not be? Nothing can be appended then."""

    def hold(self) -> None:
        """Take it for this program.

        Raises:
            Busy: another window edits this text.
            StorageFull, MissingPrerequisite: the home cannot be written.
        """
        try:
            self.folder.parent.mkdir(mode=0o700, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise Busy(
                "This text is being edited in another window of this program.",
                todo="Close it there, then open it here.",
            ) from error
        except OSError as error:
            raise os_error(error, "opening the journal of a text") from error

    def let_go(self) -> None:
        """Give it back."""
        self._lock.release()

    def read(self) -> History | None:
        """What was kept; None where there is nothing.

        A damaged end is cut off, so that what is appended next can be read.

        Raises:
            StorageFull, MissingPrerequisite, Busy: from the operating system.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise os_error(error, "reading the journal of a text") from error
        history, good = replay(data)
        self._size = good
        if good < len(data):
            try:
                os.truncate(self.path, good)
            except OSError as error:
                raise os_error(error, "mending the journal of a text") from error
        return history

    def append(self, records: Iterable[Record]) -> None:
        """Keep what happened; it is on disk when this returns.

        Raises:
            StorageFull, MissingPrerequisite, Busy: it could not be kept. Nothing of it is.
        """
        if self.stale:
            raise MissingPrerequisite(
                "What was typed is not kept: the journal has to be written anew first.",
                todo="See that the home folder can be written and has room.",
            )
        data = b"".join(_line(record) for record in records)
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                _write(handle, data)
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, self._size)
                raise
            finally:
                os.close(handle)
        except OSError as error:
            raise os_error(error, "keeping what was typed") from error
        self._size += len(data)

    @property
    def large(self) -> bool:
        """Should it be written anew?"""
        return self._size > LARGE

    def rewrite(self, history: History) -> None:
        """Write it anew, whole or not at all, with the oldest steps let go where it is long.

        Raises:
            StorageFull, MissingPrerequisite, Busy: from the operating system.
        """
        self.stale = True
        history.shorten(KEPT)
        data = b"".join(_line(record) for record in history.records())
        with writing(self.path, "writing the journal of a text") as part:
            part.write_bytes(data)
        self._size = len(data)
        self.stale = False


def replay(data: bytes) -> tuple[History | None, int]:
    """The history that a journal's bytes tell, and how many of them could be read."""
    history: History | None = None
    good = 0
    for record, end in _records(data):
        try:
            if history is None:
                if record[:1] != ["base"]:
                    break
                history = History.begin("")
            history.play(record)
        except ValueError:
            break
        good = end
    return (history if good else None), good


def _records(data: bytes) -> Iterator[tuple[Record, int]]:
    at = 0
    while (end := data.find(b"\n", at)) >= 0:
        line = data[at:end]
        try:
            if int(line[:8], 16) != zlib.crc32(line[9:]):
                return
            record = json.loads(line[9:])
        except ValueError:
            return
        if not isinstance(record, list):
            return
        yield record, end + 1
        at = end + 1


def _line(record: Record) -> bytes:
    body = json.dumps(record, separators=(",", ":")).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _write(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
