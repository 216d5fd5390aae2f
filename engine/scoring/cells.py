"""Scored columns: what each is compared as, and the SQL that compares one pair of cells.

Works on the relation ``pairs``: one row per reference row with ``rrn``, ``arn`` (null where the
agent lacks the key), ``k…``, ``rc…`` (reference cells) and ``ac…`` (agent cells).
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from engine.base.jobs import Job
from engine.scoring.score import Comparison, Notice
from engine.scoring.sides import Column, Side
from engine.scoring.values import fetch_row, parse_times

EQUAL, WITHIN, DIFFERENT, REFERENCE_NULL, AGENT_NULL, BOTH_NULL, NO_AGENT, NO_REFERENCE = range(8)
"""Cell statuses of the diff."""
MATCHES = (EQUAL, WITHIN, BOTH_NULL)
"""Those that count as a match."""

_LOOK = 50
"""So many first reference values decide whether a column looks like times."""


@dataclass(frozen=True)
class Cell:
    """How one column's pairs are compared."""

    name: str
    """The column."""
    compared_as: Comparison
    """Number, time or text."""
    tolerance: float
    """Inclusive; seconds for times; 0 for text."""
    reference: str
    """SQL of the reference's value, as compared."""
    agent: str | None
    """SQL of the agent's value, as compared; None where the output lacks the column."""
    reference_cell: str
    """SQL of the reference's cell, as shown; null where the cell is empty."""
    agent_cell: str
    """SQL of the agent's cell, as shown; null where the cell is empty."""
    joins: tuple[str, ...] = ()
    """Joins that bring parsed timestamps."""
    notice: Notice | None = None
    """The harsh rule, where it took hold."""

    @property
    def status(self) -> str:
        """SQL of the status of a pair (0 to 6)."""
        if self.agent is None:
            return f"{NO_AGENT}::UTINYINT"
        r, a = self.reference, self.agent
        within = (
            f"WHEN {self._distance} <= {self.tolerance!r}::DOUBLE THEN {WITHIN} "
            if self._near
            else ""
        )
        return (
            f"(CASE WHEN arn IS NULL THEN {NO_AGENT} "
            f"WHEN {self.reference_cell} IS NULL THEN "
            f"CASE WHEN {self.agent_cell} IS NULL THEN {BOTH_NULL} ELSE {REFERENCE_NULL} END "
            f"WHEN {self.agent_cell} IS NULL THEN {AGENT_NULL} "
            f"WHEN {r} = {a} THEN {EQUAL} {within}ELSE {DIFFERENT} END)::UTINYINT"
        )

    @property
    def matches(self) -> str:
        """SQL of whether a pair matches: a status in `MATCHES`, and quicker to count."""
        if self.agent is None:
            return "false"
        same = f"{self.reference} = {self.agent}"
        if self._near:
            same = f"({same} OR {self._distance} <= {self.tolerance!r}::DOUBLE)"
        # Null where either cell is: then a match only if both are, and the agent has the key.
        return (
            f"coalesce({same}, {self.reference_cell} IS NULL AND {self.agent_cell} IS NULL "
            "AND arn IS NOT NULL)"
        )

    @property
    def _near(self) -> bool:
        return self.compared_as != "text" and self.tolerance > 0

    @property
    def _distance(self) -> str:
        if self.compared_as == "time":
            return f"abs(epoch_us({self.reference}) - epoch_us({self.agent})) / 1e6"
        return f"abs({self.reference}::DOUBLE - {self.agent}::DOUBLE)"


def number(column: Column, cell: str) -> str:
    """SQL of a cell as a number; null where it is none."""
    if column.stored in {"int", "float"}:
        return cell
    if column.stored == "bool":
        return f"{cell}::BIGINT"
    if column.stored == "text":
        return f"to_number({cell})"
    return "NULL::DOUBLE"


def printed(column: Column, cell: str, *, holes: bool) -> str:
    """SQL of a cell as the published reader prints it: whole numbers with holes are floats."""
    if column.stored == "int" and holes:
        return f"({cell}::DOUBLE)::VARCHAR"
    if column.stored == "bool":
        return f"CASE {cell} WHEN true THEN 'True' WHEN false THEN 'False' END"
    return cell if column.stored == "text" else f"{cell}::VARCHAR"


class Comparer:
    """Decides for each scored column what it is compared as."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        reference: Side,
        agent: Side,
        *,
        job: Job | None,
    ) -> None:
        self._con = con
        self._reference = reference
        self._agent = agent
        self._job = job

    def cell(self, name: str, tolerance: float) -> Cell:
        """How the column's pairs are compared."""
        r = self._reference.columns[name]
        a = self._agent.columns.get(name)
        rc = f"rc_{r.sql}"
        if a is None:
            return Cell(name, self._own_kind(r), tolerance, rc, None, rc, "NULL::VARCHAR")
        ac = f"ac_{a.sql}"
        notice = None
        if r.numeric:
            agent_number = number(a, ac)
            count, first = (0, None)
            if not a.numeric:
                count, first = self._bad_pairs(f"{agent_number} IS NULL", rc, ac)
            if not count:
                return Cell(name, "number", tolerance, number(r, rc), agent_number, rc, ac)
            notice = _as_text(name, "numbers", count, first)
        else:
            timed = self._as_time(name, r, a, tolerance)
            if isinstance(timed, Cell):
                return timed
            notice = timed
        holes = a.count < self._agent.rows or self._any_missing()
        r_text = printed(r, rc, holes=r.count < self._reference.rows)
        a_text = printed(a, ac, holes=holes)
        return Cell(name, "text", 0.0, r_text, a_text, r_text, a_text, (), notice)

    def _own_kind(self, r: Column) -> Comparison:
        return "number" if r.numeric else "time" if r.stored == "time" else "text"

    def _as_time(self, name: str, r: Column, a: Column, tolerance: float) -> Cell | Notice | None:
        """The column as times; or why it is text; or None where nothing looks like a time."""
        rc, ac = f"rc_{r.sql}", f"ac_{a.sql}"
        r_time, joins = rc, []
        if r.stored != "time":
            if not self._looks_like_time(r):
                return None
            table = f"reference_times_{r.sql}"
            if not parse_times(
                self._con,
                table=table,
                relation="reference",
                column=r.sql,
                order="rn",
                job=self._job,
                enough_failures=1,
            ):
                return None
            r_time = f"{table}.stamp"
            joins.append(f"LEFT JOIN {table} ON {table}.text = {rc}")
        if a.stored == "time" or not a.count:
            a_time = f"{ac}::TIMESTAMP"
        elif a.stored == "bool":
            a_time = "NULL::TIMESTAMP"
        elif a.numeric:  # the published reader takes numbers as nanoseconds since 1970
            a_time = f"CASE WHEN abs({ac}) < 9e18 THEN make_timestamp({ac}::BIGINT // 1000) END"
        else:
            table = f"agent_times_{a.sql}"
            parse_times(
                self._con, table=table, relation="pairs", column=ac, order="rrn", job=self._job
            )
            a_time = f"{table}.stamp"
            joins.append(f"LEFT JOIN {table} ON {table}.text = {ac}")
        if a.stored != "time" and a.count:
            own = [join for join in joins if f"agent_times_{a.sql}" in join]
            count, first_row = self._bad_pairs(f"({a_time}) IS NULL", rc, ac, joins=own)
            if count:
                return _as_text(name, "timestamps of one format", count, first_row)
        return Cell(name, "time", tolerance, r_time, a_time, rc, ac, tuple(joins))

    def _looks_like_time(self, r: Column) -> bool:
        if not r.count or r.stored != "text":
            return False
        found = self._one(
            f"SELECT bool_or(looks_like_time({r.sql})) FROM (SELECT {r.sql} FROM reference "  # noqa: S608  (our own names)
            f"WHERE {r.sql} IS NOT NULL ORDER BY rn LIMIT {_LOOK})"
        )
        return bool(found)

    def _bad_pairs(
        self, bad: str, rc: str, ac: str, *, joins: list[str] | None = None
    ) -> tuple[int, int | None]:
        """Pairs with both cells there whose agent cell is `bad`: how many, first data row."""
        some = f"WHERE {rc} IS NOT NULL AND {ac} IS NOT NULL AND ({bad})"
        count, first = fetch_row(
            self._con,
            f"SELECT count(*), min(arn) FROM pairs {' '.join(joins or [])} {some}",  # noqa: S608  (our own names)
        )
        return int(count), None if first is None else int(first) + 1

    def _any_missing(self) -> bool:
        return self._one("SELECT 1 FROM pairs WHERE arn IS NULL LIMIT 1") is not None

    def _one(self, sql: str) -> object:
        row = fetch_row(self._con, sql)
        return row[0] if row else None


_ONE = {"numbers": "number", "timestamps of one format": "timestamp of the column's format"}


def _as_text(name: str, wanted: str, count: int, first: int | None) -> Notice:
    which = (
        f"one value of the output, in data row {first}, is no {_ONE[wanted]}"
        if count == 1
        else f"{count} values of the output, the first in data row {first}, are no {wanted}"
    )
    return Notice(
        code="compared_as_text",
        column=name,
        count=count,
        first_row=first,
        text=f"The column {name} is compared as text, because {which}: one such value turns the "
        f"whole column's comparison into exact equality of the printed values.",
    )
