"""Skill, operational specification and instruction held against each other, number by number."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import permutations

from engine.claims.material import Material, Read, checked
from engine.claims.model import Against, Check
from engine.claims.reading import Cell, Document, Row

_WORD = re.compile(r"[A-Za-z_][\w-]*|\d+(?:\.\d+)?|[<>≤≥×÷/+−=.;:()]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"^\d+\.\s")
_WIDTHS = ((2, 1), (1, 2), (0, 3), (3, 0), (1, 1), (0, 2), (2, 0), (2, 2), (1, 3), (3, 1))
"""Words before and after a number that make its context."""
_SURE = 5
"""Words of a context (the number with it) that tell enough between short and long texts."""
_STOPS = {".", ";", ":", "(", ")"}
_SAME = {"the": "", "a": "", "an": "", "of": "", "is": "", "are": ""}


def agreement_checks(material: Material) -> Iterator[Check]:
    """Rows with the same head, and numbers in the same words.

    What an instruction and another text disagree in is told once, in the instruction; where only
    the other text is wanted, in that.
    """
    for one, other in permutations(material.texts, 2):
        if not material.wanted(one):
            continue
        if "instruction" in (one.kind, other.kind):
            if one.kind == "instruction" or material.only is not None:
                yield from _contexts(one, other)
            continue
        yield from _rows(one, other)
        if one.name and other.name:
            continue  # two skills
        yield from _contexts(one, other)


def _numbers(text: str) -> Counter[float]:
    return Counter(float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text))


@functools.lru_cache(maxsize=64)
def _keyed(document: Document) -> Mapping[str, Row | None]:
    """Rows by their first cell; None where several bear it."""
    found: dict[str, Row | None] = {}
    for row in document.rows:
        if any("version" in head or "icd" in head for head in row.header):
            continue  # codes
        if not row.aside and row.cells and re.search("[A-Za-z]{3}", row.cells[0].text):
            key = re.sub(r"[`*]", "", row.cells[0].text).lower()
            found[key] = None if key in found else row
    return found


def _rows(one: Read, other: Read) -> Iterator[Check]:
    there = _keyed(other.document)
    for key, row in _keyed(one.document).items():
        match = there.get(key)
        if row is None or match is None:
            continue
        mine = _numbers(" ".join(c.text for c in row.cells[1:]))
        theirs = _numbers(" ".join(c.text for c in match.cells[1:]))
        both = sum((mine & theirs).values())
        if not both or 2 * both < max(mine.total(), theirs.total()):
            continue  # another kind of table
        if mine == theirs:
            verdict, words = "agrees", "the numbers are the same"
        else:
            more = sorted((mine - theirs).elements())
            less = sorted((theirs - mine).elements())
            verdict, words = "disagrees", f"here {_told(more)}, there {_told(less)}"
        if one.kind == "skill" or verdict == "disagrees":
            yield checked(
                one,
                "row-agrees",
                "agrees" if verdict == "agrees" else "disagrees",
                f"“{row.cells[0].text}” in this table and in the {_called(other)}: {words}.",
                _against(other),
                line=row.cells[1].line,
                column=row.cells[1].column,
                shown=row.cells[1].text,
            )


def _told(numbers: list[float]) -> str:
    return ", ".join(f"{n:g}" for n in numbers) or "nothing more"


def _called(read: Read) -> str:
    return {"operational-spec": "operational specification"}.get(read.kind, read.kind)


def _against(read: Read) -> Against:
    return read.kind if read.kind in ("instruction", "operational-spec") else "skill"


def _tokens(text: str) -> list[tuple[str, int]]:
    skip = _ORDINAL.match(text)
    found = []
    for match in _WORD.finditer(text, skip.end() if skip else 0):
        word = _SAME.get(match.group().lower(), match.group().lower())
        if word:
            found.append((word, match.start()))
    return found


@functools.lru_cache(maxsize=64)
def _spoken(document: Document) -> Mapping[tuple[str, ...], dict[str, Cell]]:
    """Context to the numbers in it, each with its place."""
    found: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in document.rules:
        for context, word, at in _spoken_in(cell.text):
            place = Cell(word, cell.line, cell.column + at)
            found.setdefault(context, {}).setdefault(f"{float(word):g}", place)
    return found


@functools.lru_cache(maxsize=1 << 13)  # while somebody types most lines stay as they are
def _spoken_in(text: str) -> tuple[tuple[tuple[str, ...], str, int], ...]:
    """Contexts of one cell, each with its number and where that begins."""
    tokens = _tokens(text)
    found = []
    for i, (word, at) in enumerate(tokens):
        if not _NUMBER.fullmatch(word):
            continue
        for before, after in _WIDTHS:
            if i < before or i + after >= len(tokens) + (after == 0):
                continue
            left = tuple(w for w, _ in tokens[i - before : i])
            right = tuple(w for w, _ in tokens[i + 1 : i + 1 + after])
            words = left + right
            if sum(len(w) > 2 and w.isalpha() for w in words) < 2 or _STOPS & set(words):  # noqa: PLR2004
                continue
            found.append(((*left, "#", *right), word, at))
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _everywhere(text: str) -> frozenset[str]:
    """Every number of a text."""
    return frozenset(f"{number:g}" for number in _numbers(text))


def _contexts(one: Read, other: Read) -> Iterator[Check]:
    there = _spoken(other.document)
    everywhere = _everywhere(other.document.text)
    asked = "instruction" in (one.kind, other.kind)
    told: set[tuple[int, int]] = set()
    for context, numbers in _spoken(one.document).items():
        theirs = there.get(context)
        if theirs is None or len(numbers) != len(theirs) or numbers.keys() == theirs.keys():
            continue
        if asked and len(context) < _SURE:
            continue
        if len(context) < _SURE - 1 and numbers.keys() & everywhere:
            continue
        words = " ".join("…" if word == "#" else word for word in context)
        for number, cell in numbers.items():
            if number in theirs or (cell.line, cell.column) in told:
                continue
            told.add((cell.line, cell.column))
            yield checked(
                one,
                "number-agrees",
                "disagrees",
                f"“{words}”: here {number}, in the {_called(other)} {', '.join(theirs)}.",
                _against(other),
                line=cell.line,
                column=cell.column,
                shown=cell.text,
            )
