"""Every single change worth trying of the SQL that bears on some columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set

from sqlglot import exp

from engine.diagnosis.model import BESIDES
from engine.diagnosis.recompute.conditions import condition_changes
from engine.diagnosis.recompute.items import Item, item_mutations
from engine.diagnosis.recompute.kinds import kind_changes
from engine.diagnosis.recompute.mutation import Edit, Mutation, both_short, line, written
from engine.diagnosis.recompute.slicing import Parsed, Slice
from engine.diagnosis.recompute.units import unit_changes
from engine.diagnosis.recompute.usual import usual_changes
from engine.diagnosis.recompute.values import added_up, value_changes
from engine.diagnosis.recompute.windows import window_changes

_CHANGES = (
    condition_changes,
    value_changes,
    window_changes,
    kind_changes,
    unit_changes,
    usual_changes,
)
_SHARED = {
    "condition-changed",
    "condition-dropped",
    "first-last",
    "item-set",
    "label-matching",
    "mean-worst",
    "min-max",
    "missing-as-value",
    "missing-left-null",
    "rounding",
    "rule-dropped",
    "unit-factor",
    "window",
}
"""What may be misread once and so be wrong at several places."""
_MANY = 8
"""Of longer lists a single member is seldom what is wrong."""
_QUALIFIER = re.compile(r"\b[a-z_]+\.(?=[a-z_])")

Grouped = tuple[Mutation, tuple[str, str]]
"""A change, and what makes others the same change at another place."""


def all_mutations(
    parsed: Mapping[str, Parsed],
    sliced: Slice,
    items: Mapping[int, Item],
    target: str,
    *,
    near: Set[str] | None = None,
    ring: Set[str] | None = None,
) -> list[Mutation]:
    """The changes, those at several places at once first.

    One change made wherever the same piece of SQL stands (a window that all inputs share, say)
    is a change of its own: that is how a wrong reading of a definition shows.

    Args:
        parsed: the queries by name.
        sliced: what bears on the columns.
        items: the source's items, for other ones to try.
        target: name of the target among the queries.
        near: queries that may be changed; all when None.
        ring: of these, the ones of which at least one must be changed; any when None.
    """
    single: dict[str, Mutation] = {}
    alike: dict[tuple[str, str, str], list[Mutation]] = {}
    for name, numbers in sliced.nodes.items():
        if near is not None and name not in near:
            continue
        query = parsed[name]
        for number in sorted(numbers):
            for mutation, group in _of_node(query, number, target):
                if mutation.key not in single:
                    single[mutation.key] = mutation
                    alike.setdefault((mutation.id, *group), []).append(mutation)
                    if "length" in mutation.parameters:
                        # One length may be written in several ways: before and after, say.
                        alike.setdefault(_length(mutation), []).append(mutation)
        if ring is None or name in ring:
            for mutation in item_mutations(query, numbers, items):
                single.setdefault(mutation.key, mutation)
    together = [
        joint
        for (name, *_), group in alike.items()
        if name in _SHARED
        and len(group) > 1
        and any(_touches(m, ring) for m in group)
        and (joint := _joined(group, parsed))
    ]
    together = list({joint.key: joint for joint in together}.values())
    return [*together, *(m for m in single.values() if _touches(m, ring))]


def _length(mutation: Mutation) -> tuple[str, str, str]:
    edits = f"{mutation.parameters['instead_of']} to {mutation.parameters['length']}"
    unit = mutation.parameters.get("unit", "")
    return (mutation.id, f"{edits} {unit}", mutation.edits[0].query)


def _touches(mutation: Mutation, ring: Set[str] | None) -> bool:
    return ring is None or not ring.isdisjoint(mutation.queries)


def _of_node(query: Parsed, number: int, target: str) -> tuple[Grouped, ...]:
    """The changes at a node; found once, since other columns ask for them again."""
    if number not in query.changes:
        query.changes[number] = tuple(_found(query, number, target))
    return query.changes[number]


def _found(query: Parsed, number: int, target: str) -> Iterator[Grouped]:
    node = query.nodes[number]
    if node is query.tree and not isinstance(node, exp.SetOperation):
        return
    place = "" if query.name == target else f", in {query.name}"
    stands = around = ""
    for changes in (*_CHANGES, added_up) if query.name == target else _CHANGES:
        for name, new, words, parameters in changes(node):
            if not stands:
                stands = around = line(written(node))
                if isinstance(node, exp.Interval) and node.parent:
                    around = line(written(node.parent))
            edit = Edit(query.name, number, new)
            becomes = line(edit.sql)
            before, after = both_short(stands, becomes)
            # Labels spelt otherwise are one mistake, whatever the labels.
            spelling = name == "label-matching"
            group = str(parameters.get("way", "")) if spelling else plain(around)
            yield (
                Mutation(
                    id=name,
                    words=f"{words}{place}",
                    edits=(edit,),
                    before=before,
                    after="" if before.startswith("WHERE ") and after == "WHERE TRUE" else after,
                    parameters={**parameters, "query": query.name},
                    rare=name == "item-set"
                    and (
                        len(node.args.get("expressions") or []) > _MANY
                        or isinstance(node, exp.Literal)
                    ),
                    about=_texts_beside(node) if isinstance(node, exp.Literal) else frozenset(),
                ),
                (group, "" if spelling else plain(becomes)),
            )


def _texts_beside(node: exp.Expr) -> frozenset[str]:
    row = node.find_ancestor(exp.Tuple)
    texts = row.find_all(exp.Literal) if row is not None else ()
    return frozenset(str(t.this) for t in texts if t.is_string and t is not node)


def plain(sql: str) -> str:
    """SQL without the names of its tables, so that the same rule reads the same everywhere."""
    return _QUALIFIER.sub("", sql)


def both(one: Mutation, other: Mutation, parsed: Mapping[str, Parsed]) -> Mutation | None:
    """Two changes made together; None where one lies in the other."""
    edits = (*one.edits, *other.edits)
    if not _apart(edits, parsed):
        return None
    return Mutation(
        id=one.id,
        words=f"{one.words}; and with {other.words}",
        edits=edits,
        before=f"{one.before}; {other.before}",
        after=f"{one.after}; {other.after}",
        parameters={**one.parameters, BESIDES: other.words},
    )


def _apart(edits: Sequence[Edit], parsed: Mapping[str, Parsed]) -> bool:
    """No place is that of another edit, or lies in it."""
    if len({(e.query, e.number) for e in edits}) < len(edits):
        return False
    nodes = {id(parsed[e.query].nodes[e.number]) for e in edits}
    for edit in edits:
        above = parsed[edit.query].nodes[edit.number].parent
        while above is not None:
            if id(above) in nodes:
                return False
            above = above.parent
    return True


def _joined(group: list[Mutation], parsed: Mapping[str, Parsed]) -> Mutation | None:
    """The same change at every place; None where one place lies in another."""
    edits = [m.edits[0] for m in group]
    if not _apart(edits, parsed):
        return None
    first = group[0]
    words = first.words.split(", in ")[0]
    names = sorted({e.query for e in edits})
    return Mutation(
        id=first.id,
        words=f"{words}, everywhere ({len(edits)} places)",
        edits=tuple(edits),
        before=first.before,
        after=first.after,
        parameters={**first.parameters, "query": ", ".join(names[:6]), "places": len(edits)},
    )
