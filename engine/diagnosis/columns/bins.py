"""Differences and pairs of values in bins; what lies outside is in a bin of its own, never lost."""

from __future__ import annotations

import math

import duckdb

from engine.diagnosis.columns.model import Axis, Bar, Histogram, MatrixCell, Ratio, Scatter
from engine.scoring.whatif import Compared

BARS = 40
"""Intervals of a histogram, about; as many differences are shown one by one."""
GRID = 48
"""Bins of a scatter along each axis."""
_APART = 3.0
"""Axes are apart where one for both would be so many times as long as the shorter one."""
_FAR = 1.25
"""A ratio that is told is at least so many times 1, or 1 so many times it."""
_STEADY = 1.1
"""Third quartile by first one, at most, of a ratio that is told."""
_FEW = 5
"""Pairs below which no ratio is told."""
_DIGITS = 6
"""Differences are told apart to so many decimals."""
_CENTRE = 0.98
_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200)
_DAY = 86_400.0
_LARGE = 1e15
"""Beyond, six decimals of a double mean nothing."""


def histogram(con: duckdb.DuckDBPyConnection, column: Compared) -> Histogram | None:
    """Agent - reference in bars; None for texts."""
    difference = column.difference
    if difference is None:
        return None
    s = f"s{column.position}"
    d = f"round({difference}, {_DIGITS})"
    among = f"{s} IN (1, 2) AND {difference} IS NOT NULL"
    finite = f"{among} AND isfinite({difference}) AND abs({difference}) < {_LARGE!r}::DOUBLE"
    summary = con.execute(
        f"SELECT avg(d), median(d), min(d), max(d), count(*) FILTER (d > 0), "  # noqa: S608
        f"quantile_disc(d, {(1 - _CENTRE) / 2}), quantile_disc(d, {(1 + _CENTRE) / 2}) "
        f"FROM (SELECT {difference} AS d FROM diff WHERE {finite})"
    ).fetchone()
    assert summary is not None  # noqa: S101 - an aggregate gives one row
    mean, median, smallest, largest, positive, low, high = summary
    few = con.execute(
        f"SELECT {d} AS d, count(*) FROM diff WHERE {finite} GROUP BY d LIMIT {BARS + 1}"  # noqa: S608
    ).fetchall()
    if len(few) <= BARS:
        bars = [
            Bar(signed(value, column), count, f"{finite} AND {d} = {value!r}::DOUBLE", value, value)
            for value, count in sorted(few)
        ]
    else:
        bars = _intervals(con, column, finite, (low, high))
    beyond = con.execute(
        f"SELECT count(*) FROM diff WHERE {among} AND NOT ({finite})"  # noqa: S608 - our own
    ).fetchone()
    if beyond and beyond[0]:
        bars.append(Bar("infinite or immense", int(beyond[0]), f"{among} AND NOT ({finite})"))
    equal = con.execute(f"SELECT count(*) FROM diff WHERE {s} = 0").fetchone()  # noqa: S608
    return Histogram(
        bars=tuple(bars),
        discrete=len(few) <= BARS,
        equal=Bar("exactly equal", int(equal[0]) if equal else 0, f"{s} = 0"),
        n=sum(bar.count for bar in bars),
        mean=mean,
        median=median,
        smallest=smallest,
        largest=largest,
        positive=int(positive),
    )


def _intervals(
    con: duckdb.DuckDBPyConnection, column: Compared, finite: str, middle: tuple[float, float]
) -> list[Bar]:
    """Bars of one width over the middle 98 %, and an open one at each end."""
    (low, high), difference = middle, column.difference
    step = _step(max(high - low, 10.0**-_DIGITS) / BARS, times=column.compared_as == "time")
    first = math.floor(low / step)
    count = max(1, math.floor(high / step) + 1 - first)
    place = f"floor({difference} / {step!r}::DOUBLE) - {first}"
    number = f"CAST(greatest(-1, least({count}, {place})) AS INTEGER)"
    found = dict(
        con.execute(
            f"SELECT {number} AS b, count(*) FROM diff WHERE {finite} GROUP BY b"  # noqa: S608
        ).fetchall()
    )
    bars = []
    for at in range(-1, count + 1):
        left = (first + at) * step if at >= 0 else None
        right = (first + at + 1) * step if at < count else None
        if left is None:
            words = f"below {signed(first * step, column)}"
        elif right is None:
            words = f"from {signed(left, column)} up"
        else:
            words = f"{signed(left, column)} to {signed(right, column)}"
        number_of = int(found.get(at, 0))
        if 0 <= at < count or number_of:
            bars.append(Bar(words, number_of, f"{finite} AND {number} = {at}", left, right))
    return bars


def _step(wanted: float, *, times: bool) -> float:
    """The next round width: 1, 2 or 5 times a power of ten; of times a part of a day, or days."""
    if times and wanted >= 1:
        for step in _TIME_STEPS:
            if step >= wanted:
                return float(step)
        return math.ceil(wanted / _DAY) * _DAY
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(power * by for by in (1, 2, 5, 10) if power * by >= wanted)


def signed(value: float, column: Compared) -> str:
    """A difference with its sign; times in days, hours, minutes and seconds."""
    if column.compared_as != "time":
        return f"{value:+.6g}".replace("-", "−") if value else "0"
    sign, rest = ("−" if value < 0 else "+"), abs(value)
    parts = []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{int(count)} {name}")
    if rest or not parts:
        parts.append(f"{rest:g} s")
    return sign + " ".join(parts)


def scatter(con: duckdb.DuckDBPyConnection, column: Compared) -> Scatter | None:
    """Pairs of numbers in bins; None where there is no pair."""
    r, a = column.reference, column.agent
    there = f"s{column.position} IN (0, 1, 2)"
    both = f"{there} AND isfinite({r}) AND isfinite({a})"
    row = con.execute(
        f"SELECT count(*), quantile_disc(r, 0.005), quantile_disc(r, 0.995), "  # noqa: S608
        f"quantile_disc(a, 0.005), quantile_disc(a, 0.995) FROM "
        f"(SELECT {r} AS r, {a} AS a FROM diff WHERE {both})"
    ).fetchone()
    if row is None or not row[0]:
        return None
    across, up = _axes(row[1], row[2], row[3], row[4])
    x, y = _bin(r, across), _bin(a, up)
    cells = tuple(
        MatrixCell(int(i), int(j), int(n), f"{both} AND {x} = {i} AND {y} = {j}")
        for i, j, n in con.execute(
            f"SELECT {x} AS i, {y} AS j, count(*) FROM diff WHERE {both} GROUP BY i, j "  # noqa: S608
            "ORDER BY i, j"
        ).fetchall()
    )
    inside = " AND ".join(
        f"{v} >= {axis.low!r}::DOUBLE AND {v} < {axis.low + GRID * axis.step!r}::DOUBLE"
        for v, axis in ((r, across), (a, up))
    )
    beyond, left_out = con.execute(
        f"SELECT count(*) FILTER ({both} AND NOT ({inside})), "  # noqa: S608 - our own
        f"count(*) FILTER ({there} AND NOT ({both})) FROM diff"
    ).fetchone() or (0, 0)
    ratio = _ratio(con, column, both)
    return Scatter(across, up, GRID, cells, int(beyond), int(left_out), ratio)


def _axes(r_low: float, r_high: float, a_low: float, a_high: float) -> tuple[Axis, Axis]:
    """The reference's axis and the agent's: one for both, unless their scales are far apart."""
    low, high = min(r_low, a_low), max(r_high, a_high)
    shorter = min(r_high - r_low, a_high - a_low)
    if shorter > 0 and high - low > _APART * shorter:
        return _axis(r_low, r_high), _axis(a_low, a_high)
    one = _axis(low, high)
    return one, one


def _axis(low: float, high: float) -> Axis:
    step = _step(max(high - low, 10.0**-_DIGITS) / (GRID - 4), times=False)
    return Axis(math.floor(low / step) * step, step)


def _ratio(con: duckdb.DuckDBPyConnection, column: Compared, both: str) -> Ratio | None:
    """Agent / reference over the pairs that differ, where it is steady and far from 1."""
    r, a, s = column.reference, column.agent, f"s{column.position}"
    row = con.execute(
        "SELECT count(*), median(q), quantile_cont(q, 0.25), quantile_cont(q, 0.75) FROM "  # noqa: S608
        f"(SELECT {a} / {r} AS q FROM diff WHERE {both} AND {s} = 2 AND {r} <> 0)"
    ).fetchone()
    if row is None or row[0] < _FEW or not row[2] or row[2] <= 0:
        return None
    n, median, low, high = row
    far = max(median, 1 / median) >= _FAR
    return Ratio(median, low, high, int(n)) if far and high / low <= _STEADY else None


def _bin(value: str, axis: Axis) -> str:
    place = f"floor(({value} - {axis.low!r}::DOUBLE) / {axis.step!r}::DOUBLE)"
    return f"CAST(greatest(0, least({GRID - 1}, {place})) AS INTEGER)"
