"""The spans of time that decided what belongs to a cell, with their bounds for its row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import duckdb
from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block, conjuncts
from engine.diagnosis.lineage.conditions import text_of
from engine.diagnosis.lineage.frames import filled, told
from engine.diagnosis.lineage.leaves import Passage
from engine.diagnosis.lineage.model import EPOCH, Value, Window

_TIMES = ("time", "date", "offset")


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
        conditions = [c for c in passage.conditions if _bounds_events(passage, c)]
        window = _window(con, passage, conditions, key)
        if window is not None:
            found.setdefault(window)
    return tuple(found)


def pictured(
    con: duckdb.DuckDBPyConnection, passages: Iterable[Passage], key: Mapping[str, Value]
) -> tuple[Window, ...]:
    """All spans of time that one way's conditions speak of, for the picture.

    Beside `windows` those of another time that chose the events (the gas that a setting was read
    for), and those that give a choice (a culture by its time, or by its date): a row need not lie
    in each of them.
    """
    found: dict[Window, None] = {}
    for passage in passages:
        window = _window(con, passage, passage.conditions, key)
        if window is not None:
            found.setdefault(window)
        for condition in passage.conditions:
            for branch in _branches(condition):
                window = _window(con, passage, conjuncts(branch), key)
                if window is not None:
                    found.setdefault(window)
    return tuple(found)


def _bounds_events(passage: Passage, condition: exp.Expr) -> bool:
    """Does it bound a time of the events themselves, not of what they were chosen for?"""
    names = {c.name.lower() for c in condition.find_all(exp.Column)}
    return passage.own is None or bool(names & passage.own)


def _branches(condition: exp.Expr) -> Iterator[exp.Expr]:
    bare = condition.unnest()
    if isinstance(bare, exp.Or):
        for side in (bare.left, bare.right):
            below = list(_branches(side))
            yield from below or [side.unnest()]


def _window(
    con: duckdb.DuckDBPyConnection,
    passage: Passage,
    conditions: Iterable[exp.Expr],
    key: Mapping[str, Value],
) -> Window | None:
    bounds = [bound for c in conditions for bound in _bounds(con, passage, c, key)]
    starts = [b for b in bounds if b.lower]
    ends = [b for b in bounds if not b.lower]
    start = max(starts, key=lambda b: (b.at, b.strict)) if starts else None
    end = min(ends, key=lambda b: (b.at, not b.strict)) if ends else None
    if start is None and end is None:
        return None
    if start is not None and end is not None and start.at > end.at:
        return None  # not of this row
    # An end from here on and a start up to there: what lasts has to meet the span, and may
    # begin or end on a bound that a moment may not lie on.
    meets = start is not None and end is not None and start.column != end.column
    return Window(
        start.at if start else None,
        end.at if end else None,
        " AND ".join(b.rule for b in (start, end) if b is not None),
        (bool(start and start.strict and not meets), bool(end and end.strict and not meets)),
    )


def _bounds(
    con: duckdb.DuckDBPyConnection,
    passage: Passage,
    condition: exp.Expr,
    key: Mapping[str, Value],
) -> Iterator[_Bound]:
    if isinstance(condition, exp.Between):
        for kind, side in ((exp.GTE, "low"), (exp.LTE, "high")):
            part = kind(this=condition.this.copy(), expression=condition.args[side].copy())
            yield from _bounds(con, passage, part, key)
        return
    bound = bound_of(passage, condition)
    if bound is None:
        return
    here = filled(bound.at, key)
    at = None if here is None else _as_time(bound_value(con, passage.block, here, key))
    if at is not None:
        yield _Bound(bound.lower, bound.column, at, told(condition), bound.strict)


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
    aliases = block.read(bound)
    text = text_of(bound)
    if not aliases:
        return _fetch(con, f"SELECT {text}", [])
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
    where = " AND ".join(f"{alias}.{name} = ?" for name in shared)
    from_ = text_of(node)
    return _fetch(
        con,
        f"{owner.with_sql} SELECT DISTINCT {text} FROM {from_} WHERE {where}",  # noqa: S608
        [key[name] for name in shared],
    )


def _fetch(con: duckdb.DuckDBPyConnection, query: str, values: list[Value]) -> Value | None:
    try:
        rows = con.execute(query, values).fetchmany(2)
    except duckdb.Error:
        return None  # a bound that cannot be worked out alone is not shown
    return rows[0][0] if len(rows) == 1 else None


def _as_time(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return EPOCH + timedelta(minutes=float(value))
    return None
