"""Columns whose values rest on much the same SQL, and how far away each part of it lies."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from engine.concepts import Query, concept_graph
from engine.diagnosis.recompute.bench import TARGET
from engine.diagnosis.recompute.slicing import Parsed, Slice, parse, slice_for
from engine.diagnosis.signatures.candidate import KEYS
from engine.diagnosis.table import Column, Table
from engine.references import find_target

_MUCH = 0.6
"""Part of two slices that they share, from which on their columns are looked at together."""


@dataclass
class Group:
    """Columns (or `KEYS`) that are looked at together."""

    positions: list[int]
    """Of the columns in the diff."""
    sliced: Slice
    """What bears on any of them."""
    own: dict[int, Slice]
    """What bears on each position."""


def groups_of(
    target: Query, table: Table, parsed: dict[str, Parsed], positions: Sequence[int]
) -> list[Group]:
    """Positions whose slices are much the same; those with the smallest slice first."""
    target = replace(target, name=TARGET)
    graph = concept_graph()
    sliced = {
        p: slice_for(graph, target, parsed, names_of(table, [p]), rows=p == KEYS) for p in positions
    }
    groups: list[Group] = []
    for position in sorted(sliced, key=lambda p: (p == KEYS, size(sliced[p]), p)):
        mine = sliced[position]
        home = next((g for g in groups if _alike(g.sliced, mine)), None)
        if home is None:
            groups.append(Group([position], mine, {position: mine}))
            continue
        home.positions.append(position)
        home.own[position] = mine
        names = names_of(table, home.positions)
        home.sliced = slice_for(graph, target, parsed, names, rows=KEYS in home.positions)
    return groups


def names_of(table: Table, positions: Iterable[int]) -> list[str]:
    """The columns' names; the keys have none."""
    return [column_at(table, p).name for p in positions if p != KEYS]


def column_at(table: Table, position: int) -> Column:
    """The column at a position of the diff."""
    return next(c for c in table.columns if c.position == position)


def by_distance(target: Query, sliced: Slice) -> list[tuple[int, Set[str]]]:
    """The queries of a slice by how many lie between them and the target, nearest first."""
    graph = concept_graph()
    far = {TARGET: 0}
    edge = [target]
    while edge:
        names = [name for query in edge for name in query.concepts if name not in far]
        far.update(dict.fromkeys(names, max(far.values()) + 1))
        edge = [graph.concepts[name] for name in dict.fromkeys(names)]
    rings: dict[int, set[str]] = {}
    for name in sliced.nodes:
        rings.setdefault(far[name], set()).add(name)
    return sorted(rings.items())


def size(sliced: Slice) -> int:
    """Parts of the SQL in it."""
    return sum(len(nodes) for nodes in sliced.nodes.values())


def _alike(one: Slice, other: Slice) -> bool:
    """Most of what bears on the one bears on the other."""
    names = one.nodes.keys() | other.nodes.keys()
    both = sum(len(one.nodes.get(n, set()) & other.nodes.get(n, set())) for n in names)
    either = sum(len(one.nodes.get(n, set()) | other.nodes.get(n, set())) for n in names)
    return both >= _MUCH * either


@functools.lru_cache(maxsize=32)
def parsed_for(key: str) -> dict[str, Parsed]:
    """The trees of the target `key` and of all that it rests on, parsed once."""
    own = replace(find_target(key), name=TARGET)
    return {q.name: parse(q) for q in (*concept_graph().order(own.concepts), own)}
