"""The relations on a cell's ways as tables that can be asked, with the addresses of their rows.

Source tables and concepts stand in the cell's database as they are; a CTE is worked out once, from
the annotated query that it is part of.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import duckdb
import sqlglot
from sqlglot import exp

from engine.base.jobs import Job
from engine.diagnosis.lineage.blocks import Block
from engine.diagnosis.lineage.extract import Extract
from engine.diagnosis.lineage.lookups import PERSON
from engine.diagnosis.lineage.scope import NOTHING, ROW, hidden


@dataclass
class Ways:
    """Answers for one cell."""

    con: duckdb.DuckDBPyConnection
    """Holds the base tables with addresses and the concepts, annotated in the mode ``all``."""
    extract: Extract
    """Where the addresses are from."""
    job: Job
    """Its cancel is looked for before every question."""
    _made: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _columns: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def table(self, block: Block, alias: str) -> str | None:
        """The table to read for an alias of a block (or of one around it); None for a subquery."""
        owner = block.of(alias)
        if owner is None:
            return None
        source = owner.sources[alias]
        if isinstance(source, str):
            return source
        node = owner.node(alias)
        if not isinstance(node, exp.Table):
            return None
        mark = (owner.query.text, node.name.lower())
        if mark not in self._made:
            self._made[mark] = self._worked_out(owner, node.name.lower())
        return self._made[mark]

    def with_sql(self, block: Block) -> str:
        """The CTEs of the block's query, with addresses."""
        return _ctes(self.extract.annotated(block.query, "all"))

    def _worked_out(self, block: Block, name: str) -> str | None:
        table = f"way_{len(self._made)}"
        self.job.check()
        try:
            self.con.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} AS "  # noqa: S608 - our own SQL
                f"{self.with_sql(block)} SELECT * FROM {name}"
            )
        except duckdb.Error:
            return None  # not to be worked out alone: nothing is told of its rows
        return table

    def addresses(self, table: str, alias: str, column: str | None = None) -> str:
        """SQL for the source rows that a column of a row was made of; all of the row's if None.

        A time, too, stands for the whole row.
        """
        names = self.columns(table)
        lists = [name for name in (hidden(column or ""), ROW) if name in names][:1]
        if column is None or column in PERSON or "time" in column:
            lists = [name for name in names if name.endswith(hidden(""))]
        each = ", ".join(f"coalesce({alias}.{name}, [])" for name in lists)
        return f"flatten([{each}])" if each else NOTHING

    def columns(self, table: str) -> tuple[str, ...]:
        """The table's columns, hidden ones included."""
        if table not in self._columns:
            rows = self.con.execute(f"DESCRIBE {table}").fetchall()
            self._columns[table] = tuple(str(row[0]) for row in rows)
        return self._columns[table]


@functools.cache
def _ctes(sql: str) -> str:
    """The WITH of a query."""
    with_ = sqlglot.parse_one(sql, read="duckdb").args.get("with_")
    return "" if with_ is None else str(with_.sql(dialect="duckdb", comments=False))
