"""The spans of time that decided what belongs to a cell, with their bounds for its row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import duckdb
from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block
from engine.diagnosis.lineage.leaves import Passage
from engine.diagnosis.lineage.model import EPOCH, Value, Window

_TIMES = ("time", "date", "offset")


@dataclass(frozen=True)
class _Bound:
    lower: bool
    at: datetime
    rule: str
    strict: bool


def windows(
    con: duckdb.DuckDBPyConnection, passages: Iterable[Passage], key: Mapping[str, Value]
) -> tuple[Window, ...]:
    """Bounds that the passages' conditions set, worked out for the row of `key`.

    Only conditions whose other side is one value for this row become a window.
    """
    found: dict[Window, None] = {}
    for passage in passages:
        bounds = [
            bound
            for condition in passage.block.met(passage.alias)
            for bound in _bounds(con, passage, condition, key)
        ]
        if not bounds:
            continue
        starts = [b for b in bounds if b.lower]
        ends = [b for b in bounds if not b.lower]
        start = max(starts, key=lambda b: (b.at, b.strict)) if starts else None
        end = min(ends, key=lambda b: (b.at, not b.strict)) if ends else None
        if start is not None and end is not None and start.at > end.at:
            continue  # not of this row
        rules = " AND ".join(b.rule for b in (start, end) if b is not None)
        found.setdefault(
            Window(
                start.at if start else None,
                end.at if end else None,
                rules,
                (bool(start and start.strict), bool(end and end.strict)),
            )
        )
    return tuple(found)


def _bounds(
    con: duckdb.DuckDBPyConnection,
    passage: Passage,
    condition: exp.Expr,
    key: Mapping[str, Value],
) -> Iterator[_Bound]:
    block, alias = passage.block, passage.alias
    if isinstance(condition, exp.Between):
        for kind, side in ((exp.GTE, "low"), (exp.LTE, "high")):
            part = kind(this=condition.this.copy(), expression=condition.args[side].copy())
            yield from _bounds(con, passage, part, key)
        return
    if not isinstance(condition, (exp.GT, exp.GTE, exp.LT, exp.LTE)):
        return
    left, right = condition.this, condition.expression
    mine = [{a for a, _ in block.columns(side)} == {alias} for side in (left, right)]
    if mine == [False, True]:
        left, right = right, left
        lower = isinstance(condition, (exp.LT, exp.LTE))
    elif mine == [True, False]:
        lower = isinstance(condition, (exp.GT, exp.GTE))
    else:
        return
    names = [n for a, n in block.columns(left) if a == alias]
    if not names or not all(any(t in n for t in _TIMES) for n in names):
        return
    if not isinstance(left, exp.Column):
        return
    at = _as_time(bound_value(con, block, right, key))
    if at is not None:
        strict = isinstance(condition, (exp.LT, exp.GT))
        yield _Bound(lower, at, condition.sql(dialect="duckdb", comments=False), strict)


def bound_value(
    con: duckdb.DuckDBPyConnection, block: Block, bound: exp.Expr, key: Mapping[str, Value]
) -> Value:
    """One side of a condition for the row of `key`; None where it is not one value."""
    aliases = {a for a, _ in block.columns(bound)}
    if not aliases:
        return _fetch(con, exp.select(bound.copy()), [])
    if len(aliases) > 1:
        return None
    alias = aliases.pop()
    relation = block.scope.aliases[alias].relation
    shared = [name for name in key if name in relation.columns]
    if not shared:
        return None
    node = next(
        (t for t in block.select.find_all(exp.Table, exp.Subquery) if _called(t) == alias), None
    )
    if node is None:
        return None
    query = exp.select(exp.alias_(bound.copy(), "bound")).distinct().from_(node.copy())
    for name in shared:
        query = query.where(
            exp.EQ(this=exp.column(name, table=alias), expression=exp.Placeholder())
        )
    if (with_ := block.with_) is not None:
        query.set("with_", with_.copy())
    return _fetch(con, query, [key[name] for name in shared])


def _called(node: exp.Expr) -> str:
    return (node.alias or node.name).lower()


def _fetch(con: duckdb.DuckDBPyConnection, query: exp.Select, values: list[Value]) -> Value | None:
    try:
        rows = con.execute(query.sql(dialect="duckdb", comments=False), values).fetchmany(2)
    except duckdb.Error:
        return None  # a bound that cannot be worked out alone is not shown
    return rows[0][0] if len(rows) == 1 else None


def _as_time(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return EPOCH + timedelta(minutes=float(value))
    return None
