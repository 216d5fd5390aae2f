"""Hypotheses about values that are missing on one side, or always the same."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Column, Table


def null_hypotheses(table: Table, column: Column) -> Iterator[Hypothesis]:
    """Null against zero, against a usual value, and columns of one value."""
    if column.lacking:
        yield Hypothesis(
            id="column-missing",
            words="The output has no such column.",
            predicts="nothing",
            column=column.name,
            explains=f"s{column.position} = 6 AND key_status = 0",
        )
        return
    if column.wrong == 0:
        return
    i, r, a = column.position, column.r, column.a
    if column.is_number:
        yield Hypothesis(
            id="null-versus-zero",
            words="Consistent with 0 where the reference has null.",
            predicts="0 where the reference is null",
            column=column.name,
            explains=f"s{i} = 3 AND {a} = 0",
            contradicts=f"s{i} = 5",
            parameters={"reference": "null", "agent": "zero"},
        )
        yield Hypothesis(
            id="null-versus-zero",
            words="Consistent with null where the reference has 0.",
            predicts="null where the reference is 0",
            column=column.name,
            explains=f"s{i} = 4 AND {r} = 0",
            contradicts=f"s{i} IN (0, 1) AND {r} = 0",
            parameters={"reference": "zero", "agent": "null"},
        )
    yield from _usual(table, column)
    yield from _constant(table, column)


def _usual(table: Table, column: Column) -> Iterator[Hypothesis]:
    i, r, a = column.position, column.r, column.a
    zero = " AND {x} <> 0" if column.is_number else ""
    filled = _one(table, a, f"s{i} = 3{zero.format(x=a)}")
    if filled is not None:
        yield Hypothesis(
            id="null-versus-normal",
            words="Consistent with one fixed value where the reference has null.",
            predicts="one value, always the same, where the reference is null",
            column=column.name,
            explains=f"s{i} = 3 AND {column.same(a, filled)}",
            contradicts=f"s{i} = 5",
            parameters={"reference": "null", "agent": "value"},
            local_words=f"The value is {filled}.",
            free=True,
        )
    lost = _one(table, r, f"s{i} = 4{zero.format(x=r)}")
    if lost is not None:
        yield Hypothesis(
            id="null-versus-normal",
            words="Consistent with null where the reference has one fixed value.",
            predicts="null where the reference has that value",
            column=column.name,
            explains=f"s{i} = 4 AND {column.same(r, lost)}",
            contradicts=f"s{i} IN (0, 1) AND {column.same(r, lost)}",
            parameters={"reference": "value", "agent": "null"},
            local_words=f"The value is {lost}.",
            free=True,
        )
    if column.is_number:
        swapped = _one(table, r, f"s{i} = 2 AND {a} = 0")
        if swapped is not None:
            yield Hypothesis(
                id="null-versus-zero",
                words="Consistent with 0 where the reference has one fixed value.",
                predicts="0 where the reference has that value",
                column=column.name,
                explains=f"s{i} = 2 AND {a} = 0 AND {column.same(r, swapped)}",
                contradicts=f"s{i} IN (0, 1) AND {column.same(r, swapped)}",
                parameters={"reference": "value", "agent": "zero"},
                local_words=f"The value is {swapped}.",
                free=True,
            )


def _constant(table: Table, column: Column) -> Iterator[Hypothesis]:
    """The whole column is one value, or null, though the reference's is not."""
    a = column.a
    row = table.con.execute(
        f"SELECT count(DISTINCT {a}), count({a}), count(*), count(DISTINCT {column.r}) FROM diff "  # noqa: S608 - our own SQL
        "WHERE key_status = 0"
    ).fetchone()
    if row is None or min(int(row[2]), int(row[3])) <= 1:
        return
    distinct, given, rows = int(row[0]), int(row[1]), int(row[2])
    if distinct > 1 or (distinct == 1 and given < rows):
        return
    yield Hypothesis(
        id="constant-column",
        words=f"Consistent with a column that is {'null' if given == 0 else 'one value'} "
        "in every row.",
        predicts="one value throughout",
        column=column.name,
        explains=column.wrong_here,
        parameters={"null": given == 0},
    )


def _one(table: Table, value: str, condition: str) -> str | None:
    """The commonest value as an SQL literal, where it occurs."""
    row = table.con.execute(
        f"SELECT mode({value}) FROM diff WHERE {condition}"  # noqa: S608 - our own SQL
    ).fetchone()
    return None if row is None or row[0] is None else _literal(row[0])


def _literal(value: object) -> str:
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return f"{value!r}::DOUBLE"
    text = str(value).replace("'", "''")
    return f"TIMESTAMP '{text}'" if hasattr(value, "isoformat") else f"'{text}'"
