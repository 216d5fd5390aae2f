"""Hypotheses about one column of numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Column, Table

UNITS: dict[str, float] = {
    "kg as lb": 2.2046226218,
    "cm as in": 1 / 2.54,
    "m as cm": 100.0,
    "mg/dL creatinine as µmol/L": 88.4,
    "mg/dL bilirubin as µmol/L": 17.1,
    "mg/dL glucose as mmol/L": 1 / 18.0,
    "mg/dL glucose as mmol/L (18.016)": 1 / 18.016,
    "mg/dL urea nitrogen as mmol/L": 0.357,
    "mmHg as kPa": 0.133322,
    "mg as mcg": 1000.0,
    "per minute as per hour": 60.0,
    "hours as days": 1 / 24.0,
    "minutes as days": 1 / 1440.0,
    "fraction as percent": 100.0,
    "per-kilogram for 70 kg": 70.0,
    "total for a rate over 6 hours": 6.0,
    "total for a rate over 12 hours": 12.0,
    "albumin g/dL as g/L": 10.0,
    "the other sign": -1.0,
    "years as months": 12.0,
    "hours as seconds": 3600.0,
    "days as seconds": 86400.0,
}
"""What is taken for what, and by what a number is off then; the inverse is tried too."""

_DIGITS = range(-1, 5)
_SOME = 3
"""Cells that must share a ratio or a step."""
_EXACT = 1e-6
"""Relative difference up to which two factors are the same."""
_LEVELS = 12
"""Of a score, at most."""
_VALUES = 3
"""Different values of the reference that must be cut to a bound: fewer are just other values."""


def number_hypotheses(table: Table, column: Column) -> Iterator[Hypothesis]:
    """Everything that can be said of two numbers."""
    if not column.is_number or column.wrong == 0:
        return
    yield from _rounding(table, column)
    yield from _fahrenheit(column)
    yield from _factors(table, column)
    yield from _offsets(table, column)
    yield from _capped(table, column)
    yield from _levels(table, column)


def _predicting(
    column: Column,
    name: str,
    predicted: str,
    words: str,
    predicts: str,
    *,
    free: bool = False,
    **parameters: str | float | int,
) -> Hypothesis:
    """A hypothesis that predicts the agent's number wherever the reference has one."""
    i = column.position
    fits = column.matches(predicted)
    return Hypothesis(
        id=name,
        words=words,
        predicts=predicts,
        column=column.name,
        explains=f"s{i} = 2 AND {fits}",
        contradicts=f"s{i} IN (0, 1) AND NOT {fits}",
        parameters=parameters,
        free=free,
        strict=name != "unit-factor",
    )


def _rounding(table: Table, column: Column) -> Iterator[Hypothesis]:
    """The agent's numbers are coarser than the reference's, or finer."""
    r, a, i = column.r, column.a, column.position
    decimals = "list_min([d FOR d IN [-1, 0, 1, 2, 3, 4] IF abs({x} - round({x}, d)) < 1e-9])"
    row = table.con.execute(
        f"SELECT mode(coalesce({decimals.format(x=a)}, 9)), mode(coalesce({decimals.format(x=r)}, "  # noqa: S608 - our own SQL
        f"9)), max(coalesce({decimals.format(x=a)}, 9)), max(coalesce({decimals.format(x=r)}, 9)), "
        f"count(DISTINCT {r}) FROM diff WHERE s{i} = 2"
    ).fetchone()
    if row is None or row[0] is None:
        return
    # Points of a score are not rounded to tens.
    likely = set(_DIGITS) if int(row[4]) > _LEVELS else set(_DIGITS) - {-1}
    for digits in sorted({int(row[0]), int(row[2])} & likely):
        scale = f"pow(10, {digits})::DOUBLE"
        ways = {
            "floor": (f"floor({r} * {scale} + 1e-9) / {scale}", "cut down"),
            "ceiling": (f"ceil({r} * {scale} - 1e-9) / {scale}", "raised"),
            "half-up": (f"floor({r} * {scale} + 0.5 + 1e-9) / {scale}", "rounded half up"),
            "half-even": (f"round_even({r}, {digits})", "rounded half to even"),
        }
        for way, (predicted, said) in ways.items():
            if way == "half-even" and digits < 0:
                continue
            yield _predicting(
                column,
                "rounding",
                predicted,
                f"Consistent with values {said} to {digits} decimals.",
                f"the reference {said} to {digits} decimals",
                way=way,
                digits=digits,
            )
    for digits in sorted({int(row[1]), int(row[3])} & set(_DIGITS) - {-1}):
        near = f"abs({a} - {r}) <= 0.5 * pow(10, {-digits}) * 1.001"
        finer = f"abs({a} - round({a}, {digits})) > 1e-9"
        yield Hypothesis(
            id="rounding",
            words=f"Consistent with values left unrounded that the reference rounds to {digits} "
            "decimals.",
            predicts=f"a number that rounds to the reference at {digits} decimals",
            column=column.name,
            explains=f"s{i} = 2 AND {near} AND {finer}",
            parameters={"way": "unrounded", "digits": digits},
        )


def _fahrenheit(column: Column) -> Iterator[Hypothesis]:
    for name, predicted in (
        ("°F for °C", f"{column.r} * 1.8 + 32"),
        ("°C for °F", f"({column.r} - 32) / 1.8"),
    ):
        yield _predicting(
            column, "unit-factor", predicted, f"Consistent with {name}.", name, unit=name
        )


def _factors(table: Table, column: Column) -> Iterator[Hypothesis]:
    """The commonest ratios of agent by reference: a known unit each, or just a factor."""
    ratio = f"{column.a} / {column.r}"
    rows = table.con.execute(
        "SELECT median(q), count(*), count(DISTINCT r), max(q) - min(q) FROM "  # noqa: S608 - our own SQL
        f"(SELECT {ratio} AS q, {column.r} AS r FROM diff "
        f"WHERE s{column.position} = 2 AND {column.r} <> 0 AND isfinite({ratio}) "
        f"AND {column.a} <> 0) GROUP BY round(log(abs(q)), 3), q > 0 "
        "ORDER BY count(*) DESC, 1 LIMIT 5"
    ).fetchall()
    several = _several(table, column)
    tried: list[float] = []
    for middle, count, values, spread in rows:
        found = float(middle)
        known = [
            (unit, by)
            for name, factor in UNITS.items()
            for unit, by in ((name, factor), (f"{name}, the other way", 1 / factor))
            if math.isclose(found, by, rel_tol=5e-3)
        ]
        for unit, by in known:
            if by in tried:
                continue
            tried.append(by)
            yield _predicting(
                column,
                "unit-factor",
                f"{column.r} * {by!r}::DOUBLE",
                f"Consistent with a factor of {by:.6g} ({unit}).",
                f"the reference times {by:.6g}",
                factor=by,
                unit=unit,
            )
        # One ratio everywhere, near a unit's but not it (2.53 for 2.54), is a factor of its own.
        is_unit = any(math.isclose(found, by, rel_tol=_EXACT) for _, by in known)
        if known and (is_unit or spread > _EXACT * abs(found)):
            continue
        if count >= _SOME and values >= several and found != 1.0:
            yield _predicting(
                column,
                "constant-factor",
                f"{column.r} * {found!r}::DOUBLE",
                f"Consistent with a constant factor of {found:.6g}.",
                f"the reference times {found:.6g}",
                free=True,
                factor=found,
            )
    i = column.position
    near = f"abs({ratio} - round({ratio})) < 1e-6 AND round({ratio}) >= 2 AND {column.r} <> 0"
    rows = table.con.execute(
        f"SELECT count(DISTINCT round({ratio})) FROM diff WHERE s{i} = 2 AND {near}"  # noqa: S608 - our own SQL
    ).fetchall()
    if rows and int(rows[0][0]) > 1:
        yield Hypothesis(
            id="one-to-many-join",
            words="Consistent with sums over rows that a one-to-many join has multiplied.",
            predicts="the reference times a whole number from 2, which varies by row",
            column=column.name,
            explains=f"s{i} = 2 AND {near}",
            contradicts=f"s{i} IN (0, 1) AND {column.r} <> 0",
            free=True,
        )


def _several(table: Table, column: Column) -> int:
    """Values of the reference that a factor or an offset must hold for, where there are so many.

    What holds for one value alone is another value in its place, no arithmetic.
    """
    row = table.con.execute(
        f"SELECT count(DISTINCT {column.r}) FROM diff WHERE s{column.position} = 2"  # noqa: S608 - our own SQL
    ).fetchone()
    return min(2, int(row[0])) if row else 0


def _offsets(table: Table, column: Column) -> Iterator[Hypothesis]:
    step = f"round({column.a} - {column.r}, 6)"
    rows = table.con.execute(
        f"SELECT {step} AS step, count(*), count(DISTINCT {column.r}) FROM diff "  # noqa: S608 - our own SQL
        f"WHERE s{column.position} = 2 "
        "GROUP BY step HAVING isfinite(step) AND step <> 0 ORDER BY count(*) DESC, 1 LIMIT 3"
    ).fetchall()
    several = _several(table, column)
    for offset, count, values in rows:
        if count < _SOME or values < several:
            continue
        by = float(offset)
        yield _predicting(
            column,
            "constant-offset",
            f"{column.r} + {by!r}::DOUBLE",
            f"Consistent with a constant offset of {by:+g}.",
            f"the reference {by:+g}",
            free=True,
            offset=by,
        )


def _capped(table: Table, column: Column) -> Iterator[Hypothesis]:
    i = column.position
    row = table.con.execute(
        f"SELECT mode({column.a}) FROM diff WHERE s{i} = 2"  # noqa: S608 - our own SQL
    ).fetchone()
    if row is None or row[0] is None:
        return
    bound = float(row[0])
    if not math.isfinite(bound):
        return
    for said, function, sign in (("above", "least", ">"), ("below", "greatest", "<")):
        distinct = table.con.execute(
            f"SELECT count(DISTINCT {column.r}) FROM diff WHERE s{i} = 2 "  # noqa: S608 - our own SQL
            f"AND {column.a} = {bound!r}::DOUBLE AND {column.r} {sign} {bound!r}::DOUBLE"
        ).fetchone()
        if distinct is None or int(distinct[0]) < _VALUES:
            continue
        yield _predicting(
            column,
            "capped",
            f"{function}({column.r}, {bound!r}::DOUBLE)",
            f"Consistent with everything {said} a bound cut to it.",
            "the reference, but for the bound",
            free=True,
            side=said,
        )


def _levels(table: Table, column: Column) -> Iterator[Hypothesis]:
    """Of a score: the level of the band beside, as at a threshold that is strict for inclusive."""
    row = table.con.execute(
        f"SELECT list_sort(list(DISTINCT {column.r})) FROM diff WHERE {column.r} IS NOT NULL"  # noqa: S608 - our own SQL
    ).fetchone()
    levels = [float(v) for v in (row[0] if row and row[0] else [])]
    if not 1 < len(levels) <= _LEVELS or not all(v.is_integer() for v in levels):
        return
    for said, pairs in (
        ("higher", list(itertools.pairwise(levels))),
        ("lower", [(b, a) for a, b in itertools.pairwise(levels)]),
    ):
        listed = " OR ".join(
            f"({column.r} = {one!r} AND {column.a} = {other!r})" for one, other in pairs
        )
        yield Hypothesis(
            id="neighbouring-level",
            words=f"Consistent with scores one level {said}, as at a threshold taken as strict "
            "for inclusive or the reverse.",
            predicts=f"the next {said} level",
            column=column.name,
            explains=f"s{column.position} = 2 AND ({listed})",
            contradicts=f"s{column.position} IN (0, 1)",
            parameters={"direction": said},
            free=True,
            strict=True,
        )
