"""Conditions between a source row and the cell that the row does not meet.

A gas of another specimen is refused where the gases of a day are chosen, far above the row itself;
a result of another admission where the two are joined. Looked for are conditions of one relation
alone (``bg.specimen = 'ART.'``) and equalities with one value of the cell's row (``lab.hadm_id =
stay.hadm_id``), at concepts and source tables on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import duckdb
from sqlglot import exp

from engine.concepts.query import DERIVED
from engine.diagnosis.lineage.leaves import Leaf, Passage, is_only_of
from engine.diagnosis.lineage.model import Value
from engine.diagnosis.lineage.scope import ROW
from engine.diagnosis.lineage.windows import bound_value

_OF_WHOM = {
    "stay_id": "another stay",
    "hadm_id": "another admission",
    "patientunitstayid": "another stay",
}


def unmet_on_the_way(
    con: duckdb.DuckDBPyConnection,
    ways: Mapping[Leaf, Iterable[Passage]],
    key: Mapping[str, Value],
) -> dict[Leaf, dict[int, str]]:
    """By leaf, address to the first condition that a row does not meet on any way to the cell.

    Args:
        con: holds the annotated concepts and the base tables with addresses.
        ways: the SELECTs between the cell and the rows of each leaf.
        key: the cell's row.
    """
    asked: dict[tuple[int, str], dict[int, str]] = {}
    found: dict[Leaf, dict[int, str]] = {}
    for leaf, passages in ways.items():
        by_table: dict[str, list[dict[int, str]]] = {}
        for passage in passages:
            source = passage.block.sources.get(passage.alias)
            if not isinstance(source, str):
                continue
            mark = (id(passage.block), passage.alias)
            if mark not in asked:
                asked[mark] = _unmet(con, passage, source, key)
            by_table.setdefault(source, []).append(asked[mark])
        rules = found.setdefault(leaf, {})
        for first, *others in by_table.values():
            for address, rule in first.items():
                if all(address in other for other in others):
                    rules.setdefault(address, rule)
    return found


def _unmet(
    con: duckdb.DuckDBPyConnection, passage: Passage, table: str, key: Mapping[str, Value]
) -> dict[int, str]:
    found: dict[int, str] = {}
    rows = f"SELECT unnest({_addresses(con, table)}) FROM {table} AS {passage.alias}"  # noqa: S608
    for test, rule in _tests(con, passage, key):
        sql = test.sql(dialect="duckdb", comments=False)
        try:
            refused = con.execute(f"{rows} WHERE NOT coalesce(({sql}), FALSE)").fetchall()
            met = con.execute(f"{rows} WHERE ({sql})").fetchall()
        except duckdb.Error:
            continue  # a condition that cannot be asked of one relation alone is not told
        for (address,) in set(refused) - set(met):
            found.setdefault(int(address), rule)
    return found


def _addresses(con: duckdb.DuckDBPyConnection, table: str) -> str:
    """SQL for the source rows of a row: of a concept, those of all its columns."""
    if not table.startswith(f"{DERIVED}."):
        return ROW
    names = [str(row[0]) for row in con.execute(f"DESCRIBE {table}").fetchall()]
    lists = ", ".join(f"coalesce({name}, [])" for name in names if name.endswith("__p"))
    return f"flatten([{lists}])" if lists else "[]::BIGINT[]"


def _tests(
    con: duckdb.DuckDBPyConnection, passage: Passage, key: Mapping[str, Value]
) -> Iterator[tuple[exp.Expr, str]]:
    """Conditions that can be asked of the relation alone, each with how it is told."""
    block, alias = passage.block, passage.alias
    for condition in block.met(alias):
        told = condition.sql(dialect="duckdb", comments=False)
        if is_only_of(block, condition, alias):
            yield condition, f"not met: {told}"
        elif isinstance(condition, exp.EQ):
            for mine, other in (
                (condition.this, condition.expression),
                (condition.expression, condition.this),
            ):
                whom = _OF_WHOM.get(mine.name.lower()) if isinstance(mine, exp.Column) else None
                if whom is None or {a for a, _ in block.columns(mine)} != {alias}:
                    continue
                value = bound_value(con, block, other, key)
                if isinstance(value, int):
                    right = exp.Literal.number(value)
                    yield exp.EQ(this=mine.copy(), expression=right), f"of {whom}: {told}"
