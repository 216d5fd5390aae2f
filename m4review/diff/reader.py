"""Reading a diff file: one connection, and cursors for the threads that read from it.

Everything here may be called from worker threads; nothing here knows Qt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import numpy.typing as npt

from engine.base.duck import connect, in_words, interruptible, is_locked, quote
from engine.base.errors import BadInput, Cancelled, UsageError
from engine.base.jobs import Job
from m4review.diff.describe import read_layout
from m4review.diff.layout import CellStatus, Layout
from m4review.diff.query import (
    Pair,
    Query,
    mismatch_condition,
    order,
    relation,
    replaced,
    where,
)
from m4review.diff.words import printed

Rows = npt.NDArray[np.int32]
Record = tuple[Any, ...]

MEMORY = "400MB"
"""For the whole connection: the window's process stays below 1 GB."""
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
    counts: Mapping[int, Mapping[CellStatus, int]] = field(default_factory=dict)
    """Under a what-if: cells by status of the columns that have another tolerance."""
    sought: bool = True
    """Have the departures been looked for? Rows can be shown before that."""

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
            # Conditions come from people too: nothing on this connection can reach a file.
            # A diff that is opened again while it is still being let go of shares what was locked.
            if not is_locked(self._con):
                self._con.execute("SET enable_external_access = false")
                self._con.execute("SET lock_configuration = true")
            self.layout = read_layout(self._con)
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
        changed = replaced(view.query, self.layout)
        chosen = ", ".join(
            f"{changed[name]} AS {quote(name)}" if name in changed else quote(name)
            for name in self.fields
        )
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

    def at_once(self) -> View:
        """The file's rows in their order, whose departures are not sought yet."""
        return View(Query(), None, self.layout.rows, _NO_ROWS, sought=False)

    def longest(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, str]:
        """By field the longest printed value among the first rows, for the columns' widths."""
        records = self.read(cursor, self.at_once(), 0, _SAMPLE)
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
            except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
                if query.chosen is None:
                    raise in_words(error, "filtering and sorting the diff") from error
                raise UsageError(
                    "The condition compares a column with something that is not of its kind.",
                    todo="Numbers stand without quotes; TRY_CAST(… AS DOUBLE) makes a number of "
                    "a text, and null of what is none.",
                ) from error
            except duckdb.InvalidInputException as error:
                if query.chosen is None:
                    raise in_words(error, "filtering and sorting the diff") from error
                raise UsageError(
                    "A function of the condition cannot take what it is given.",
                    todo="Look at regular expressions, and at the names of parts of a time "
                    "('hour', 'day').",
                ) from error
            except duckdb.Error as error:
                raise in_words(error, "filtering and sorting the diff") from error

    def _view(self, cursor: duckdb.DuckDBPyConnection, query: Query, job: Job) -> View:
        rows: Rows | None = None
        doing = "Sorting" if query.sort else "Filtering"
        source = relation(query, self.layout)
        counts = self._counts(cursor, query)
        job.progress("diff:view", 0, 3, doing)
        if not query.plain:
            condition = where(query, self.layout)
            if query.chosen is not None:
                _try_out(cursor, query, self.layout)
            ordered = f" ORDER BY {order(query, self.layout)}" if query.sort else ""
            rows = _row_numbers(
                cursor,
                f'SELECT "row" FROM {source} WHERE {condition.text}{ordered}',  # noqa: S608 - ours
                job,
                condition.values,
            )
            if not query.sort:
                rows.sort()
        job.progress("diff:view", 1, 3, "Finding the mismatches")
        departing = _row_numbers(
            cursor,
            f'SELECT "row" FROM {source} WHERE {mismatch_condition(query.column)}',  # noqa: S608 - ours
            job,
        )
        departing.sort()
        job.check()
        job.progress("diff:view", 2, 3, "Finding the mismatches")
        if rows is None:
            return View(query, None, self.layout.rows, departing, counts)
        departs = np.zeros(self.layout.rows, dtype=np.bool_)
        departs[departing] = True
        return View(query, rows, len(rows), _picked(departs, rows), counts)

    def _counts(
        self, cursor: duckdb.DuckDBPyConnection, query: Query
    ) -> dict[int, dict[CellStatus, int]]:
        """Cells by status under the query's other tolerances."""
        found = {}
        for at, tolerance in query.tolerances:
            status = self.layout.scored[at].compared.status(tolerance)
            rows = cursor.execute(
                f"SELECT {status} AS s, count(*) FROM diff GROUP BY s"  # noqa: S608 - our own SQL
            ).fetchall()
            found[at] = {CellStatus(status): int(count) for status, count in rows}
        return found

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
        difference = column.compared.difference
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

        Fewer values than keys: the first keys only. Of a time the beginning is enough.
        """
        parts, given = [], []
        for key, value in zip(self.layout.keys, values, strict=False):
            field = quote(key.field)
            begins = f"starts_with(CAST({field} AS VARCHAR), replace(upper(?), 'T', ' '))"
            parts.append(
                f"(lower(CAST({field} AS VARCHAR)) = lower(?) "
                f"OR (typeof({field}) = 'TIMESTAMP' AND {begins}))"
            )
            given += [value, value]
        with self.cursor() as cursor, interruptible(cursor, job):
            row = cursor.execute(
                f'SELECT min("row") FROM diff WHERE {" AND ".join(parts)}',  # noqa: S608 - quoted
                given,
            ).fetchone()
        return None if row is None or row[0] is None else int(row[0])


def _try_out(cursor: duckdb.DuckDBPyConnection, query: Query, layout: Layout) -> None:
    """Let the database look at a condition before it is asked for rows.

    Raises:
        UsageError: it is no condition over this diff.
    """
    chosen = query.chosen
    assert chosen is not None  # noqa: S101 - the caller looked
    try:
        asked = f"EXPLAIN SELECT 1 FROM {relation(query, layout)} WHERE {chosen.sql}"  # noqa: S608
        cursor.execute(asked).fetchall()
    except (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException) as error:
        raise UsageError(
            "The condition does not fit this diff.",
            todo="Compare a column with a value of its own kind (texts in single quotes).",
            details=re.sub(r"'[^']*'|\"[^\"]*\"", "…", str(error).splitlines()[0]),
        ) from error


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
    try:
        for batch in relation.to_arrow_reader(_PIECE):
            job.check()
            pieces.append(batch.column(0).to_numpy(zero_copy_only=False).astype(np.int32))
    except OSError:  # in this way Arrow tells that the query was interrupted
        job.check()
        raise
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
