"""Claims about bands, windows, what stands for a missing value, formulas and the row grain."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from engine.claims.model import Claim
from engine.claims.reading import Cell, Document, sentences
from engine.preflight.claims import Claim as Number
from engine.preflight.claims import bands, bounds_in
from engine.preflight.facts import SECONDS
from engine.preflight.finding import Text

_NUMBER = r"\d+(?:\.\d+)?"
_TIME = re.compile(
    rf"(?P<sign>[+−]\s*)?(?<![\w.:])(?P<list>{_NUMBER}(?:\s*(?:,|and|or|to|-|–)\s*{_NUMBER})*)[\s-]"
    r"(?P<unit>seconds?|minutes?|hours?|h|days?|months?)\b"
)
_DIRECTION = re.compile(r"^\W{0,3}(?:\w+\W+){0,2}?(?P<way>before|after|earlier|later|older)\b")
_UNDER_WAY = {"before": "-", "earlier": "-", "older": "-", "after": "+", "later": "+"}
_ADMISSION = re.compile(r"\b(?:ICU|unit) admission\b", re.IGNORECASE)
_CLOSED = re.compile(r"\b(?:included|including|inclusive)\b", re.IGNORECASE)
_OPEN = re.compile(r"\b(?:excluded|excluding|exclusive|strictly)\b", re.IGNORECASE)
_MISSING = re.compile(r"\b(?:missing|absent|none|not charted|without)\b", re.IGNORECASE)
_DEFAULT = re.compile(
    r"\b(?P<name>[a-z_]{3,})\*{0,2} (?:as )?\(?(?P<number>\d+)(?=[,.;:)]|\*\*| if missing|$)"
)
_FORMULA = re.compile(
    rf"(?:[\w)²]+\s*[×÷]\s*{_NUMBER}|{_NUMBER}\s*[×÷−+]\s*[A-Za-z(]+|[A-Za-z)]+\s*/\s*{_NUMBER}"
    rf"|\(v − {_NUMBER}\) / {_NUMBER}|\bln\b)"
)


def rule_claims(document: Document) -> Iterator[Claim]:
    """All kinds of this module."""
    for row in document.rows:
        if not row.aside and row.cells and "item" not in row.header:
            subject = row.cells[0].text
            for cell in row.cells[1:]:
                yield from _bands(document, cell, subject)
    for line in document.lines:
        if not line.aside:
            yield from _bands(document, line.cell, line.section)
    for cell in document.rules:
        yield from _windows(document, cell)
        yield from _missing(document, cell)
        yield from _formulas(document, cell)
    yield from _grain(document)


def _bands(document: Document, cell: Cell, subject: str) -> Iterator[Claim]:
    found = _bands_in(cell.text)
    if found:
        pairs = [[c.value, c.result, c.side == "exact"] for c in found]
        yield Claim(
            document.kind, "band", cell.line, cell.column, cell.text, subject, {"pairs": pairs}
        )
        return
    for bound in bounds_in(cell.text, 0):
        facts = {"bounds": [[bound.value, bound.side]]}
        shown = re.sub(r"^[^\d]*", "", bound.shown) if bound.offset else bound.shown
        place = cell.column + bound.offset
        yield Claim(document.kind, "range", cell.line, place, shown, subject, facts)


@functools.lru_cache(maxsize=1 << 13)
def _bands_in(text: str) -> tuple[Number, ...]:
    return tuple(bands(Text("skill", Path(), text)))


def _windows(document: Document, cell: Cell) -> Iterator[Claim]:
    for at, sentence in sentences(cell.text):
        for match in _TIME.finditer(sentence):
            unit = {"h": "hour"}.get(match["unit"], match["unit"].removesuffix("s"))
            way = _DIRECTION.match(sentence[match.end() :])
            sign = _UNDER_WAY[way["way"]] if way else ""
            if match["sign"]:
                sign = "+" if match["sign"].strip() == "+" else "-"
            for number in re.finditer(_NUMBER, match["list"]):
                facts = {
                    "seconds": float(number.group()) * SECONDS[unit],
                    "direction": sign,
                    "admission": bool(_ADMISSION.search(sentence)),
                    "closed": bool(_CLOSED.search(sentence)),
                    "open": bool(_OPEN.search(sentence)),
                }
                yield Claim(
                    document.kind,
                    "window",
                    cell.line,
                    cell.column + at + match.start("list") + number.start(),
                    number.group() + sentence[match.end("list") : match.end()],
                    sentence,
                    facts,
                )


def _missing(document: Document, cell: Cell) -> Iterator[Claim]:
    for at, sentence in sentences(cell.text):
        for word in _MISSING.finditer(sentence):
            numbers = {m["name"]: float(m["number"]) for m in _DEFAULT.finditer(sentence)}
            numbers = {name: number for name, number in numbers.items() if number}
            yield Claim(
                document.kind,
                "missing",
                cell.line,
                cell.column + at + word.start(),
                word.group(),
                sentence,
                {"defaults": numbers},
            )
            break


def _formulas(document: Document, cell: Cell) -> Iterator[Claim]:
    for match in _formulas_in(cell.text):
        numbers = [float(n) for n in re.findall(_NUMBER, match.group())]
        yield Claim(
            document.kind,
            "formula",
            cell.line,
            cell.column + match.start(),
            match.group(),
            cell.text,
            {"numbers": numbers},
        )


@functools.lru_cache(maxsize=1 << 13)
def _formulas_in(text: str) -> tuple[re.Match[str], ...]:
    return tuple(_FORMULA.finditer(text))


def _grain(document: Document) -> Iterator[Claim]:
    for line in document.lines:
        text = line.cell.text
        if text.lower().startswith("one row per"):
            columns = re.findall(r"`([a-z0-9_]+)`", text)
            unique = re.search(r"unique by \(([^)]*)\)", text)
            facts = {
                "columns": columns,
                "key": re.findall(r"[a-z0-9_]+", unique.group(1)) if unique else [],
                "every": bool(re.search(r"every one of them|\bevery\b", text.split(":")[0])),
            }
            yield Claim(
                document.kind, "grain", line.cell.line, line.cell.column, text, line.section, facts
            )
