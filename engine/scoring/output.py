"""Opening a CSV that nobody vouches for: what it is, before anything reads it.

The file's author may want to crash, stall or mislead the reader. So: one ordinary file, opened
once and read by its descriptor; bounded in size, line length and columns; and what is wrong with
it is said as `Unreadable`, which is its author's fault and never an exception of ours.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from engine.base.files import os_error
from engine.base.jobs import Job

MAX_BYTES = 4 << 30
"""Of an output, where nothing else is asked for."""
MAX_LINE = 1 << 20
"""Bytes of one line; a table's line has some hundred."""
MAX_CELL = 16 << 10
"""Bytes of one cell that counts; a table's cell has some ten.

Two thousand rows are at work at once in each thread: longer cells could be made to burst any
memory limit, and an output that brings the scorer down must not go without a score.
"""
MAX_PIECE = 256 << 20
"""Bytes that the slow reader may take for one batch of rows."""
_MOST_COLUMNS = 1000
_BOM = b"\xef\xbb\xbf"


class Unreadable(Exception):
    """The file cannot be read as a table, and its author is to blame.

    Args:
        diagnostic: the condition of the strict pass that fails.
        text: a sentence; names the line where there is one, never a value.
    """

    def __init__(self, diagnostic: str, text: str) -> None:
        super().__init__(text)
        self.diagnostic = diagnostic
        self.text = text


def no_table(error: pd.errors.ParserError) -> Unreadable:
    """The published reader's complaint, which names the line and no value, as ours."""
    reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
    return Unreadable("has_rows", f"The output is no CSV of equal rows: {reason}.")


@dataclass(frozen=True)
class OpenTable:
    """An opened CSV with its header."""

    descriptor: int
    """The file, open for reading."""
    path: str
    """A name under which this very file can be opened again."""
    header: tuple[str, ...]
    """Column names as the file spells them; a repeated name has a number in later places."""
    plain: bool
    """Is its spelling one that the quick reader reads just as the slow one does?"""
    commas: int
    """Commas in it, those inside quotes too."""


@contextlib.contextmanager
def open_table(path: Path, *, max_bytes: int = MAX_BYTES, job: Job | None) -> Iterator[OpenTable]:
    """Open `path` as a CSV, look it through once, read the header.

    Raises:
        Unreadable: there is none, it is a link or a device, too large, has an endless line, is
            empty, or its header is no text.
        MissingPrerequisite: the operating system does not let us read it.
    """
    descriptor = _open(path, max_bytes)
    try:
        plain, commas = _look_through(descriptor, job)
        header = _header(descriptor)
        reopen = Path(f"/proc/self/fd/{descriptor}")
        yield OpenTable(
            descriptor=descriptor,
            path=str(reopen if reopen.exists() else path),
            header=header,
            plain=plain and 1 < len(header) <= _MOST_COLUMNS,
            commas=commas,
        )
    finally:
        os.close(descriptor)


def _open(path: Path, max_bytes: int) -> int:
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise Unreadable("output_exists", "There is no output file.") from error
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Unreadable(
                "output_exists", "The output is a link or a socket, not an ordinary file."
            ) from error
        raise os_error(error, "opening the output") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Unreadable(
            "output_exists", "The output is a folder, a pipe or a device, not an ordinary file."
        )
    if status.st_size > max_bytes:
        os.close(descriptor)
        raise Unreadable(
            "output_exists",
            f"The output has {status.st_size:,} bytes; at most {max_bytes:,} are read.",
        )
    return descriptor


def _look_through(descriptor: int, job: Job | None) -> tuple[bool, int]:
    """Bound the line length; say whether the quick reader reads this spelling rightly; commas.

    The quick reader drops blanks beside quotes, does not skip blank lines before the header, takes
    lone carriage returns otherwise, and loses an endless last line without a word; and long cells
    it shall not meet.
    """
    run = offset = lines = commas = 0
    plain = True
    quotes = False
    size = os.fstat(descriptor).st_size
    before = b""
    while block := os.pread(descriptor, MAX_LINE, offset):
        if job is not None:
            job.check()
            job.progress("score:look", offset, size, "looking the output through")
        if offset == 0 and block.removeprefix(_BOM)[:1] in (b"\n", b"\r", b" ", b"\t"):
            plain = False
        returns = b"\r" in block
        first = _line_end(block, returns)
        if run + (first if first >= 0 else len(block)) > MAX_LINE:
            raise Unreadable(
                "has_rows", f"Line {lines + 1} of the output has more than {MAX_LINE:,} bytes."
            )
        plain = plain and not _has_long_line(block, run, returns)
        last = -1 if first < 0 else _last_line_end(block, returns, 0, len(block))
        run = run + len(block) if first < 0 else len(block) - last - 1
        lines += block.count(b"\n")
        commas += block.count(b",")
        quotes = quotes or b'"' in block
        # With the last byte of the block before, so that a pair across the edge is seen.
        edge = before + block if plain and (quotes or returns or before == b"\r") else b""
        if plain and edge.count(b"\r") - edge.endswith(b"\r") != edge.count(b"\r\n"):
            plain = False
        if plain and quotes:
            plain = not any(pair in edge for pair in (b'" ', b' "', b'"\t', b'\t"'))
        before = block[-1:]
        offset += len(block)
    return plain and before != b"\r", commas


def _line_end(block: bytes, returns: bool) -> int:
    newline = block.find(b"\n")
    if not returns:
        return newline
    back = block.find(b"\r")
    return back if newline < 0 else min(newline, back) if back >= 0 else newline


def _last_line_end(block: bytes, returns: bool, start: int, stop: int) -> int:
    newline = block.rfind(b"\n", start, stop)
    return max(newline, block.rfind(b"\r", start, stop)) if returns else newline


def _has_long_line(block: bytes, run: int, returns: bool) -> bool:
    """Is a line longer than `MAX_CELL`? The first one has `run` bytes before the block."""
    begin = -run
    while len(block) - begin > MAX_CELL:
        stop = max(begin + MAX_CELL + 1, 0)
        end = _last_line_end(block, returns, max(begin, 0), stop)
        if end < 0:
            return True
        begin = end + 1
    return False


class Metered(io.RawIOBase):
    """The file as a stream that stops a reader which takes too much at once."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._offset = 0
        self._taken = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def next_piece(self) -> None:
        """The reader has handed over what it took; it may take as much again."""
        self._taken = 0

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Give bytes; see `io.RawIOBase`.

        Raises:
            Unreadable: more than `MAX_PIECE` since the last `next_piece`.
        """
        data = os.pread(self._descriptor, len(buffer), self._offset)
        self._offset += len(data)
        self._taken += len(data)
        if self._taken > MAX_PIECE:
            raise Unreadable(
                "has_rows",
                "A row of the output does not end, or its cells are far too long; is a quotation "
                "mark left open?",
            )
        buffer[: len(data)] = data
        return len(data)


def _header(descriptor: int) -> tuple[str, ...]:
    try:
        frame = pd.read_csv(
            io.BufferedReader(Metered(descriptor)),
            nrows=0,
            keep_default_na=False,
            encoding="utf-8",
        )
    except pd.errors.EmptyDataError as error:
        raise Unreadable("has_rows", "The output is empty; it has no header.") from error
    except pd.errors.ParserError as error:
        raise no_table(error) from error
    except UnicodeDecodeError as error:
        raise Unreadable("has_rows", "The output is not UTF-8 text.") from error
    return tuple(str(name) for name in frame.columns)
