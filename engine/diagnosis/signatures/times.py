"""Hypotheses about one column of timestamps."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Column, Table

HOUR, DAY = 3600, 86400
_CUT = {"day": "date-only", "hour": "rounding", "minute": "rounding"}


def time_hypotheses(table: Table, column: Column) -> Iterator[Hypothesis]:
    """Everything that can be said of two timestamps."""
    if column.compared_as != "time" or column.wrong == 0:
        return
    i = column.position
    for part, name in _CUT.items():
        predicted = f"date_trunc('{part}', {column.r})::TIMESTAMP"
        fits = column.matches(predicted)
        said = "dates without a time of day" if part == "day" else f"times cut to the {part}"
        yield Hypothesis(
            id=name,
            words=f"Consistent with {said}.",
            predicts=f"the reference cut to the {part}",
            column=column.name,
            explains=f"s{i} = 2 AND {fits}",
            contradicts=f"s{i} IN (0, 1) AND NOT {fits}",
            parameters={"way": "floor", "part": part},
            strict=True,
        )
    yield from _shifts(table, column)
    if any(kind in column.a_type for kind in ("INT", "DOUBLE")):
        yield from _since_1970(column)


def _since_1970(column: Column) -> Iterator[Hypothesis]:
    """Times written as a number, which counts as nanoseconds."""
    i = column.position
    for unit, per_second in (("seconds", 1), ("milliseconds", 1_000), ("microseconds", 1_000_000)):
        given = f"make_timestamp((a{i}::DOUBLE * {1_000_000 // per_second})::BIGINT)"
        yield Hypothesis(
            id="time-format",
            words=f"Consistent with times as {unit} since 1970; a number is read as nanoseconds.",
            predicts=f"the reference's time in {unit} since 1970",
            column=column.name,
            explains=f"s{i} = 2 AND abs(a{i}) < 9e15 AND {given} = {column.r}",
            parameters={"form": unit},
        )


def _shifts(table: Table, column: Column) -> Iterator[Hypothesis]:
    i = column.position
    seconds = f"(epoch_us({column.a}) - epoch_us({column.r})) / 1000000"
    rows = table.con.execute(
        f"SELECT {seconds} AS step, count(*) FROM diff WHERE s{i} = 2 "  # noqa: S608 - our own SQL
        "GROUP BY step HAVING step <> 0 ORDER BY count(*) DESC, 1 LIMIT 4"
    ).fetchall()
    steps = [float(step) for step, count in rows if count > 1]
    wanted = dict.fromkeys([*steps, HOUR, -HOUR, DAY, -DAY])
    for by in wanted:
        predicted = f"{column.r} + to_microseconds({int(by * 1e6)})"
        fits = column.matches(predicted)
        name, said = named_shift(by)
        yield Hypothesis(
            id=name,
            words=f"Consistent with times {said}.",
            predicts=f"the reference {by:+g} s",
            column=column.name,
            explains=f"s{i} = 2 AND {fits}",
            contradicts=f"s{i} IN (0, 1)",
            parameters={"offset": by},
            free=name == "constant-offset",
        )
    # A time zone with summer time: two neighbouring whole hours, by the date.
    hours = f"({seconds}) / {HOUR}"
    fits = f"abs({hours} - round({hours})) < 1e-9 AND abs({hours}) BETWEEN 1 AND 14"
    whole = table.con.execute(
        f"SELECT round({hours})::INTEGER AS h, count(*) FROM diff WHERE s{i} = 2 AND {fits} "  # noqa: S608 - our own SQL
        "GROUP BY h ORDER BY count(*) DESC LIMIT 2"
    ).fetchall()
    if len(whole) > 1 and abs(int(whole[0][0]) - int(whole[1][0])) == 1:
        one, other = sorted(int(h) for h, _ in whole)
        yield Hypothesis(
            id="off-by-hour",
            words=f"Consistent with another time zone with summer time ({one:+d} or {other:+d} h).",
            predicts=f"the reference {one:+d} or {other:+d} h, by the date",
            column=column.name,
            explains=f"s{i} = 2 AND {fits} AND round({hours}) IN ({one}, {other})",
            contradicts=f"s{i} IN (0, 1)",
            parameters={"hours": one, "hours_summer": other},
        )


def named_shift(seconds: float) -> tuple[str, str]:
    """Id and words of a shift in time."""
    if seconds % DAY == 0:
        days = int(seconds // DAY)
        return "off-by-day", f"off by {days:+d} day{'s' if abs(days) != 1 else ''}"
    if seconds % HOUR == 0:
        hours = int(seconds // HOUR)
        zone = ", as in another time zone" if abs(hours) > 1 else ""
        return "off-by-hour", f"off by {hours:+d} h{zone}"
    return "constant-offset", f"off by {seconds:+g} s"
