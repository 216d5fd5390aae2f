"""Beside the diff: the current row in full.

Its widgets are made once and filled again for each row: from mismatch to mismatch only texts
change, and making them anew would hold the window up at each step.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget

from m4review.app.context import Context
from m4review.app.widgets import clear, label
from m4review.diff.detail import Cell, RowDetail
from m4review.diff.layout import CELL_GLYPHS, KEY_GLYPHS, MATCHES, KeyStatus
from m4review.diff.panels import TONES, ValueLabel, scrolled
from m4review.diff.words import plain_sign

_AT_ONCE = 2
"""Cards made in one go; a table has dozens, and all of them at once would hold the window up."""
_ROW_TONES: Mapping[KeyStatus, str] = {
    KeyStatus.MATCHED: "text",
    KeyStatus.MISSING: "missing",
    KeyStatus.EXTRA: "extra",
    KeyStatus.DUPLICATE: "duplicate",
}


class _Toned(QLabel):
    """A label whose colour changes now and then; a style sheet is only set when it does."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(label().textFormat())
        self.setWordWrap(True)
        self._colour = ""

    def show_words(self, words: str, colour: str) -> None:
        """Show words in a colour of the theme."""
        self.setText(words)
        if colour != self._colour:
            self._colour = colour
            self.setStyleSheet(f"color: {colour}")


class _Card(QFrame):
    """One column of the row: both values and words."""

    copy_asked = Signal(str)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.setProperty("card", True)
        grid = QGridLayout(self)
        grid.setColumnStretch(1, 1)
        grid.setColumnMinimumWidth(0, context.px(76))
        grid.setVerticalSpacing(context.px(3))
        self._name = ValueLabel()
        self._name.setStyleSheet("font-weight: 600")
        self._words = _Toned()
        grid.addWidget(self._name, 0, 0, 1, 2)
        grid.addWidget(self._words, 1, 0, 1, 2)
        self._sides = [ValueLabel() for _ in range(2)]
        for at, (side, value) in enumerate(zip(("reference", "agent"), self._sides, strict=True)):
            grid.addWidget(label(side, "muted"), at + 2, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, at + 2, 1)
        self._difference_name = label("difference", "muted")
        self._difference = ValueLabel()
        grid.addWidget(self._difference_name, 4, 0)
        grid.addWidget(self._difference, 4, 1)
        for each in (self._name, *self._sides):
            each.copy_asked.connect(self.copy_asked)
        self._difference.copy_asked.connect(lambda text: self.copy_asked.emit(plain_sign(text)))

    def show_cell(self, cell: Cell) -> None:
        """Show a cell."""
        self._name.setText(cell.name)
        glyph = CELL_GLYPHS[cell.status] or "="
        colour = getattr(self._context.theme, TONES[cell.status])
        self._words.show_words(f"{glyph} {cell.words}", colour)
        for value, text in zip(self._sides, (cell.reference, cell.agent), strict=True):
            value.setText(text)
        self._difference.setText(cell.difference)
        for each in (self._difference_name, self._difference):
            each.setVisible(bool(cell.difference))


class RowPanel(QWidget):
    """The current row: its key, and every column with both values and words."""

    copy_asked = Signal(str)
    """This text of the row is to be copied."""
    row_shown = Signal()
    """Another row is shown, or none."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        outer = QVBoxLayout(self)
        edge = context.px(8)  # the screens that lead on from a row put buttons below
        outer.setContentsMargins(edge, 0, edge, edge)
        inner = QWidget()
        self._body = QVBoxLayout(inner)
        self._body.setContentsMargins(0, edge, context.px(4), edge)
        outer.addWidget(scrolled(inner))
        self._detail: RowDetail | None = None
        self._keys: list[tuple[QLabel, QLabel]] = []
        self._cards: list[_Card] = []
        self._cells: list[Cell] = []
        self._growing = QTimer(self)
        self._growing.setInterval(0)
        self._growing.timeout.connect(self._grow)
        context.theme_changed.connect(self._again)
        self._make(None)

    def show_row(self, detail: RowDetail | None) -> None:
        """Show a row (None: nothing is chosen)."""
        before, self._detail = self._detail, detail
        if _shape(before) != _shape(detail):
            self._make(detail)
        if detail is not None:
            self._fill(detail)
        self.row_shown.emit()

    def _fill(self, detail: RowDetail) -> None:
        self._head.setText(f"Row {detail.row + 1:,}")
        colour = getattr(self._context.theme, _ROW_TONES[detail.status])
        self._words.show_words(f"{KEY_GLYPHS[detail.status]} {detail.words}".strip(), colour)
        for (name, value), (key, text) in zip(self._keys, detail.keys, strict=True):
            name.setText(key)
            value.setText(text)
        self._cells = sorted(detail.cells, key=lambda cell: cell.status in MATCHES)
        for card, cell in zip(self._cards, self._cells, strict=False):
            card.show_cell(cell)

    def _again(self) -> None:
        detail, self._detail = self._detail, None
        self._make(None)
        self.show_row(detail)

    def _make(self, detail: RowDetail | None) -> None:
        """The widgets for a row of this shape."""
        clear(self._body)
        self._growing.stop()
        self._keys, self._cards, self._cells = [], [], []
        if detail is None:
            self._body.addWidget(label("Choose a row to see it in full.", "muted", wrap=True))
            self._body.addStretch(1)
            return
        self._head, self._words = label("", "heading"), _Toned()
        self._body.addWidget(self._head)
        self._body.addWidget(self._words)
        keys = QGridLayout()
        keys.setColumnMinimumWidth(0, self._context.px(76))
        keys.setColumnStretch(1, 1)
        for at in range(len(detail.keys)):
            name, value = label("", "muted"), ValueLabel()
            value.copy_asked.connect(self.copy_asked)
            keys.addWidget(name, at, 0, Qt.AlignmentFlag.AlignTop)
            keys.addWidget(value, at, 1)
            self._keys.append((name, value))
        self._body.addLayout(keys)
        self._body.addStretch(1)
        self._growing.start()

    def _grow(self) -> None:
        """Make some more cards, above the room that is left."""
        have = len(self._cards)
        for cell in self._cells[have : have + _AT_ONCE]:
            card = _Card(self._context)
            card.copy_asked.connect(self.copy_asked)
            card.show_cell(cell)
            self._body.insertWidget(self._body.count() - 1, card)
            self._cards.append(card)
        if len(self._cards) == len(self._cells):
            self._growing.stop()


def _shape(detail: RowDetail | None) -> tuple[int, int] | None:
    """How many keys and columns a row has."""
    return None if detail is None else (len(detail.keys), len(detail.cells))
