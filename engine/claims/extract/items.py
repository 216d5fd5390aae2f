"""Claims about items: id and label, unit, range kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.claims.model import Claim
from engine.claims.reading import Cell, Document, Row, sentences
from engine.preflight.claims import ITEM, bounds_in

_LABEL = re.compile(
    r"\s+\(?(?P<label>[^,;.:()|]*[A-Za-z][^,;:()|]*?)\)?"
    r"\s*(?=[,;:()|]|\.\s|\.?$)"
)
_DENIED = re.compile(
    r"\b(?:not?|never|nothing|ignored?|left out|without|cannot|unused|neither|nor)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?:mc?g|µg|units?|mL|mmol|mEq|g)/(?:kg/)?(?:min|minute|hour|h|dL|L|µL)\b"
    r"|mmHg|°[CF]|(?<= )/min"
)
LABEL_HEADS = ("label", "drug", "component", "meaning")
"""Heads of columns that name an item."""


def item_claims(document: Document) -> Iterator[Claim]:
    """Items of tables and of sentences."""
    taken: set[tuple[int, int]] = set()
    for row in document.rows:
        if not row.aside:
            for claim in _of_row(document, row):
                taken.add((claim.line, claim.column))
                yield claim
    for cell in document.rules:
        for claim in _of_words(document, cell):
            if (claim.line, claim.column) not in taken:
                yield claim


def _of_row(document: Document, row: Row) -> Iterator[Claim]:
    heads = [i for i, head in enumerate(row.header) if head == "item"]
    for index in heads:
        cell = row.cells[index] if index < len(row.cells) else None
        if cell is None or not cell.text.isdigit():
            continue
        label = row.cells[index + 1] if index + 1 < len(row.cells) else None
        head = row.header[index + 1] if index + 1 < len(row.header) else ""
        words = label.text.split(":")[0] if label and head in LABEL_HEADS else ""
        item = int(cell.text)
        rest = row.cells[index + 2 :] if len(heads) == 1 else ()
        facts = {"item": item, "label": words, "head": head, "denied": False}
        yield Claim(document.kind, "item", cell.line, cell.column, cell.text, words, facts)
        yield from _units(document, row, rest, item, words)
        for more in rest:
            bounds = [(c.value, c.side) for c in bounds_in(more.text, 0)]
            if bounds:
                facts = {"item": item, "bounds": bounds, **_limits(more.text)}
                yield Claim(document.kind, "range", more.line, more.column, more.text, words, facts)


def _limits(text: str) -> dict[str, float | bool | None]:
    """The range where it is one: lowest and highest that is kept, and whether they are."""
    alone = re.fullmatch(
        r"(?:(?P<low>[\d.]+)\s*(?P<less><|≤)\s*)?v\s*"
        r"(?:(?P<sign><|≤|>|≥)\s*(?P<end>[\d.]+))?\b.*",
        text,
    )
    if alone is None or "percent" in text:
        return {}
    low, high = alone["low"], None
    closed_low, closed_high = alone["less"] == "≤", alone["sign"] == "≤"
    if alone["sign"] in (">", "≥"):
        low, closed_low = alone["end"], alone["sign"] == "≥"
    elif alone["end"]:
        high = alone["end"]
    return {
        "low": float(low) if low else None,
        "high": float(high) if high else None,
        "closed_low": closed_low,
        "closed_high": closed_high,
    }


def _units(
    document: Document, row: Row, rest: tuple[Cell, ...], item: int, label: str
) -> Iterator[Claim]:
    stated = row.named("unit")
    gives = row.named("gives")
    if stated is not None and stated.text:
        facts = {"item": item, "units": [stated.text], "whole": True}
        yield Claim(document.kind, "unit", stated.line, stated.column, stated.text, label, facts)
    elif gives is not None and "," in gives.text and ";" not in gives.text:
        unit = gives.text.rpartition(",")[2].strip()
        place = gives.column + gives.text.rindex(unit)
        facts = {"item": item, "units": [unit], "whole": True}
        yield Claim(document.kind, "unit", gives.line, place, unit, label, facts)
    else:
        named = [(cell, m.group()) for cell in rest for m in _UNIT.finditer(cell.text)]
        if named:
            facts = {
                "item": item,
                "units": [unit for _, unit in named],
                "whole": not any("any other" in cell.text for cell in rest),
            }
            cell = named[0][0]
            yield Claim(document.kind, "unit", cell.line, cell.column, cell.text, label, facts)


def _of_words(document: Document, cell: Cell) -> Iterator[Claim]:
    for at, sentence in sentences(cell.text):
        denied = bool(_DENIED.search(sentence))
        for match in ITEM.finditer(sentence):
            label = _LABEL.match(sentence, match.end())
            words = label["label"].strip() if label else ""
            named = words if words[:1].isupper() else ""
            facts = {"item": int(match.group()), "label": named, "head": "", "denied": denied}
            yield Claim(
                document.kind,
                "item",
                cell.line,
                cell.column + at + match.start(),
                match.group(),
                named,
                facts,
            )
