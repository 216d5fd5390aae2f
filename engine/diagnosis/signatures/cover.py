"""Which few hypotheses explain the most mismatches together, without counting a cell twice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.diagnosis.model import Rows, Signature
from engine.diagnosis.signatures.candidate import KEYS, Candidate, RowList, ranges
from engine.diagnosis.signatures.names import PRIOR, TITLES
from engine.diagnosis.table import Table

MOST = 8
"""Signatures of one list."""
_LEAST_SHARE = 0.02
"""Of the mismatches that a further signature must add."""
_PARTLY = 0.5
"""Weight of a contradiction of a hypothesis that may hold for some rows only."""
_LOOSE = 0.5
"""Weight of what a hypothesis explains that says of what kind a difference is, but no value."""
_SAME_PLACE = 3
"""Equal changes of one place that are named with the first."""
_SPELT = {2: "Two", 3: "Three", 4: "Four"}
_FREE_LEAST = 3
"""Cells that a hypothesis must explain whose parameter was taken from the cells."""


@dataclass(frozen=True)
class Chosen:
    """A candidate in its place."""

    candidate: Candidate
    gained: int
    alike: tuple[Candidate, ...]


def greedy(
    candidates: Sequence[Candidate],
    mismatches: Mapping[int, RowList],
    weights: Mapping[int, int] | None = None,
) -> tuple[list[Chosen], dict[int, RowList]]:
    """Take the best candidate, strike out what it explains, and again.

    A hypothesis also predicts that what matches stays as it is. A cell that matches though it
    predicts otherwise weighs against it: whole where it says what every row would be, half where
    it may hold for some rows only.

    Args:
        candidates: tested hypotheses.
        mismatches: what is to be explained: column position to rows.
        weights: how many cells a row of a position stands for; 1 where not given.

    Returns:
        The chosen, and what none of them explains.
    """
    weights = weights or {}
    outside = _outside(candidates)
    left = {
        position: rest
        for position, rows in mismatches.items()
        if (rest := _without(rows, outside.get(position))).size
    }
    part = _weight(left, {}) / max(1, _weight(mismatches, {}))
    total = _weight(left, weights)
    chosen: list[Chosen] = []
    pool = list(candidates)
    while pool and left and len(chosen) < MOST:
        scored = [(_score(c, left, weights, part), c) for c in pool]
        best_score, best = max(scored, key=lambda pair: (pair[0], *_preference(pair[1])))
        best = _rule_around(best, scored, best_score, left)
        gained = _gain(best, left, weights)
        least = max(1, math.ceil(_LEAST_SHARE * total)) if chosen else 1
        if best_score <= 0 or gained < least or (best.free and _gain(best, left, {}) < _FREE_LEAST):
            pool = _but(pool, best)
            if best_score <= 0:
                break
            continue
        alike = tuple(
            c
            for score, c in scored
            if c is not best and score == best_score and _same_cells(c, best, left)
        )
        cells = sum(_count(best.cells[p], rows) for p, rows in left.items() if p in best.cells)
        chosen.append(Chosen(best, cells, alike))
        left = {
            position: rest
            for position, rows in left.items()
            if (rest := _without(rows, best.cells.get(position))).size
        }
        pool = _but(pool, best)
    return chosen, left


def _weight(cells: Mapping[int, RowList], weights: Mapping[int, int]) -> int:
    return sum(int(rows.size) * weights.get(p, 1) for p, rows in cells.items())


def _gain(c: Candidate, left: Mapping[int, RowList], weights: Mapping[int, int]) -> int:
    return sum(
        _count(rows, left[position]) * weights.get(position, 1)
        for position, rows in c.cells.items()
        if position in left
    )


def _count(one: RowList, other: RowList) -> int:
    return int(np.isin(one, other, assume_unique=True).sum())


def _outside(candidates: Sequence[Candidate]) -> dict[int, RowList]:
    """What the computed ones were not asked of: all are compared on the rest."""
    found: dict[int, RowList] = {}
    for c in candidates:
        for position, rows in c.untested.items():
            if position in found:
                rows = np.intersect1d(found[position], rows)  # noqa: PLW2901
            found[position] = rows
    return found


def _score(
    c: Candidate, left: Mapping[int, RowList], weights: Mapping[int, int], part: float
) -> float:
    gain = _gain(c, left, weights)
    fine = (0.9 if c.free else 1.0) * (_LOOSE if c.loose else 1.0)
    # Of a hypothesis about keys alone each contradiction is a row, which stands for all columns.
    broken = c.broken * (weights.get(KEYS, 1) if set(c.cells) == {KEYS} else 1)
    if c.evidence == "values":
        broken = round(broken * part)  # counted on all rows, the gain on part of them
    if c.evidence == "source" or c.strict:
        return fine * gain - broken
    return fine * gain - _PARTLY * broken


def _preference(c: Candidate) -> tuple[float, ...]:
    """Among equals: by the order of the names, then the plainer."""
    extra = c.change is not None and len(c.change.before) + len(c.change.after)
    return (-PRIOR[c.id], -float(extra))


def _rule_around(
    c: Candidate,
    scored: Sequence[tuple[float, Candidate]],
    score: float,
    left: Mapping[int, RowList],
) -> Candidate:
    """The rule whose condition never holds without a length of time, where that explains the same.

    Then it is the rule that is not there, not a length.
    """
    if c.change is None or c.id != "window" or c.parameters.get("length") != 0:
        return c
    return next(
        (
            other
            for their, other in scored
            if other.id == "rule-dropped"
            and their == score
            and other.change is not None
            and other.change.query == c.change.query
            and c.change.before in other.change.before
            and _same_cells(other, c, left)
        ),
        c,
    )


def _same_cells(one: Candidate, other: Candidate, left: Mapping[int, RowList]) -> bool:
    for position in left:
        a, b = one.cells.get(position), other.cells.get(position)
        size_a, size_b = (0 if a is None else a.size), (0 if b is None else b.size)
        if size_a != size_b or (a is not None and b is not None and not np.array_equal(a, b)):
            return False
    return True


def _without(rows: RowList, gone: RowList | None) -> RowList:
    return rows if gone is None else rows[~np.isin(rows, gone, assume_unique=True)]


def signature(
    table: Table, chosen: Chosen, mismatches: Mapping[int, RowList], positions: Iterable[int]
) -> Signature:
    """A chosen candidate in the form that is shown, over the columns `positions`."""
    c = chosen.candidate
    mine = [p for p in positions if p in c.cells and c.cells[p].size]
    rows = _union([c.cells[p] for p in mine])
    against = _union(
        [
            _without(_without(mismatches[p], c.cells[p]), c.untested.get(p))
            for p in mine
            if p in mismatches
        ]
    )
    condition = c.condition if c.condition and len(mine) == 1 else None
    names = {column.position: column.name for column in table.columns}
    found = Signature(
        id=c.id,
        title=TITLES[c.id],
        words=f"{c.words}{_untold(chosen)}",
        predicts=c.predicts,
        columns=tuple(names[p] for p in sorted(mine) if p != KEYS),
        evidence=c.evidence,
        parameters=dict(c.parameters),
        explained=sum(int(c.cells[p].size) for p in mine),
        tested=sum(c.tested.get(p, 0) for p in mine),
        gained=chosen.gained,
        broken=c.broken,
        rows=Rows(condition, int(rows.size)) if condition else ranges(rows),
        against=ranges(against),
        counter_example=c.counter_example if c.broken else None,
        change=c.change,
        alike=tuple(dict.fromkeys(other.words for other in chosen.alike))[:6],
        local_words=c.local_words,
    )
    together = len(found.changes)
    # The first of several mistakes names none of the others.
    return found if together < 2 else replace(found, title=f"{_SPELT[together]} changes together")  # noqa: PLR2004 - one is alone


def _untold(chosen: Chosen) -> str:
    """What other changes of the very same place explain just the same cells: none is first."""
    change = chosen.candidate.change
    if change is None:
        return ""
    start = "Consistent with "
    others = [
        other.words.removeprefix(start).rstrip(".")
        for other in chosen.alike
        if other.change is not None
        and other.words != chosen.candidate.words
        and (other.change.query, other.change.before) == (change.query, change.before)
    ]
    told = list(dict.fromkeys(others))[:_SAME_PLACE]
    return f" These cells do not tell it from {'; or '.join(told)}." if told else ""


def _union(parts: Sequence[RowList]) -> RowList:
    if not parts:
        return np.empty(0, dtype=np.int64)
    return np.unique(np.concatenate(parts))


def _but(pool: list[Candidate], one: Candidate) -> list[Candidate]:
    """All but this one; by identity, since candidates hold arrays that have no plain equality."""
    return [other for other in pool if other is not one]
