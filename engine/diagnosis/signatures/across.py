"""Hypotheses that bring columns of one row, or rows of one stay, together."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Column, Table

_MANY_PARTS = 20
_LEAST_ROWS, _LEAST_VALUES = 5, 3
"""Below that a sum is no more than chance."""
_NAMED = 4


def across_hypotheses(table: Table, column: Column) -> Iterator[Hypothesis]:
    """Swapped, copied, and what follows from parts."""
    if column.wrong == 0 or column.lacking:
        return
    for other in table.columns:
        if other is not column and not other.lacking and _alike(column, other):
            yield from _pair(column, other)
    yield from _from_parts(table, column)


def _alike(one: Column, other: Column) -> bool:
    return one.compared_as == other.compared_as and (
        one.compared_as == "number" or one.r_type == other.r_type
    )


def _pair(column: Column, other: Column) -> Iterator[Hypothesis]:
    i, j = column.position, other.position
    copied = column.matches(other.r)
    differ = f"r{i} IS DISTINCT FROM r{j}"
    swapped = f"{copied} AND {other.matches(column.r)}"
    if other.wrong:
        yield Hypothesis(
            id="swapped-columns",
            words=f"Consistent with {' and '.join(sorted((column.name, other.name)))} swapped.",
            predicts="the reference's other column, in both",
            column=column.name,
            explains=f"{column.wrong_here} AND {swapped}",
            contradicts=f"{column.right_here} AND {differ}",
            strict=True,
            parameters={"columns": ", ".join(sorted((column.name, other.name)))},
        )
    yield Hypothesis(
        id="copied-column",
        words=f"Consistent with {other.name} put into {column.name}.",
        predicts=f"the reference's {other.name}",
        column=column.name,
        explains=f"{column.wrong_here} AND {copied} AND r{j} IS NOT NULL",
        contradicts=f"{column.right_here} AND {differ} AND r{j} IS NOT NULL",
        parameters={"other": other.name},
        strict=True,
    )
    yield Hypothesis(
        id="copied-column",
        words=f"Consistent with the agent's own {other.name} put into {column.name}.",
        predicts=f"the agent's {other.name}",
        column=column.name,
        explains=f"{column.wrong_here} AND {column.matches(other.a)} AND a{j} IS NOT NULL "
        f"AND {other.wrong_here}",
        contradicts=f"{column.right_here} AND NOT {column.matches(other.a)}",
        parameters={"other": other.name, "side": "agent"},
        strict=True,
    )


def sum_parts(table: Table, column: Column) -> tuple[Column, ...]:
    """The columns whose sum is `column` in every row of the reference; none where there are none.

    A total is a number, and the parts are the other whole numbers of the table.
    """
    if not column.is_number:
        return ()
    parts = [
        c
        for c in table.columns
        if c is not column and c.is_number and "INT" in c.r_type.upper() and not c.lacking
    ] or [c for c in table.columns if c is not column and c.is_number and not c.lacking]
    if not 1 < len(parts) <= _MANY_PARTS:
        return ()
    total = " + ".join(f"coalesce({c.r}, 0)" for c in parts)
    row = table.con.execute(
        f"SELECT count(*) FILTER (WHERE {column.r} IS NOT NULL), "  # noqa: S608 - our own SQL
        f"count(*) FILTER (WHERE abs({column.r} - ({total})) < 1e-6), "
        f"count(DISTINCT {column.r}) FROM diff WHERE key_status < 2"
    ).fetchone()
    if (
        row is None
        or int(row[0]) < _LEAST_ROWS
        or int(row[1]) < int(row[0])
        or int(row[2]) < _LEAST_VALUES
    ):
        return ()
    return tuple(parts)


def _from_parts(table: Table, column: Column) -> Iterator[Hypothesis]:
    parts = sum_parts(table, column)
    i = column.position
    if parts:
        total = " + ".join(f"coalesce({c.a}, 0)" for c in parts)
        off = " OR ".join(c.wrong_here for c in parts)
        yield Hypothesis(
            id="follows-from-parts",
            words=f"Consistent with a right sum of wrong parts: see {_names(parts)}.",
            predicts="the sum of the agent's parts",
            column=column.name,
            explains=f"s{i} = 2 AND abs({column.a} - ({total})) < 1e-6 AND ({off})",
            contradicts=f"{column.right_here} AND abs({column.a} - ({total})) > 1e-6",
        )
        for left_out in parts:
            yield Hypothesis(
                id="sum-of-parts",
                words=f"Consistent with a sum without {left_out.name}.",
                predicts=f"the sum of the agent's parts but {left_out.name}",
                column=column.name,
                explains=f"s{i} = 2 AND abs({column.a} - ({total} - coalesce({left_out.a}, 0))) "
                f"< 1e-6 AND NOT ({off})",
                contradicts=f"{column.right_here} AND coalesce({left_out.a}, 0) <> 0",
                parameters={"part": left_out.name},
                strict=True,
            )
        null = " OR ".join(f"{c.a} IS NULL" for c in parts)
        yield Hypothesis(
            id="missing-left-null",
            words="Consistent with a total that is null as soon as one part is.",
            predicts="null where a part is null",
            column=column.name,
            explains=f"s{i} = 4 AND ({null})",
            contradicts=f"{column.right_here} AND {column.a} IS NOT NULL AND ({null})",
        )


def _names(parts: tuple[Column, ...]) -> str:
    wrong = [c.name for c in parts if c.wrong] or [c.name for c in parts]
    return ", ".join(wrong[:_NAMED]) + (", …" if len(wrong) > _NAMED else "")


def row_hypotheses(table: Table, column: Column) -> tuple[str, tuple[Hypothesis, ...]] | None:
    """The value of the row before or after, within the first key; only for long tables.

    Returns:
        SQL of a relation with `row` and the neighbours' values, and the hypotheses on it.
    """
    if len(table.keys) == 1 or column.wrong == 0 or column.lacking:
        return None
    over = "OVER (PARTITION BY k0 ORDER BY row)"
    relation = (
        f"SELECT *, lag(r{column.position}) {over} AS before_, lead(r{column.position}) {over} "  # noqa: S608 - our own SQL
        "AS after_ FROM diff WHERE key_status < 2"
    )
    found = []
    for word, name in (("before", "before_"), ("after", "after_")):
        fits = column.matches(_value(column, name))
        found.append(
            Hypothesis(
                id="neighbouring-row",
                words=f"Consistent with the value of the row {word}.",
                predicts=f"the reference's value of the row {word} of the same stay",
                column=column.name,
                explains=f"s{column.position} IN (2, 3, 4) AND {fits} AND {name} IS NOT NULL",
                contradicts=f"{column.right_here} AND NOT {fits}",
                parameters={"row": word},
                strict=True,
            )
        )
    return relation, tuple(found)


def _value(column: Column, name: str) -> str:
    return f"try_cast({name} AS DOUBLE)" if column.is_number else name
