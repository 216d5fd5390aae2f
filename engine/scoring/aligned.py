"""Reference and output side by side: keys matched, comparisons decided, nothing counted yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from engine.base.errors import bad_file
from engine.base.jobs import Job
from engine.catalogue.task import TableEvaluation
from engine.scoring.cells import Cell, Comparer
from engine.scoring.keys import Keys, count_distinct, keep_first, prepare_keys
from engine.scoring.sides import Side


@dataclass(frozen=True)
class Aligned:
    """The two sides in a scratch database, with the relation ``pairs`` (see `cells`)."""

    con: duckdb.DuckDBPyConnection
    """The scratch database."""
    reference: Side
    """The reference's rows."""
    agent: Side
    """All of the agent's rows."""
    keys: Keys
    """How keys meet."""
    duplicates: int
    """Further agent rows of a key."""
    cells: tuple[Cell, ...]
    """How each scored column is compared, in order."""

    @property
    def joins(self) -> str:
        """The joins that the cells' SQL needs."""
        return " ".join(dict.fromkeys(join for cell in self.cells for join in cell.joins))


def lay(
    con: duckdb.DuckDBPyConnection,
    evaluation: TableEvaluation,
    reference: Side,
    agent: Side,
    *,
    path: Path,
    job: Job | None,
) -> Aligned:
    """Match the keys and decide the comparisons.

    Args:
        con: the scratch database that holds both sides.
        evaluation: the task's rules.
        reference: its side.
        agent: its side.
        path: the reference's file, for the error.
        job: cancel.

    Raises:
        BadInput: the reference names a row twice.
    """
    keys = prepare_keys(con, reference, agent, evaluation.key_columns, job=job)
    repeated = reference.rows - count_distinct(con, "reference_keyed", keys)
    if repeated:
        raise bad_file(
            path,
            f"The reference has {repeated} rows whose key comes more than once.",
            column=", ".join(evaluation.key_columns),
            todo="A reference must name each row once; build it again.",
        )
    duplicates = keep_first(con, keys)
    left = [f"r.{c.sql} AS rc_{c.sql}" for c in reference.columns.values()]
    right = [f"a.{c.sql} AS ac_{c.sql}" for c in agent.columns.values()]
    own = [f"r.k{i}" for i in range(len(keys.names))]
    shown = ", ".join(["r.rn AS rrn", "a.rn AS arn", *own, *left, *right])
    source = f"reference_keyed r LEFT JOIN agent_kept a ON {keys.condition}"
    con.execute(f"CREATE OR REPLACE VIEW pairs AS SELECT {shown} FROM {source}")  # noqa: S608  (our own names)
    comparer = Comparer(con, reference, agent, job=job)
    cells = tuple(
        comparer.cell(name, evaluation.tolerance.get(name, 0.0))
        for name in evaluation.scored_columns
    )
    return Aligned(con, reference, agent, keys, duplicates, cells)
