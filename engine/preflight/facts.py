"""What a reference's SQL says: items, numbers, windows and points, over all that it rests on.

The consistency rules hold the texts against these. Everything is read from the syntax
tree; nothing is listed by hand.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify import qualify

from engine.concepts import concept_graph
from engine.concepts.query import DERIVED, Query
from engine.preflight.listed import listed_bands, listed_bounds
from engine.references import find_target

SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "month": 2629746,
    "year": 31556952,
}
"""Length of a unit of time in seconds."""
LARGE = 60
"""A number of at least this may be a length of time in minutes or seconds."""
_NAMED = re.compile(r"(\d+)_?(h|hr|hour|day|month)s?\b|past_(\d+)(day|hr)")
_TIMED = re.compile(r"hours|\dhr\b|\bhr\b|_tm_|minutes|seconds|offset|preiculos")
_SWAPPED = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE}


@dataclass(frozen=True, eq=False)
class ReferenceFacts:
    """What one target's SQL says, with that of every derived table below it.

    Made once for each target, so that it is the same only as itself and can be a key.
    """

    key: tuple[str, ...]
    """The target's key columns."""
    columns: tuple[str, ...]
    """Its columns, in order."""
    concepts: tuple[str, ...]
    """The derived tables that it rests on."""
    items: frozenset[int]
    """Item ids that are read anywhere."""
    needed_items: frozenset[int]
    """Item ids that reach one of the target's columns."""
    numbers: frozenset[float]
    """All numbers, without their signs."""
    durations: frozenset[float]
    """Lengths of time in seconds."""
    bounds: Mapping[float, frozenset[str]]
    """Number to how it bounds: ``low`` (< or ≥), ``high`` (≤ or >)."""
    item_bounds: Mapping[int, frozenset[float]]
    """Item id to the numbers that its values are compared with, where there are any."""
    bands: frozenset[tuple[float, float]]
    """Number of a condition, and the number that is given where it holds."""


@functools.lru_cache(maxsize=64)
def reference_facts(key: str) -> ReferenceFacts:
    """The facts of the target called `key`.

    Raises:
        UsageError: there is no such target.
    """
    target = find_target(key)
    order = concept_graph().order(target.concepts)
    queries = (*order, target)
    trees = [_parsed(query.sql) for query in queries]
    bounds: dict[float, set[str]] = {}
    said = (pair for tree in trees for pair in (*_bounds(tree), *listed_bounds(tree)))
    for number, side in said:
        bounds.setdefault(number, set()).add(side)
    return ReferenceFacts(
        key=target.key,
        columns=tuple(trees[-1].named_selects),
        concepts=tuple(query.name for query in order),
        items=frozenset(item for tree in trees for item in _items(tree)),
        needed_items=_needed_items(queries),
        numbers=frozenset(n for tree in trees for n in _numbers(tree)),
        durations=frozenset(s for tree in trees for s in _durations(tree, key)),
        bounds={number: frozenset(sides) for number, sides in bounds.items()},
        item_bounds=_item_bounds(trees),
        bands=frozenset(p for tree in trees for p in (*_bands(tree), *listed_bands(tree))),
    )


@functools.lru_cache(maxsize=256)
def _parsed(sql: str) -> exp.Query:
    tree = parse_one(sql, dialect="duckdb")
    assert isinstance(tree, exp.Query)  # noqa: S101 - a header is only believed where this holds
    return tree


def output_columns(concept: str) -> tuple[str, ...]:
    """The columns of a derived table, in order."""
    return tuple(_parsed(concept_graph().concepts[concept].sql).named_selects)


def _number(node: exp.Expr | None) -> float | None:
    """The absolute value of a literal, also one with a sign, a cast or in parentheses."""
    while isinstance(node, exp.Neg | exp.Cast | exp.Paren):
        node = node.this
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    return None


def _numbers(tree: exp.Query) -> Iterator[float]:
    for literal in tree.find_all(exp.Literal):
        if isinstance(literal.parent, exp.DataTypeParam):
            continue  # digits of a decimal type
        in_interval = isinstance(literal.parent, exp.Interval) and literal.this.isdigit()
        if in_interval or not literal.is_string:
            yield float(literal.this)


def _durations(tree: exp.Query, key: str) -> Iterator[float]:
    for interval in tree.find_all(exp.Interval):
        unit = str(interval.args.get("unit") or "").lower().rstrip("s")
        if isinstance(interval.this, exp.Literal) and unit in SECONDS:
            yield float(interval.this.this) * SECONDS[unit]
    names = {node.this for node in tree.find_all(exp.Identifier)} | {key.replace("-", "_")}
    for match in (m for name in names for m in _NAMED.finditer(name)):
        unit = (match[2] or match[4])[0]
        yield float(match[1] or match[3]) * SECONDS[{"h": "hour", "d": "day", "m": "month"}[unit]]
    for literal in tree.find_all(exp.Literal):
        if literal.is_string or isinstance(literal.parent, exp.DataTypeParam):
            continue
        number = float(literal.this)
        owner = literal.find_ancestor(exp.Predicate, exp.WindowSpec, exp.Div, exp.Alias)
        timed = _TIMED.search("" if owner is None else owner.alias or owner.sql())
        if isinstance(owner, exp.WindowSpec | exp.Div) or (timed and number >= LARGE):
            yield from (number, number * 60, number / 1_000_000)
        elif timed:
            yield from (number * 60, number * 3600)
        if number % 1:
            yield from (number * 60, number * 3600, number * 86400)


def _items(tree: exp.Expr) -> Iterator[int]:
    for node in tree.find_all(exp.EQ, exp.In, exp.Between):
        column = node.this
        if isinstance(column, exp.Column) and "itemid" in column.name:
            for literal in node.find_all(exp.Literal):
                if not literal.is_string:
                    yield int(literal.this)


def _item_bounds(trees: list[exp.Query]) -> dict[int, frozenset[float]]:
    """From the branch, the filter or the condition that names the item."""
    found: dict[int, set[float]] = {}
    for predicate in (p for tree in trees for p in tree.find_all(exp.EQ, exp.In)):
        around = predicate.find_ancestor(exp.If, exp.Filter, exp.Where)
        if around is not None:
            numbers = {number for number, _ in _compared(around)}
            for item in _items(predicate):
                found.setdefault(item, set()).update(numbers)
    return {item: frozenset(numbers) for item, numbers in found.items() if numbers}


def _bounds(tree: exp.Query) -> Iterator[tuple[float, str]]:
    yield from _compared(tree)
    for equal in tree.find_all(exp.EQ, exp.NEQ, exp.In):
        for literal in equal.find_all(exp.Literal):
            if not literal.is_string:
                yield from ((float(literal.this), side) for side in ("low", "high"))


def _compared(tree: exp.Expr) -> Iterator[tuple[float, str]]:
    """Numbers that something is compared with by size, and how."""
    for node in tree.find_all(exp.LT, exp.GT, exp.LTE, exp.GTE):
        kind = type(node)
        for where, seen in ((node.expression, kind), (node.this, _SWAPPED[kind])):
            number = _number(where)
            if number is not None:
                sides = ("low", "high") if seen in (exp.LT, exp.GTE) else ("high", "low")
                # A text may count a negative number the other way round.
                yield from ((number, s) for s in sides[: 1 + isinstance(where, exp.Neg)])
    for between in tree.find_all(exp.Between):
        for side in ("low", "high"):
            if (number := _number(between.args.get(side))) is not None:
                yield number, side


def _bands(tree: exp.Query) -> Iterator[tuple[float, float]]:
    """Of every CASE: the numbers of a condition with what it gives.

    A condition's numbers also bound what the next branch gives.
    """
    for case in tree.find_all(exp.Case, exp.If):
        branches = case.args.get("ifs") if isinstance(case, exp.Case) else [case]
        before: set[float] = set()
        for branch in branches or []:
            inside = {
                float(literal.this)
                for literal in branch.this.find_all(exp.Literal)
                if not literal.is_string
            }
            for result in _results(branch.args.get("true")):
                yield from ((number, result) for number in inside | before)
            before = inside
        default = case.args.get("default") or case.args.get("false")
        for result in _results(default):
            yield from ((number, result) for number in before)


def _results(node: exp.Expr | None) -> tuple[float, ...]:
    number = _number(node)
    return () if number is None else (number,)


def _needed_items(queries: tuple[Query, ...]) -> frozenset[int]:
    """Items that still stand when every query is cut down to the columns that are used.

    Where a query spreads items over columns, those of the columns count, and not the list
    that chooses its rows: that one also names items whose columns nobody may need.
    """
    wanted: dict[str, set[str]] = {queries[-1].name: set(_parsed(queries[-1].sql).named_selects)}
    found: set[int] = set()
    for query in reversed(queries):
        columns = wanted.get(query.name)
        if columns is None:
            continue
        pruned = _pruned(query, columns)
        pivots = any(True for _ in _pivoted(_parsed(query.sql)))
        found.update(_pivoted(pruned) if pivots else _items(pruned))
        for table in pruned.find_all(exp.Table):
            if table.db == DERIVED and not _idle(table):
                used = set(query.reads.get(f"{DERIVED}.{table.name}", ()))
                named = {column.name for column in pruned.find_all(exp.Column)}
                wanted.setdefault(table.name, set()).update(used & named)
    return frozenset(found)


def _idle(table: exp.Table) -> bool:
    """Is it joined from the left, and nothing of it used but in that condition?"""
    join, select = table.parent, table.find_ancestor(exp.Select)
    if not isinstance(join, exp.Join) or join.side != "LEFT" or select is None:
        return False
    name = table.alias_or_name
    return all(
        column.table != name or column.find_ancestor(exp.Join) is join
        for column in select.find_all(exp.Column)
    )


def _pivoted(tree: exp.Expr) -> Iterator[int]:
    """Items that a query spreads over columns."""
    for node in tree.find_all(exp.Filter):
        yield from _items(node)


def _pruned(query: Query, columns: set[str]) -> exp.Query:
    """The query with only the outermost `columns`, and what they need."""
    schema: dict[str, object] = {}
    for table, names in query.reads.items():
        db, name = table.split(".")
        tables = schema.setdefault(db, {})
        assert isinstance(tables, dict)  # noqa: S101 - for the type checker
        tables[name] = dict.fromkeys(names, "VARCHAR")
    tree = _parsed(query.sql).copy()
    try:
        tree = qualify(
            tree,
            dialect="duckdb",
            schema=schema,
            validate_qualify_columns=False,
            allow_partial_qualification=True,
            identify=False,
        )
        keep = [s for s in tree.selects if s.alias_or_name in columns]
        if keep and isinstance(tree, exp.Select):
            tree.set("expressions", keep)
        tree = pushdown_projections(tree)
    except SqlglotError:
        return tree
    return tree
