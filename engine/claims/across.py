"""Windows and thresholds of a task side by side: which text has each, and has the reference?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from engine.claims.material import Material, Read
from engine.claims.model import Across, Claim

What = Literal["window", "threshold"]

_WAYS = {"-": "before", "+": "after"}
_SIGNS = {"low": "< or ≥", "high": "≤ or >"}


def across(material: Material) -> tuple[Across, ...]:
    """Every length of time and every bound that something is compared with, with its lines."""
    found: dict[tuple[What, str], dict[str, list[int]]] = {}
    known: dict[tuple[What, str], bool] = {}
    for text in material.texts:
        name = f"{text.kind}/{text.name}" if text.name else text.kind
        for what, shown, same, line in _said(text, material):
            lines = found.setdefault((what, shown), {}).setdefault(name, [])
            if line not in lines:
                lines.append(line)
            known[what, shown] = same
    return tuple(
        Across(what, shown, known[what, shown], _sorted(places))
        for (what, shown), places in sorted(found.items(), key=_order)
    )


def _sorted(places: Mapping[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(sorted(lines)) for name, lines in places.items()}


def _order(entry: tuple[tuple[What, str], object]) -> tuple[bool, str, float, str]:
    (what, shown), _ = entry
    number = re.search(r"\d+(?:\.\d+)?", shown)
    unit = shown.rpartition(" ")[2] if what == "window" else ""
    return what != "window", unit, float(number.group()) if number else 0.0, shown


def _said(text: Read, material: Material) -> Iterator[tuple[What, str, bool, int]]:
    facts = material.rules.facts
    for claim in text.of("window"):
        here = claim.facts or {}
        number, _, unit = claim.shown.replace("-", " ").partition(" ")
        unit = {"h": "hour"}.get(unit, unit.removesuffix("s"))
        way = f" {_WAYS[here['direction']]} admission" if _placed(claim) else ""
        plain = float(number)
        yield (
            "window",
            f"{number} {unit}{'' if plain == 1 else 's'}{way}",
            here["seconds"] in facts.durations,
            claim.line,
        )
    for claim in text.of("range"):
        here = claim.facts or {}
        for number, side in here.get("bounds", ()):
            yield (
                "threshold",
                f"{_SIGNS.get(side, side)} {number:g}",
                number in facts.bounds,
                claim.line,
            )


def _placed(claim: Claim) -> bool:
    here = claim.facts or {}
    return bool(here.get("admission") and here.get("direction"))
