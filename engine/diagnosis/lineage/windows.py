"""The spans of time that decided what belongs to a cell, with their bounds for its row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

import duckdb
from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block, conjuncts
from engine.diagnosis.lineage.conditions import is_only_of, text_of
from engine.diagnosis.lineage.frames import filled, told
from engine.diagnosis.lineage.leaves import Passage
from engine.diagnosis.lineage.model import EPOCH, Value, Window

_TIMES = ("time", "date", "offset")
_ENDS = ("end", "stop")
"""In names of columns that say until when something lasts."""
_MOST_CHOICES = 64
_MOST_ROWS = 1000
"""Rows of other relations that the bounds of one window are worked out for."""
_MOST = 8
"""Windows of one condition in the picture; of more those that overlap are pictured as one."""


@dataclass(frozen=True)
class Side:
    """A condition read as a bound of a relation's time."""

    lower: bool
    """Is it where the window begins?"""
    column: str
    """The relation's column."""
    strict: bool
    """Does the bound itself not count?"""
    at: exp.Expr
    """The bound, of other relations."""


@dataclass(frozen=True)
class _Bound:
    lower: bool
    column: str
    at: datetime
    rule: str
    strict: bool


def windows(
    con: duckdb.DuckDBPyConnection, passages: Iterable[Passage], key: Mapping[str, Value]
) -> tuple[Window, ...]:
    """Bounds that one way's conditions set on the events, worked out for the row of `key`.

    Only conditions whose other side is one value for this row become a window.
    """
    found: dict[Window, None] = {}
    for passage in passages:
        conditions = [c for c in passage.conditions if passage.bounds_events(c)]
        window = _window(con, passage, conditions, key)
        if window is not None:
            found.setdefault(window)
    return tuple(found)


def pictured(
    con: duckdb.DuckDBPyConnection, passages: Iterable[Passage], key: Mapping[str, Value]
) -> tuple[Window, ...]:
    """All spans of time that one way's conditions speak of, for the picture.

    Beside `windows` those of another time that chose the events (the gas that a setting was read
    for), those that give a choice (a culture by its time, or by its date; each suspicion of a
    stay), of which a row need not lie in each; and those that what lasts has to cover whole (the
    piece of a time line that an infusion's rate is read for). Where one condition has more than 8,
    those that overlap are one. A window is open on a side only where nothing bounds that side, and
    where it is the only one: that a setting was read for any of many later gases is no span.
    """
    found: dict[Window, None] = {}
    for passage in passages:
        here = dict.fromkeys(
            window
            for conditions in _choices(passage, passage.conditions)
            for window in _each(con, passage, conditions, key)
        )
        found |= {w: None for w in here if not any(_closes(other, w) for other in here)}
    return tuple(found)


def _choices(passage: Passage, conditions: Iterable[exp.Expr]) -> list[list[exp.Expr]]:
    """The sets of conditions that a row can meet, one of them whole: one per branch of each OR.

    An OR that sets no bound is left as it is; so is one that would make more than 64 sets.
    """
    sets: list[list[exp.Expr]] = [[]]
    for condition in conditions:
        bare = condition.unnest()
        more = [[condition]]
        if isinstance(bare, exp.Or) and _sets_bounds(passage, bare):
            sides = [_choices(passage, conjuncts(side)) for side in (bare.left, bare.right)]
            more = [choice for side in sides for choice in side]
        if len(sets) * len(more) > _MOST_CHOICES:
            more = [[condition]]
        sets = [[*known, *choice] for known in sets for choice in more]
    return sets


def _each(
    con: duckdb.DuckDBPyConnection,
    passage: Passage,
    conditions: Iterable[exp.Expr],
    key: Mapping[str, Value],
) -> Iterator[Window]:
    """The windows that conditions set together: one per row of the relations that bound it."""
    asked = [each for c in conditions for each in _sides(passage, c)]
    by_relation: dict[frozenset[str], list[tuple[Side, str]]] = {}
    for side, rule in asked:
        by_relation.setdefault(frozenset(passage.block.read(side.at)), []).append((side, rule))
    known: list[list[list[_Bound]]] = []
    for sides in by_relation.values():
        rows = _rows(con, passage.block, [side.at for side, _ in sides], key)
        if rows:
            known.append(
                [
                    [
                        _Bound(side.lower, side.column, at, rule, side.strict)
                        for (side, rule), at in zip(sides, row, strict=True)
                    ]
                    for row in rows
                ]
            )
    several = math.prod(len(rows) for rows in known)
    if several > _MOST_ROWS:
        return
    found: list[Window] = []
    for combined in itertools.product(*known):
        bounds = [bound for row in combined for bound in row]
        # Half a window would say that the other side is open.
        if {b.lower for b in bounds} == {side.lower for side, _ in asked}:
            window = _joined(bounds, covered=several <= _MOST)
            found += [] if window is None or (several > 1 and not _lasts(window)) else [window]
    spans = found if several <= _MOST else _united(found)
    yield from spans if len(spans) <= _MOST else []


def _lasts(window: Window) -> bool:
    """Has it two bounds, and time between them? Of many pairs of rows, others tell nothing."""
    return None not in (window.start, window.end) and window.start != window.end


def _united(windows: Iterable[Window]) -> list[Window]:
    """Windows with both bounds: those that overlap as one, in order of time."""
    whole = [(w.start, w.end, w) for w in windows if w.start is not None and w.end is not None]
    united: list[tuple[datetime, datetime, Window]] = []
    for start, end, window in sorted(whole, key=lambda each: each[:2]):
        if not united or start >= united[-1][1]:
            united.append((start, end, window))
        elif end > united[-1][1]:
            begin, _, first = united[-1]
            without = (first.without[0], window.without[1])
            united[-1] = (begin, end, Window(begin, end, first.rule, without))
    return [window for _, _, window in united]


def _sides(passage: Passage, condition: exp.Expr) -> Iterator[tuple[Side, str]]:
    """The bounds that a condition sets, each with its rule."""
    for part in _compared(condition):
        side = bound_of(passage, part)
        if side is not None:
            yield side, told(part)


def _sets_bounds(passage: Passage, condition: exp.Expr) -> bool:
    below = condition.walk(prune=lambda node: isinstance(node, (exp.Exists, exp.Select)))
    return any(True for node in below for _ in _sides(passage, node))


def _rows(
    con: duckdb.DuckDBPyConnection,
    block: Block,
    bounds: Sequence[exp.Expr],
    key: Mapping[str, Value],
) -> list[list[datetime]]:
    """Bounds of one relation worked out for each of its rows that are of the row of `key`.

    Empty where there are more than 1000, or they cannot be worked out from one relation.
    """
    here = [filled(bound, key) for bound in bounds]
    texts = [text_of(bound) for bound in here if bound is not None]
    query = None if len(texts) < len(here) else _query(block, bounds[0], texts, key, narrowed=True)
    rows = [] if query is None else _fetch(con, *query, _MOST_ROWS + 1)
    times = [[_as_moment(value) for value in row] for row in rows]
    whole = [[at for at in row if at is not None] for row in times]
    return whole if len(rows) <= _MOST_ROWS and None not in itertools.chain(*times) else []


def _closes(window: Window, half: Window) -> bool:
    """Is it `half` with the side closed that is open there?"""
    if half.start is not None and half.end is not None:
        return False
    closed = window.start is not None and window.end is not None
    same = window.start == half.start if half.end is None else window.end == half.end
    return closed and same


def _window(
    con: duckdb.DuckDBPyConnection,
    passage: Passage,
    conditions: Iterable[exp.Expr],
    key: Mapping[str, Value],
) -> Window | None:
    return _joined([bound for c in conditions for bound in _bounds(con, passage, c, key)])


def _joined(bounds: Sequence[_Bound], *, covered: bool = False) -> Window | None:
    """The window that all bounds leave; `covered`: or the span that what lasts has to cover."""
    starts = [b for b in bounds if b.lower]
    ends = [b for b in bounds if not b.lower]
    start = max(starts, key=lambda b: (b.at, b.strict)) if starts else None
    end = min(ends, key=lambda b: (b.at, not b.strict)) if ends else None
    if start is None and end is None:
        return None
    rule = " AND ".join(b.rule for b in (start, end) if b is not None)
    if start is not None and end is not None and start.at > end.at:
        # It has to start before the span and to end after it.
        if covered and "start" in end.column and any(e in start.column for e in _ENDS):
            return Window(end.at, start.at, rule)
        return None  # not of this row
    # An end from here on and a start up to there: what lasts has to meet the span, and may
    # begin or end on a bound that a moment may not lie on.
    meets = start is not None and end is not None and start.column != end.column
    return Window(
        start.at if start else None,
        end.at if end else None,
        rule,
        (bool(start and start.strict and not meets), bool(end and end.strict and not meets)),
    )


def _bounds(
    con: duckdb.DuckDBPyConnection,
    passage: Passage,
    condition: exp.Expr,
    key: Mapping[str, Value],
) -> Iterator[_Bound]:
    for part in _compared(condition):
        bound = bound_of(passage, part)
        if bound is None:
            continue
        here = filled(bound.at, key)
        at = None if here is None else _as_time(bound_value(con, passage.block, here, key))
        if at is not None:
            yield _Bound(bound.lower, bound.column, at, told(part), bound.strict)


def _compared(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The condition; a BETWEEN as the two comparisons that it is."""
    if not isinstance(condition, exp.Between):
        yield condition
        return
    for kind, side in ((exp.GTE, "low"), (exp.LTE, "high")):
        yield kind(this=condition.this.copy(), expression=condition.args[side].copy())


def bound_of(passage: Passage, condition: exp.Expr) -> Side | None:
    """The condition as a bound of the passage's relation; None if it is none.

    ``start <= charttime + INTERVAL 72 HOURS`` bounds charttime by ``start - INTERVAL 72 HOURS``.
    """
    if not isinstance(condition, (exp.GT, exp.GTE, exp.LT, exp.LTE)):
        return None
    block, alias = passage.block, passage.alias
    left, right = condition.this, condition.expression
    mine = [block.read(side) == {alias} for side in (left, right)]
    lower = isinstance(condition, (exp.GT, exp.GTE))
    if mine == [False, True]:
        left, right, lower = right, left, not lower
    elif mine != [True, False]:
        return None
    strict = isinstance(condition, (exp.LT, exp.GT))
    if isinstance(left, (exp.Add, exp.Sub)) and not block.read(left.expression):
        opposite = exp.Sub if isinstance(left, exp.Add) else exp.Add
        right = opposite(this=exp.Paren(this=right.copy()), expression=left.expression.copy())
        left = left.this
    if not isinstance(left, exp.Column) or not any(t in left.name.lower() for t in _TIMES):
        return None
    return Side(lower, left.name.lower(), strict, right)


def bound_value(
    con: duckdb.DuckDBPyConnection, block: Block, bound: exp.Expr, key: Mapping[str, Value]
) -> Value:
    """One side of a condition for the row of `key`; None where it is not one value."""
    query = _query(block, bound, [text_of(bound)], key)
    rows = [] if query is None else _fetch(con, *query, 2)
    return rows[0][0] if len(rows) == 1 else None


def _query(
    block: Block,
    bound: exp.Expr,
    texts: Sequence[str],
    key: Mapping[str, Value],
    *,
    narrowed: bool = False,
) -> tuple[str, list[Value]] | None:
    """SQL for `texts` of the rows of the one relation that a bound reads; None where it is not one.

    Args:
        block: the SELECT with the bound.
        bound: one side of a condition.
        texts: what to select, in SQL, all of that relation.
        key: values that its rows have to have.
        narrowed: only rows that meet what the SELECT asks of the relation alone, and that have a
            value for each of the texts: a bound that is null is met by nothing.
    """
    aliases = block.read(bound)
    what = f"SELECT DISTINCT {', '.join(texts)}"
    if not aliases:
        return what, []
    if len(aliases) > 1:
        return None
    alias = aliases.pop()
    owner = block.of(alias)
    node = None if owner is None else owner.node(alias)
    if owner is None or node is None:
        return None
    shared = [name for name in key if name in owner.scope.aliases[alias].relation.columns]
    if not shared:
        return None
    where = [f"{alias}.{name} = ?" for name in shared]
    if narrowed:
        where += [f"({text}) IS NOT NULL" for text in texts]
        where += [
            f"({text_of(condition)})"
            for condition in owner.conditions
            if is_only_of(owner, condition, alias)
            and all(owner.scope.find(column) for column in condition.find_all(exp.Column))
        ]
    return (
        f"{owner.with_sql} {what} FROM {text_of(node)} WHERE {' AND '.join(where)}",
        [key[name] for name in shared],
    )


def _fetch(
    con: duckdb.DuckDBPyConnection, query: str, values: list[Value], most: int
) -> list[tuple[Any, ...]]:
    try:
        return con.execute(query, values).fetchmany(most)
    except duckdb.Error:
        return []  # a bound that cannot be worked out alone is not shown


def _as_time(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return EPOCH + timedelta(minutes=float(value))
    return None


def _as_moment(value: object) -> datetime | None:
    """As `_as_time`; a date, which is compared with times as its midnight, too."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time.min)
    return _as_time(value)
