"""Reading a diff file: one connection, and cursors for the threads that read from it.

Everything here may be called from worker threads; nothing here knows Qt.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import numpy.typing as npt

from engine.base.duck import connect, in_words, interruptible, quote
from engine.base.errors import BadInput, Cancelled
from engine.base.jobs import Job
from m4review.diff.layout import (
    CellStatus,
    ComparedAs,
    KeyColumn,
    KeyStatus,
    Layout,
    ScoredColumn,
)
from m4review.diff.query import Pair, Query, mismatch_condition, order, where

Rows = npt.NDArray[np.int32]
Record = tuple[Any, ...]

MEMORY = "400MB"
"""For the whole connection: the window's process stays below 1 GB."""
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "REAL")
_TABLES = ("diff", "diff_columns", "diff_counts")
_TOP_PAIRS = 12
_SAMPLE = 200
_PIECE = 200_000
_NO_ROWS: Rows = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class View:
    """The rows that are shown, in order."""

    query: Query
    """What was asked."""
    rows: Rows | None
    """Row numbers of the file by position in the view; None when the view is the file itself."""
    count: int
    """Rows in the view."""
    departures: Rows
    """Positions in the view (ascending) where the row departs from the reference."""

    def row_at(self, position: int) -> int:
        """The file's row at a position of the view."""
        return position if self.rows is None else int(self.rows[position])

    def position_of(self, row: int) -> int | None:
        """Where the file's row is in the view; None when it is filtered out."""
        if self.rows is None:
            return row if 0 <= row < self.count else None
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if len(found) else None

    def next_departure(self, position: int, direction: int) -> int | None:
        """The nearest departing position after (1) or before (-1) `position`."""
        here = np.int32(position)  # of another type, all departures would be converted first
        if direction > 0:
            at = int(np.searchsorted(self.departures, here, side="right"))
            return int(self.departures[at]) if at < len(self.departures) else None
        at = int(np.searchsorted(self.departures, here, side="left"))
        return int(self.departures[at - 1]) if at > 0 else None


@dataclass(frozen=True)
class PairCount:
    """How often two values stand opposite to each other among the mismatches."""

    pair: Pair
    """The two values."""
    count: int
    """Rows."""


@dataclass(frozen=True)
class Differences:
    """Agent minus reference, over the rows of one column in which both have a number."""

    n: int
    """Rows with a number (or a time) on both sides that do not match."""
    mean: float | None
    """Mean of agent − reference (seconds for times)."""
    median: float | None
    """Median of agent − reference."""
    smallest: float | None
    """Minimum of agent − reference."""
    largest: float | None
    """Maximum of agent − reference."""
    positive: int
    """Rows in which the agent's value is larger."""


@dataclass(frozen=True)
class ColumnStatistics:
    """What the side panel says of a column beyond its counts."""

    column: int
    """Which scored column."""
    differences: Differences | None
    """None where the column holds texts."""
    pairs: tuple[PairCount, ...]
    """The most frequent pairs among the mismatches of keys that both have."""
    distinct_pairs: int
    """All distinct pairs among the mismatches."""
    mismatches: int
    """Mismatching rows of keys that both have."""


class DiffFile:
    """An open diff file.

    Raises:
        BadInput: it is not a diff file, or not a whole one.
        Busy: another program is writing it.
    """

    def __init__(self, path: Path, *, scratch: Path | None = None) -> None:
        self.path = path
        if not path.is_file():
            raise BadInput(
                "The diff of this run is gone.",
                todo="Open the run and make the diff again.",
            )
        self._con = connect(path, read_only=True, memory_limit=MEMORY, threads=2, scratch=scratch)
        try:
            self.layout = _layout(self._con)
        except duckdb.Error as error:
            self._con.close()
            raise in_words(error, "opening the diff") from error
        except BaseException:
            self._con.close()
            raise

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own for one thread; close it there."""
        return self._con.cursor()

    def close(self) -> None:
        """Let the file go."""
        self._con.close()

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of a record, in the order in which `read` gives them."""
        fields = ["row", "key_status", "mismatches", *(key.field for key in self.layout.keys)]
        for column in self.layout.scored:
            fields += [column.reference, column.agent, column.status]
        return tuple(fields)

    def read(
        self, cursor: duckdb.DuckDBPyConnection, view: View, first: int, count: int
    ) -> list[Record]:
        """The records at positions `first` … of a view; fewer at its end."""
        chosen = ", ".join(quote(field) for field in self.fields)
        last = min(first + count, view.count)
        if first >= last:
            return []
        if view.rows is None:
            found = cursor.execute(
                f"SELECT {chosen} FROM diff WHERE rowid >= ? AND rowid < ?",  # noqa: S608 - quoted
                [first, last],
            ).fetchall()
            return sorted(found, key=lambda record: cast("int", record[0]))
        wanted = view.rows[first:last]
        low, high = int(wanted.min()), int(wanted.max())
        if high - low < 4 * len(wanted):  # nearly in one piece: a range is six times as fast
            found = cursor.execute(
                f"SELECT {chosen} FROM diff WHERE rowid >= ? AND rowid <= ?",  # noqa: S608 - quoted
                [low, high],
            ).fetchall()
        else:
            found = cursor.execute(
                f"SELECT {chosen} FROM diff WHERE rowid >= ? AND rowid <= ? "  # noqa: S608 - quoted
                "AND rowid IN (SELECT unnest(?::BIGINT[]))",
                [low, high, wanted.tolist()],
            ).fetchall()
        by_row = {record[0]: record for record in found}
        return [by_row[int(row)] for row in wanted]

    def longest(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, str]:
        """By field the longest printed value among the first rows, for the columns' widths."""
        records = self.read(cursor, View(Query(), None, self.layout.rows, _NO_ROWS), 0, _SAMPLE)
        return {
            field: max((printed(record[at]) for record in records), key=len, default="")
            for at, field in enumerate(self.fields)
        }

    def view(self, query: Query, job: Job) -> View:
        """Compute which rows are shown; can be cancelled.

        The plain view needs no row numbers; any other one takes four bytes a row.
        """
        with self.cursor() as cursor, interruptible(cursor, job):
            try:
                return self._view(cursor, query, job)
            except duckdb.InterruptException as error:
                raise Cancelled from error
            except duckdb.Error as error:
                raise in_words(error, "filtering and sorting the diff") from error

    def _view(self, cursor: duckdb.DuckDBPyConnection, query: Query, job: Job) -> View:
        rows: Rows | None = None
        job.progress("diff:view", 0, 3, "Filtering")
        if not query.plain:
            condition = where(query, self.layout)
            ordered = f" ORDER BY {order(query, self.layout)}" if query.sort else ""
            rows = _row_numbers(
                cursor,
                f'SELECT "row" FROM diff WHERE {condition.text}{ordered}',  # noqa: S608 - ours
                job,
                condition.values,
            )
            if not query.sort:
                rows.sort()
        job.progress("diff:view", 1, 3, "Finding the mismatches")
        departing = _row_numbers(
            cursor,
            f'SELECT "row" FROM diff WHERE {mismatch_condition(query.column)}',  # noqa: S608 - ours
            job,
        )
        departing.sort()
        job.check()
        job.progress("diff:view", 2, 3, "Finding the mismatches")
        if rows is None:
            return View(query, None, self.layout.rows, departing)
        departs = np.zeros(self.layout.rows, dtype=np.bool_)
        departs[departing] = True
        return View(query, rows, len(rows), _picked(departs, rows))

    def statistics(self, column: int, job: Job) -> ColumnStatistics:
        """Differences and frequent pairs of a column; can be cancelled."""
        with self.cursor() as cursor, interruptible(cursor, job):
            try:
                return self._statistics(cursor, column, job)
            except duckdb.InterruptException as error:
                raise Cancelled from error
            except duckdb.Error as error:
                raise in_words(error, "counting in the diff") from error

    def _statistics(
        self, cursor: duckdb.DuckDBPyConnection, index: int, job: Job
    ) -> ColumnStatistics:
        column = self.layout.scored[index]
        r, a, s = quote(column.reference), quote(column.agent), quote(column.status)
        mismatching = f"key_status = 0 AND {s} IN (2, 3, 4)"
        difference = _difference(column)
        summary: Differences | None = None
        if difference:
            n, mean, median, low, high, positive = _one(
                cursor,
                f"SELECT count(d), avg(d), median(d), min(d), max(d), count(*) FILTER (d > 0) "  # noqa: S608 - quoted
                f"FROM (SELECT {difference} AS d FROM diff WHERE key_status = 0 AND {s} = 2) "
                "WHERE isfinite(d)",
            )
            summary = Differences(
                n, _finite(mean), _finite(median), _finite(low), _finite(high), positive
            )
        job.check()
        total, distinct = _one(
            cursor,
            f"SELECT coalesce(sum(n), 0), count(*) FROM "  # noqa: S608 - quoted
            f"(SELECT count(*) AS n FROM diff WHERE {mismatching} GROUP BY {r}, {a})",
        )
        found = cursor.execute(
            f"SELECT {r}, {a}, count(*) AS n FROM diff WHERE {mismatching} "  # noqa: S608 - quoted
            f"GROUP BY {r}, {a} ORDER BY n DESC, {r}, {a} LIMIT {_TOP_PAIRS}"
        ).fetchall()
        pairs = tuple(PairCount(Pair(index, left, right), n) for left, right, n in found)
        return ColumnStatistics(index, summary, pairs, int(distinct), int(total))

    def find_key(self, values: Sequence[str], job: Job) -> int | None:
        """The first row whose keys print as `values`; None when there is none.

        Fewer values than keys: the first keys only.
        """
        parts = [
            f"lower(CAST({quote(key.field)} AS VARCHAR)) = lower(?)"
            for key, _ in zip(self.layout.keys, values, strict=False)
        ]
        with self.cursor() as cursor, interruptible(cursor, job):
            row = cursor.execute(
                f'SELECT min("row") FROM diff WHERE {" AND ".join(parts)}',  # noqa: S608 - quoted
                list(values[: len(parts)]),
            ).fetchone()
        return None if row is None or row[0] is None else int(row[0])


def _row_numbers(
    cursor: duckdb.DuckDBPyConnection, sql: str, job: Job, values: Sequence[Any] = ()
) -> Rows:
    """The row numbers that a query gives, fetched in pieces.

    In one piece the conversion would hold Python's lock, and with it the window, for too long.
    """
    relation = cursor.sql(sql, params=list(values))
    if relation is None:  # only what selects nothing gives no relation
        return _NO_ROWS.copy()
    pieces: list[Rows] = []
    for batch in relation.to_arrow_reader(_PIECE):
        job.check()
        pieces.append(batch.column(0).to_numpy(zero_copy_only=False).astype(np.int32))
    return np.concatenate(pieces) if pieces else _NO_ROWS.copy()


def _picked(mask: npt.NDArray[np.bool_], rows: Rows) -> Rows:
    """Positions in `rows` whose row is set in `mask`; in pieces, as above."""
    found = [
        np.flatnonzero(mask[rows[start : start + _PIECE]]) + start
        for start in range(0, len(rows), _PIECE)
    ]
    return np.concatenate(found).astype(np.int32) if found else _NO_ROWS.copy()


def _one(cursor: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    row = cursor.execute(sql).fetchone()
    assert row is not None  # noqa: S101 - an aggregate gives one row
    return row


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _difference(column: ScoredColumn) -> str | None:
    """Agent − reference as a number; None where values are texts."""
    a, r = quote(column.agent), quote(column.reference)
    if column.compared_as == "number":
        return f"TRY_CAST({a} AS DOUBLE) - TRY_CAST({r} AS DOUBLE)"
    if column.compared_as == "time":
        return f"epoch(TRY_CAST({a} AS TIMESTAMP)) - epoch(TRY_CAST({r} AS TIMESTAMP))"
    return None


def _layout(con: duckdb.DuckDBPyConnection) -> Layout:
    tables = {
        str(row[0]) for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    }
    if not tables.issuperset(_TABLES):
        raise BadInput(
            "This file is no diff of a run, or only a part of one.",
            todo="Open the run and make the diff again.",
        )
    types = dict(
        con.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'diff'"
        ).fetchall()
    )
    keys: list[KeyColumn] = []
    scored: list[ScoredColumn] = []
    for name, role, compared, tolerance in con.execute(
        "SELECT name, role, compared_as, tolerance FROM diff_columns ORDER BY role, position"
    ).fetchall():
        if role == "key":
            field = f"k{len(keys)}"
            keys.append(KeyColumn(name, field, _is_number(types[field])))
        else:
            at = len(scored)
            numeric = _is_number(types[f"r{at}"]) and _is_number(types[f"a{at}"])
            scored.append(
                ScoredColumn(at, name, _compared(compared), float(tolerance or 0), numeric)
            )
    rows = int(_one(con, "SELECT count(*) FROM diff")[0])
    key_counts, cell_counts = _counts(con, len(scored))
    return Layout(rows, tuple(keys), tuple(scored), key_counts, cell_counts)


def _counts(
    con: duckdb.DuckDBPyConnection, scored: int
) -> tuple[dict[KeyStatus, int], tuple[dict[CellStatus, int], ...]]:
    by_key: dict[KeyStatus, int] = {}
    by_cell: list[dict[CellStatus, int]] = [{} for _ in range(scored)]
    for role, column, status, count in con.execute(
        "SELECT role, position, status, count FROM diff_counts"
    ).fetchall():
        if role == "key":
            by_key[KeyStatus(status)] = int(count)
        else:
            by_cell[int(column)][CellStatus(status)] = int(count)
    return by_key, tuple(by_cell)


def _is_number(type_name: str) -> bool:
    return any(part in type_name.upper() for part in _NUMBERS) and "INTERVAL" not in type_name


def _compared(text: str) -> ComparedAs:
    return cast("ComparedAs", text if text in ("number", "time") else "text")


def printed(value: Any) -> str:
    """A cell as text: numbers as short as they are exact, times to the second."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)  # noqa: PLR2004
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return str(value)
