"""A column's figures from the diff file: a few aggregates, each in SQL, none over Python rows."""

from __future__ import annotations

import math
from typing import Any

import duckdb

from engine.base.duck import quote_text
from engine.base.jobs import Job
from engine.diagnosis.columns.bins import histogram, scatter
from engine.diagnosis.columns.model import Bar, ColumnStudy, Confusion, MatrixCell
from engine.diagnosis.columns.tolerance import tolerance_curve
from engine.scoring.diff import CELL_WORDS
from engine.scoring.whatif import Compared

LEVELS = 25
"""A number column of at most so many whole values in the reference has score levels."""
TOP = 12
"""Texts named in the matrix; the rest are told together."""
_STEPS = 6


def study_column(
    con: duckdb.DuckDBPyConnection, column: Compared, *, tolerance: float, job: Job
) -> ColumnStudy:
    """Everything the column page shows.

    Args:
        con: a connection to the diff file; the caller lets `job` interrupt it.
        column: the scored column.
        tolerance: as scored.
        job: progress and cancel.

    Raises:
        Cancelled: it was stopped.
    """
    i = column.position
    _stage(job, 0, "Counting")
    counts = dict(con.execute(f"SELECT s{i}, count(*) FROM diff GROUP BY 1").fetchall())  # noqa: S608
    keys = dict(con.execute("SELECT key_status, count(*) FROM diff GROUP BY 1").fetchall())
    rows = int(keys.get(0, 0)) + int(keys.get(1, 0))
    statuses = tuple(
        Bar(words, int(counts[status]), f"s{i} = {status}")
        for status, words in enumerate(CELL_WORDS)
        if counts.get(status)
    )
    unknown = 0
    if column.distance is not None:
        unknown = int(_one(con, f"SELECT count(*) FILTER ({column.unknown}) FROM diff"))  # noqa: S608
    _stage(job, 1, "Comparing levels")
    confusion = _confusion(con, column)
    _stage(job, 2, "Sorting differences")
    bars = histogram(con, column)
    _stage(job, 3, "Setting pairs out")
    pairs = None
    if column.compared_as == "number" and (confusion is None or confusion.others):
        pairs = scatter(con, column)
    _stage(job, 4, "Trying tolerances")
    curve = tolerance_curve(con, column, own=tolerance, reference_rows=rows, job=job)
    _stage(job, 5, "Counting nulls")
    return ColumnStudy(
        position=i,
        reference_rows=rows,
        matches=sum(int(counts.get(status, 0)) for status in (0, 1, 5)),
        statuses=statuses,
        nulls=_nulls(con, i, keys),
        confusion=confusion,
        histogram=bars,
        scatter=pairs,
        curve=curve,
        unknown=unknown,
    )


def _stage(job: Job, done: int, text: str) -> None:
    job.check()
    job.progress("diff:column", done, _STEPS, text)


def _one(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    row = con.execute(sql).fetchone()
    return row[0] if row else 0


def _nulls(con: duckdb.DuckDBPyConnection, i: int, keys: dict[int, int]) -> tuple[Bar, ...]:
    cases = {
        "both have a value": f"key_status = 0 AND s{i} IN (0, 1, 2)",
        "null in the reference only": f"key_status = 0 AND s{i} = 3",
        "null in the agent's only": f"key_status = 0 AND s{i} = 4",
        "null on both sides": f"key_status = 0 AND s{i} = 5",
        "the agent has no such column": f"key_status = 0 AND s{i} = 6",
    }
    chosen = ", ".join(f"count(*) FILTER ({condition})" for condition in cases.values())
    found = con.execute(f"SELECT {chosen} FROM diff").fetchone() or (0,) * len(cases)  # noqa: S608
    bars = [
        Bar(words, int(count), condition)
        for (words, condition), count in zip(cases.items(), found, strict=True)
    ]
    if not bars[-1].count:
        bars.pop()
    for status, words in ((1, "row missing"), (2, "row extra"), (3, "row duplicate")):
        bars.append(Bar(words, int(keys.get(status, 0)), f"key_status = {status}"))
    return tuple(bars)


# --- score levels


def _confusion(con: duckdb.DuckDBPyConnection, column: Compared) -> Confusion | None:
    """Reference against agent where there are levels; None for times and continuous numbers."""
    if column.compared_as == "time":
        return None
    number = column.compared_as == "number"
    values = _score_levels(con, column) if number else _commonest(con, column, TOP)
    if values is None:
        return None
    distinct = _one(
        con,
        f"SELECT count(DISTINCT v) FROM (SELECT {column.reference} AS v FROM diff UNION "  # noqa: S608
        f"SELECT {column.agent} FROM diff) WHERE v IS NOT NULL",
    )
    others = int(distinct) - len(values)
    values.sort()
    literals = [f"{v!r}::DOUBLE" if number else quote_text(v) for v in values]
    names = [f"{int(v)}" if number else (v or "“” empty text") for v in values]
    left = _level(column.reference, literals, "key_status >= 2")
    right = _level(column.agent, literals, f"s{column.position} = 6")
    cells = [
        MatrixCell(int(r), int(a), int(n), f"({left}) = {r} AND ({right}) = {a}")
        for r, a, n in con.execute(
            f"SELECT {left} AS l, {right} AS m, count(*) FROM diff GROUP BY l, m ORDER BY l, m"  # noqa: S608
        ).fetchall()
    ]
    return Confusion((*names, "other values", "∅ null", "no such cell"), tuple(cells), others)


def _score_levels(con: duckdb.DuckDBPyConnection, column: Compared) -> list[Any] | None:
    """The levels of a score: few whole values in the reference, and the agent's other whole ones.

    None where the reference's numbers are none. What the agent has between or beyond them (a mean
    of scores) is told as other values: that it is there is what the matrix has to show.
    """
    own = [
        value
        for (value,) in con.execute(
            f"SELECT DISTINCT {column.reference} AS v FROM diff WHERE v IS NOT NULL "  # noqa: S608
            f"LIMIT {LEVELS + 1}"
        ).fetchall()
    ]
    if len(own) > LEVELS or not all(_is_level(value) for value in own):
        return None
    theirs = con.execute(
        f"SELECT {column.agent} AS v, count(*) AS n FROM diff WHERE v IS NOT NULL "  # noqa: S608
        "AND v = floor(v) AND isfinite(v) GROUP BY v ORDER BY n DESC, v LIMIT ?",
        [2 * LEVELS],
    ).fetchall()
    more = [value for value, _ in theirs if value not in own]
    return own + more[: LEVELS - len(own)]


def _is_level(value: float) -> bool:
    return math.isfinite(value) and value.is_integer()


def _commonest(con: duckdb.DuckDBPyConnection, column: Compared, most: int) -> list[Any]:
    """The texts that occur most often on either side."""
    found = con.execute(
        f"SELECT v, sum(n) AS n FROM ("  # noqa: S608 - our own names
        f"SELECT {column.reference} AS v, count(*) AS n FROM diff GROUP BY v UNION ALL "
        f"SELECT {column.agent}, count(*) FROM diff GROUP BY 1) WHERE v IS NOT NULL "
        f"GROUP BY v ORDER BY n DESC, v LIMIT {most}"
    ).fetchall()
    return [value for value, _ in found]


def _level(value: str, literals: list[str], absent: str) -> str:
    """SQL of the number of a value's level."""
    count = len(literals)
    cases = " ".join(f"WHEN {value} = {literal} THEN {n}" for n, literal in enumerate(literals))
    return (
        f"CASE WHEN {absent} THEN {count + 2} WHEN {value} IS NULL THEN {count + 1} "
        f"{cases} ELSE {count} END"
    )
