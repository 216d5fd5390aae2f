"""The diff file as the hypotheses see it: columns, and SQL pieces that speak of one cell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from engine.base import duck
from engine.base.errors import BadInput, bad_file
from engine.base.jobs import Job
from engine.scoring.whatif import stamp

OK = "(0, 1, 5)"
"""Cell statuses of a match."""
WRONG = "(2, 3, 4)"
"""Cell statuses of a mismatch where both sides have the key."""
SLACK = 1e-9
"""Relative: what the last binary digits of two ways to compute a number differ by."""


@dataclass(frozen=True)
class Column:
    """A scored column of a diff."""

    position: int
    """Its number i in ``r{i}``, ``a{i}``, ``s{i}``."""
    name: str
    compared_as: str
    """``number``, ``time`` or ``text``."""
    tolerance: float
    r_type: str
    """DuckDB type of the reference's value."""
    a_type: str
    """DuckDB type of the agent's value."""
    wrong: int
    """Mismatching cells where both sides have the key and the agent the column."""
    lacking: bool
    """The agent's table has no such column."""

    @property
    def is_number(self) -> bool:
        """Both sides hold numbers."""
        return self.compared_as == "number"

    @property
    def is_time(self) -> bool:
        """Both sides hold timestamps."""
        return self.compared_as == "time" and "TIMESTAMP" in self.r_type and self.a_type != "DATE"

    @property
    def r(self) -> str:
        """The reference's value in SQL."""
        return self._value("r", self.r_type)

    @property
    def a(self) -> str:
        """The agent's value in SQL."""
        return self._value("a", self.a_type)

    @property
    def wrong_here(self) -> str:
        """SQL: this cell mismatches although both sides have the key."""
        return f"s{self.position} IN {WRONG}"

    @property
    def right_here(self) -> str:
        """SQL: this cell matches."""
        return f"s{self.position} IN {OK}"

    def _value(self, side: str, kind: str) -> str:
        if self.is_number:
            return f"try_cast({side}{self.position} AS DOUBLE)"
        if self.compared_as == "time" and "TIMESTAMP" not in kind:
            return f"({stamp(f'{side}{self.position}', kind)})"
        if self.compared_as == "text" and kind != "VARCHAR":
            return f"({side}{self.position})::VARCHAR"
        return f"{side}{self.position}"

    def typed(self, reference: str) -> str:
        """SQL: a value of this column of another row of the reference, to be compared."""
        return f"try_cast({reference} AS DOUBLE)" if self.is_number else reference

    def matches(self, predicted: str) -> str:
        """SQL: the agent's value is `predicted` (null for null), within the tolerance."""
        same = self.same(self.a, f"({predicted})")
        return f"coalesce({same}, ({predicted}) IS NULL AND a{self.position} IS NULL)"

    def same(self, one: str, other: str) -> str:
        """SQL: two values that are not null are as good as equal."""
        if self.is_number:
            slack = f"{self.tolerance!r}::DOUBLE + {SLACK} * greatest(1, abs({other}))"
            return f"abs({one} - {other}) <= {slack}"
        if self.compared_as == "time":
            limit = self.tolerance * 1e6
            return f"abs(epoch_us({one}) - epoch_us({other})) <= {limit!r}"
        return f"{one} = {other}"


@dataclass(frozen=True)
class Table:
    """An open diff file."""

    con: duckdb.DuckDBPyConnection
    keys: tuple[str, ...]
    """Names of the key columns; ``k0``, ``k1`` … in the file."""
    key_types: tuple[str, ...]
    """Their DuckDB types."""
    columns: tuple[Column, ...]
    rows: int
    """Rows of the diff."""
    by_key: tuple[int, int, int, int]
    """Rows by key status: matched, missing, extra, duplicate."""

    def column(self, name: str) -> Column | None:
        """The scored column of that name."""
        return next((c for c in self.columns if c.name == name), None)

    def count(self, condition: str) -> int:
        """Rows for which `condition` holds."""
        row = self.con.execute(
            f"SELECT count(*) FILTER (WHERE {condition}) FROM diff"  # noqa: S608 - our own SQL
        ).fetchone()
        return int(row[0]) if row else 0

    def first(self, condition: str) -> int | None:
        """The first row for which `condition` holds."""
        row = self.con.execute(
            f"SELECT min(row) FROM diff WHERE {condition}"  # noqa: S608 - our own SQL
        ).fetchone()
        return None if row is None or row[0] is None else int(row[0])


def open_diff(path: Path, *, memory_limit: str, scratch: Path | None) -> Table:
    """Open a diff file for reading, in a scratch database of its own.

    Raises:
        BadInput: the file is no diff.
    """
    if not path.is_file():
        raise bad_file(path, "There is no diff file.")
    con = duck.connect(memory_limit=memory_limit, scratch=scratch)
    try:
        con.execute(f"ATTACH {duck.quote_text(str(path))} AS d (READ_ONLY)")
        con.execute("USE d")
        return _described(con)
    except duckdb.CatalogException as error:
        con.close()
        raise BadInput("This file is not a diff.", todo="Make it again.") from error
    except duckdb.Error as error:
        con.close()
        raise duck.in_words(error, "opening the diff") from error


def _described(con: duckdb.DuckDBPyConnection) -> Table:
    types = {str(r[0]): str(r[1]) for r in con.execute("DESCRIBE diff").fetchall()}
    listed = con.execute(
        "SELECT position, name, role, compared_as, tolerance FROM diff_columns "
        "ORDER BY role, position"
    ).fetchall()
    counts = con.execute("SELECT role, position, status, count FROM diff_counts").fetchall()
    by_key = {int(status): int(n) for role, _, status, n in counts if role == "key"}
    by_cell = {
        (int(position), int(status)): int(n)
        for role, position, status, n in counts
        if role == "scored"
    }
    keys = [(int(p), str(name)) for p, name, role, _, _ in listed if role == "key"]
    columns = tuple(
        Column(
            position=int(p),
            name=str(name),
            compared_as=str(compared),
            tolerance=float(tolerance or 0),
            r_type=types[f"r{p}"],
            a_type=types[f"a{p}"],
            wrong=sum(by_cell.get((int(p), status), 0) for status in (2, 3, 4)),
            lacking=by_cell.get((int(p), 6), 0) > by_key.get(1, 0),
        )
        for p, name, role, compared, tolerance in listed
        if role == "scored"
    )
    return Table(
        con=con,
        keys=tuple(name for _, name in keys),
        key_types=tuple(types[f"k{p}"] for p, _ in keys),
        columns=columns,
        rows=sum(by_key.values()),
        by_key=(by_key.get(0, 0), by_key.get(1, 0), by_key.get(2, 0), by_key.get(3, 0)),
    )


def checked(job: Job | None) -> None:
    """Stop here if the user asked for it."""
    if job is not None:
        job.check()
