"""Other items for an item: those of a like name in the source's own dictionaries."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import duckdb
from sqlglot import exp

from engine.concepts import Query
from engine.diagnosis.recompute.mutation import Edit, Mutation, both_short, line, written
from engine.diagnosis.recompute.slicing import Parsed

_NEAR = 4
"""Items tried per item."""
_DICTIONARIES = {
    "mimiciv_icu.chartevents": ("mimiciv_icu.d_items", "category"),
    "mimiciv_icu.inputevents": ("mimiciv_icu.d_items", "category"),
    "mimiciv_icu.outputevents": ("mimiciv_icu.d_items", "category"),
    "mimiciv_hosp.labevents": ("mimiciv_hosp.d_labitems", "fluid"),
}
_ITEM_NUMBER = re.compile(r"(?<![\w.])\d{5,6}(?![\w.])")
_WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True)
class Item:
    """An entry of a dictionary that the sampled events use."""

    number: int
    label: str
    kind: str
    """Category or fluid."""
    count: int
    """Events of the sample."""

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Of its label."""
        return frozenset(_WORD.findall(self.label.lower()))


def dictionary(
    con: duckdb.DuckDBPyConnection,
    tables: Iterable[str],
    source: str,
    where: Callable[[str], str],
) -> dict[int, Item]:
    """The items that occur in the events of a sample, by number.

    Args:
        con: where the source is attached.
        tables: tables that are read (``schema.table``).
        source: under what name the source is attached.
        where: an SQL condition for the sample's rows of a table.
    """
    found: dict[int, Item] = {}
    for table in tables:
        if table not in _DICTIONARIES:
            continue
        listed, kind = _DICTIONARIES[table]
        try:
            rows = con.execute(
                f"SELECT e.itemid, d.label, d.{kind}, e.n FROM (SELECT itemid, count(*) AS n "  # noqa: S608 - our own names
                f"FROM {source}.{table} WHERE {where(table)} GROUP BY itemid) e "
                f"JOIN {source}.{listed} d USING (itemid)"
            ).fetchall()
        except duckdb.Error:  # no dictionary: no other items to try
            continue
        for number, label, kind_, count in rows:
            found[int(number)] = Item(int(number), str(label), str(kind_), int(count))
    return found


def items_read(queries: Iterable[Query]) -> set[int]:
    """The item numbers in the SQL of queries (and perhaps other numbers of that length)."""
    return {int(n) for query in queries for n in _ITEM_NUMBER.findall(query.sql)}


def near(item: int, items: Mapping[int, Item], known: set[int]) -> list[Item]:
    """The items whose label shares most words with that of `item`, the commonest first."""
    own = items.get(item)
    if own is None:
        return []
    scored = [
        (len(own.words & o.words), o.kind == own.kind, o.count, o)
        for o in items.values()
        if o.number not in known and not own.words.isdisjoint(o.words)
    ]
    alike = sorted(scored, key=lambda s: (-s[0], not s[1], -s[2], s[3].number))
    return [s[3] for s in alike[:_NEAR]]


def item_mutations(
    parsed: Parsed, sliced: set[int], items: Mapping[int, Item]
) -> Iterator[Mutation]:
    """An item more, or another item, at every place of a query that names one."""
    places: dict[int, list[int]] = {}
    known: set[int] = set()
    for place, node in enumerate(parsed.nodes):
        for number in _named(node):
            known.add(number)
            if place in sliced:
                places.setdefault(number, []).append(place)
    for number in places:
        for other in near(number, items, known):
            everywhere = [p for p, node in enumerate(parsed.nodes) if number in _named(node)]
            more = tuple(
                Edit(parsed.name, p, _with(parsed.nodes[p], number, other.number, keep=True))
                for p in everywhere
            )
            instead = tuple(
                Edit(parsed.name, p, _with(parsed.nodes[p], number, other.number, keep=False))
                for p in everywhere
            )
            for edits, said in ((more, "added to"), (instead, "instead of")):
                before, after = both_short(
                    line(written(parsed.nodes[everywhere[0]])), line(edits[0].sql)
                )
                yield Mutation(
                    id="item-set",
                    words=f"item {other.number} ({other.label}) {said} {number} in {parsed.name}",
                    edits=edits,
                    before=before,
                    after=after,
                    parameters={"item": other.number, "for": number, "how": said.split()[0]},
                )


def _named(node: exp.Expr) -> list[int]:
    """The item numbers that a condition on `itemid` names."""
    if isinstance(node, exp.EQ) and _is_item(node.left) and _is_number(node.right):
        return [int(node.right.this)]
    if isinstance(node, exp.In) and _is_item(node.this):
        return [int(m.this) for m in node.args.get("expressions") or [] if _is_number(m)]
    return []


def _is_item(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name == "itemid"


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _with(node: exp.Expr, number: int, other: int, *, keep: bool) -> exp.Expr:
    column = node.left if isinstance(node, exp.EQ) else node.this
    members = [m for m in _named(node) if keep or m != number]
    return exp.In(
        this=column.copy(),
        expressions=[exp.Literal.number(m) for m in dict.fromkeys([*members, other])],
    )
