"""Windows and the row grain against the reference's SQL."""

from __future__ import annotations

from collections.abc import Iterator

from engine.claims.material import Material, Read, checked
from engine.claims.model import Check, Claim
from engine.claims.reference import ReferenceRules

_WAYS = {"-": "before", "+": "after"}


def window_checks(material: Material) -> Iterator[Check]:
    """Every text: is there such a window, on that side of admission, with that end?"""
    for text in filter(material.wanted, material.texts):
        for claim in text.of("window"):
            yield _window(text, claim, material.rules)
    for text in material.ruled:
        for claim in text.of("grain"):
            yield from _grain(text, claim, material.rules)


def _window(text: Read, claim: Claim, rules: ReferenceRules) -> Check:
    facts = claim.facts or {}
    seconds, way = facts["seconds"], facts["direction"]
    ends = {(sign, operator) for sign, length, operator in rules.windows if length == seconds}
    if facts["admission"] and way and ends:
        there = {sign for sign, _ in ends}
        if way not in there:
            told = f"{_WAYS[way]} admission here, {_WAYS[next(iter(there))]} it in the reference"
            return checked(
                text, "window", "disagrees", f"“{claim.shown}”: {told}.", "reference", claim=claim
            )
        operators = {operator for sign, operator in ends if sign == way}
        said = facts["closed"] != facts["open"]
        if said and "" not in operators:
            open_end = operators <= {"<", ">"}
            shut_end = operators <= {"<=", ">="}
            if (facts["closed"] and open_end) or (facts["open"] and shut_end):
                told = "excluded" if open_end else "included"
                words = f"“{claim.shown}”: in the reference this end is {told}."
                return checked(text, "window", "disagrees", words, "reference", claim=claim)
        words = f"“{claim.shown}” {_WAYS[way]} admission is a window of the reference."
        return checked(text, "window", "agrees", words, "reference", claim=claim)
    if seconds in rules.facts.durations:
        words = f"The reference has a length of time of {claim.shown}."
        return checked(text, "window", "agrees", words, "reference", claim=claim)
    words = f"No length of time of {claim.shown} was found in the reference."
    return checked(text, "window", "cannot tell", words, "reference", claim=claim)


def _grain(text: Read, claim: Claim, rules: ReferenceRules) -> Iterator[Check]:
    facts = claim.facts or {}
    key, columns = tuple(facts["key"]), set(facts["columns"])
    known = set(rules.facts.columns)
    if key:
        same = set(key) == set(rules.facts.key)
        told = ", ".join(rules.facts.key)
        words = f"The reference's rows are named by {told}."
        yield checked(
            text, "grain-key", "agrees" if same else "disagrees", words, "reference", claim=claim
        )
    if columns:
        more = sorted(columns - known)
        many = len(columns & known) > len(known) / 2
        # "under the column name that the request gives"
        asked = "request" in claim.shown
        lost = sorted(known - columns) if many and not asked else []
        words = (f"The reference has no column {', '.join(more)}." if more else "") + (
            f" Its columns {', '.join(lost)} are not named." if lost else ""
        )
        yield checked(
            text,
            "grain-columns",
            "disagrees" if more or lost else "agrees",
            words.strip() or "The columns are the reference's.",
            "reference",
            claim=claim,
        )
