"""Items against the dictionary of the source and against what the reference reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.claims.asking import Asker
from engine.claims.dictionary import Item, alike, dictionary_sql, overlap, read_dictionary
from engine.claims.material import Material, Read, checked
from engine.claims.model import Check, Claim
from engine.claims.values import Values, read_values

_ENOUGH = 0.5
"""Likeness of two labels that are taken for the same."""
_SIBLING = 0.6
"""Share of words that two items have in common when one may be meant by the other."""
_SHOWN = 12
"""Siblings that are listed."""


def item_checks(material: Material, asker: Asker) -> Iterator[Check]:
    """Every item of every skill, at its first place for what concerns the item itself."""
    items = read_dictionary(asker)
    if not items:
        return
    claims = [(s, c) for s in material.skills for c in s.of("item")]
    wanted = {int((c.facts or {})["item"]) for _, c in claims}
    values = read_values(asker, items, wanted)
    seen: set[int] = set()
    for text, claim in claims:
        number = int((claim.facts or {})["item"])
        item = items.get(number)
        first = number not in seen
        seen.add(number)
        if first:
            yield from _known(text, claim, number, item, material, asker, values)
        if item is not None:
            yield from _label(text, claim, item, items, dictionary_sql(asker))
            if first and not (claim.facts or {})["denied"]:
                yield from _siblings(text, claim, item, items, material, values)


def _known(  # noqa: PLR0917
    text: Read,
    claim: Claim,
    number: int,
    item: Item | None,
    material: Material,
    asker: Asker,
    values: Mapping[int, Values],
) -> Iterator[Check]:
    sql = dictionary_sql(asker)
    if item is None:
        words = f"The source's dictionaries have no item {number}."
        yield checked(text, "item-known", "disagrees", words, "source", claim=claim, query=sql)
        return
    found = values.get(number)
    rows = found.rows if found else 0
    facts = {
        "item": number, "label": item.label, "category": item.category, "table": item.table,
        "rows": rows, "stays": found.stays if found else 0,
    }  # fmt: skip
    words = f"Item {number} is “{item.label}” ({item.category}), with rows in the source."
    if not rows:
        words = f"Item {number} is “{item.label}” ({item.category}), and has no rows here."
    yield checked(
        text, "item-known", "agrees" if rows else "cannot tell", words, "source", claim=claim,
        query=found.query if found else sql, result=facts,
    )  # fmt: skip
    denied = bool((claim.facts or {})["denied"])
    if not denied:
        read = number in material.rules.facts.items
        words = f"The reference {'reads' if read else 'does not read'} item {number}."
        yield checked(
            text, "item-read", "agrees" if read else "disagrees", words, "reference", claim=claim
        )


def _label(
    text: Read, claim: Claim, item: Item, items: Mapping[int, Item], sql: str
) -> Iterator[Check]:
    label = str((claim.facts or {})["label"])
    if not label:
        return
    same = alike(label, item.label)
    if same >= _ENOUGH:
        words = f"Item {item.id} is called “{item.label}”."
        yield checked(text, "item-label", "agrees", words, "source", claim=claim, query=sql)
        return
    meant = [
        i
        for i in items.values()
        if alike(label, i.label) == 1 and overlap(label, i.label) > _ENOUGH
    ]
    told = ", ".join(f"{i.id} “{i.label}”" for i in meant[:3])
    words = f"Item {item.id} is called “{item.label}”, not “{label}”."
    if told:
        words += f" That may be {told}."
    in_table = bool((claim.facts or {})["head"])
    yield checked(
        text,
        "item-label",
        "disagrees" if in_table or told else "look",
        words,
        "source",
        claim=claim,
        query=sql,
        result={"item": item.id, "label": item.label, "meant": [i.id for i in meant]},
    )


def _siblings(  # noqa: PLR0917
    text: Read,
    claim: Claim,
    item: Item,
    items: Mapping[int, Item],
    material: Material,
    values: Mapping[int, Values],
) -> Iterator[Check]:
    near = sorted(
        (
            (overlap(item.label, other.label), other)
            for other in items.values()
            if other.category == item.category
            and other.table == item.table
            and other.id not in material.named_items
            and other.id not in material.rules.facts.items
            and overlap(item.label, other.label) >= _SIBLING
            and other.id in values
        ),
        key=lambda pair: (-pair[0], pair[1].id),
    )
    if near:
        told = ", ".join(f"{other.id} “{other.label}”" for _, other in near[:_SHOWN])
        yield checked(
            text,
            "item-siblings",
            "look",
            f"Left out, and called much like item {item.id} “{item.label}”: {told}.",
            "source",
            claim=claim,
            query=values[near[0][1].id].query,
            result={
                "siblings": [
                    {"item": o.id, "label": o.label, "rows": values[o.id].rows}
                    for _, o in near[:_SHOWN]
                ]
            },
        )
