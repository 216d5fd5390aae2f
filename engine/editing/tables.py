"""Markdown tables as text: where the cells are, and changes that leave the rest as it was typed."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

_RULE = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_WIDE = frozenset("WF")


class Place(NamedTuple):
    """A cell."""

    line: int
    """Line of the text, counted from 0."""
    cell: int
    """Cell of the line, counted from 0."""


class Change(NamedTuple):
    """Lines of the text that are replaced by others."""

    first: int
    """First line, counted from 0."""
    old: int
    """How many lines are replaced."""
    lines: tuple[str, ...]
    """What stands there then."""
    place: Place
    """Where the cursor goes."""


@dataclass(frozen=True)
class Row:
    """One line of a table; its parts together are the line, letter for letter."""

    indent: str
    """Blanks in front."""
    lead: bool
    """Does it begin with a bar?"""
    cells: tuple[str, ...]
    """What stands between the bars, with its blanks."""
    tail: str
    """The closing bar and what is behind it."""

    def __str__(self) -> str:
        return self.indent + ("|" if self.lead else "") + "|".join(self.cells) + self.tail

    def spans(self) -> list[tuple[int, int]]:
        """Begin and end of each cell's words in the line."""
        at = len(self.indent) + self.lead
        found = []
        for cell in self.cells:
            words = cell.strip()
            if words:
                begin = at + cell.index(words)
                found.append((begin, begin + len(words)))
            else:
                middle = at + min(1, len(cell))
                found.append((middle, middle))
            at += len(cell) + 1
        return found


@dataclass(frozen=True)
class Table:
    """A table of the text: a heading, the line of dashes, rows."""

    first: int
    """Line of the heading, counted from 0."""
    rows: tuple[Row, ...]
    """All lines; the second one is the dashes."""

    @property
    def columns(self) -> int:
        """Cells of the heading."""
        return len(self.rows[0].cells)

    @property
    def last(self) -> int:
        """Its last line."""
        return self.first + len(self.rows) - 1

    def next_cell(self, place: Place, step: int) -> Place | None:
        """The cell before or after, over the dashes; None at the end."""
        cells = [
            Place(self.first + number, cell)
            for number, row in enumerate(self.rows)
            if number != 1
            for cell in range(min(len(row.cells), self.columns))
        ]
        if place not in cells:
            return cells[0] if cells else None
        at = cells.index(place) + step
        return cells[at] if 0 <= at < len(cells) else None

    def change(self, rows: Iterable[Row], place: Place) -> Change:
        """Replace the whole table."""
        return Change(self.first, len(self.rows), tuple(str(row) for row in rows), place)


def row_of(line: str) -> Row:
    """Take a line apart."""
    stripped = line.lstrip(" \t")
    indent, rest = line[: len(line) - len(stripped)], stripped
    lead = rest.startswith("|")
    rest = rest[1:] if lead else rest
    parts, at = [], 0
    for bar in _BAR.finditer(rest):
        parts.append(rest[at : bar.end() - 1])
        at = bar.end()
    last = rest[at:]
    if parts and not last.strip():
        return Row(indent, lead, tuple(parts), "|" + last)
    return Row(indent, lead, (*parts, last), "")


def table_at(lines: Sequence[str], line: int) -> Table | None:
    """The table that a line belongs to."""
    if not 0 <= line < len(lines) or "|" not in lines[line]:
        return None
    top = line
    while top > 0 and "|" in lines[top - 1] and lines[top - 1].strip():
        top -= 1
    for first in range(top, line + 1):
        if first + 1 >= len(lines) or not _RULE.match(lines[first + 1]):
            continue
        heading, rule = row_of(lines[first]), row_of(lines[first + 1])
        if len(heading.cells) != len(rule.cells) or _RULE.match(lines[first]):
            continue
        end = first + 2
        while end < len(lines) and lines[end].strip() and "|" in lines[end]:
            end += 1
        if line < end and not _fenced(lines, first):
            return Table(first, tuple(row_of(each) for each in lines[first:end]))
        return None
    return None


def _fenced(lines: Sequence[str], line: int) -> bool:
    fence = ""
    for each in lines[:line]:
        match = _FENCE.match(each)
        if match and not fence:
            fence = match.group(1)
        elif match and match.group(1).startswith(fence):
            fence = ""
    return bool(fence)


def place_at(table: Table, line: int, column: int) -> Place:
    """The cell that a place of the text is in (column counted from 0)."""
    row = table.rows[line - table.first]
    at = len(row.indent) + row.lead
    for number, cell in enumerate(row.cells):
        at += len(cell) + 1
        if column < at:
            return Place(line, number)
    return Place(line, len(row.cells) - 1)


def add_row(table: Table, line: int, *, above: bool = False) -> Change:
    """An empty row below (or above) a line; below the dashes for the heading."""
    number = max(line - table.first + (not above), 2)
    model = table.rows[min(line - table.first, len(table.rows) - 1)]
    row = Row(model.indent, True, ("  ",) * table.columns, "|")
    at = table.first + number
    return Change(at, 0, (str(row),), Place(at, 0))


def delete_row(table: Table, line: int) -> Change | None:
    """Without a row; the heading and the dashes stay."""
    number = line - table.first
    if number < 2:  # noqa: PLR2004 - heading and dashes
        return None
    at = line if line < table.last else line - (1 if number > 2 else 2)  # noqa: PLR2004
    return Change(line, 1, (), Place(at, 0))


def move_row(table: Table, line: int, step: int) -> Change | None:
    """A row up (-1) or down (1) among the rows."""
    number, to = line - table.first, line - table.first + step
    if min(number, to) < 2 or to >= len(table.rows):  # noqa: PLR2004 - heading and dashes
        return None
    low, high = sorted((number, to))
    return Change(
        table.first + low,
        2,
        (str(table.rows[high]), str(table.rows[low])),
        Place(table.first + to, 0),
    )


def add_column(table: Table, place: Place, *, before: bool = False) -> Change:
    """An empty column to the right (or left) of a cell."""
    at = place.cell if before else place.cell + 1

    def wider(number: int, cells: list[str]) -> None:
        cells.insert(at, "---" if number == 1 else "  ")

    return table.change(_each(table, wider), Place(place.line, at))


def delete_column(table: Table, place: Place) -> Change | None:
    """Without a column; the last one stays."""
    if table.columns < 2:  # noqa: PLR2004 - a table has one
        return None

    def narrower(_number: int, cells: list[str]) -> None:
        del cells[place.cell]

    return table.change(
        _each(table, narrower), Place(place.line, min(place.cell, table.columns - 2))
    )


def move_column(table: Table, place: Place, step: int) -> Change | None:
    """A column to the left (-1) or right (1)."""
    to = place.cell + step
    if not 0 <= to < table.columns:
        return None

    def swapped(_number: int, cells: list[str]) -> None:
        cells[place.cell], cells[to] = cells[to], cells[place.cell]

    return table.change(_each(table, swapped), Place(place.line, to))


def _each(table: Table, what: Callable[[int, list[str]], None]) -> list[Row]:
    rows = []
    for number, row in enumerate(table.rows):
        cells = [*row.cells, *["  "] * (table.columns - len(row.cells))]
        what(number, cells)
        rows.append(replace(row, cells=tuple(cells), lead=True, tail=row.tail or "|"))
    return rows


def width(text: str) -> int:
    """Columns that a text takes in a font of one width."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in _WIDE)
        for c in text
    )


def align(table: Table, place: Place) -> Change:
    """Every cell as wide as its column's widest."""
    words = [[cell.strip() for cell in row.cells] for row in table.rows]
    count = max(len(row) for row in words)
    words = [row + [""] * (count - len(row)) for row in words]
    sides = [(w.startswith(":"), w.endswith(":")) for w in words[1]]
    wide = [max(3, *(width(r[n]) for i, r in enumerate(words) if i != 1)) for n in range(count)]
    lines = []
    for number, row in enumerate(words):
        if number == 1:
            cells = [_dashes(side, w) for side, w in zip(sides, wide, strict=True)]
        else:
            cells = [_padded(c, s, w) for c, s, w in zip(row, sides, wide, strict=True)]
        lines.append(f"{table.rows[0].indent}| {' | '.join(cells)} |")
    return Change(table.first, len(table.rows), tuple(lines), place)


def _dashes(side: tuple[bool, bool], wide: int) -> str:
    left, right = side
    return ":" * left + "-" * (wide - left - right) + ":" * right


def _padded(cell: str, side: tuple[bool, bool], wide: int) -> str:
    room = wide - width(cell)
    if side == (False, True):
        return " " * room + cell
    if side == (True, True):
        return " " * (room // 2) + cell + " " * (room - room // 2)
    return cell + " " * room


def new_table(columns: int, rows: int, line: int) -> Change:
    """An empty table put at a line."""
    row = "|" + "  |" * columns
    lines = (row, "|" + "---|" * columns, *[row] * rows)
    return Change(line, 0, lines, Place(line, 0))


def is_sheet(text: str) -> bool:
    """Does it look like cells that a spreadsheet copied?"""
    return "\t" in text.strip("\r\n") and len(sheet(text)) > 0


def sheet(text: str) -> list[list[str]]:
    """The cells that a spreadsheet copied, with bars written so that they are no borders."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter="\t"))
    except csv.Error:
        rows = [line.split("\t") for line in text.split("\n")]
    cells = [[_cell(cell) for cell in row] for row in rows]
    while cells and not any(cells[-1]):
        cells.pop()
    return cells


def _cell(text: str) -> str:
    return _BAR.sub(lambda bar: f"{bar.group(1)}\\|", " ".join(text.split()))


def paste(table: Table | None, place: Place, cells: list[list[str]]) -> Change:
    """Cells of a spreadsheet into a table from a cell on; a new table where there is none."""
    if table is None:
        count = max(len(row) for row in cells)
        full = [row + [""] * (count - len(row)) for row in cells]
        lines = [f"| {' | '.join(row)} |" for row in full]
        lines.insert(1, "|" + "---|" * count)
        return Change(place.line, 0, tuple(lines), Place(place.line, 0))
    need = max(len(row) for row in cells) + place.cell
    rows = [
        replace(row, cells=(*row.cells, *["---" if n == 1 else "  "] * (need - len(row.cells))))
        if len(row.cells) < need
        else row
        for n, row in enumerate(table.rows)
    ]
    rows = [replace(row, lead=True, tail=row.tail or "|") for row in rows]
    at = place.line - table.first
    for given in cells:
        at += at == 1
        if at == len(rows):
            rows.append(Row(rows[0].indent, True, ("  ",) * len(rows[0].cells), "|"))
        filled = list(rows[at].cells)
        for number, cell in enumerate(given):
            filled[place.cell + number] = f" {cell} "
        rows[at] = replace(rows[at], cells=tuple(filled))
        at += 1
    last = Place(table.first + at - 1, place.cell + len(cells[-1]) - 1)
    return Change(table.first, len(table.rows), tuple(str(row) for row in rows), last)
