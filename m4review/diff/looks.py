"""How a cell of the diff looks: its text, its sign, its colours. Plain values, no drawing.

Called for each cell of each frame, so that statuses index tuples and are not made enums first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from m4review.diff.layout import CELL_GLYPHS, KEY_GLYPHS, CellStatus, KeyStatus
from m4review.diff.reader import Record
from m4review.diff.table import TableColumn, cell_text
from m4review.diff.words import printed


class Look(NamedTuple):
    """How a cell is drawn."""

    text: str
    """The value, or the words for none."""
    glyph: str = ""
    """The sign of its status, drawn before it."""
    tone: str = "plain"
    """Which colours."""
    word: bool = False
    """Is the text a word about the cell (null, absent) and not its value? Drawn in italics."""
    hatched: bool = False
    """Drawn on hatching: there is no such cell."""


_ROW_TONES_OF = {
    KeyStatus.MATCHED: "plain",
    KeyStatus.MISSING: "missing",
    KeyStatus.EXTRA: "extra",
    KeyStatus.DUPLICATE: "duplicate",
}
_CELL_TONES_OF = {
    CellStatus.NEAR: "near",
    CellStatus.DIFFERENT: "different",
    CellStatus.REFERENCE_NULL: "null",
    CellStatus.AGENT_NULL: "null",
}
_ROW_TONES = tuple(_ROW_TONES_OF[status] for status in KeyStatus)
_ROW_GLYPHS = tuple(KEY_GLYPHS[status] for status in KeyStatus)
_CELL_TONES = tuple(_CELL_TONES_OF.get(status, "plain") for status in CellStatus)
_CELL_GLYPHS = tuple(CELL_GLYPHS[status] for status in CellStatus)
_NULLS = {tone: Look("null", "∅", tone, word=True) for tone in {*_ROW_TONES, *_CELL_TONES, "muted"}}
_NO_REFERENCE_ROW = {
    tone: Look("no such row", tone=tone, word=True, hatched=True) for tone in _ROW_TONES
}
_NO_AGENT_ROW = Look("no such row", tone="missing", word=True, hatched=True)
_NO_AGENT_COLUMN = Look("no such column", tone="missing", word=True, hatched=True)

Looker = Callable[[Record, TableColumn], Look]


def look_of(record: Record, column: TableColumn) -> Look:
    """How a cell looks: null, empty text, zero and no value at all are four different things."""
    return LOOKERS[column.part](record, column)


def _row(record: Record, _column: TableColumn) -> Look:
    return Look(f"{record[0] + 1:,}", "", "muted")


def _status(record: Record, column: TableColumn) -> Look:
    status = record[1]
    if status != KeyStatus.MATCHED:
        return Look(cell_text(record, column), _ROW_GLYPHS[status], _ROW_TONES[status])
    if record[2]:
        return Look(cell_text(record, column), "≠", "different")
    return Look(cell_text(record, column), "=", "muted")


def _key(record: Record, column: TableColumn) -> Look:
    value, tone = record[column.at], _ROW_TONES[record[1]]
    return _NULLS[tone] if value is None else _value(value, "", tone)


def _reference(record: Record, column: TableColumn) -> Look:
    at = column.at
    value, cell = record[at], record[at + 2]
    if cell == CellStatus.NO_REFERENCE:
        return _NO_REFERENCE_ROW[_ROW_TONES[record[1]]]
    if value is None:
        return _NULLS["null" if cell == CellStatus.REFERENCE_NULL else "muted"]
    return _value(value, "", _ROW_TONES[record[1]])


def _agent(record: Record, column: TableColumn) -> Look:
    at = column.at
    value, cell = record[at], record[at + 1]
    if cell == CellStatus.NO_AGENT:
        return _NO_AGENT_ROW if record[1] == KeyStatus.MISSING else _NO_AGENT_COLUMN
    if cell == CellStatus.NO_REFERENCE:
        tone = _ROW_TONES[record[1]]
        return _NULLS[tone] if value is None else _value(value, "", tone)
    if value is None:
        return _NULLS["null" if cell == CellStatus.AGENT_NULL else "muted"]
    return _value(value, _CELL_GLYPHS[cell], _CELL_TONES[cell])


def _value(value: object, glyph: str, tone: str) -> Look:
    text = printed(value)
    if not text:
        return Look("empty text", glyph or "“”", tone, word=True)
    return Look(text, glyph, tone)


LOOKERS: Mapping[str, Looker] = {
    "row": _row,
    "status": _status,
    "key": _key,
    "reference": _reference,
    "agent": _agent,
}
"""By part of a column, for whoever asks for many cells of it."""
