"""A text as lines and table rows that know their section and their place.

Read from the tokens of the Markdown, so that a bar in a code span, a table inside a list
or a heading in a code block is taken for what it is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from engine.preflight.finding import Kind

ASIDE = re.compile(
    r"\b(?:examples?|pitfalls?|caveats?|references)\b|^output(?: grain)?$", re.IGNORECASE
)
"""Headings of sections that state no rules."""
_FRONT = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_GAP = re.compile(r"(?<=[.;])\s")
_CODE = re.compile(r"`([^`\n]+)`")
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
"""Blocks only: what stands within a line is read from the source."""
_SPACE = "\u2420·"
"""Signs that show a space at the end of a text."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table, or one line of prose."""

    text: str
    """Without blanks at its ends (prose keeps its indentation out too)."""
    line: int
    """Counted from 1."""
    column: int
    """Of the first character, counted from 1."""


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    header: tuple[str, ...]
    """The heads of the columns, lower case."""
    cells: tuple[Cell, ...]
    """As many as heads, or fewer."""
    section: str
    """The heading that it stands under."""
    aside: bool
    """Is that one of examples, pitfalls, caveats or references?"""
    table: int
    """Which table of the text, counted from 0."""

    def named(self, head: str) -> Cell | None:
        """The cell in the column of that head."""
        for name, cell in zip(self.header, self.cells, strict=False):
            if name == head:
                return cell
        return None


@dataclass(frozen=True)
class Line:
    """One line of a paragraph or of a list."""

    cell: Cell
    """Its words and place."""
    section: str
    """The heading that it stands under."""
    aside: bool
    """As of a row."""


@dataclass(frozen=True)
class Span:
    """A text in a code span."""

    text: str
    """What stands between the backticks; signs of a space are spaces."""
    line: int
    """Counted from 1."""
    column: int
    """Of its first character, counted from 1."""


@dataclass(frozen=True, eq=False)
class Document:
    """A text that has been read; the same only as itself, so that it can be a key."""

    kind: Kind
    """Which text of a task."""
    text: str
    """All of it."""
    rows: tuple[Row, ...]
    """All rows of all tables."""
    lines: tuple[Line, ...]
    """All lines of prose, the description of the front matter first."""

    @cached_property
    def rules(self) -> tuple[Cell, ...]:
        """Prose lines and cells of the sections that state rules, by place."""
        found = [line.cell for line in self.lines if not line.aside]
        found += [cell for row in self.rows if not row.aside for cell in row.cells]
        return tuple(sorted(found, key=lambda cell: (cell.line, cell.column)))

    @cached_property
    def plain(self) -> str:
        """The text with every sign of a space as a space."""
        return spaced(self.text)


def spaced(text: str) -> str:
    """The text with signs of a space as spaces."""
    return re.sub(f"[{_SPACE}]", " ", text)


def spans(cell: Cell) -> Iterator[Span]:
    """The code spans of a cell or line."""
    for match in _CODE.finditer(cell.text):
        yield Span(spaced(match.group(1)), cell.line, cell.column + match.start(1))


@functools.lru_cache(maxsize=1 << 13)  # asked for by every kind of claim, at every keystroke
def sentences(text: str) -> tuple[tuple[int, str], ...]:
    """The sentences of a cell with their offsets; a stop in a code span ends none."""
    blank = _CODE.sub(lambda match: "x" * len(match.group()), text)
    begin, found = 0, list[tuple[int, str]]()
    for gap in _GAP.finditer(blank):
        found.append((begin, text[begin : gap.start()]))
        begin = gap.end()
    return (*found, (begin, text[begin:]))


def read_document(kind: Kind, text: str) -> Document:
    """Read a text; nothing in it can break this."""
    source = re.split(r"\r\n?|\n", text)  # as Markdown counts lines
    front = _FRONT.match(text)
    skip = text.count("\n", 0, front.end()) if front else 0
    lines = list(_front(source[:skip]))
    rows: list[Row] = []
    tokens = _MARKDOWN.parse("\n".join(["" for _ in source[:skip]] + source[skip:]))
    section, aside, table = "", 0, -1
    header: tuple[str, ...] = ()
    inside: list[str] = []
    for position, token in enumerate(tokens):
        match token.type:
            case "heading_open":
                level = int(token.tag[1])
                section = tokens[position + 1].content
                if not aside or level <= aside:
                    aside = level if ASIDE.search(section) else 0
            case "thead_open" | "tbody_open" | "paragraph_open":
                inside.append(token.type)
                table += token.type == "thead_open"
            case "thead_close" | "tbody_close" | "paragraph_close":
                inside.pop()
            case "tr_open" if token.map:
                cells = tuple(_cells(source[token.map[0]], token.map[0] + 1))
                if inside[-1:] == ["thead_open"]:
                    header = tuple(cell.text.lower() for cell in cells)
                else:
                    rows.append(Row(header, cells, section, bool(aside), table))
            case "inline" if token.map and inside[-1:] == ["paragraph_open"]:
                lines += _prose(token, source, section, aside=bool(aside))
            case _:
                pass
    return Document(kind, text, tuple(rows), tuple(lines))


def _front(source: list[str]) -> Iterator[Line]:
    for number, line in enumerate(source, 1):
        if line.startswith("description:"):
            words = line.removeprefix("description:")
            yield Line(_cell(words, number, len(line) - len(words)), "description", aside=False)


def _prose(token: Token, source: list[str], section: str, *, aside: bool) -> Iterator[Line]:
    begin, end = token.map or (0, 0)
    for number in range(begin, end):
        yield Line(_cell(source[number], number + 1, 0), section, aside)


def _cell(text: str, line: int, offset: int) -> Cell:
    return Cell(text.strip(), line, offset + len(text) - len(text.lstrip()) + 1)


def _cells(line: str, number: int) -> Iterator[Cell]:
    """The cells of a row; a bar after a backslash belongs to its cell."""
    bars = [match.start() for match in re.finditer(r"(?<!\\)\|", line)]
    if not line.lstrip().startswith("|"):
        bars = [-1, *bars]
    if not line.rstrip().endswith("|"):
        bars.append(len(line))
    for begin, end in pairwise(bars):
        yield _cell(line[begin + 1 : end], number, begin + 1)
