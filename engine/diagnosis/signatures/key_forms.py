"""Hypotheses about keys that do not meet at all: no rows, empty keys, another way to write them."""

from __future__ import annotations

from engine.diagnosis.signatures.candidate import KEYS, Candidate, ask
from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Table

_DIGITS = "ltrim(regexp_replace({k}::VARCHAR, '[^0-9]+', '', 'g'), '0')"
"""What a key is without prefix, blanks, signs and leading zeros."""


def key_form_candidates(table: Table) -> list[Candidate]:
    """What keeps whole keys from being the reference's."""
    matched, missing, extra, repeated = table.by_key
    if missing and not matched + extra + repeated:
        return ask(table, KEYS, [_NO_ROWS])
    if not extra:
        return []
    found = ask(table, KEYS, [_empty(table)])
    if missing and any("VARCHAR" in kind.upper() for kind in table.key_types):
        found += _written_otherwise(table)
    return found


_NO_ROWS = Hypothesis(
    id="no-output",
    words="Consistent with an output without rows, or one that cannot be read: every row of the "
    "reference is missing.",
    predicts="no row at all",
    column=None,
    explains="key_status = 1",
)


def _empty(table: Table) -> Hypothesis:
    empty = " OR ".join(f"k{n} IS NULL" for n in range(len(table.keys)))
    return Hypothesis(
        id="key-format",
        words="Consistent with rows whose key is left empty.",
        predicts="rows that belong to no key of the reference",
        column=None,
        explains=f"key_status > 1 AND ({empty})",
        contradicts=empty,
    )


def _written_otherwise(table: Table) -> list[Candidate]:
    """Missing keys that are among the extra ones, but for letters, signs or leading zeros."""
    forms = {f"f{n}": _DIGITS.format(k=f"k{n}") for n in range(len(table.keys))}
    listed = ", ".join(f"{sql} AS {name}" for name, sql in forms.items())
    there = " AND ".join(f"d.{name} = t.{name}" for name in forms)
    relation = (
        f"SELECT d.*, t.f0 IS NOT NULL AS twin FROM (SELECT *, {listed} FROM diff) d "  # noqa: S608 - our own SQL
        f"LEFT JOIN (SELECT {listed} FROM diff WHERE key_status IN (1, 2) GROUP BY ALL "
        "HAVING bool_or(key_status = 1) AND bool_or(key_status = 2)) t "
        f"ON {there}"
    )
    form = Hypothesis(
        id="key-format",
        words="Consistent with the right keys written otherwise (a prefix, signs, leading zeros): "
        "a key that is compared as text must be the same to the letter.",
        predicts="the reference's key but for letters, signs or leading zeros",
        column=None,
        explains="key_status IN (1, 2) AND twin",
    )
    return ask(table, KEYS, [form], relation)
