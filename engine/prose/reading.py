"""A Markdown text cut into units: headings, sentences, rows of tables, other lines.

The blocks are those of the Markdown parser, so that a bar in a code block makes no table. What is
cut is put together again by joining: nothing of the text is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt

from engine.prose.model import Cell, Unit, UnitKind

_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
_FRONT = re.compile(
    r"\A---[ \t]*(?:\r\n?|\n).*?^---[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL | re.MULTILINE
)
_ENDS = re.compile(r"\r\n?|\n")
_CODE = re.compile(r"`[^`\n]*`")
_GAP = re.compile(r"(?<=[.;?!])\s+(?=\S)")
_MARK = re.compile(r"\s*(?:[-*+>]|\d+[.)])*\s*\d*[.)]?\s*")
"""What a list begins its items with: no sentence."""


@dataclass(frozen=True)
class _Block:
    kind: UnitKind
    begin: int
    end: int
    header: tuple[str, ...] = ()


def read_units(text: str) -> tuple[Unit, ...]:
    """The units of a text, in order; joined with their gaps they are the text."""
    lines = _lines(text)
    front = _FRONT.match(text)
    skip = len(_ENDS.findall(text, 0, front.end())) if front else 0
    shown = ["" if n < skip else _ENDS.sub("", line) for n, line in enumerate(lines)]
    blocks = {block.begin: block for block in _blocks("\n".join(shown), len(lines))}
    found: list[Unit] = []
    section, at = "", 0
    while at < len(lines):
        block = blocks.get(at) or _Block("line", at, at + 1)
        raw = "".join(lines[at : block.end])
        if block.kind == "heading":
            section = raw.strip().lstrip("#").strip()
        for kind, piece, offset, cells in _cut(block, raw):
            line = at + 1 + len(_ENDS.findall(raw, 0, offset))
            _put(found, kind, piece, line, section, cells)
        at = block.end
    return tuple(found)


def _lines(text: str) -> list[str]:
    """The lines with their ends, as Markdown counts them."""
    begin, found = 0, []
    for end in _ENDS.finditer(text):
        found.append(text[begin : end.end()])
        begin = end.end()
    return [*found, text[begin:]] if begin < len(text) else found


def _blocks(text: str, count: int) -> Iterator[_Block]:
    header: tuple[str, ...] = ()
    for token in _MARKDOWN.parse(text):
        if token.map is None:
            continue
        begin, end = token.map[0], min(token.map[1], count)
        match token.type:
            case "heading_open":
                yield _Block("heading", begin, end)
            case "paragraph_open":
                yield _Block("sentence", begin, end)
            case "thead_open":
                header = tuple(_cells(text.split("\n")[begin]))
            case "tr_open":
                yield _Block("row", begin, begin + 1, header)
            case _:
                pass


def _cut(block: _Block, raw: str) -> Iterator[tuple[UnitKind, str, int, tuple[Cell, ...]]]:
    """Kind, text with what follows it, offset and cells of each unit of a block."""
    if block.kind == "sentence":
        # Blank out code, so that a stop in it ends no sentence.
        blank = _CODE.sub(lambda match: "x" * len(match.group()), raw)
        cuts = [0]
        for gap in _GAP.finditer(blank):
            if not _MARK.fullmatch(blank, cuts[-1], gap.start()):
                cuts.append(gap.end())
        for begin, end in pairwise([*cuts, len(raw)]):
            yield "sentence", raw[begin:end], begin, ()
        return
    cells: tuple[Cell, ...] = ()
    if block.kind == "row":
        texts = _cells(_ENDS.sub("", raw))
        heads = (*block.header, *[""] * len(texts))
        cells = tuple(Cell(head, text) for head, text in zip(heads, texts, strict=False))
    yield block.kind, raw, 0, cells


def _put(  # noqa: PLR0917
    found: list[Unit], kind: UnitKind, raw: str, line: int, section: str, cells: tuple[Cell, ...]
) -> None:
    text = raw.rstrip()
    if not text and found:
        last = found[-1]
        found[-1] = Unit(last.kind, last.text, last.gap + raw, last.line, last.section, last.cells)
    elif raw:
        found.append(Unit(kind, text, raw[len(text) :], line, section, cells))


def _cells(line: str) -> list[str]:
    """The cells of a row; a bar after a backslash belongs to its cell."""
    bars = [match.start() for match in re.finditer(r"(?<!\\)\|", line)]
    if not line.lstrip().startswith("|"):
        bars = [-1, *bars]
    if not line.rstrip().endswith("|"):
        bars.append(len(line))
    return [line[begin + 1 : end].strip() for begin, end in pairwise(bars)]
