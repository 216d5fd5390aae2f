"""The arithmetic of a cell: the expression that made it, what it read, and what made that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
from sqlglot import exp

from engine.base.jobs import Job
from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED
from engine.diagnosis.lineage.blocks import Block, Columns, Source, blocks_of
from engine.diagnosis.lineage.conditions import text_of
from engine.diagnosis.lineage.model import Step, Value

_DEEPEST = 5
_MOST = 60


def steps(
    con: duckdb.DuckDBPyConnection,
    block: Block,
    column: str,
    key: Mapping[str, Value],
    columns: Columns,
    *,
    job: Job,
) -> tuple[Step, ...]:
    """The cell's expression with its inputs, then each input's, as far as they stand for one row.

    Args:
        con: holds the concepts, built.
        block: the target's SELECT.
        column: its output.
        key: the row.
        columns: columns of the source's tables.
        job: its cancel is looked for before every step.
    """
    walk = _Walk(con, columns, job, [])
    walk.descend(block, column, key, 0)
    return tuple(walk.found)


@dataclass
class _Walk:
    con: duckdb.DuckDBPyConnection
    columns: Columns
    job: Job
    found: list[Step]

    def descend(self, block: Block, column: str, key: Mapping[str, Value], depth: int) -> None:
        if depth > _DEEPEST or len(self.found) >= _MOST or column not in block.outputs:
            return
        self.job.check()
        expression = block.outputs[column]
        read = list(dict.fromkeys(block.columns(expression)))
        row = _row(self.con, block, column, read, key)
        if row is None:
            return
        value, inputs, keys = row
        plain = isinstance(expression, exp.Column) or not read
        if not plain:
            twice = _names(read)
            self.found.append(
                Step(
                    name=f"{block.query.name}.{column}",
                    value=value,
                    expression=expression.sql(dialect="duckdb", comments=False, pretty=True),
                    inputs={
                        f"{alias}.{name}" if name in twice else name: given
                        for (alias, name), given in inputs.items()
                    },
                    depth=depth,
                )
            )
        for alias, name in read:
            below = _one_below(block.sources.get(alias), self.columns)
            if below is not None:
                self.descend(below, name, keys[alias], depth if plain else depth + 1)


def _one_below(source: Source | None, columns: Columns) -> Block | None:
    """The SELECT that an input comes from; None for base tables and unions."""
    if isinstance(source, str):
        if not source.startswith(f"{DERIVED}."):
            return None
        source = blocks_of(concept_graph().concepts[source.removeprefix(f"{DERIVED}.")], columns)
    return source[0] if source is not None and len(source) == 1 else None


def _names(read: list[tuple[str, str]]) -> set[str]:
    """Names that more than one alias has."""
    names = [name for _, name in read]
    return {name for name in names if names.count(name) > 1}


_Row = tuple[Value, dict[tuple[str, str], Value], dict[str, dict[str, Value]]]


def _row(
    con: duckdb.DuckDBPyConnection,
    block: Block,
    column: str,
    read: list[tuple[str, str]],
    key: Mapping[str, Value],
) -> _Row | None:
    """The value, its inputs, and what names the row in each relation below; None if not one row."""
    shared = [name for name in key if isinstance(block.outputs.get(name), exp.Expr)]
    if not shared:
        return None
    grouped = block.grouped
    if grouped and block.select.args.get("distinct") is not None:
        return None
    marks = {
        alias: [n for n in seen.relation.columns if n in _KEYS]
        for alias, seen in block.scope.aliases.items()
    }
    outputs = [f"{text_of(block.outputs[column])} AS v"]
    outputs += [f"{text_of(block.outputs[n])} AS k{i}" for i, n in enumerate(shared)]
    if not grouped:
        outputs += [f"{alias}.{name} AS i{i}" for i, (alias, name) in enumerate(read)]
        outputs += [
            f"{alias}.{n} AS m_{alias}_{n}" for alias, names in marks.items() for n in names
        ]
    where = " AND ".join(f"k{i} IS NOT DISTINCT FROM ?" for i in range(len(shared)))
    one = f"SELECT {', '.join(outputs)} {block.body}"
    try:
        cursor = con.execute(
            f"{block.with_sql} SELECT * FROM ({one}) AS one WHERE {where} LIMIT 2",  # noqa: S608
            [key[n] for n in shared],
        )
        names = [d[0] for d in cursor.description or ()]
        rows = cursor.fetchall()
    except duckdb.Error:
        return None  # not to be worked out on its own; the events still tell
    if len(rows) != 1:
        return None
    row = dict(zip(names, rows[0], strict=True))
    inputs = {} if grouped else {part: row[f"i{i}"] for i, part in enumerate(read)}
    keys: dict[str, dict[str, Value]] = {
        alias: {n: row[f"m_{alias}_{n}"] for n in names_ if not grouped}
        for alias, names_ in marks.items()
    }
    if grouped:
        for alias in keys:
            keys[alias] = {n: row[f"k{i}"] for i, n in enumerate(shared)}
    return row["v"], inputs, keys


_KEYS = frozenset(
    {
        *("subject_id", "hadm_id", "stay_id", "hr", "charttime", "starttime", "endtime"),
        *("patientunitstayid", "ab_id", "antibiotic", "specimen_id", "episode"),
        *("ventilation_seq", "variable", "nursingchartoffset", "chartoffset"),
    }
)
"""Columns that name rows in our concepts."""
