"""Units, ranges and distributions of items against the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.claims.asking import Asker
from engine.claims.dictionary import Item, read_dictionary
from engine.claims.material import Material, Read, checked
from engine.claims.model import Check, Claim, Verdict
from engine.claims.values import QUANTILES, Values, bounds_sql, histogram_sql, read_values

_SAME_UNIT = {
    "mmhg": "mm hg", "bpm": "/min", "insp/min": "/min", "k/ul": "k/ul", "°c": "c", "°f": "f",
    "ratio": "", "thousand per ul": "k/ul", "meq/l": "mmol/l", "units/hr": "units/hour",
    "percent": "%", "kg/min": "kg/min", "mm/hg": "mm hg",
}  # fmt: skip
_MOST = 0.5
"""Share of rows outside a range, or in another unit, that speaks against the claim."""
_SOME = 0.05
"""Share that a clinician should see."""


def measure_checks(material: Material, asker: Asker) -> Iterator[Check]:
    """Of every item for which a skill tells a unit or a range."""
    items = read_dictionary(asker)
    if not items:
        return
    wanted = {int((c.facts or {})["item"]) for s in material.skills for c in s.of("item")}
    # Rows of an item that the dictionary lacks are said by another check.
    read = read_values(asker, items, wanted)
    values = {item: found for item, found in read.items() if item in items}
    for text in material.skills:
        for claim in text.of("unit"):
            found = values.get(int((claim.facts or {})["item"]))
            if found is not None:
                yield from _unit(text, claim, found)
        yield from _ranges(text, items, asker, values)
        seen: set[int] = set()
        for claim in text.of("item"):
            number = int((claim.facts or {})["item"])
            if number not in seen and number in values and (claim.facts or {})["head"]:
                seen.add(number)
                yield from _spread(text, claim, items[number], values[number], asker)


def plain_unit(unit: str) -> str:
    """A unit as it is compared: lower case, one sign for micro, one word for the same thing."""
    lower = unit.strip().lower().replace("μ", "u").replace("µ", "u")
    return _SAME_UNIT.get(lower, lower)


def _unit(text: Read, claim: Claim, found: Values) -> Iterator[Check]:
    facts = claim.facts or {}
    recorded = {unit: rows for unit, rows in found.units.items() if unit}
    if not recorded:
        words = "The source records no unit for this item."
        yield checked(
            text, "unit", "cannot tell", words, "source", claim=claim, query=found.unit_query
        )
        return
    stated = {plain_unit(unit) for unit in facts["units"]} - {""}
    total = sum(recorded.values())
    most = max(recorded, key=lambda unit: recorded[unit])
    told = f"Item {facts['item']} is recorded in {most}"
    same_units = [unit for unit in recorded if plain_unit(unit) in stated]
    result = {
        "item": facts["item"], "units": recorded, "rows": total, "stated": same_units,
    }  # fmt: skip
    same = sum(recorded[unit] for unit in same_units)
    verdict: Verdict
    if not stated:
        verdict, words = "cannot tell", f"{told}; no unit is stated."
    elif same < _MOST * total and not facts["whole"]:
        verdict, words = "cannot tell", f"{told}, which the text takes as “any other”."
    elif same < _MOST * total:
        verdict, words = "disagrees", f"{told}, not in {', '.join(facts['units'])}."
    elif same < (1 - _SOME) * total:
        verdict, words = "look", f"{told}, and also in other units."
    else:
        verdict, words = "agrees", f"{told}."
    yield checked(
        text,
        "unit",
        verdict,
        words,
        "source",
        claim=claim,
        query=found.unit_query,
        result=result,
    )


def _ranges(
    text: Read, items: Mapping[int, Item], asker: Asker, values: Mapping[int, Values]
) -> Iterator[Check]:
    wanted: dict[str, dict[int, Claim]] = {}
    for claim in text.of("range"):
        facts = claim.facts or {}
        number = int(facts.get("item") or 0)
        if "low" in facts and number in values and items[number].table:
            wanted.setdefault(items[number].table, {})[int(number)] = claim
    for table, claims in wanted.items():
        ranges = [(i, (c.facts or {})["low"], (c.facts or {})["high"]) for i, c in claims.items()]
        sql = bounds_sql(table, ranges)
        for item, below, above, on_low, on_high, total in asker.ask(sql):
            claim = claims[int(item)]
            facts = claim.facts or {}
            outside = below + above
            outside += 0 if facts["closed_low"] else on_low
            outside += 0 if facts["closed_high"] else on_high
            share = outside / total if total else 0
            result = {
                "item": int(item), "rows": total, "below": below, "above": above,
                "on_low": on_low, "on_high": on_high, "outside": outside,
                "outside_is": [
                    "below", "above", *(() if facts["closed_low"] else ("on_low",)),
                    *(() if facts["closed_high"] else ("on_high",)),
                ],
            }  # fmt: skip
            told = f"Of the numbers of item {item} {100 * share:.1f} % lie outside “{claim.shown}”"
            verdict: Verdict = (
                "disagrees" if share > _MOST else "look" if share > _SOME else "agrees"
            )
            edge = " Some lie exactly on a bound." if on_low or on_high else ""
            yield checked(
                text, "range", verdict, f"{told}.{edge}", "source", claim=claim, query=sql,
                result=result,
            )  # fmt: skip


def _spread(text: Read, claim: Claim, item: Item, found: Values, asker: Asker) -> Iterator[Check]:
    """The distribution, for the eye; it agrees with nothing and disagrees with nothing."""
    result: dict[str, object] = {
        "item": item.id, "rows": found.rows, "stays": found.stays, "missing": found.missing,
        "missing_share": found.missing / found.rows if found.rows else None,
    }  # fmt: skip
    sql = found.query
    if len(found.quantiles) == len(QUANTILES):
        low, high = found.quantiles[0], found.quantiles[-1]
        sql = histogram_sql(item.table, item.id, low, high)
        result |= {
            "low": found.low, "high": found.high,
            "quantiles": dict(zip(map(str, QUANTILES), found.quantiles, strict=True)),
            "histogram": {
                "from": low, "to": high, "rows": {int(b): n for b, n in asker.ask(sql)},
            },
        }  # fmt: skip
    words = f"Distribution of item {item.id} “{item.label}”."
    yield checked(
        text, "distribution", "agrees", words, "source", claim=claim, query=sql, result=result
    )
