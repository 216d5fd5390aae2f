"""Lists that a source row has to be in: of codes, of drugs.

A list is a relation that names no person: what it holds came from constants (the codes of a
condition), or is the same for everybody (which drug texts are antibiotics).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from engine.diagnosis.lineage.blocks import Block, Source, own_exists
from engine.diagnosis.lineage.conditions import text_of
from engine.diagnosis.lineage.extract import is_dictionary

PERSON = frozenset(
    {*("subject_id", "hadm_id", "stay_id"), *("patientunitstayid", "patienthealthsystemstayid")}
)
"""Columns that say whose a row is."""
OUTER = "row_"
"""Alias of the source table in a lookup's tests."""


@dataclass(frozen=True)
class Lookup:
    """One list, as tests (SQL) on a row of the source table, which they call `OUTER`."""

    listed: str
    """Is the row in the list at all?"""
    wanted: str
    """Is it there as what was asked for (as a code of this one condition)?"""
    told: str
    """The condition of `listed`, in the words of the query."""
    told_wanted: str
    """That of `wanted`; empty when it asks no more."""
    item: str = ""
    """Is the row a candidate at all (of a drug that was looked for)? Empty when every row is."""
    rules: tuple[tuple[str, str], ...] = ()
    """Why a candidate did not come into the list: tests, each with how it is told."""


def is_lookup(source: Source) -> bool:
    """Does the relation name no person?"""
    if isinstance(source, str):
        return is_dictionary(source)
    return all(not PERSON & set(block.outputs) for block in source)


def lookups(block: Block, alias: str, table: str, met: Sequence[exp.Expr]) -> tuple[Lookup, ...]:
    """The lists that a table's rows are joined with.

    Args:
        block: the SELECT that reads the table.
        alias: the table's alias there.
        table: its name.
        met: all conditions that the SELECT's rows meet.
    """
    return tuple(
        _lookup(block, alias, table, other, tuple(met))
        for other, source in block.sources.items()
        if other not in (alias, *block.outer)
        and not isinstance(source, str)
        and is_lookup(source)
        and any(block.read(c) == {alias, other} for c in met)
    )


def _lookup(block: Block, alias: str, table: str, other: str, met: tuple[exp.Expr, ...]) -> Lookup:
    joint = [c for c in met if block.read(c) == {alias, other}]
    own = [c for c in met if block.read(c) == {other}]
    node = block.node(other)
    item, rules = _inner(block.sources[other], table)
    return Lookup(
        listed=_exists(block, node, [_outer(c, alias) for c in joint]),
        wanted=_exists(block, node, [*(_outer(c, alias) for c in joint), *own]),
        told=_told(joint),
        told_wanted=_told(own),
        item=item,
        rules=rules,
    )


def _inner(source: Source, table: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The list's own conditions on the table's rows, where it is made from that very table."""
    if isinstance(source, str) or len(source) != 1:
        return "", ()
    (block,) = source
    alias = next((a for a, s in block.sources.items() if s == table), None)
    if alias is None:
        return "", ()
    items = [
        _exists(block, None, [_outer(exists, alias)])
        for c in block.conditions
        for exists in own_exists(c)
        if isinstance(c, exp.Exists)
    ]
    rules = tuple(
        (text_of(_outer(c, alias)), text_of(c))
        for c in block.conditions
        if not c.find(exp.Exists) and block.read(c) == {alias}
    )
    return " AND ".join(items), rules


def _exists(block: Block, node: exp.Expr | None, conditions: list[exp.Expr]) -> str:
    """SQL for whether rows of a relation meet conditions; the CTEs come along."""
    from_ = "" if node is None else f"FROM {text_of(node)}"
    where = " AND ".join(f"({text_of(condition)})" for condition in conditions)
    return f"EXISTS ({block.with_sql} SELECT 1 {from_} WHERE {where})"


def _outer(condition: exp.Expr, alias: str) -> exp.Expr:
    """The condition with the alias's columns as those of `OUTER`."""
    return condition.copy().transform(
        lambda n: (
            exp.column(n.name, table=OUTER)
            if isinstance(n, exp.Column) and n.table.lower() == alias
            else n
        )
    )


def _told(conditions: list[exp.Expr]) -> str:
    return " AND ".join(text_of(c) for c in conditions)
