"""A text with line numbers, in which lines can be chosen and referred to."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from m4review.app.context import Context


class LinesView(QPlainTextEdit):
    """Read-only text; the numbers beside it choose whole lines."""

    chosen = Signal(int, int)
    """Lines from and to, counted from 1; (0, 0) when none are."""
    left = Signal()
    """Escape: on with the keys of the page."""

    def __init__(self, context: Context, name: str) -> None:
        super().__init__()
        self._context = context
        self._marked: list[tuple[int, int]] = []
        self.setReadOnly(True)
        self.setProperty("code", True)
        self.setTabChangesFocus(True)
        self.setAccessibleName(name)
        # A reader chooses lines by keys too, so there must be a cursor to be seen.
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setCursorWidth(2)
        self.numbers = _Numbers(self)
        self.blockCountChanged.connect(lambda _: self._room())
        self.updateRequest.connect(self._scrolled)
        self.selectionChanged.connect(self._selected)
        context.theme_changed.connect(self._mark)
        self._room()

    def show_text(self, text: str) -> None:
        """Show another text from its first line."""
        self.setPlainText(text.rstrip("\n"))
        self._room()

    @property
    def lines(self) -> tuple[int, int]:
        """The chosen lines; (0, 0) when none are."""
        cursor = self.textCursor()
        if not cursor.hasSelection():
            return 0, 0
        document = self.document()
        first = document.findBlock(cursor.selectionStart()).blockNumber() + 1
        end = document.findBlock(cursor.selectionEnd())
        last = end.blockNumber() + 1
        if last > first and end.position() == cursor.selectionEnd():
            last -= 1  # it ends before the first character of that line
        return first, last

    def choose_lines(self, first: int, last: int) -> None:
        """Choose lines and show them."""
        document = self.document()
        start = document.findBlockByNumber(max(0, first - 1))
        end = document.findBlockByNumber(min(last, document.blockCount()) - 1)
        if not (start.isValid() and end.isValid()):
            return
        cursor = QTextCursor(start)
        cursor.setPosition(
            end.position() + max(0, end.length() - 1), QTextCursor.MoveMode.KeepAnchor
        )
        self.setTextCursor(cursor)
        self.centerCursor()

    def mark(self, lines: Sequence[tuple[int, int]]) -> None:
        """Mark the lines that an answer refers to."""
        self._marked = list(lines)
        self._mark()

    def _mark(self) -> None:
        found = []
        for first, last in self._marked:
            for number in range(first, last + 1):
                block = self.document().findBlockByNumber(number - 1)
                if not block.isValid():
                    break
                # PySide has the class, its stubs place it elsewhere
                extra = QTextEdit.ExtraSelection()
                shape = extra.format
                shape.setBackground(QColor(self._context.theme.warn_tint))
                shape.setProperty(QTextFormat.Property.FullWidthSelection, True)
                extra.format = shape
                extra.cursor = QTextCursor(block)
                found.append(extra)
        self.setExtraSelections(found)
        self.numbers.update()

    def marked(self, number: int) -> bool:
        """Is a line marked?"""
        return any(first <= number <= last for first, last in self._marked)

    def _selected(self) -> None:
        self.chosen.emit(*self.lines)
        self.numbers.update()

    # --- the numbers

    @property
    def numbers_width(self) -> int:
        """Room for the numbers."""
        digits = max(2, len(str(self.blockCount())))
        return round(QFontMetricsF(self.font()).horizontalAdvance("9") * (digits + 2.6))

    def _room(self) -> None:
        self.setViewportMargins(self.numbers_width, 0, 0, 0)
        self._place()

    def _place(self) -> None:
        inside = self.contentsRect()
        self.numbers.setGeometry(
            QRect(inside.left(), inside.top(), self.numbers_width, inside.height())
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)

    def _scrolled(self, rect: QRect, dy: int) -> None:
        if dy:
            self.numbers.scroll(0, dy)
        else:
            self.numbers.update(0, rect.y(), self.numbers.width(), rect.height())

    def paint_numbers(self, event: QPaintEvent) -> None:
        """Draw the numbers of the lines that are seen."""
        theme = self._context.theme
        painter = QPainter(self.numbers)
        painter.fillRect(event.rect(), QColor(theme.raised))
        painter.setFont(self.font())
        first, last = self.lines
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        width = self.numbers.width() - self._context.px(8)
        height = self.fontMetrics().height()
        while block.isValid() and top <= event.rect().bottom():
            number = block.blockNumber() + 1
            if block.isVisible():
                chosen = first <= number <= last
                painter.setPen(QColor(theme.text if chosen else theme.muted))
                if self.marked(number):
                    bar = QRect(0, round(top), self._context.px(4), height)
                    painter.fillRect(bar, QColor(theme.warn))
                place = QRect(0, round(top), width, height)
                painter.drawText(place, int(Qt.AlignmentFlag.AlignRight), str(number))
            top += self.blockBoundingRect(block).height()
            block = block.next()
        painter.end()

    def line_at(self, y: float) -> int:
        """The line at a height of the numbers, counted from 1."""
        return self.cursorForPosition(QPoint(0, round(y))).blockNumber() + 1


class _Numbers(QWidget):
    """The numbers; a click chooses a line, dragging chooses several."""

    def __init__(self, view: LinesView) -> None:
        super().__init__(view)
        self._view = view
        self._from = 0
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(self._view.numbers_width, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._view.paint_numbers(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        line = self._view.line_at(event.position().y())
        shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if not (shift and self._from):
            self._from = line
        self._choose(line)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._from:
            self._choose(self._view.line_at(event.position().y()))

    def _choose(self, line: int) -> None:
        view = self._view
        first, last = sorted((self._from, line))
        where = view.verticalScrollBar().value()
        view.choose_lines(first, last)
        view.verticalScrollBar().setValue(where)
