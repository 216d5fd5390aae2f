"""Bytes of a file as text for an editor, and back, with every untouched line as it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from engine.base.errors import bad_file
from engine.base.files import os_error
from engine.editing.merge import matches

LIMIT = 4 << 20
"""Bytes of the largest text that is opened."""
_BOM = b"\xef\xbb\xbf"
_END = re.compile(r"(\r\n|\n|\r)")
_ODD = "\0\u2028\u2029\ufdd0\ufdd1\ufffc"
"""Characters that text widgets take for something else; they stand in as private ones."""
_STAND_INS = "".join(chr(0xF8E0 + number) for number in range(len(_ODD)))
_IN = str.maketrans(_ODD, _STAND_INS)
_OUT = str.maketrans(_STAND_INS, _ODD)


@dataclass(frozen=True)
class TextFile:
    """A file's content at one moment."""

    data: bytes
    """As on disk."""
    text: str
    """For an editor: lines end with a newline alone, without a byte order mark."""
    ends: tuple[str, ...]
    """What ended each line but the last one."""

    @property
    def bom(self) -> bool:
        """Does it begin with a byte order mark?"""
        return self.data.startswith(_BOM)

    @cached_property
    def usual_end(self) -> str:
        """What most lines end with; a newline where there is one line only."""
        counted = Counter(self.ends).most_common(1)
        return counted[0][0] if counted else "\n"


def decode(data: bytes, path: Path) -> TextFile:
    """Take a file's bytes apart.

    Raises:
        BadInput: no UTF-8, or characters that could not be kept.
    """
    try:
        whole = data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad_file(
            path,
            "The file is not UTF-8 text; editing it here would change what it says.",
            line=line,
            todo="Convert it to UTF-8 with the program that wrote it, then open it again.",
        ) from error
    if any(mark in whole for mark in _STAND_INS):
        raise bad_file(path, "The file holds characters for private use that cannot be kept.")
    parts = _END.split(whole)
    return TextFile(data, "\n".join(parts[::2]).translate(_IN), tuple(parts[1::2]))


def encode(text: str, like: TextFile, path: Path) -> bytes:
    """The bytes of an edited text.

    A line that was there keeps its own end, a new one gets the usual end; a byte order mark and
    the last line's missing end stay as they were.

    Raises:
        BadInput: the text holds half a character.
    """
    lines = text.split("\n")
    ends = [like.usual_end] * (len(lines) - 1)
    if len(set(like.ends)) > 1:
        for was, there in _pairs(like.text.split("\n"), lines):
            if was < len(like.ends) and there < len(ends):
                ends[there] = like.ends[was]
    whole = "".join(part for pair in zip(lines, [*ends, ""], strict=True) for part in pair)
    try:
        data = whole.translate(_OUT).encode("utf-8")
    except UnicodeEncodeError as error:
        line = whole.count("\n", 0, error.start) + 1
        raise bad_file(path, "A character is broken in two.", line=line, todo="Delete it.") from (
            error
        )
    return (_BOM if like.bom else b"") + data


def _pairs(before: list[str], after: list[str]) -> Iterator[tuple[int, int]]:
    """Which line became which: equal ones, and between them one after the other."""
    at = to = 0
    for begin, there, size in (*matches(before, after), (len(before), len(after), 0)):
        yield from zip(range(at, begin), range(to, there), strict=False)
        yield from zip(range(begin, begin + size), range(there, there + size), strict=True)
        at, to = begin + size, there + size


def read_text(path: Path) -> TextFile:
    """Read a text file.

    Raises:
        BadInput: it is not there, no ordinary file, too large, or no UTF-8.
        MissingPrerequisite, Busy: it cannot be read.
    """
    if not path.is_file():
        raise bad_file(path, "The file is not there.", todo="Was it moved or deleted?")
    try:
        if path.stat().st_size > LIMIT:
            raise bad_file(path, "The file is larger than 4 MB; it is not opened here.")
        return decode(path.read_bytes(), path)
    except OSError as error:
        raise os_error(error, "reading a text") from error


def changed_span(before: str, after: str) -> tuple[int, str, str]:
    """The one span in which two texts differ: position, what was there, what is there now."""
    least = min(len(before), len(after))
    low = _common(before, after, least)
    rest = least - low
    back = _common(before[::-1], after[::-1], rest)
    return low, before[low : len(before) - back], after[low : len(after) - back]


def _common(one: str, other: str, most: int) -> int:
    """Length of the common beginning, at most `most`; by halving, so that long texts are quick."""
    if one[:most] == other[:most]:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def line_starts(text: str) -> list[int]:
    """Offset of the beginning of each line."""
    starts = [0]
    starts += [match.end() for match in re.finditer("\n", text)]
    return starts


def spans_of(text: str) -> list[tuple[int, int]]:
    """Begin and end (without its newline) of each line."""
    starts = [*line_starts(text), len(text) + 1]
    return [(begin, end - 1) for begin, end in pairwise(starts)]
