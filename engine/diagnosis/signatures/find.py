"""All hypotheses of a diff, tested on its values."""

from __future__ import annotations

from dataclasses import replace

from engine.base.jobs import Job
from engine.diagnosis.signatures.across import across_hypotheses, row_hypotheses
from engine.diagnosis.signatures.candidate import KEYS, Candidate, ask
from engine.diagnosis.signatures.intervals import interval_candidates
from engine.diagnosis.signatures.key_forms import key_form_candidates
from engine.diagnosis.signatures.keys import key_candidates
from engine.diagnosis.signatures.nulls import null_hypotheses
from engine.diagnosis.signatures.numbers import number_hypotheses
from engine.diagnosis.signatures.texts import text_hypotheses
from engine.diagnosis.signatures.times import time_hypotheses
from engine.diagnosis.table import Table

_DEFINITE = {
    "unit-factor",
    "constant-factor",
    "null-versus-zero",
    "rounding",
    "off-by-hour",
    "off-by-day",
    "date-only",
    "label-spelling",
    "number-format",
    "time-format",
    "copied-column",
    "swapped-columns",
    "constant-column",
    "follows-from-parts",
    "sum-of-parts",
    "neighbouring-row",
    "shifted-keys",
}
"""What fits nearly all mismatches by chance no more: nothing further is looked for then."""
_DEFINITE_KEYS = {"no-output", "key-format", "truncated-output", "shifted-keys"}
_MANY_KEYS = 20
"""Rows that one of these must explain to be no chance."""
_NEARLY = 0.95


def value_candidates(table: Table, job: Job | None) -> list[Candidate]:
    """What the values alone are consistent with, column by column, then the keys."""
    found: list[Candidate] = []
    for number, column in enumerate(table.columns):
        if job is not None:
            job.check()
            job.progress("values", number, len(table.columns) + 1, column.name)
        hypotheses = [
            *null_hypotheses(table, column),
            *number_hypotheses(table, column),
            *time_hypotheses(table, column),
            *text_hypotheses(table, column),
            *across_hypotheses(table, column),
        ]
        found += ask(table, column.position, hypotheses)
        rows = row_hypotheses(table, column)
        if rows is not None:
            found += ask(table, column.position, rows[1], rows[0])
    if job is not None:
        job.check()
    found += key_form_candidates(table)
    found += key_candidates(table)
    found += interval_candidates(table)
    return found


def together(candidates: list[Candidate]) -> list[Candidate]:
    """The same hypothesis on several columns made one, for the table as a whole."""
    by_form: dict[tuple[str, str, str], Candidate] = {}
    for c in candidates:
        form = (c.id, c.words, repr(sorted(c.parameters.items())))
        before = by_form.get(form)
        if before is None or c.evidence == "source":
            by_form[form if c.evidence == "values" else (*form[:2], f"{id(c)}")] = c
            continue
        by_form[form] = replace(
            before,
            cells={**before.cells, **c.cells},
            tested={**before.tested, **c.tested},
            broken=before.broken + c.broken,
            counter_example=before.counter_example
            if before.counter_example is not None
            else c.counter_example,
            condition=None,
        )
    return list(by_form.values())


def open_positions(table: Table, candidates: list[Candidate]) -> list[int]:
    """The columns (and `KEYS`) that no definite hypothesis on values explains."""
    found = []
    for column in table.columns:
        if column.wrong and not column.lacking:
            i = column.position
            done = any(
                c.id in _DEFINITE
                and not c.free
                and i in c.cells
                and c.cells[i].size >= _NEARLY * column.wrong
                and c.broken <= max(1, (1 - _NEARLY) * column.wrong)
                for c in candidates
            )
            if not done:
                found.append(i)
    keys = sum(table.by_key[1:])
    done = any(
        c.id in _DEFINITE_KEYS
        and KEYS in c.cells
        and c.cells[KEYS].size >= max(_MANY_KEYS, _NEARLY * keys)
        and c.broken <= (1 - _NEARLY) * keys
        for c in candidates
    )
    if keys and not done:
        found.append(KEYS)
    return found


def by_chance(table: Table) -> set[int]:
    """The columns that differ only where a key has several rows with different values in them.

    Which of these rows is compared is chance, so no change of the SQL can give these cells again.
    """
    if not table.by_key[3]:
        return set()
    keys = ", ".join(f"k{n}" for n in range(len(table.keys)))
    open_ = [c for c in table.columns if c.wrong and not c.lacking]
    if not open_:
        return set()
    alone = ", ".join(
        f"count(*) FILTER (WHERE {c.wrong_here} AND alone{c.position})" for c in open_
    )
    varied = ", ".join(
        f"min({c.a}) OVER k IS NOT DISTINCT FROM max({c.a}) OVER k "
        f"AND count({c.a}) OVER k IN (0, count(*) OVER k) AS alone{c.position}"
        for c in open_
    )
    row = table.con.execute(
        f"SELECT {alone} FROM (SELECT *, {varied} FROM diff WHERE key_status IN (0, 3) "  # noqa: S608 - our own SQL
        f"WINDOW k AS (PARTITION BY {keys})) WHERE key_status = 0"
    ).fetchone()
    counts = row or ()
    return {
        c.position for c, n in zip(open_, counts, strict=True) if int(n) <= (1 - _NEARLY) * c.wrong
    }
