"""The comparison drawn: one read-only document of rows, told apart by sign, line and colour.

Texts are inserted as plain text with formats; nothing of them is read as markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QMouseEvent,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
)
from PySide6.QtWidgets import QTextEdit

from engine.prose import Piece
from m4review.app.context import Context
from m4review.prose.rows import DiffRow, pairs

_PAUSE = 80
"""Milliseconds after the last change of width before the columns follow it."""
_BATCH = 10
"""Rows that are drawn at once; more follow when the window has nothing else to do."""


class DiffPage(QTextEdit):
    """Rows of a comparison, side by side or in one column."""

    chosen = Signal(int)
    """A row was clicked: line of the later version (of the earlier one where it has none)."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setAccessibleName("What differs")
        self._rows: list[DiffRow] = []
        self._head: QTextTable | None = None
        self._tables: list[QTextTable] = []
        self._first: dict[int, int] = {}
        self._marked: int | None = None
        self._beside = True
        self._more = QTimer(self)
        self._more.setInterval(0)
        self._more.timeout.connect(self._draw_more)
        self._fit = QTimer(self)
        self._fit.setSingleShot(True)
        self._fit.setInterval(_PAUSE)
        self._fit.timeout.connect(self._fit_columns)

    def show_rows(self, rows: list[DiffRow], titles: tuple[str, str], *, beside: bool) -> None:
        """Draw rows, the first ones at once.

        Args:
            rows: as of `rows_of`.
            titles: of the earlier and of the later version.
            beside: two columns; else one.
        """
        self._rows, self._first, self._marked = rows, dict(pairs(rows)), None
        self._beside, self._tables = beside, []
        self.document().clear()
        self.document().setDocumentMargin(self._context.px(6))
        columns = 3 if beside else 2
        table = self._head = self._insert(1, columns)
        heads = ["", *titles] if beside else ["", f"{titles[0]} → {titles[1]}"]
        for column, text in enumerate(heads):
            self._put(table, 0, column, text, bold=True, background=self._context.theme.raised)
        self._draw_more()
        self._more.start()
        self.moveCursor(QTextCursor.MoveOperation.Start)

    @property
    def complete(self) -> bool:
        """Is every row drawn?"""
        return len(self._tables) * _BATCH >= len(self._rows)

    def mark(self, change: int) -> bool:
        """Show a change in view and mark its row; False where it is in none."""
        at = self._first.get(change)
        if at is None:
            return False
        while len(self._tables) * _BATCH <= at:
            self._draw_more()
        if self._marked is not None:
            self._tint(self._marked, None)
        self._marked = at
        self._tint(at, self._context.theme.selection)
        cell = self._tables[at // _BATCH].cellAt(at % _BATCH, 0)
        self.setTextCursor(cell.firstCursorPosition())
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + self.cursorRect().top() - self.viewport().height() // 3)
        return True

    def _draw_more(self) -> None:
        """A table of some rows: in a long one each further row costs more than the one before."""
        begin = len(self._tables) * _BATCH
        rows = self._rows[begin : begin + _BATCH]
        if not rows:
            self._more.stop()
            return
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        table = self._insert(len(rows), 3 if self._beside else 2)
        self._tables.append(table)
        for at, row in enumerate(rows):
            self._draw(table, at, row)
        cursor.endEditBlock()

    def _insert(self, rows: int, columns: int) -> QTextTable:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        table = cursor.insertTable(rows, columns, self._format(columns))
        cursor.movePosition(QTextCursor.MoveOperation.End)
        thin = QTextBlockFormat()  # the line that Qt wants after a table
        thin.setLineHeight(0, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(thin)
        return table

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        cursor = self.cursorForPosition(event.position().toPoint())
        table = cursor.currentTable()
        if table not in self._tables or self.textCursor().hasSelection():
            return
        at = self._tables.index(table) * _BATCH + table.cellAt(cursor).row()
        line = self._rows[at].after_line or self._rows[at].before_line
        if line is not None:
            self.chosen.emit(line)

    def _format(self, columns: int) -> QTextTableFormat:
        shape = QTextTableFormat()
        px = self._context.px
        shape.setBorder(1)
        shape.setBorderBrush(QColor(self._context.theme.line))
        shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        shape.setBorderCollapse(True)
        shape.setCellPadding(px(5))
        shape.setCellSpacing(0)
        shape.setMargin(0)
        shape.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        # Qt takes shares of the whole width, with the fixed column: what they share is the rest.
        room = max(1.0, self.viewport().width() - 2 * self.document().documentMargin())
        mark = min(px(112), room / 4)
        first = QTextLength(QTextLength.Type.FixedLength, mark)
        rest = 100 * (1 - (mark + px(6)) / room) / (columns - 1)  # lines have a width too
        share = QTextLength(QTextLength.Type.PercentageLength, rest)
        shape.setColumnWidthConstraints([first, *[share] * (columns - 1)])
        return shape

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit.start()

    def _fit_columns(self) -> None:
        if self._head is None:
            return
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()  # laid out once
        for table in (self._head, *self._tables):
            table.setFormat(self._format(table.columns()))
        cursor.endEditBlock()

    def _draw(self, table: QTextTable, at: int, row: DiffRow) -> None:
        theme = self._context.theme
        if row.kind != "step":
            table.mergeCells(at, 0, 1, table.columns())
            bold = row.kind == "section"
            text = row.text if bold else f"⋯  {row.text}"
            self._put(table, at, 0, text, bold=bold, muted=not bold, background=theme.raised)
            return
        self._put(table, at, 0, row.mark, bold=bool(row.mark), muted=not row.mark)
        cells = [row.before, row.after] if self._beside else [row.one]
        for column, pieces in enumerate(cells, start=1):
            self._pieces(table, at, column, pieces)

    def _put(
        self,
        table: QTextTable,
        row: int,
        column: int,
        text: str,
        *,
        bold: bool = False,
        muted: bool = False,
        background: str = "",
    ) -> None:
        shape = QTextCharFormat()
        theme = self._context.theme
        shape.setForeground(QColor(theme.muted if muted else theme.text))
        if bold:
            shape.setFontWeight(QFont.Weight.DemiBold)
        cell = table.cellAt(row, column)
        cell.firstCursorPosition().insertText(text, shape)
        if background:
            own = cell.format()
            own.setBackground(QColor(background))
            cell.setFormat(own)

    def _pieces(self, table: QTextTable, row: int, column: int, pieces: Sequence[Piece]) -> None:
        cursor = table.cellAt(row, column).firstCursorPosition()
        block = QTextBlockFormat()
        block.setLineHeight(125, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor.setBlockFormat(block)
        for piece in pieces:
            cursor.insertText(piece.text, self._words(piece))

    def _words(self, piece: Piece) -> QTextCharFormat:
        """Removed words are struck out, added ones bold and underlined; both have a tint too."""
        shape, theme = QTextCharFormat(), self._context.theme
        shape.setForeground(QColor(theme.text))
        if piece.kind == "removed":
            shape.setFontStrikeOut(True)
            shape.setForeground(QColor(theme.different))
            shape.setBackground(QColor(theme.different_tint))
        elif piece.kind == "added":
            shape.setFontUnderline(True)
            shape.setFontWeight(QFont.Weight.DemiBold)
            shape.setForeground(QColor(theme.missing))
            shape.setBackground(QColor(theme.missing_tint))
        return shape

    def _tint(self, at: int, colour: str | None) -> None:
        cell = self._tables[at // _BATCH].cellAt(at % _BATCH, 0)
        shape = cell.format()
        if colour is None:
            shape.clearBackground()
        else:
            shape.setBackground(QColor(colour))
        cell.setFormat(shape)
