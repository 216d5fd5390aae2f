"""Hypotheses about rows whose key is missing, extra or repeated, from the diff alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.base.duck import quote_text
from engine.diagnosis.signatures.candidate import KEYS, Candidate, ask, joined
from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.signatures.times import named_shift
from engine.diagnosis.table import Table

_DIFFERENT_GRAIN = 0.3
"""Share of the columns in which repeated rows differ, above which they are another grain."""
_LEVELS = 12
_EVERY = 0.5
"""Share of the extra keys that a shift of every key must give."""


def key_candidates(table: Table) -> list[Candidate]:
    """Everything that can be said of the keys without a source."""
    if not any(table.by_key[1:]):
        return []
    found = ask(table, KEYS, [*_cut_off(table), *_values_of_missing(table)])
    found += _repeated(table)
    for number in range(len(table.keys)):
        found += _shifted(table, number)
    return found


def _cut_off(table: Table) -> Iterator[Hypothesis]:
    """The end of the table is missing, as after a LIMIT or a stop."""
    last = table.con.execute("SELECT max(row) FROM diff WHERE key_status = 0").fetchone()
    if last is None or last[0] is None:
        return
    yield Hypothesis(
        id="truncated-output",
        words="Consistent with an output that was cut off: from one key on everything is missing.",
        predicts="no row from a key on",
        column=None,
        explains=f"key_status = 1 AND row > {int(last[0])}",
        free=True,
    )


def _values_of_missing(table: Table) -> Iterator[Hypothesis]:
    """Missing keys by what the reference has in them: null, or one level."""
    if not table.by_key[1] or not table.by_key[0]:  # with no key left, each level fits as well
        return
    for column in table.columns:
        i = column.position
        yield Hypothesis(
            id="inner-join",
            words=f"Consistent with an inner instead of a left join: the missing keys are those "
            f"without {column.name}.",
            predicts=f"no row where the reference's {column.name} is null",
            column=None,
            explains=f"key_status = 1 AND r{i} IS NULL",
            contradicts=f"r{i} IS NULL",
            parameters={"without": column.name},
            strict=True,
        )
        levels = table.con.execute(
            f"SELECT DISTINCT r{i}::VARCHAR FROM diff WHERE key_status = 1 AND r{i} IS NOT NULL "  # noqa: S608 - our own SQL
            f"LIMIT {_LEVELS}"
        ).fetchall()
        if len(levels) >= _LEVELS:
            continue
        for (level,) in levels:
            is_it = f"r{i}::VARCHAR = {quote_text(str(level))}"
            is_zero = column.is_number and float(level) == 0
            yield Hypothesis(
                id="filtered-cohort",
                words="Consistent with a filter: the missing keys are those with "
                f"{'0' if is_zero else 'one value'} in {column.name}.",
                predicts=f"no row with that {column.name}",
                column=None,
                explains=f"key_status = 1 AND {is_it}",
                contradicts=is_it,
                parameters={"column": column.name},
                local_words=f"The value is {level!r}.",
                free=not is_zero,
                strict=True,
            )


def _repeated(table: Table) -> list[Candidate]:
    """Repeated rows: the same again (a join), or other values (another grain)."""
    if not table.by_key[3]:
        return []
    keys = ", ".join(f"k{n}" for n in range(len(table.keys)))
    same = " + ".join(
        f"(a{c.position} IS DISTINCT FROM first_{c.position})::INTEGER" for c in table.columns
    )
    firsts = ", ".join(
        f"first_value(a{c.position}) OVER kept AS first_{c.position}" for c in table.columns
    )
    relation = (
        f"SELECT *, ({same}) / {len(table.columns)}.0 AS apart FROM "  # noqa: S608 - our own SQL
        f"(SELECT *, {firsts} FROM diff WINDOW kept AS (PARTITION BY {keys} ORDER BY row))"
    )
    row = table.con.execute(
        f"SELECT avg(apart), count(DISTINCT ({keys})) FROM ({relation}) WHERE key_status = 3"  # noqa: S608 - our own SQL
    ).fetchone()
    is_grain = row is not None and row[0] is not None and float(row[0]) >= _DIFFERENT_GRAIN
    join = Hypothesis(
        id="one-to-many-join",
        words="Consistent with rows repeated by a one-to-many join.",
        predicts="further rows of a key, with the same values or but for one column",
        column=None,
        explains=f"key_status = 3 AND apart < {_DIFFERENT_GRAIN}",
        parameters={"repeated": table.by_key[3]},
    )
    grain = Hypothesis(
        id="grain",
        words=f"Consistent with a finer grain: several rows per {' and '.join(table.keys)}, as "
        "one per day or time.",
        predicts="several rows of a key, with different values",
        column=None,
        explains="key_status = 3"
        if is_grain
        else f"key_status = 3 AND apart >= {_DIFFERENT_GRAIN}",
        parameters={"repeated": table.by_key[3]},
    )
    return ask(table, KEYS, [grain] if is_grain else [join, grain], relation)


def _shifted(table: Table, number: int) -> list[Candidate]:
    """Every key off by one amount: 0 for 1, an hour, a day."""
    kind = table.key_types[number].upper()
    is_time = "TIMESTAMP" in kind
    if not is_time and "INT" not in kind:
        return []
    if not table.by_key[1] or not table.by_key[2]:
        return []
    others = [f"k{n}" for n in range(len(table.keys)) if n != number]
    same = " AND ".join(f"m.{k} IS NOT DISTINCT FROM e.{k}" for k in others) or "true"
    step = (
        f"epoch_us(e.k{number}) - epoch_us(m.k{number})"
        if is_time
        else f"e.k{number} - m.k{number}"
    )
    near = f"abs(step) <= {86400_000_000 * 2 if is_time else 2} AND step <> 0"
    # Of a long run of keys an hour apart only the ends are missing or extra: where the group's
    # first key lies tells the shift there. In short groups the pairs of both tell it as well.
    group = f"GROUP BY {', '.join(others)}" if others else ""
    first = (
        f"SELECT min(k{number}) FILTER (WHERE key_status <> 1) AS a, "  # noqa: S608 - our own SQL
        f"min(k{number}) FILTER (WHERE key_status < 2) AS r FROM diff {group}"
    )
    by_first = "epoch_us(a) - epoch_us(r)" if is_time else "a - r"
    rows = table.con.execute(
        f"SELECT step, count(*) FROM (SELECT {step} AS step FROM diff m JOIN diff e ON {same} "  # noqa: S608 - our own SQL
        f"WHERE m.key_status = 1 AND e.key_status = 2 UNION ALL SELECT {by_first} FROM ({first})) "
        f"WHERE {near} GROUP BY step ORDER BY count(*) DESC, 1 LIMIT 3"
    ).fetchall()
    steps = dict.fromkeys([int(step) for step, _ in rows] + ([] if is_time else [-1, 1]))
    found: list[Candidate] = []
    for by in steps:
        back = f"d.k{number} - to_microseconds({by})" if is_time else f"d.k{number} - {by}"
        there = " AND ".join(
            [f"o.k{number} = {back}", *(f"o.{k} IS NOT DISTINCT FROM d.{k}" for k in others)]
        )
        theirs = "".join(f", o.r{c.position} AS o{c.position}" for c in table.columns)
        relation = (
            f"SELECT d.*, o.row IS NOT NULL AS expected{theirs} FROM diff d LEFT JOIN "  # noqa: S608 - our own SQL
            f"(SELECT * FROM diff WHERE key_status < 2) o ON {there}"
        )
        row = table.con.execute(
            f"SELECT count(*) FROM ({relation}) WHERE key_status = 2 AND expected"  # noqa: S608 - our own SQL
        ).fetchone()
        if row is None or row[0] < _EVERY * table.by_key[2]:
            continue  # it would fit all missing keys, and say nothing of where the others are from
        said = named_shift(by / 1e6)[1] if is_time else f"off by {by:+d}"
        hypothesis = Hypothesis(
            id="shifted-keys",
            words=f"Consistent with {table.keys[number]} {said} in every key.",
            predicts=f"the reference's {table.keys[number]}, {said}, and the values of that row",
            column=None,
            explains="(key_status = 1 AND NOT expected) OR (key_status = 2 AND expected)",
            contradicts="NOT expected",
            strict=True,
            parameters={"key": table.keys[number], "offset": by / 1e6 if is_time else by},
        )
        asked = ask(table, KEYS, [hypothesis], relation)
        for column in table.columns:
            if asked and column.wrong and not column.lacking:
                # A row under another's key has that row's values.
                fits = column.matches(column.typed(f"o{column.position}"))
                cells = replace(
                    hypothesis,
                    column=column.name,
                    explains=f"{column.wrong_here} AND expected AND {fits}",
                    contradicts=f"{column.right_here} AND expected AND NOT {fits}",
                )
                asked += ask(table, column.position, [cells], relation)
        found += joined(asked)
    return found
