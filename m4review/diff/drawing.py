"""Draws the cells of the diff, a page at a time.

A page has hundreds of cells, and each call into Qt costs about as much as the drawing that it
asks for. So a page is gathered first (what is filled, which lines, which texts in which colour) and
then drawn with few calls: no style, no model roles, no delegate per cell. A text is drawn as it is,
without preparing it: most texts of a jump are seen once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QLinearGradient,
    QPainter,
    QPen,
)

from m4review.app.theme import Theme
from m4review.diff.looks import LOOKERS, Look
from m4review.diff.reader import Record
from m4review.diff.table import TableColumn

_CACHED_TEXTS = 20_000
_SHOWN_CHARACTERS = 500
_ONE_WIDTH = str.maketrans("123456789", "0" * 9)
"""Figures have one width, so that the width of one number is that of all of its shape."""

VALUE, WORD, GLYPH = range(3)
"""The fonts: a value's, that of words about a cell, that of signs."""


@dataclass(frozen=True)
class Lane:
    """A column as it stands in the table, in pixels of the view."""

    column: TableColumn
    x: int
    width: int
    selected: Sequence[tuple[int, int]] = ()
    """Positions of the view that are selected: first and last of each block."""
    focus: bool = False
    """Is the cell of the current row the one that the keyboard acts on?"""


@dataclass(frozen=True)
class Page:
    """What is seen of one table."""

    lanes: Sequence[Lane]
    """From left to right."""
    first: int
    """Position of the first record in the view."""
    top: int
    """Pixel at which it begins."""
    row_height: int
    """Pixels."""
    records: Sequence[Record | None]
    """From top to bottom; None where a row is not loaded yet."""
    width: int
    """Pixels that can be seen."""
    current: int = -1
    """Position of the current row."""


class CellDrawing:
    """Colours, fonts and measures of the cells."""

    def __init__(self) -> None:
        self._widths: dict[tuple[str, int], float] = {}
        self._shortened: dict[tuple[str, int, int], tuple[str, float]] = {}

    def set_look(self, theme: Theme, font: QFont) -> None:
        """Take over theme and font; forgets what was measured."""
        self._widths.clear()
        self._shortened.clear()
        value, word, glyph = QFont(font), QFont(font), QFont(font)
        value.setFeature(QFont.Tag("tnum"), 1)
        word.setItalic(True)
        glyph.setWeight(QFont.Weight.DemiBold)
        glyph.setPointSizeF(font.pointSizeF() * 1.2)
        self._fonts = (value, word, glyph)
        self._metrics = tuple(QFontMetricsF(each) for each in self._fonts)
        self._em = self._metrics[VALUE].height()
        self._pad = self._em * 0.45
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
        self._paper: Mapping[str, QBrush] = {
            "different": QBrush(QColor(theme.different_tint)),
            "missing": QBrush(QColor(theme.missing_tint)),
            "extra": QBrush(QColor(theme.extra_tint)),
            "duplicate": QBrush(QColor(theme.duplicate_tint)),
            "null": QBrush(QColor(theme.null_tint)),
        }
        self._ground = QBrush(QColor(theme.surface))
        self._line = QBrush(QColor(theme.line))
        self._strong_line = QBrush(QColor(theme.muted))
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
        """The font of the values, with figures of one width."""
        return self._fonts[VALUE]

    @property
    def row_height(self) -> int:
        """Pixels of a row."""
        return round(self._em * 1.6)

    def width_of(self, look: Look) -> float:
        """Pixels that a cell needs to be shown whole."""
        font = WORD if look.word else VALUE
        return self._width(look.text, font) + 2 * self._pad + self._glyph_room(look.glyph) + 1

    def paint(self, painter: QPainter, page: Page, clip: QRect) -> None:
        """Paint a page over all of `clip`."""
        painter.fillRect(clip, self._ground)
        if not page.records or not page.lanes:
            return
        gathered = _Gathered()
        for lane in page.lanes:
            self._gather(lane, page, gathered)
        for tone, rects in gathered.papers.items():
            paper = self._paper[tone]
            for rect in rects:
                painter.fillRect(rect, paper)
        for rect in gathered.hatched:
            painter.fillRect(rect, self._hatch)
        self._selected(painter, page)
        self._lines(painter, page)
        self._current(painter, page)
        if gathered.waiting:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._line)
            painter.drawRects(gathered.waiting)
        for (font, tone), texts in gathered.texts.items():
            painter.setFont(self._fonts[font])
            painter.setPen(self._ink[tone])
            for place, text in texts:
                painter.drawText(place, text)
        self._edges(painter, page)

    def _edges(self, painter: QPainter, page: Page) -> None:
        """A cell that goes on beyond the edge fades out: what is cut must not look like a whole."""
        height, room = page.row_height * len(page.records), round(self._em * 1.5)
        goes_on = (
            (page.lanes[0].x < 0, 0, room),
            (page.lanes[-1].x + page.lanes[-1].width > page.width, page.width, -room),
        )
        for cut, edge, inward in goes_on:
            if cut:
                veil, clear = QLinearGradient(edge, 0, edge + inward, 0), self._ground.color()
                veil.setColorAt(0, clear)
                clear.setAlpha(0)
                veil.setColorAt(1, clear)
                painter.fillRect(min(edge, edge + inward), page.top, room, height, QBrush(veil))

    # --- what is behind the texts

    def _selected(self, painter: QPainter, page: Page) -> None:
        last = page.first + len(page.records) - 1
        for lane in page.lanes:
            for begin, end in lane.selected:
                upper, lower = max(begin, page.first), min(end, last)
                if upper <= lower:
                    y = page.top + (upper - page.first) * page.row_height
                    height = (lower - upper + 1) * page.row_height
                    painter.fillRect(lane.x, y, lane.width, height, self._selection)

    def _lines(self, painter: QPainter, page: Page) -> None:
        # Filled, not drawn: a pen's line takes several times as long.
        left, right = page.lanes[0].x, page.lanes[-1].x + page.lanes[-1].width
        height, whole = page.row_height, page.row_height * len(page.records)
        for y in range(page.top + height - 1, page.top + whole, height):
            painter.fillRect(left, y, right - left, 1, self._line)
        # Each pair begins with a line that is easier to see.
        for lane in page.lanes:
            if lane.column.part == "reference":
                painter.fillRect(lane.x, page.top, 1, whole, self._strong_line)

    def _current(self, painter: QPainter, page: Page) -> None:
        at = page.current - page.first
        if not 0 <= at < len(page.records):
            return
        y, height = page.top + at * page.row_height, page.row_height
        left, right = page.lanes[0].x, page.lanes[-1].x + page.lanes[-1].width
        painter.fillRect(left, y - 1, right - left, 2, self._accent)
        painter.fillRect(left, y + height - 2, right - left, 2, self._accent)
        for lane in page.lanes:
            if lane.focus:
                painter.setPen(self._focus)
                painter.drawRect(QRect(lane.x + 1, y + 1, lane.width - 3, height - 3))

    # --- texts

    def _gather(self, lane: Lane, page: Page, into: _Gathered) -> None:
        column, height = lane.column, page.row_height
        begin, end = lane.x + self._pad, lane.x + lane.width - self._pad
        above = (height - self._em) / 2
        down = [above + self._metrics[font].ascent() for font in (VALUE, WORD)]
        glyph_down = (height - self._metrics[GLYPH].height()) / 2 + self._metrics[GLYPH].ascent()
        looker, numeric = LOOKERS[column.part], column.numeric
        texts, paper = into.texts, self._paper
        bar = self._bar(lane, page)
        y = page.top - height
        for record in page.records:
            y += height
            if record is None:
                into.waiting.append(bar.translated(0, y))
                continue
            text, glyph, tone, word, hatched = looker(record, column)
            if tone in paper:
                into.papers[tone].append(QRect(lane.x, y, lane.width, height))
            if hatched:
                into.hatched.append(QRect(lane.x, y, lane.width, height - 1))
            start = begin
            if glyph:
                texts[GLYPH, tone].append((QPointF(begin, y + glyph_down), glyph))
                start += self._glyph_room(glyph)
            font = WORD if word else VALUE
            room = end - start
            shown, width = self._fitting(text, int(room), font)
            if numeric and not word and width <= room:
                start = end - 1 - width
            texts[font, tone].append((QPointF(start, y + down[font]), shown))

    def _bar(self, lane: Lane, page: Page) -> QRect:
        """What stands in the first row of a lane until it is loaded: no letters, so no value."""
        thick = max(2, round(self._em * 0.35))
        long = max(2, min(round(self._em * 2.5), round(lane.width - 2 * self._pad)))
        right = lane.x + lane.width - round(self._pad) - long
        left = right if lane.column.numeric else lane.x + round(self._pad)
        return QRect(left, (page.row_height - thick) // 2, long, thick)

    def _glyph_room(self, glyph: str) -> float:
        if not glyph:
            return 0.0
        return self._em * (1.15 if len(glyph) == 1 else 1.7)

    def _fitting(self, text: str, room: int, font: int) -> tuple[str, float]:
        """A text as it fits into `room` pixels, and its width."""
        if len(text) <= _SHOWN_CHARACTERS and text.isprintable():
            width = self._width(text, font)
            if width <= room:
                return text, width
        key = (text, room, font)
        found = self._shortened.get(key)
        if found is None:
            if len(self._shortened) > _CACHED_TEXTS:
                self._shortened.clear()
            one_line = text[:_SHOWN_CHARACTERS].replace("\n", "⏎").replace("\t", "→")
            metrics = self._metrics[font]
            shown = metrics.elidedText(one_line, Qt.TextElideMode.ElideRight, room)
            found = shown, metrics.horizontalAdvance(shown)
            self._shortened[key] = found
        return found

    def _width(self, text: str, font: int) -> float:
        shape = text.translate(_ONE_WIDTH) if font == VALUE else text
        width = self._widths.get((shape, font))
        if width is None:
            if len(self._widths) > _CACHED_TEXTS:
                self._widths.clear()
            width = self._widths[shape, font] = self._metrics[font].horizontalAdvance(shape)
        return width


class _Gathered:
    """A page taken apart into what can be drawn together."""

    def __init__(self) -> None:
        self.papers: defaultdict[str, list[QRect]] = defaultdict(list)
        self.hatched: list[QRect] = []
        self.waiting: list[QRect] = []
        self.texts: defaultdict[tuple[int, str], list[tuple[QPointF, str]]] = defaultdict(list)
        """By font and tone."""
