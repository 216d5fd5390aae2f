"""Three-way merge by lines: what only one side changed is taken, the rest is put side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_MANY = 3_000
"""Lines above which frequent ones are no anchors: quicker, and still right."""

Kind = Literal["same", "mine", "theirs", "both", "conflict"]
"""Nobody changed it; only I; only they; both in the same way; both, differently."""


@dataclass(frozen=True)
class Piece:
    """A run of lines in three versions."""

    kind: Kind
    """Who changed it."""
    base: tuple[str, ...]
    """As it was when both began."""
    mine: tuple[str, ...]
    """As it stands in the editor."""
    theirs: tuple[str, ...]
    """As it stands on disk."""

    @property
    def taken(self) -> tuple[str, ...]:
        """The lines that go without asking; of a conflict mine."""
        return self.theirs if self.kind == "theirs" else self.mine


@dataclass(frozen=True)
class Merge:
    """Two changed versions of one text, brought together as far as nobody has to decide."""

    pieces: tuple[Piece, ...]
    """In order; their lines make each version whole."""

    @property
    def conflicts(self) -> tuple[int, ...]:
        """Numbers of the pieces that somebody has to decide about."""
        return tuple(n for n, piece in enumerate(self.pieces) if piece.kind == "conflict")

    def text(self, decided: Mapping[int, Sequence[str]] | None = None) -> str:
        """The merged text.

        Args:
            decided: the lines that were chosen, by number of piece.

        Raises:
            KeyError: a conflict is not decided.
        """
        lines: list[str] = []
        for number, piece in enumerate(self.pieces):
            if piece.kind == "conflict":
                lines += (decided or {})[number]
            else:
                lines += piece.taken
        return "\n".join(lines)


def matches(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lines: begin in `one`, begin in `other`, length; in order, without overlap."""
    least = min(len(one), len(other))
    low = next((n for n in range(least) if one[n] != other[n]), least)
    back = next((n for n in range(least - low) if one[-1 - n] != other[-1 - n]), least - low)
    if low:
        yield 0, 0, low
    left, right = one[low : len(one) - back], other[low : len(other) - back]
    if left and right:
        matcher = SequenceMatcher(None, left, right, autojunk=len(left) > _MANY)
        for begin, there, size in matcher.get_matching_blocks():
            if size:
                yield begin + low, there + low, size
    if back:
        yield len(one) - back, len(other) - back, back


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Bring two changed versions of `base` together."""
    lines = base.split("\n"), mine.split("\n"), theirs.split("\n")
    pieces: list[Piece] = []
    at = (0, 0, 0)
    for begin, in_mine, in_theirs, size in _anchors(*lines):
        _between(pieces, lines, at, (begin, in_mine, in_theirs))
        same = tuple(lines[0][begin : begin + size])
        pieces.append(Piece("same", same, same, same))
        at = (begin + size, in_mine + size, in_theirs + size)
    _between(pieces, lines, at, (len(lines[0]), len(lines[1]), len(lines[2])))
    return Merge(tuple(pieces))


def _anchors(
    base: list[str], mine: list[str], theirs: list[str]
) -> Iterator[tuple[int, int, int, int]]:
    """Runs that all three have: begin in each, length."""
    left, right = list(matches(base, mine)), list(matches(base, theirs))
    i = j = 0
    while i < len(left) and j < len(right):
        one, other = left[i], right[j]
        begin = max(one[0], other[0])
        end = min(one[0] + one[2], other[0] + other[2])
        if begin < end:
            yield begin, one[1] + begin - one[0], other[1] + begin - other[0], end - begin
        if one[0] + one[2] < other[0] + other[2]:
            i += 1
        else:
            j += 1


def _between(
    pieces: list[Piece],
    lines: tuple[list[str], list[str], list[str]],
    begin: tuple[int, int, int],
    end: tuple[int, int, int],
) -> None:
    base, mine, theirs = (tuple(text[a:z]) for text, a, z in zip(lines, begin, end, strict=True))
    kind: Kind
    if not (base or mine or theirs):
        return
    if mine == theirs:
        kind = "both"
    elif mine == base:
        kind = "theirs"
    elif theirs == base:
        kind = "mine"
    else:
        kind = "conflict"
    pieces.append(Piece(kind, base, mine, theirs))
