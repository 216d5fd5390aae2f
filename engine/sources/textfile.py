"""Looking at CSV files without DuckDB: their header, their rows counted, their checksum.

DuckDB does not compare a gzip file's checksum, and loses a last line that is longer than its
buffer. So each file is read a second time beside DuckDB, in another thread: decompressed with
the checksum verified, its records counted. The table is only kept when both agree.
"""

from __future__ import annotations

import csv
import io
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from engine.base.errors import BadInput, M4Error, bad_file

_BLOCK = 1 << 20
MAX_LINE = 2_000_000
"""Bytes; the longest record that is accepted (DuckDB's limit is 2 MiB)."""

_LF, _CR, _QUOTE = ord("\n"), ord("\r"), ord('"')

DAMAGED = "Copy or download the file again; compare it with its published checksum."


class _Stopped(Exception):
    """The reader was told to stop."""


def is_gzip(path: Path) -> bool:
    """Is the file compressed, by its name?"""
    return path.suffix.lower() == ".gz"


def unreadable(path: Path, error: OSError) -> BadInput:
    """An operating system error on reading the user's file."""
    return bad_file(
        path,
        f"The file cannot be read: {error.strerror or type(error).__name__}.",
        todo="Check that it is there and that you may read it.",
    )


def blocks(path: Path, stop: threading.Event | None = None) -> Iterator[bytes]:
    """The file's text in blocks of about 1 MiB, decompressed and its checksum verified.

    Raises:
        BadInput: unreadable, not gzip, truncated, or damaged.
    """
    try:
        with path.open("rb") as file:
            yield from _inflate(path, file, stop) if is_gzip(path) else _raw(file, stop)
    except OSError as error:
        raise unreadable(path, error) from error


def _raw(file: IO[bytes], stop: threading.Event | None) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        if stop is not None and stop.is_set():
            raise _Stopped
        yield block


def _inflate(path: Path, file: IO[bytes], stop: threading.Event | None) -> Iterator[bytes]:
    started = False
    unpacker = zlib.decompressobj(31)
    try:
        for raw in _raw(file, stop):
            data = raw
            while data:
                if unpacker.eof:  # another member follows; zero bytes may pad the end
                    unpacker = zlib.decompressobj(31)
                started = True
                yield from _unpack(unpacker, data)
                data = unpacker.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise damaged(path) from error
    if not started:
        raise empty(path)
    if not unpacker.eof:
        raise bad_file(path, "The compressed file ends too early (truncated).", todo=DAMAGED)


def _unpack(unpacker: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """All output that `data` gives, in blocks: a small file may unpack to a huge one."""
    while True:
        block = unpacker.decompress(data, _BLOCK)
        data = unpacker.unconsumed_tail
        if block:
            yield block
        if unpacker.eof or (not data and len(block) < _BLOCK):
            return


def damaged(path: Path) -> BadInput:
    """Not gzip, or bytes changed."""
    return bad_file(path, "The compressed file is damaged or is not gzip.", todo=DAMAGED)


def empty(path: Path) -> BadInput:
    """No bytes at all."""
    return bad_file(
        path,
        "The file is empty; it has not even a header.",
        todo="Export the table again (a header alone is fine), or take the file away.",
    )


def read_header(path: Path) -> list[str]:
    """The column names of a CSV file, as written.

    Raises:
        BadInput: no header, not UTF-8, names missing or given twice, or the file is damaged.
    """
    first = b""
    for block in blocks(path):
        first += block
        if b"\n" in first or len(first) > MAX_LINE:
            break
    if not first.strip():
        raise empty(path)
    line = first.split(b"\n", 1)[0]
    if len(line) > MAX_LINE:
        raise long_line(path, 1)
    try:
        text = line.decode("utf-8-sig").rstrip("\r")
        names = [name.strip() for name in next(csv.reader(io.StringIO(text), strict=True), [])]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _no_header(path) from error
    _check_names(path, names)
    return names


def _no_header(path: Path) -> BadInput:
    return bad_file(
        path,
        "The first line is not a CSV header in UTF-8.",
        line=1,
        todo="Check that it is the right file; save it as UTF-8 text with commas.",
    )


def _check_names(path: Path, names: list[str]) -> None:
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise bad_file(
            path,
            "The columns are not separated by commas.",
            line=1,
            todo="Export the table again with commas.",
        )
    if not all(name.isprintable() for name in names):
        raise _no_header(path)
    seen: set[str] = set()
    for position, name in enumerate(names, start=1):
        if not name:
            raise bad_file(
                path,
                f"Column number {position} has no name in the header.",
                line=1,
                todo="Export the table again without an index column, or name the column.",
            )
        if name.lower() in seen:
            raise bad_file(
                path,
                "The header names this column twice.",
                line=1,
                column=name,
                todo="Keep one of the two.",
            )
        seen.add(name.lower())


def long_line(path: Path, line: int) -> BadInput:
    """A record longer than `MAX_LINE`."""
    return bad_file(
        path,
        f"The line is longer than {MAX_LINE // 1_000_000} million bytes.",
        line=line,
        todo="A quotation mark that is never closed, or line ends that were lost, do this.",
    )


class SecondReader:
    """Reads a CSV file in a thread of its own: checksum, longest record, number of records."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stop = threading.Event()
        self._problem: BaseException | None = None
        self._records = 0
        self._blank = 0
        self._thread = threading.Thread(target=self._run, name="second-reader", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading; the result is not wanted any more."""
        self._stop.set()
        self._thread.join()

    @property
    def problem(self) -> M4Error | None:
        """What was found wrong so far."""
        return self._problem if isinstance(self._problem, M4Error) else None

    def agree(self, rows: int, columns: int, check: Callable[[], None]) -> None:
        """Wait for the end and compare with the `rows` that DuckDB read.

        `check` is called while waiting and may raise.

        Raises:
            BadInput: the file is damaged or has an overlong line, or rows were lost.
        """
        while self._thread.is_alive():
            self._thread.join(0.25)
            check()
        if self._problem is not None:
            raise self._problem
        low = self._records - 1
        high = low + (self._blank if columns == 1 else 0)
        if low <= rows <= high or rows == self._count_slowly():
            return
        raise bad_file(
            self._path,
            f"The file has {low:,} rows but only {rows:,} could be read.",
            todo="Look for quotation marks that are not closed and for mixed line ends.",
        )

    def _run(self) -> None:
        try:
            self._count()
        except _Stopped:
            return
        except BaseException as error:  # handed to the caller in `agree`
            self._problem = error

    def _count(self) -> None:
        """Count records: line feeds outside quotes, blank lines apart."""
        inside = 0  # 1 within an open quotation
        carry = 0  # bytes of the record that began in an earlier block
        last = 0  # last byte of the earlier block
        for block in blocks(self._path, self._stop):
            data = np.frombuffer(block, dtype=np.uint8)
            feeds = data == _LF
            if b'"' in block:
                open_here = (np.cumsum(data == _QUOTE, dtype=np.uint32) + inside) & 1
                feeds &= open_here == 0
                inside = int(open_here[-1])
            elif inside:
                feeds[:] = False
            ends = np.flatnonzero(feeds)
            if ends.size:
                lengths = np.diff(ends, prepend=-1 - carry) - 1
                before = np.where(ends > 0, data[ends - 1], last)
                blank = (lengths == 0) | ((lengths == 1) & (before == _CR))
                if int(lengths.max()) > MAX_LINE:
                    index = int(np.argmax(lengths > MAX_LINE))
                    raise long_line(self._path, self._records + self._blank + index + 1)
                blanks = int(blank.sum())
                self._blank += blanks
                self._records += int(ends.size) - blanks
                carry = int(data.size - 1 - ends[-1])
            else:
                carry += int(data.size)
            last = int(data[-1])
            if carry > MAX_LINE:
                raise long_line(self._path, self._records + self._blank + 1)
        if carry > 1 or (carry == 1 and last != _CR):
            self._records += 1

    def _count_slowly(self) -> int:
        """Rows by Python's own CSV reader, for stray quotation marks; -1 when it cannot either."""
        try:
            return sum(1 for row in _rows(self._path) if row) - 1
        except csv.Error:
            return -1


def _rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    lines = (line.decode("latin-1") for line in _lines(path))
    return iter(csv.reader(lines))


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    for block in blocks(path):
        *whole, rest = (rest + block).split(b"\n")
        yield from (line + b"\n" for line in whole)
        if len(rest) > 8 * MAX_LINE:
            return  # the overlong line itself is reported by the second reader
    if rest:
        yield rest


def line_of_record(path: Path, record: int, *, count_blank: bool) -> int:
    """The line (from 1) on which the `record`-th record (from 1, header included) begins.

    They differ where quoted texts hold line ends. `count_blank`: blank lines are records too.
    """
    seen = 0
    inside = False
    line = 0
    for text in _lines(path):
        line += 1
        if not inside and (count_blank or text.strip(b"\r\n")):
            seen += 1
            if seen == record:
                return line
        if text.count(b'"') % 2:
            inside = not inside
    return max(line, 1)
