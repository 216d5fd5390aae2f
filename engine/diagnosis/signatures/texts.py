"""Hypotheses about one column that is compared as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.base.duck import quote_text
from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Column, Table
from engine.scoring.whatif import stamp

_PLAIN = "regexp_replace(lower(strip_accents(trim({x}))), '[^a-z0-9]+', '', 'g')"
_MANY = 200
"""Of more labels than this no list is made: they are free text."""
_WITH_UNIT = "^[<>=~≈ ]*([+-]?[0-9]+[.]?[0-9]*(?:[eE][+-]?[0-9]+)?)(?:[ ]*[^0-9., ][^0-9]*)?$"
"""A number with a unit behind it, or with a sign like < before it."""
_DATES = {
    "day, month, year": ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d-%b-%Y"),
    "month, day, year": ("%m/%d/%Y", "%m-%d-%Y", "%b %d, %Y"),
    "year, month, day": ("%Y/%m/%d", "%Y%m%d"),
}
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def text_hypotheses(table: Table, column: Column) -> Iterator[Hypothesis]:
    """Everything that can be said of two texts."""
    if column.is_number or column.wrong == 0:
        return
    i = column.position
    if column.compared_as == "text":
        for way, form, said in (
            ("space", "trim({x})", "blanks at an end"),
            ("case", "lower({x})", "capitals and small letters"),
            ("spelling", _PLAIN, "blanks, capitals or signs"),
        ):
            r, a = form.format(x=column.r), form.format(x=column.a)
            yield Hypothesis(
                id="label-spelling",
                words=f"Consistent with the right labels but for {said}.",
                predicts=f"the reference's label but for {said}",
                column=column.name,
                explains=f"s{i} = 2 AND {r} = {a}",
                contradicts=f"s{i} = 0 AND {r} <> {column.r}" if way == "space" else "false",
                parameters={"way": way},
            )
        yield from _renamed(table, column)
    yield from _numbers_in_texts(column)
    yield from _times_in_texts(column)


def _numbers_in_texts(column: Column) -> Iterator[Hypothesis]:
    """Numbers that only their form keeps from being compared as numbers."""
    i = column.position
    one = f"try_cast(r{i} AS DOUBLE)"
    cell = f"trim(a{i}::VARCHAR)"
    for way, form, said in (
        ("spelling", cell, "in another form"),
        ("comma", f"replace({cell}, ',', '.')", "with a comma for the decimal point"),
        ("thousands", f"replace({cell}, ',', '')", "with commas between the thousands"),
        ("unit", f"regexp_extract({cell}, '{_WITH_UNIT}', 1)", "with a unit or a sign beside them"),
    ):
        yield Hypothesis(
            id="number-format",
            words=f"Consistent with the right numbers {said}; one value that is no number makes "
            "the whole column be compared as text.",
            predicts=f"the reference's number, {said}",
            column=column.name,
            explains=f"s{i} = 2 AND abs({one} - try_cast({form} AS DOUBLE)) "
            f"<= {column.tolerance!r} + 1e-9",
            parameters={"form": way},
        )


def _times_in_texts(column: Column) -> Iterator[Hypothesis]:
    """Times that only their form keeps from being compared as times."""
    i = column.position
    when, cell = stamp(f"r{i}", column.r_type), f"a{i}::VARCHAR"
    zone = f"make_timestamp(epoch_us(try_cast({cell} AS TIMESTAMPTZ)))"
    for way, given, said in (
        ("spelling", stamp(f"a{i}", column.a_type), "in another form"),
        ("zone", zone, "with the name of a time zone"),
        *(
            (order, f"try_strptime({cell}, [{_layouts(dates)}])", f"as {order}")
            for order, dates in _DATES.items()
        ),
    ):
        yield Hypothesis(
            id="time-format",
            words=f"Consistent with the right times {said}; one value that is no time in the form "
            "of the first makes the whole column be compared as text.",
            predicts=f"the reference's time, {said}",
            column=column.name,
            explains=f"s{i} = 2 AND ({when}) = ({given})",
            parameters={"form": way},
        )


def _layouts(dates: Sequence[str]) -> str:
    return ", ".join(f"'{date}{clock}'" for date in dates for clock in _CLOCKS)


def _renamed(table: Table, column: Column) -> Iterator[Hypothesis]:
    """One label that the agent always calls otherwise."""
    i = column.position
    rows = table.con.execute(
        f"SELECT {column.r}, {column.a}, count(*) FROM diff WHERE s{i} = 2 "  # noqa: S608 - our own SQL
        "GROUP BY 1, 2 ORDER BY count(*) DESC, 1, 2 LIMIT 6"
    ).fetchall()
    distinct = table.con.execute(
        f"SELECT count(DISTINCT {column.r}) FROM diff"  # noqa: S608 - our own SQL
    ).fetchone()
    if not distinct or int(distinct[0]) > _MANY or not rows:
        return
    pairs = [(str(r), str(a)) for r, a, count in rows if count > 1]
    for reference, agent in pairs:
        is_it = f"{column.r} = {quote_text(reference)}"
        yield Hypothesis(
            id="label-renamed",
            words="Consistent with one label always written as another.",
            predicts="another label, always the same, for one label of the reference",
            column=column.name,
            explains=f"s{i} = 2 AND {is_it} AND {column.a} = {quote_text(agent)}",
            contradicts=f"s{i} = 0 AND {is_it}",
            local_words=f"{reference!r} is written {agent!r}.",
            free=True,
        )
    names = [r for r, _ in pairs]
    if len(pairs) > 1 and len(set(names)) == len(names):
        either = " OR ".join(
            f"({column.r} = {quote_text(r)} AND {column.a} = {quote_text(a)})" for r, a in pairs
        )
        among = ", ".join(quote_text(r) for r in names)
        yield Hypothesis(
            id="label-renamed",
            words=f"Consistent with {len(pairs)} labels, each always written as another.",
            predicts="another label, always the same, for some labels of the reference",
            column=column.name,
            explains=f"s{i} = 2 AND ({either})",
            contradicts=f"s{i} = 0 AND {column.r} IN ({among})",
            parameters={"labels": len(pairs)},
            local_words="; ".join(f"{r!r} is written {a!r}" for r, a in pairs),
            free=True,
        )
