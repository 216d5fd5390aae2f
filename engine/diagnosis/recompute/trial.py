"""A computed change against the agent's rows: which mismatches come out as the agent has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.base.duck import quote
from engine.diagnosis.signatures.candidate import KEYS, RowList
from engine.diagnosis.table import Column, Table
from engine.scoring.diff import DUPLICATE, EXTRA, MISSING

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sample:
    """The diff's rows of some patients, ready to be compared."""

    rows: RowList
    """Their numbers in the diff."""
    key_status: npt.NDArray[np.uint8]
    wrong: Mapping[int, Flags]
    """Per column position: mismatches whose reference the source gives again."""
    right: Mapping[int, Flags]
    """Per column position: matches of the same kind."""
    keys: Flags
    """Rows whose key is missing, extra or repeated."""
    repeated: Flags
    """Rows (of any kind) whose key the agent has more than once."""

    def tested(self, position: int) -> int:
        """Mismatching cells of a column (or `KEYS`) in this sample."""
        flags = self.keys if position == KEYS else self.wrong.get(position)
        return 0 if flags is None else int(flags.sum())


@dataclass(frozen=True)
class Outcome:
    """How a change fits a sample."""

    cells: Mapping[int, RowList]
    """Column position (or `KEYS`) to explained rows."""
    broken: int
    counter_example: int | None

    @property
    def explained(self) -> int:
        """Explained cells."""
        return sum(int(rows.size) for rows in self.cells.values())


def take_sample(  # noqa: PLR0917
    con: duckdb.DuckDBPyConnection,
    table: Table,
    baseline: pa.Table,
    columns: Sequence[Column],
    owner: int,
    patients: Sequence[str] | None,
) -> Sample:
    """Load the diff's rows of `patients` into the bench as ``agent_rows``.

    Args:
        con: the bench's database.
        table: the diff; its connection has ``memory.owners``.
        baseline: the target as the source gives it for these patients.
        columns: the scored columns that matter.
        owner: number of the key column that names the patient.
        patients: all when None.
    """
    where = "" if patients is None else "WHERE o.patient IN (SELECT unnest($1::VARCHAR[]))"
    wanted = ", ".join(
        ["row", "key_status", *(f"k{n}" for n in range(len(table.keys)))]
        + [f"d.{side}{c.position}" for c in columns for side in "ras"]
    )
    rows = table.con.sql(
        f"SELECT {wanted} FROM diff d JOIN memory.owners o ON d.k{owner} = o.key {where} "  # noqa: S608 - our own SQL
        "ORDER BY row",
        params=None if patients is None else [list(patients)],
    ).to_arrow_table()
    con.register("agent_rows_", rows)
    con.execute("CREATE OR REPLACE TABLE agent_rows AS FROM agent_rows_")
    con.unregister("agent_rows_")
    given = _compared(con, table, baseline, columns, "r")
    status = np.asarray(given["key_status"], dtype=np.uint8)
    here = _flags(given["present"])
    wrong: dict[int, Flags] = {}
    right: dict[int, Flags] = {}
    for column in columns:
        i = column.position
        again = here & _flags(given[f"same{i}"]) & (status == 0)
        cell = np.asarray(given[f"s{i}"], dtype=np.uint8)
        wrong[i] = again & np.isin(cell, (2, 3, 4))
        right[i] = again & np.isin(cell, (0, 1, 5))
    keys = (status > 1) | ((status == MISSING) & here)
    repeated = _flags(given["repeated"])
    return Sample(np.asarray(given["row"], dtype=np.int64), status, wrong, right, keys, repeated)


def compare(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    sample: Sample,
    changed: pa.Table,
    columns: Sequence[Column],
) -> Outcome:
    """Which of the sample's mismatches a changed target has as the agent has them."""
    got = _compared(con, table, changed, columns, "a")
    present, multiple = _flags(got["present"]), _flags(got["multiple"])
    cells: dict[int, RowList] = {}
    against = np.zeros(sample.rows.size, dtype=bool)
    broken = 0
    for column in columns:
        i = column.position
        fits = present & _flags(got[f"same{i}"])
        cells[i] = sample.rows[sample.wrong[i] & fits]
        off = sample.right[i] & ~fits
        broken += int(off.sum())
        against |= off
    status = sample.key_status
    keys = sample.keys & (
        ((status == MISSING) & ~present)
        | ((status == EXTRA) & present)
        | ((status == DUPLICATE) & multiple)
    )
    cells[KEYS] = sample.rows[keys]
    # Keys that it predicts and the agent lacks, and rows that it repeats and the agent does not.
    more = changed.num_rows - int((present & (status != DUPLICATE)).sum())
    twice = multiple & (status == 0) & ~sample.repeated
    broken += max(0, more) + int(twice.sum())
    against |= twice
    first = np.flatnonzero(against)
    return Outcome(
        {p: rows for p, rows in cells.items() if rows.size},
        broken,
        int(sample.rows[first[0]]) if first.size else None,
    )


def _compared(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    result: pa.Table,
    columns: Sequence[Column],
    side: str,
) -> dict[str, npt.NDArray[np.generic]]:
    """The sample's rows with, per column, whether `side` is what `result` has.

    Of the reference's side also what no change alters: it is asked for once.
    """
    shown = ["m.copies_ IS NOT NULL AS present", "coalesce(m.copies_ > 1, false) AS multiple"]
    if side == "r":
        keys = ", ".join(f"k{n}" for n in range(len(table.keys)))
        shown += ["d.row", "d.key_status", *(f"d.s{column.position}" for column in columns)]
        shown.append(
            f"count(*) FILTER (WHERE d.key_status <> 1) OVER (PARTITION BY {keys}) > 1 AS repeated"
        )
    for column in columns:
        i = column.position
        value = _value(column, f"m.{quote(column.name)}")
        mine = column.a if side == "a" else column.r
        same = column.same(mine, value)
        shown.append(f"coalesce({same}, {value} IS NULL AND {mine} IS NULL) AS same{i}")
    on = " AND ".join(
        f"d.k{n} IS NOT DISTINCT FROM try_cast(m.{quote(name)} AS {kind})"
        for n, (name, kind) in enumerate(zip(table.keys, table.key_types, strict=True))
    )
    con.register("result_", result)
    try:
        fetched = con.execute(
            f"SELECT {', '.join(shown)} FROM agent_rows d LEFT JOIN result_ m ON {on} "  # noqa: S608 - our own SQL
            "ORDER BY d.row"
        ).fetchnumpy()
    finally:
        con.unregister("result_")
    return {name: np.asarray(values) for name, values in fetched.items()}


def _value(column: Column, sql: str) -> str:
    if column.is_number:
        return f"try_cast({sql} AS DOUBLE)"
    if column.compared_as == "time":
        return f"try_cast({sql} AS TIMESTAMP)"
    return f"{sql}::VARCHAR"


def _flags(values: npt.NDArray[np.generic]) -> Flags:
    return np.asarray(values, dtype=bool)
