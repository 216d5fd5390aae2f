"""The relations on a cell's ways as tables that can be asked, with the addresses of their rows.

Source tables and concepts stand in the cell's database as they are; a CTE is worked out once, from
the annotated query that it is part of.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
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
        return self._cte(owner, node.name.lower())

    def body(self, block: Block, *left_out: str, more: Iterable[exp.Expr] = ()) -> tuple[str, str]:
        """A SELECT from FROM on, over tables with addresses.

        Args:
            block: the SELECT.
            left_out: parts of it, as in `Block.without`.
            more: conditions that its rows have to meet beside WHERE.

        Returns:
            The WITH that has to stand before it, mostly empty, and the text from FROM on.
        """
        text = block.without(*left_out, more=more)
        sql = self.extract.annotated(block.query, "all")
        bodies = _bodies(sql)
        tree = _parsed(f"SELECT 1 {text}").copy()
        for node in list(tree.find_all(exp.Table)):
            if not node.db and node.name.lower() in bodies:
                made = self._cte(block, node.name.lower())
                if made is None:
                    return _ctes(sql), text
                node.replace(exp.to_table(made, alias=node.alias or node.name))
        return "", tree.sql(dialect="duckdb", comments=False).removeprefix("SELECT 1")

    def _cte(self, owner: Block, name: str) -> str | None:
        """The table of a CTE; None if it cannot be worked out alone, then its rows stay untold."""
        mark = (owner.query.text, name)
        if mark not in self._made:
            bodies = _bodies(self.extract.annotated(owner.query, "all"))
            body = bodies[name].copy()
            for node in list(body.find_all(exp.Table)):
                if not node.db and node.name.lower() in bodies:
                    # What an earlier CTE holds is worked out only once.
                    below = self._cte(owner, node.name.lower())
                    node.replace(exp.to_table(below or node.name, alias=node.alias or node.name))
            table = f"way_{len(self._made)}"
            self.job.check()
            try:
                self.con.execute(
                    f"CREATE OR REPLACE TEMP TABLE {table} AS {body.sql(dialect='duckdb')}"
                )
            except duckdb.Error:
                self._made[mark] = None
            else:
                self._made[mark] = table
        return self._made[mark]

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
def _parsed(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, read="duckdb")


@functools.cache
def _ctes(sql: str) -> str:
    """The WITH of a query."""
    with_ = sqlglot.parse_one(sql, read="duckdb").args.get("with_")
    return "" if with_ is None else str(with_.sql(dialect="duckdb", comments=False))


@functools.cache
def _bodies(sql: str) -> dict[str, exp.Expr]:
    """By name what the CTEs of a query are, in order."""
    with_ = sqlglot.parse_one(sql, read="duckdb").args.get("with_")
    return {} if with_ is None else {cte.alias.lower(): cte.this for cte in with_.expressions}
