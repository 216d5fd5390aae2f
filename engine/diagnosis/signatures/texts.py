"""Hypotheses about one column that is compared as text."""

from __future__ import annotations

from collections.abc import Iterator

from engine.base.duck import quote_text
from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Column, Table

_PLAIN = "regexp_replace(lower(strip_accents(trim({x}))), '[^a-z0-9]+', '', 'g')"
_MANY = 200
"""Of more labels than this no list is made: they are free text."""


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
                contradicts=f"s{i} = 0 AND {r} <> {column.r}" if way != "spelling" else "false",
                parameters={"way": way},
            )
        yield from _renamed(table, column)
    one, other = f"try_cast(r{i} AS DOUBLE)", f"try_cast(a{i} AS DOUBLE)"
    yield Hypothesis(
        id="number-format",
        words="Consistent with the right numbers in another form; one value that is no number "
        "makes the whole column be compared as text.",
        predicts="the reference's number, printed otherwise",
        column=column.name,
        explains=f"s{i} = 2 AND abs({one} - {other}) <= {column.tolerance!r} + 1e-9",
    )
    when, given = f"try_cast(r{i} AS TIMESTAMP)", f"try_cast(a{i} AS TIMESTAMP)"
    yield Hypothesis(
        id="number-format",
        words="Consistent with the right times in another form; one value that is no time makes "
        "the whole column be compared as text.",
        predicts="the reference's time, printed otherwise",
        column=column.name,
        explains=f"s{i} = 2 AND {when} = {given}",
    )


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
