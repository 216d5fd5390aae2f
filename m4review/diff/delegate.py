"""Draws the cells of the diff from the loaded records, with prepared texts.

A frame has hundreds of cells; asking the model role by role costs ten times as much as reading
the record once and drawing a cached `QStaticText`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRect, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPen,
    QStaticText,
    QTransform,
)
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from m4review.app.theme import Theme
from m4review.diff.layout import CELL_GLYPHS, KEY_GLYPHS, CellStatus, KeyStatus
from m4review.diff.reader import Record
from m4review.diff.table import AnyIndex, DiffModel, TableColumn, cell_text
from m4review.diff.words import printed

if TYPE_CHECKING:
    from collections.abc import Mapping

_CACHED_TEXTS = 20_000
_SELECTED = QStyle.StateFlag.State_Selected


@dataclass(frozen=True)
class Look:
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


_ROW_TONES = {
    KeyStatus.MATCHED: "plain",
    KeyStatus.MISSING: "missing",
    KeyStatus.EXTRA: "extra",
    KeyStatus.DUPLICATE: "duplicate",
}
_CELL_TONES = {
    CellStatus.EQUAL: "plain",
    CellStatus.NEAR: "near",
    CellStatus.DIFFERENT: "different",
    CellStatus.REFERENCE_NULL: "null",
    CellStatus.AGENT_NULL: "null",
    CellStatus.BOTH_NULL: "plain",
}


def look_of(record: Record | None, column: TableColumn) -> Look:
    """How a cell looks: null, empty text, zero and no value at all are four different things."""
    if record is None:
        return Look("…", tone="muted")
    status = KeyStatus(record[1])
    match column.part:
        case "row":
            return Look(f"{record[0] + 1:,}", tone="muted")
        case "status":
            return _status_look(record, column, status)
        case "key":
            value = record[column.at]
            tone = _ROW_TONES[status]
            return _null(tone) if value is None else _value(value, "", tone)
        case "reference":
            return _reference_look(record, column, status)
        case _:
            return _agent_look(record, column, status)


def _status_look(record: Record, column: TableColumn, status: KeyStatus) -> Look:
    if status is not KeyStatus.MATCHED:
        return Look(cell_text(record, column), KEY_GLYPHS[status], _ROW_TONES[status])
    if record[2] != 0:
        return Look(cell_text(record, column), "≠", "different")
    return Look(cell_text(record, column), "=", "muted")


def _reference_look(record: Record, column: TableColumn, status: KeyStatus) -> Look:
    value, cell = record[column.at], CellStatus(record[column.status_at])
    tone = _ROW_TONES[status]
    if cell is CellStatus.NO_REFERENCE:
        return Look("no such row", tone=tone, word=True, hatched=True)
    if value is None:
        return _null("null" if cell is CellStatus.REFERENCE_NULL else "muted")
    return _value(value, "", tone)


def _agent_look(record: Record, column: TableColumn, status: KeyStatus) -> Look:
    value, cell = record[column.at], CellStatus(record[column.status_at])
    tone = _ROW_TONES[status]
    if cell is CellStatus.NO_AGENT:
        words = "no such row" if status is KeyStatus.MISSING else "no such column"
        return Look(words, tone="missing", word=True, hatched=True)
    if cell is CellStatus.NO_REFERENCE:
        return _null(tone) if value is None else _value(value, "", tone)
    if value is None:
        return _null("null" if cell is CellStatus.AGENT_NULL else "muted")
    return _value(value, CELL_GLYPHS[cell], _CELL_TONES[cell])


def _null(tone: str) -> Look:
    return Look("null", "∅", tone, word=True)


def _value(value: object, glyph: str, tone: str) -> Look:
    text = printed(value)
    if text == "":
        return Look("empty text", glyph or "“”", tone, word=True)
    return Look(text, glyph, tone)


class CellDelegate(QStyledItemDelegate):
    """Paints cells; sizes are fixed by the view."""

    def __init__(self, model: DiffModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.current_row = -1
        self.view_width = 0
        """Pixels that can be seen of the table which is painted now."""
        self._texts: dict[tuple[str, int, int], QStaticText] = {}
        self._font = QFont()
        self._italic = QFont()
        self._glyph_font = QFont()
        self._metrics = QFontMetricsF(self._font)
        self._ink: Mapping[str, QPen] = {}
        self._paper: Mapping[str, QBrush] = {}
        self._line = QPen()
        self._strong_line = QPen()
        self._selection = QBrush()
        self._hatch = QBrush()
        self._accent = QBrush()
        self._focus = QPen()

    def set_look(self, theme: Theme, font: QFont) -> None:
        """Take over theme and font; forgets prepared texts."""
        self._texts.clear()
        self._font = QFont(font)
        self._font.setFeature(QFont.Tag("tnum"), 1)
        self._italic = QFont(font)
        self._italic.setItalic(True)
        self._glyph_font = QFont(font)
        self._glyph_font.setWeight(QFont.Weight.DemiBold)
        self._glyph_font.setPointSizeF(font.pointSizeF() * 1.2)
        self._metrics = QFontMetricsF(self._font)
        self._ink = {
            "plain": QPen(QColor(theme.text)),
            "muted": QPen(QColor(theme.muted)),
            "near": QPen(QColor(theme.near)),
            "different": QPen(QColor(theme.different)),
            "missing": QPen(QColor(theme.missing)),
            "extra": QPen(QColor(theme.extra)),
            "duplicate": QPen(QColor(theme.duplicate)),
            "null": QPen(QColor(theme.null)),
        }
        self._paper = {
            "different": QBrush(QColor(theme.different_tint)),
            "missing": QBrush(QColor(theme.missing_tint)),
            "extra": QBrush(QColor(theme.extra_tint)),
            "duplicate": QBrush(QColor(theme.duplicate_tint)),
            "null": QBrush(QColor(theme.null_tint)),
        }
        self._line = QPen(QColor(theme.line))
        self._strong_line = QPen(QColor(theme.muted))
        selection = QColor(theme.accent)
        selection.setAlphaF(0.20)  # more, and coloured text on it falls below 4.5 to 1
        self._selection = QBrush(selection)
        self._accent = QBrush(QColor(theme.accent))
        hatch = QColor(theme.muted)
        hatch.setAlphaF(0.45)
        self._hatch = QBrush(hatch, Qt.BrushStyle.BDiagPattern)
        self._focus = QPen(QColor(theme.accent), 2)

    @property
    def font(self) -> QFont:
        """The font of the cells, with figures of one width."""
        return self._font

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = index.row()
        column = self._model.columns[index.column()]
        look = look_of(self._model.record(row), column)
        rect: QRect = option.rect
        paper = self._paper.get(look.tone)
        if paper is not None:
            painter.fillRect(rect, paper)
        if look.hatched:
            painter.fillRect(rect.adjusted(0, 0, 0, -1), self._hatch)
        selected = bool(option.state & _SELECTED)
        if selected:
            painter.fillRect(rect, self._selection)
        self._lines(painter, rect, column)
        if row == self.current_row:
            painter.fillRect(rect.x(), rect.y() - 1, rect.width(), 2, self._accent)
            painter.fillRect(rect.x(), rect.bottom() - 1, rect.width(), 2, self._accent)
        seen = rect
        if rect.x() < 0 or rect.right() >= self.view_width:
            # A value cut by the edge must not look like a whole one: it ends in "…".
            left = max(rect.x(), 0)
            right = min(rect.right() + 1, self.view_width)
            seen = QRect(left, rect.y(), right - left, rect.height())
        self._text(painter, seen, look, column)
        if selected and row == self.current_row and option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(self._focus)
            painter.drawRect(rect.adjusted(1, 1, -2, -2))

    def _lines(self, painter: QPainter, rect: QRect, column: TableColumn) -> None:
        painter.setPen(self._line)
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if column.part == "reference":  # each pair begins with a line that is easier to see
            painter.setPen(self._strong_line)
            painter.drawLine(rect.topLeft(), rect.bottomLeft())

    def _text(self, painter: QPainter, rect: QRect, look: Look, column: TableColumn) -> None:
        em = self._metrics.height()
        pad = em * 0.45
        painter.setPen(self._ink[look.tone])
        top = rect.y() + (rect.height() - em) / 2
        glyph_width = 0.0
        if look.glyph:
            glyph = self._prepared(look.glyph, 10_000, self._glyph_font)
            painter.setFont(self._glyph_font)
            size = glyph.size().height()
            painter.drawStaticText(
                QPointF(rect.x() + pad, rect.y() + (rect.height() - size) / 2), glyph
            )
            glyph_width = em * (1.15 if len(look.glyph) == 1 else 1.7)
        room = int(rect.width() - 2 * pad - glyph_width)
        font = self._italic if look.word else self._font
        text = self._prepared(look.text, room, font)
        painter.setFont(font)
        if column.numeric and not look.word and text.size().width() <= room:
            x = rect.right() - pad - text.size().width()
        else:
            x = rect.x() + pad + glyph_width
        painter.drawStaticText(QPointF(x, top), text)

    def _prepared(self, text: str, room: int, font: QFont) -> QStaticText:
        key = (text, room, id(font))
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) > _CACHED_TEXTS:
                self._texts.clear()
            one_line = text[:500].replace("\n", "⏎").replace("\t", "→")
            shown = QFontMetricsF(font).elidedText(one_line, Qt.TextElideMode.ElideRight, room)
            found = QStaticText(shown)
            found.setTextFormat(Qt.TextFormat.PlainText)
            found.prepare(QTransform(), font)
            self._texts[key] = found
        return found

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(80, round(self._metrics.height() * 1.6))
