"""Bands, formulas and stand-ins for missing values against the reference's SQL."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from engine.claims.material import Material, Read, checked
from engine.claims.model import Check, Claim
from engine.claims.reference import Pair, ReferenceRules
from engine.preflight.facts import LARGE

_PARTS = (1, 60, 3600, 86400)
_ALIKE = 0.6
"""Share of a row's bands that a CASE must know to be taken for the row's."""


def band_checks(material: Material) -> Iterator[Check]:
    """Every row of bands against the CASE that is most like it."""
    for text in material.ruled:
        for claim in text.of("band"):
            yield _band(text, claim, material.rules)
        yield from _missing(text, material.rules)
        yield from _formulas(text, material.rules)


def _band(text: Read, claim: Claim, rules: ReferenceRules) -> Check:
    pairs = [(float(n), float(r), bool(exact)) for n, r, exact in (claim.facts or {})["pairs"]]
    best: frozenset[Pair] = frozenset()
    known: list[bool] = []
    for case in rules.cases:
        fits = [_has(case, *pair) for pair in pairs]
        if sum(fits) > sum(known) or (sum(fits) == sum(known) and len(case) < len(best)):
            best, known = case, fits
    if not known or sum(known) < max(_ALIKE * len(pairs), 1):
        return checked(
            text, "bands", "cannot tell", "The reference has no such row of bands in one place.",
            "reference", claim=claim,
        )  # fmt: skip
    wrong = [f"{n:g}: {r:g}" for (n, r, _), fits in zip(pairs, known, strict=True) if not fits]
    facts = {"bands": sorted(best)}
    if wrong:
        words = f"The reference's bands for “{claim.subject}” do not have {'; '.join(wrong)}."
        return checked(text, "bands", "disagrees", words, "reference", claim=claim, result=facts)
    words = f"All {len(pairs)} bands of “{claim.subject}” are the reference's."
    return checked(text, "bands", "agrees", words, "reference", claim=claim, result=facts)


@functools.lru_cache(maxsize=1 << 15)
def _has(case: frozenset[Pair], number: float, result: float, exact: bool) -> bool:
    whole = not exact and number % 1 == 0
    decimals = len(f"{number:g}".partition(".")[2])
    return any(
        given == result
        and (
            abs(bound - number) <= whole
            or (bound >= LARGE and any(round(bound / part, decimals) == number for part in _PARTS))
        )
        for bound, given in case
    )


def _missing(text: Read, rules: ReferenceRules) -> Iterator[Check]:
    for claim in text.of("missing"):
        for name, number in ((claim.facts or {}).get("defaults") or {}).items():
            known = rules.defaults.get(name)
            if not known:
                continue
            told = " or ".join(f"{n:g}" for n in sorted(known))
            same = number in known
            yield checked(
                text,
                "missing-value",
                "agrees" if same else "disagrees",
                f"A missing {name} is {number:g} here and {told} in the reference.",
                "reference",
                claim=claim,
            )


def _formulas(text: Read, rules: ReferenceRules) -> Iterator[Check]:
    """Factors in rows that begin with, or name, a column of the reference."""
    columns = rules.products
    for row in text.document.rows:
        if row.aside or len(row.cells) < 2:  # noqa: PLR2004
            continue
        names = {
            word.lower() for cell in row.cells[:2] for word in re.findall(r"[A-Za-z_]+", cell.text)
        }
        for name in (names & columns.keys()) - {"rate"}:
            for cell in row.cells[1:]:
                shown = re.findall(r"(?:[×/÷]\s*)(\d+(?:\.\d+)?)", cell.text)
                numbers = {float(n) for n in shown}
                if not numbers or not re.match(r"rate|v\b", cell.text):
                    continue
                wrong = numbers - columns[name] - columns.get("rate", frozenset())
                told = ", ".join(f"{n:g}" for n in sorted(wrong))
                yield checked(
                    text,
                    "factor",
                    "disagrees" if wrong else "agrees",
                    f"{name}: the reference does not use {told}."
                    if wrong
                    else f"{name}: the factors are the reference's.",
                    "reference",
                    line=cell.line,
                    column=cell.column,
                    shown=cell.text,
                )
