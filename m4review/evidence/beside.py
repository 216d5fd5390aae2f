"""The texts beside the evidence: plain text, with the line in question in view and marked."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPlainTextEdit,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context
from m4review.app.widgets import ElidedLabel
from m4review.evidence.words import text_title


class TextBeside(QWidget):
    """One of the task's texts, to choose."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._texts: dict[str, str] = {}
        self._marked: tuple[int, int, int] | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName("Text")
        self.where = ElidedLabel("", "muted")
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setProperty("code", True)
        self.text.setAccessibleName("The text that is checked")
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        line = QHBoxLayout()
        line.addWidget(self.choice)
        line.addWidget(self.where, 1)
        rows.addLayout(line)
        rows.addWidget(self.text, 1)
        self.choice.activated.connect(self._chosen)
        context.theme_changed.connect(self._paint)

    def set_texts(self, texts: Mapping[str, str]) -> None:
        """Other texts; the one that is shown stays where it is the same."""
        shown = self.shown
        if dict(texts) == self._texts:
            return
        self._texts, self._marked = dict(texts), None
        self.choice.clear()
        for name in texts:
            self.choice.addItem(text_title(name), name)
        if texts:
            self._show(shown if shown in texts else next(iter(texts)))

    @property
    def shown(self) -> str:
        """Name of the text that is shown; empty for none."""
        return str(self.choice.currentData() or "")

    def mark(self, name: str, line: int, column: int = 1, length: int = 0) -> None:
        """Scroll to a line and mark it, with the characters that are meant."""
        if name not in self._texts:
            return
        if name != self.shown:
            self._show(name)
        self._marked = (line, column, length)
        block = self.text.document().findBlockByNumber(line - 1)
        self.text.setTextCursor(QTextCursor(block))
        self.text.centerCursor()
        self.where.setText(f"line {line}")
        self._paint()

    def _chosen(self, index: int) -> None:
        self._marked = None
        self._show(self.choice.itemData(index))

    def _show(self, name: str) -> None:
        self.choice.setCurrentIndex(self.choice.findData(name))
        self.text.setPlainText(self._texts[name])
        self.where.setText("")
        self._paint()

    def _paint(self) -> None:
        if self._marked is None:
            self.text.setExtraSelections([])
            return
        line, column, length = self._marked
        theme = self._context.theme
        block = self.text.document().findBlockByNumber(line - 1)
        whole = QTextEdit.ExtraSelection()
        shape = QTextCharFormat()
        shape.setBackground(QColor(theme.selection))
        shape.setProperty(QTextFormat.Property.FullWidthSelection, True)
        whole.format, whole.cursor = shape, QTextCursor(block)
        marks = [whole]
        end = min(column - 1 + length, len(block.text()))
        if length and end > column - 1:
            part = QTextEdit.ExtraSelection()
            words = QTextCharFormat()
            words.setBackground(QColor(theme.warn_tint))
            words.setFontUnderline(True)
            cursor = QTextCursor(block)
            cursor.setPosition(block.position() + column - 1)
            cursor.setPosition(block.position() + end, QTextCursor.MoveMode.KeepAnchor)
            part.format, part.cursor = words, cursor
            marks.append(part)
        self.text.setExtraSelections(marks)
