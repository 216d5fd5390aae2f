"""Reads a whole audit log, which anybody may have changed, and says what is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import BinaryIO, Literal

from engine.audit.entry import MOST_BYTES, START, Entry, parse

TORN = "audit.torn"
"""The entry after a line that a crash cut off; its facts name that line's hash."""
CLOCK_TOLERANCE = timedelta(seconds=2)
"""So much a clock that is kept right from outside may jump."""

Kind = Literal["changed", "missing", "replaced", "order", "unreadable", "torn", "head", "clock"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with the log."""

    kind: Kind
    """``changed``, ``replaced``: not what was written; ``missing``; ``order``: twice, or moved;
    ``unreadable``: no entry; ``torn``: cut off by a crash; ``head``: `state.db` does not know the
    log; ``clock``: the time went back."""
    sequence: int
    """The entry that is concerned, or would be."""
    text: str
    """In words."""
    grave: bool
    """Somebody tampered with the log, or the disk did; the others have innocent causes."""


@dataclass(frozen=True)
class Line:
    """One line of the file."""

    content: bytes | None
    """Without its end; None where it is longer than any entry."""
    sha256: str
    """Of all of it, without its end."""
    size: int
    """Bytes, without the end."""
    ended: bool
    """A line end follows."""


@dataclass
class Chain:
    """A walk along the entries; `problems` grows."""

    known: tuple[int, str] | None
    """Sequence and hash of the last entry that `state.db` knows."""
    last: Entry | None = None
    """The last entry that can be read."""
    entries: int = 0
    """How many can be read."""
    problems: list[Problem] = field(default_factory=list)
    """In the order of the file."""
    torn: Line | None = None
    """What stands at the end without being an entry, not yet told by one."""
    ended: bool = True
    """The file ends with a line end (or is empty)."""
    _strange: Line | None = None

    @property
    def expected(self) -> int:
        """The sequence of the entry that should come next."""
        return self.last.sequence + 1 if self.last else 1

    def walk(self, file: BinaryIO) -> Iterator[Entry]:
        """Every entry that can be read, also those with which something is wrong."""
        for line in _lines(file):
            self.ended = line.ended
            entry = None if line.content is None else parse(line.content)
            if entry is None:
                self._unreadable()
                self._strange = line
                continue
            self._check(entry)
            self.last = entry
            self.entries += 1
            yield entry
        if self._strange is not None and not self._strange.ended:
            self.torn, self._strange = self._strange, None
        self._unreadable()
        self._compare_end()

    def _check(self, entry: Entry) -> None:
        if self._strange is not None and _tells(entry, self._strange):
            text = f"A crash cut off a line before entry {entry.sequence}; it is kept as it is."
            self._add("torn", entry.sequence, text, grave=False)
            self._strange = None
        self._unreadable()
        number, expected = entry.sequence, self.expected
        previous = self.last.hash if self.last else START
        if not entry.holds:
            self._add("changed", number, f"Entry {number} was changed after it was written.")
        if number > expected:
            self._missing(expected, number - 1)
        elif number < expected:
            self._add("order", number, f"Entry {number} stands twice or in the wrong place.")
        elif entry.previous != previous:
            what = "What stood before" if self.last else "The beginning before"
            self._add("replaced", number, f"{what} entry {number} was replaced.")
        if self.known is not None and number == self.known[0] and entry.hash != self.known[1]:
            text = f"Entry {number} is not the one that was written; the log was replaced."
            self._add("replaced", number, text)
        if self.last is not None and (back := self.last.time - entry.time) > CLOCK_TOLERANCE:
            text = f"The clock went back by {_short(back)} before entry {number}."
            self._add("clock", number, text, grave=False)

    def _compare_end(self) -> None:
        if self.known is not None and self.expected <= self.known[0]:
            self._missing(self.expected, self.known[0])
        if self.known is None and self.last is not None:
            text = (
                "The state file does not know this log (it was replaced, or the log was copied "
                "here): nobody can say whether entries at its end are missing."
            )
            self._add("head", self.last.sequence, text, grave=False)

    def _missing(self, first: int, last: int) -> None:
        text = f"Entry {first} is missing." if first == last else (
            f"Entries {first} to {last} are missing."
        )  # fmt: skip
        self._add("missing", first, text)

    def _unreadable(self) -> None:
        if self._strange is not None:
            after = self.expected - 1
            self._add("unreadable", after, f"A line after entry {after} is no entry of the log.")
            self._strange = None

    def _add(self, kind: Kind, sequence: int, text: str, *, grave: bool = True) -> None:
        self.problems.append(Problem(kind, sequence, text, grave))


def _tells(entry: Entry, line: Line) -> bool:
    facts = entry.facts
    return (
        entry.what == TORN
        and facts.get("sha256") == line.sha256
        and facts.get("bytes") == line.size
    )


def _lines(file: BinaryIO) -> Iterator[Line]:
    """The file's lines; memory is bounded whatever is in it."""
    while part := file.readline(MOST_BYTES + 1):
        digest, size, whole = hashlib.sha256(), 0, part
        while not part.endswith(b"\n") and (more := file.readline(MOST_BYTES + 1)):
            digest.update(part)
            size += len(part)
            part = more
        body = part.removesuffix(b"\n")
        digest.update(body)
        content = whole.removesuffix(b"\n") if size == 0 else None
        yield Line(content, digest.hexdigest(), size + len(body), part.endswith(b"\n"))


def _short(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    if seconds < 120:  # noqa: PLR2004 - two minutes are told in seconds
        return f"{seconds} seconds"
    if seconds < 7200:  # noqa: PLR2004 - two hours in minutes
        return f"{seconds // 60} minutes"
    return f"{seconds // 3600} hours" if seconds < 172_800 else f"{seconds // 86_400} days"  # noqa: PLR2004
