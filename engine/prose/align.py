"""Units of two versions put beside each other: the same, changed, moved, added, removed.

`difflib` aligns units that are the same; between them, units that have most words in common are
taken for one that changed, in order; what is left over and occurs elsewhere has moved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from engine.prose.model import CellChange, Change, ChangeKind, Piece, ProseDiff, Step, Unit
from engine.prose.reading import read_units

_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+|\s+|[^\w\s]")
_SAME = 0.5
"""Share of words that two units have in common where one is the other, changed."""
_MOVED = 0.8
"""As `_SAME`, of units at different places."""
_WORDS = 4
"""Words that a unit has at least, for it to have moved."""
_PAIRS = 250_000
"""Pairs of units that are looked at within one stretch; beyond, they count as added and removed."""


def compare_texts(before: str, after: str) -> ProseDiff:
    """What became of a text, by section, sentence and table cell.

    Args:
        before: the earlier version, Markdown.
        after: the later version.
    """
    old, new = read_units(before), read_units(after)
    pairs = _aligned(old, new)
    _add_moved(old, new, pairs)
    return ProseDiff(old, new, tuple(_steps(old, new, pairs)))


_Pair = tuple[int, int]


def _key(unit: Unit) -> tuple[str, str]:
    return unit.kind, unit.text


def _aligned(old: Sequence[Unit], new: Sequence[Unit]) -> dict[int, tuple[int, bool]]:
    """Earlier unit to later unit, and whether the pair is in order (it has not moved)."""
    found: dict[int, tuple[int, bool]] = {}
    matcher = SequenceMatcher(None, [_key(u) for u in old], [_key(u) for u in new], autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        if what == "equal":
            found |= {a: (b, True) for a, b in zip(range(i, j), range(k, m), strict=True)}
        elif what == "replace":
            found |= {i + a: (k + b, True) for a, b in _alike(old[i:j], new[k:m])}
    return found


def _words(unit: Unit) -> Counter[str]:
    return Counter(w for w in _WORD.findall(unit.text.lower()) if w.strip(" |\t\n"))


def _alike(old: Sequence[Unit], new: Sequence[Unit]) -> list[_Pair]:
    """Pairs in order with the most words in common altogether."""
    if len(old) * len(new) > _PAIRS:
        return []
    ours, theirs = [_words(u) for u in old], [_words(u) for u in new]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    likeness: dict[_Pair, float] = {}
    for a in range(len(old) - 1, -1, -1):
        for b in range(len(new) - 1, -1, -1):
            best[a][b] = max(best[a + 1][b], best[a][b + 1])
            if old[a].kind == new[b].kind:
                like = _likeness(ours[a], theirs[b])
                if like >= _SAME:
                    likeness[a, b] = like
                    best[a][b] = max(best[a][b], like + best[a + 1][b + 1])
    found, a, b = list[_Pair](), 0, 0
    while a < len(old) and b < len(new):
        if (a, b) in likeness and best[a][b] == likeness[a, b] + best[a + 1][b + 1]:
            found.append((a, b))
            a, b = a + 1, b + 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            b += 1
    return found


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """From 0 to 1: twice the words in common by the words of both."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _add_moved(
    old: Sequence[Unit], new: Sequence[Unit], pairs: dict[int, tuple[int, bool]]
) -> None:
    taken = {b for b, _ in pairs.values()}
    gone = {a: _words(old[a]) for a in range(len(old)) if a not in pairs}
    come = {b: _words(new[b]) for b in range(len(new)) if b not in taken}
    gone = {a: words for a, words in gone.items() if words.total() >= _WORDS}
    come = {b: words for b, words in come.items() if words.total() >= _WORDS}
    for exact in (True, False):
        if not exact and len(gone) * len(come) > _PAIRS:
            return
        for a, words in list(gone.items()):
            if exact:
                fits = [(1.0, b) for b in come if _key(new[b]) == _key(old[a])]
            else:
                fits = [
                    (like, b)
                    for b, others in come.items()
                    if new[b].kind == old[a].kind and (like := _likeness(words, others)) >= _MOVED
                ]
            if fits:
                _, b = max(fits, key=lambda fit: (fit[0], -fit[1]))
                pairs[a] = (b, False)
                del gone[a], come[b]


def _steps(
    old: Sequence[Unit], new: Sequence[Unit], pairs: dict[int, tuple[int, bool]]
) -> list[Step]:
    steps: list[Step] = []
    moved = {b: _change(old, new, a, b, moved=True) for a, (b, still) in pairs.items() if not still}
    came = {b: a for a, (b, still) in pairs.items() if still}
    a = 0
    for b in [*range(len(new)), len(new)]:
        end = len(old) if b == len(new) else came.get(b, a)
        for left in range(a, end):  # what went before this one
            there = pairs.get(left)
            change = moved[there[0]] if there else Change("removed", left, None)
            steps.append(Step(left, None, change))
        a = max(a, end)
        if b == len(new):
            break
        if b in came:
            steps.append(Step(a, b, _change(old, new, a, b)))
            a += 1
        else:
            steps.append(Step(None, b, moved.get(b) or Change("added", None, b)))
    return steps


def _change(
    old: Sequence[Unit], new: Sequence[Unit], a: int, b: int, *, moved: bool = False
) -> Change | None:
    one, other = old[a], new[b]
    if one.text == other.text:
        if moved:
            return Change("moved", a, b)
        return None if one.gap == other.gap else Change("layout", a, b)
    cells = _cells(one, other) if one.kind == "row" else ()
    kind: ChangeKind = "moved" if moved else "changed" if cells or one.kind != "row" else "layout"
    return Change(kind, a, b, pieces_of(one.text, other.text), cells)


def pieces_of(before: str, after: str) -> tuple[Piece, ...]:
    """The words of both, told apart."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    found: list[Piece] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        if what == "equal":
            found.append(Piece("same", "".join(old[i:j])))
            continue
        if i < j:
            found.append(Piece("removed", "".join(old[i:j])))
        if k < m:
            found.append(Piece("added", "".join(new[k:m])))
    return tuple(found)


def _cells(one: Unit, other: Unit) -> tuple[CellChange, ...]:
    """The cells that changed, put together by the heads of their columns."""
    found: list[CellChange] = []
    heads = [c.column.lower() for c in one.cells], [c.column.lower() for c in other.cells]
    matcher = SequenceMatcher(None, *heads, autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        if what == "equal" or j - i == m - k:
            for left, right in zip(one.cells[i:j], other.cells[k:m], strict=True):
                if left.text != right.text:
                    found.append(CellChange(right.column, pieces_of(left.text, right.text)))
            continue
        found += [CellChange(c.column, (Piece("removed", c.text),)) for c in one.cells[i:j]]
        found += [CellChange(c.column, (Piece("added", c.text),)) for c in other.cells[k:m]]
    return tuple(found)
