"""Match rate against tolerance."""

from __future__ import annotations

import math

import duckdb

from engine.base.jobs import Job
from engine.diagnosis.columns.model import TolerancePoint
from engine.scoring.whatif import Compared

POINTS = 200
"""Most tolerances of a curve; of more distances every so many are taken, and the outermost."""

_NOISE = 1e-9
"""Differences below this share of a tolerance come from floats, not from the data."""


def tolerance_curve(
    con: duckdb.DuckDBPyConnection, column: Compared, *, own: float, reference_rows: int, job: Job
) -> tuple[TolerancePoint, ...]:
    """The tolerances at which more cells match, from 0 on.

    Args:
        con: a connection to the diff file.
        column: the scored column.
        own: its tolerance as scored; a point of the curve as well.
        reference_rows: rows of the reference.
        job: cancel (the caller interrupts `con`).

    Returns:
        Ascending points, each exact; empty for texts.
    """
    distance = column.distance
    if distance is None:
        return ()
    s = f"s{column.position}"
    job.check()
    base, kept = con.execute(
        f"SELECT count(*) FILTER ({s} IN (0, 5)), "  # noqa: S608 - our own names
        f"count(*) FILTER ({s} = 1 AND ({distance}) IS NULL) FROM diff"
    ).fetchone() or (0, 0)
    found = con.execute(
        f"WITH g AS (SELECT {distance} AS d, count(*) AS n FROM diff "  # noqa: S608 - our own names
        f"WHERE {s} IN (1, 2) GROUP BY d HAVING d IS NOT NULL AND isfinite(d)), "
        "c AS (SELECT d, sum(n) OVER (ORDER BY d) AS total, row_number() OVER (ORDER BY d) AS k, "
        "count(*) OVER () AS m FROM g) "
        f"SELECT d, total FROM c WHERE m <= {POINTS} OR k % (m // {POINTS} + 1) = 0 OR k IN (1, m) "
        "OR d = (SELECT max(d) FROM g WHERE d <= ?::DOUBLE) ORDER BY d",
        [own],
    ).fetchall()
    start = int(base) + int(kept)
    points = [_point(0.0, start, reference_rows)]
    for d, total in found:
        if d > 0:
            points.append(_point(float(d), start + int(total), reference_rows))
    if all(point.tolerance != own for point in points):
        below = max((p for p in points if p.tolerance <= own), key=lambda p: p.tolerance)
        points.append(_point(own, below.matches, reference_rows))
    return _told_apart(sorted(points, key=lambda point: point.tolerance), own)


def _told_apart(points: list[TolerancePoint], own: float) -> tuple[TolerancePoint, ...]:
    """Of tolerances that only the rounding of floats tells apart, the largest; and `own`."""
    after = [*(point.tolerance for point in points[1:]), float("inf")]
    return tuple(
        point
        for point, following in zip(points, after, strict=True)
        if point.tolerance == own or not math.isclose(point.tolerance, following, rel_tol=_NOISE)
    )


def _point(tolerance: float, matches: int, rows: int) -> TolerancePoint:
    return TolerancePoint(tolerance, matches, matches / rows if rows else 0.0)
