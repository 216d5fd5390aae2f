"""The claims that a text makes about numbers: bounds, factors, points, windows, items.

Only sentences that state rules are read. Left out are worked examples, pitfalls, caveats and
references (by their headings), sentences that say "for example", code spans (texts of the
data), and for items sentences that say what does not count.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from engine.preflight.facts import SECONDS
from engine.preflight.finding import Text

_ASIDE = re.compile(r"\b(?:examples?|pitfalls?|caveats?|references)\b", re.IGNORECASE)
_HEADING = re.compile(r"^(#{1,6})\s+(.*)$")
_NUMBER = r"\d+(?:\.\d+)?"
_LONE = rf"(?<![\w.,:/]){_NUMBER}(?![\w/]|:\d|\.\d|,\d{{3}})"
_UNIT = r"(seconds?|minutes?|hours?|h|days?|months?)\b"
_LIST = rf"{_NUMBER}(?:\s*(?:,|and|or|to|-|–)\s*{_NUMBER})*"
_DURATION = re.compile(rf"(?<![\w.:]){_LIST}[\s-]{_UNIT}")
_OPERATORS = {
    "<": "low", "≥": "low", ">=": "low", "below": "low", "less than": "low", "at least": "low",
    ">": "high", "≤": "high", "<=": "high", "above": "high", "more than": "high",
    "at most": "high", "up to": "high",
}  # fmt: skip
_TURNED = {"<": "high", "≥": "high", ">": "low", "≤": "low"}
_BOUND = re.compile(
    r"(<=|>=|[<>≤≥]|\b(?:below|above|less than|more than|at least|at most|up to)\b)\s*\*{0,2}[−-]?"
    rf"({_LONE})(?!\s*×)"
)
_TURNED_BOUND = re.compile(rf"({_LONE})\s*([<>≤≥])\s*(?=[A-Za-z])")
_FACTOR = re.compile(
    rf"(?P<left>[\w)]+)?\s*[×÷/]\s*({_LONE})|({_LONE})\s*[×÷]\s*(?P<right>[\w(]+)?"
)
_BAND = re.compile(rf"({_LONE})\s*:\s*(\d+)(?=[;,.\s|])(?!\.\d)")
_COMPARED = re.compile(r"(?:[<>≤≥]|\bfrom)\s*[−-]?$")
ITEM = re.compile(
    r"(?<![\w.,/:])(?:5[0-3]\d{3}|22\d{4}|230\d{3})(?![\w.:/])"
    r"|(?:(?<=\b[Ii]tem )|(?<=\b[Ii]tems )|(?<=\bitemid ))\d{3,7}(?!\w|[.,:/]\d)"
)
"""An item's id: a number like those of MIMIC-IV, or any that is called an item."""
_EXAMPLE = re.compile(r"\b(?:for example|for instance|such as)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.;])\s")
_NEGATION = re.compile(
    r"\b(?:not?|never|nothing|ignored?|left out|without|cannot|unused|neither|nor)\b", re.IGNORECASE
)

_LINES = 1 << 13
"""Lines whose claims are kept."""


@dataclass(frozen=True)
class Claim:
    """One number with what is said of it."""

    offset: int
    """Where it stands."""
    shown: str
    """As it is written."""
    value: float
    """The number, without its sign; of a window in seconds."""
    side: str = ""
    """Of a bound: ``low`` (< or ≥) or ``high`` (≤ or >); ``exact`` for a band that compares."""
    result: float | None = None
    """Of a band: what it gives."""
    unit: str = ""
    """Of a window."""


def rule_lines(text: Text) -> tuple[tuple[int, str], ...]:
    """Offset and prose of every line that states rules; code spans and examples are blank."""
    return _rule_lines(text.prose)


@functools.lru_cache(maxsize=16)  # every rule asks for them
def _rule_lines(prose: str) -> tuple[tuple[int, str], ...]:
    offset, aside = 0, 0
    found = []
    for line in prose.splitlines(keepends=True):
        heading = _HEADING.match(line)
        if heading:
            level = len(heading.group(1))
            if not aside or level <= aside:
                aside = level if _ASIDE.search(heading.group(2)) else 0
        elif not aside:
            found.append((offset, _without_examples(line)))
        offset += len(line)
    return tuple(found)


def _without_examples(line: str) -> str:
    for begin, sentence in _split(line) if _EXAMPLE.search(line) else ():
        if _EXAMPLE.search(sentence):
            line = line[:begin] + " " * len(sentence) + line[begin + len(sentence) :]
    return line


def _split(line: str) -> Iterator[tuple[int, str]]:
    """The sentences of a line with their offsets."""
    begin = 0
    for gap in _SENTENCE.finditer(line):
        yield begin, line[begin : gap.start()]
        begin = gap.end()
    yield begin, line[begin:]


def bounds(text: Text) -> Iterator[Claim]:
    """``< 40``, ``at least 60``, ``0 < v``."""
    return _by_line(text, _bounds_of)


def bounds_in(line: str, offset: int) -> Iterator[Claim]:
    """The bounds of one line that begins at `offset`."""
    return _moved(_bounds_of(line), offset)


def factors(text: Text) -> Iterator[Claim]:
    """``× 1.32``, ``0.957 × ln``; two numbers side by side are an example."""
    return _by_line(text, _factors_of)


def bands(text: Text) -> Iterator[Claim]:
    """``< 40: 11``, ``from 80: 18``, ``24 to 53: 3``."""
    return _by_line(text, _bands_of)


def durations(text: Text) -> Iterator[Claim]:
    """``6 hours``, ``6, 12 and 24 hours``."""
    return _by_line(text, _durations_of)


def _by_line(text: Text, read: Callable[[str], tuple[Claim, ...]]) -> Iterator[Claim]:
    for offset, line in rule_lines(text):
        yield from _moved(read(line), offset)


def _moved(found: tuple[Claim, ...], offset: int) -> Iterator[Claim]:
    return (replace(claim, offset=claim.offset + offset) for claim in found)


# What a line says is kept: several rules ask for it, and while somebody types most lines stay.


@functools.lru_cache(maxsize=_LINES)
def _bounds_of(line: str) -> tuple[Claim, ...]:
    found = [
        Claim(match.start(2), match.group(), float(match.group(2)), _OPERATORS[match.group(1)])
        for match in _BOUND.finditer(line)
        if not _is_duration(line, match.end())
    ]
    found += [
        Claim(match.start(1), match.group().strip(), float(match.group(1)), _TURNED[match.group(2)])
        for match in _TURNED_BOUND.finditer(line)
    ]
    return tuple(found)


@functools.lru_cache(maxsize=_LINES)
def _factors_of(line: str) -> tuple[Claim, ...]:
    found = []
    for match in _FACTOR.finditer(line):
        number = match.group(2) or match.group(3)
        other = match["left"] or match["right"] or ""
        if not other[:1].isdigit() and not _is_duration(line, match.end()):
            found.append(Claim(line.index(number, match.start()), number, float(number)))
    return tuple(found)


@functools.lru_cache(maxsize=_LINES)
def _bands_of(line: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            match.start(1),
            match.group(),
            float(match.group(1)),
            side="exact" if _COMPARED.search(line[: match.start()]) else "",
            result=float(match.group(2)),
        )
        for match in _BAND.finditer(line)
    )


@functools.lru_cache(maxsize=_LINES)
def _durations_of(line: str) -> tuple[Claim, ...]:
    found = []
    for match in _DURATION.finditer(line):
        unit = match.group(1)
        unit = "hour" if unit == "h" else unit.removesuffix("s")
        found += [
            Claim(
                match.start() + number.start(),
                f"{number.group()} {unit}s",
                float(number.group()) * SECONDS[unit],
                unit=unit,
            )
            for number in re.finditer(_NUMBER, match.group())
        ]
    return tuple(found)


def items(text: Text) -> Iterator[Claim]:
    """Item ids that the rules use, in tables and in sentences that do not deny them."""
    offset = 0
    column: tuple[int, ...] = ()
    for line in text.text.splitlines(keepends=True):
        cells = line.split("|")
        if not line.startswith("|"):
            column = ()
        elif not column:
            column = tuple(i for i, cell in enumerate(cells) if cell.strip() == "item") or (0,)
        else:
            position = offset
            for index, cell in enumerate(cells):
                if index in column and cell.strip().isdigit():
                    number = cell.strip()
                    yield Claim(position + cell.index(number), number, float(number))
                position += len(cell) + 1
        offset += len(line)
    for start, sentence in _sentences(text):
        if not _NEGATION.search(sentence):
            for match in ITEM.finditer(sentence):
                yield Claim(start + match.start(), match.group(), float(match.group()))


def item_rows(text: Text) -> Iterator[tuple[int, int, str]]:
    """Rows of tables with a column "item": the item, and offset and text of the cells after it.

    A row that names two items gives none.
    """
    offset, column = 0, 0
    for line in text.prose.splitlines(keepends=True):
        cells = line.split("|")
        if not line.startswith("|"):
            column = 0
        elif not column:
            named = [i for i, cell in enumerate(cells) if cell.strip() == "item"]
            column = named[0] if len(named) == 1 else len(cells)
        elif column + 2 < len(cells) and cells[column].strip().isdigit():
            begin = sum(len(cell) + 1 for cell in cells[: column + 2])  # after the label
            yield int(cells[column]), offset + begin, line[begin:]
        offset += len(line)


def named_items(text: Text) -> frozenset[int]:
    """Every item id that stands anywhere in the text."""
    return frozenset(int(number) for number in re.findall(r"(?<!\d)\d{5,6}(?!\d)", text.text))


def _sentences(text: Text) -> Iterator[tuple[int, str]]:
    for offset, line in rule_lines(text):
        for begin, sentence in _split(line):
            yield offset + begin, sentence


def _is_duration(line: str, end: int) -> bool:
    return re.match(rf"[\s-]{_UNIT}", line[end:]) is not None
