"""Texts, codes and stated counts: is every one that the reference knows named, and no other?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.claims.material import Material, Read, checked
from engine.claims.model import Check
from engine.claims.reference import ReferenceRules

_LIST = 3
"""Texts in a row that make a list."""
_LONG = 8
"""Texts of a list that prose can be asked to name all."""


def list_checks(material: Material) -> Iterator[Check]:
    """Of skills and operational specification."""
    for text in material.ruled:
        yield from _counts(text)
        yield from _codes(text, material.rules)
        yield from _groups(text, material.rules)
    for text in filter(material.wanted, material.skills):
        yield from _texts(text, material)
        yield from _given(text, material.rules)
    if material.spec is not None and material.wanted(material.spec):
        yield from _spec_texts(material.spec, material)


def _counts(text: Read) -> Iterator[Check]:
    for claim in text.of("count"):
        facts = claim.facts or {}
        same = facts["stated"] in facts["counted"]
        listed = " or ".join(map(str, facts["counted"]))
        words = f"“{claim.shown}”: {listed} are listed."
        yield checked(
            text,
            "count",
            "agrees" if same else "disagrees",
            words,
            "operational-spec" if text.kind == "operational-spec" else "skill",
            claim=claim,
        )


def _codes(text: Read, rules: ReferenceRules) -> Iterator[Check]:
    if len(rules.codes) < _LIST:
        return
    named: set[str] = set()
    for claim in text.of("code"):
        facts = claim.facts or {}
        members = _members(str(facts["code"]), rules)
        named |= members
        if not members & rules.codes and not facts["prose"]:
            words = f"The reference does not know the code {facts['code']}."
            yield checked(text, "code-unknown", "disagrees", words, "reference", claim=claim)
    if not named & rules.codes:
        return
    lost = sorted(rules.codes - named)
    yield checked(
        text,
        "code-coverage",
        "disagrees" if lost else "agrees",
        f"The reference has codes that this text does not name: {', '.join(lost)}."
        if lost
        else f"All {len(rules.codes)} codes of the reference are named.",
        "reference",
        result={"missing": lost},
    )


def _members(code: str, rules: ReferenceRules) -> set[str]:
    """The code itself, or what a range holds where the reference has no such range."""
    low, _, high = code.partition("..")
    if not high or code in rules.codes or low[:-1] != high[:-1] or not high[-1:].isdigit():
        return {code}
    return {low[:-1] + str(digit) for digit in range(int(low[-1]), int(high[-1]) + 1)}


def _groups(text: Read, rules: ReferenceRules) -> Iterator[Check]:
    """Codes under the condition that the reference has them under."""
    for claim in text.of("code"):
        known = rules.groups.get(claim.subject)
        code = str((claim.facts or {})["code"])
        if known is not None and code not in known and code in rules.codes:
            words = f"The reference does not count {code} as {claim.subject}."
            yield checked(text, "code-group", "disagrees", words, "reference", claim=claim)
    found: dict[str, set[str]] = {}
    for claim in text.of("code"):
        members = _members(str((claim.facts or {})["code"]), rules)
        found.setdefault(claim.subject, set()).update(members)
    for claim in {c.subject: c for c in text.of("code")}.values():
        known = rules.groups.get(claim.subject)
        if known is None:
            continue
        lost = sorted(known - found[claim.subject])
        words = (
            f"{claim.subject} lacks {', '.join(lost)}."
            if lost
            else f"{claim.subject} has the {len(known)} codes of the reference."
        )
        yield checked(
            text, "code-group", "disagrees" if lost else "agrees", words, "reference", claim=claim
        )


def _texts(text: Read, material: Material) -> Iterator[Check]:
    rules = material.rules
    named = {str((c.facts or {})["text"]) for s in material.skills for c in s.of("text")}
    yield from _lost(text, rules, named, share=0.3, least=1)
    for claim in text.of("text"):
        facts = claim.facts or {}
        shown = str(facts["text"])
        if facts["denied"] or facts["listed"] < _LIST or shown in rules.texts:
            continue
        if _is_name(shown, rules) or any(shown in literal for literal in rules.literals):
            continue
        words = f"The reference does not compare with “{shown}”."
        yield checked(text, "text-unknown", "disagrees", words, "reference", claim=claim)


def _lost(
    text: Read, rules: ReferenceRules, named: set[str], *, share: float, least: int
) -> Iterator[Check]:
    """Texts of lists of which the text names others: at least `share`, and at least `least`."""
    for texts in rules.lists:
        known = texts & named
        if len(texts) < 2 or len(known) < max(share * len(texts), least):  # noqa: PLR2004
            continue
        lost = sorted(texts - named)
        told = ", ".join(f"“{t}”" for t in lost)
        first = next((c for c in text.of("text") if (c.facts or {})["text"] in known), None)
        yield checked(
            text,
            "text-missing",
            "disagrees" if lost else "agrees",
            f"The reference also compares with texts that are not named: {told}."
            if lost
            else f"All {len(texts)} texts of a list of the reference are named.",
            "reference",
            claim=first,
            result={"missing": lost},
        )


def _is_name(text: str, rules: ReferenceRules) -> bool:
    """Is it the name of a column or a table?"""
    columns = {c for names in rules.reads.values() for c in names} | set(rules.facts.columns)
    return text in columns or re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", text) is not None


def _given(text: Read, rules: ReferenceRules) -> Iterator[Check]:
    """Texts in a table under the status that the reference gives them."""
    results = {r for values in rules.given.values() for r in values}
    for claim in text.of("text"):
        facts = claim.facts or {}
        known = rules.given.get(str(facts["text"]))
        if known and claim.subject in results and facts["text"] not in results:
            same = claim.subject in known
            if not same:
                told = " or ".join(sorted(known))
                words = f"The reference gives {told} for “{facts['text']}”, not {claim.subject}."
                yield checked(text, "text-group", "disagrees", words, "reference", claim=claim)


def _spec_texts(spec: Read, material: Material) -> Iterator[Check]:
    """The specification names in prose what the skill names in code spans."""
    whole = spec.document.plain
    known = {
        t for t in material.rules.texts
        if re.search(rf"(?<![\w/-]){re.escape(t.strip())}(?![\w/+-])", whole, re.IGNORECASE)
    }  # fmt: skip
    yield from _lost(spec, material.rules, known, share=0.8, least=_LONG)
