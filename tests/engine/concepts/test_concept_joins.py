"""No join that grows with the square of an event table: each has an equality to be hashed by."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from engine.concepts.graph import concept_graph
from engine.concepts.query import Query, read_query

BY_TEXT = {name: ["name"] for name in ("acei", "antibiotic", "nsaid")}
"""Joined by what a text contains: distinct drug names with a short list."""


def joins_without_equality(query: Query) -> list[str]:
    """The right sides of joins, and the tables of correlated subqueries, without an equality."""
    tree = sqlglot.parse_one(query.sql, dialect="duckdb")
    found = [
        join.this.alias_or_name
        for join in tree.find_all(exp.Join)
        if not _equates_columns(join.args.get("on"), join.this.alias_or_name)
    ]
    for exists in tree.find_all(exp.Exists):
        select = exists.find(exp.Select)
        assert select is not None
        inner = {table.alias_or_name for table in select.find_all(exp.Table)}
        if not any(_equates_columns(select.args.get("where"), name) for name in inner):
            found.append(f"exists over {', '.join(sorted(inner))}")
    return found


def _equates_columns(condition: exp.Expression | None, name: str) -> bool:
    """Is a column of `name` set equal to a column of something else, whatever else holds?"""
    if condition is None:
        return False
    top = condition.this if isinstance(condition, exp.Where) else condition
    for part in top.flatten() if isinstance(top, exp.And) else [top]:
        if isinstance(part, exp.EQ):
            sides = [side.table for side in (part.left, part.right) if isinstance(side, exp.Column)]
            if len(sides) == 2 and name in sides and sides[0] != sides[1]:
                return True
    return False


def self_joins(query: Query) -> list[str]:
    """Tables and CTEs that are joined with themselves in one SELECT."""
    found = []
    for select in sqlglot.parse_one(query.sql, dialect="duckdb").find_all(exp.Select):
        start = select.args.get("from_")
        sources = [start.this] if start is not None else []
        sources += [join.this for join in select.args.get("joins") or []]
        names = [
            f"{source.db}.{source.name}" if source.db else source.name
            for source in sources
            if isinstance(source, exp.Table)
        ]
        found += sorted({name for name in names if names.count(name) > 1})
    return found


@pytest.mark.parametrize("query", concept_graph().concepts.values(), ids=lambda query: query.name)
def test_joins_are_by_equality_and_never_with_themselves(query: Query) -> None:
    assert joins_without_equality(query) == BY_TEXT.get(query.name, [])
    assert self_joins(query) == []


def test_the_check_can_fail(tmp_path: Path) -> None:
    path = tmp_path / "x.sql"
    path.write_text(
        "-- purpose: p\n-- grain: g\n-- key: a\n-- reads:\n--   s.t (a, b)\n-- deviations: none\n"
        "SELECT now.a FROM s.t AS now INNER JOIN s.t AS past ON past.b <= now.b\n"
        "WHERE EXISTS (SELECT 1 FROM s.t AS other WHERE other.b < now.b OR other.a = now.a)\n"
    )
    query = read_query(path)
    assert joins_without_equality(query) == ["past", "exists over other"]
    assert self_joins(query) == ["s.t"]
