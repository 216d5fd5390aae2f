"""The text itself: line numbers, marks of findings, tables that are gone through with Tab."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from engine.editing import tables
from engine.editing.tables import Change, Place, Table, table_at
from engine.workbench import TextFinding
from m4review.app import icons
from m4review.app.application import MONOSPACE
from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.editor.colours import Colours
from m4review.editor.typing import Typing, units

TONES = {"error": "bad", "warning": "warn", "info": "accent"}
SIGNS = {"error": "circle-x", "warning": "triangle-alert", "info": "info"}
_RANK = ("error", "warning", "info")
_SIZE = 13
_AROUND = 80
"""Lines above and below what is to be seen whose findings are underlined already."""


class Gutter(QWidget):
    """Line numbers, and a sign beside each line with a finding."""

    def __init__(self, pane: TextPane) -> None:
        super().__init__(pane)
        self._pane = pane
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(self._pane.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._pane.paint_gutter(self, event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._pane.tell_line(event.pos().y(), event.globalPos())
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pane.go_to(self._pane.line_at(event.position().toPoint().y()))


class TextPane(QPlainTextEdit):
    """Plain text with what an editor of rules needs; it never shows rich text."""

    focused = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.setAccessibleName("Text")
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.typing = Typing(self.document())
        self.colours = Colours(self.document(), context)
        self._findings: tuple[TextFinding, ...] = ()
        self._by_line: dict[int, list[TextFinding]] = {}
        self._found: list[QTextEdit.ExtraSelection] = []
        self._underlines: list[QTextEdit.ExtraSelection] = []
        self._gutter = Gutter(self)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(40)
        self._rest.timeout.connect(self._near)
        self.blockCountChanged.connect(lambda _: self._room())
        self.updateRequest.connect(self._scrolled)
        self.cursorPositionChanged.connect(self._mark)
        context.theme_changed.connect(self._look)
        self._look()

    # --- look

    def _look(self) -> None:
        font = QFont(MONOSPACE)
        font.setPixelSize(self._context.px(_SIZE))
        self.setFont(font)
        self.setTabStopDistance(self.fontMetrics().horizontalAdvance(" ") * 4)
        self._room()
        self._underline()
        self._mark()

    def gutter_width(self) -> int:
        """Pixels of the numbers and signs."""
        digits = max(3, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("9") * digits + self._context.px(34)

    def _room(self) -> None:
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self._place_gutter()

    def _place_gutter(self) -> None:
        area = self.contentsRect()
        self._gutter.setGeometry(QRect(area.left(), area.top(), self.gutter_width(), area.height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_gutter()

    def _scrolled(self, area: QRect, moved: int) -> None:
        if moved:
            self._gutter.scroll(0, moved)
            self._rest.start()
        else:
            self._gutter.update(0, area.y(), self._gutter.width(), area.height())

    def paint_gutter(self, gutter: Gutter, event: QPaintEvent) -> None:
        """Numbers and signs of the lines that are to be seen."""
        theme, px = self._context.theme, self._context.px
        painter = QPainter(gutter)
        painter.fillRect(event.rect(), QColor(theme.raised))
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        here = self.textCursor().blockNumber()
        high = self.fontMetrics().height()
        side = px(13)
        while block.isValid() and top <= event.rect().bottom():
            bottom = top + self.blockBoundingRect(block).height()
            if block.isVisible() and bottom >= event.rect().top():
                number = block.blockNumber()
                painter.setPen(QColor(theme.text if number == here else theme.muted))
                box = QRect(0, round(top), gutter.width() - px(8), high)
                painter.drawText(box, Qt.AlignmentFlag.AlignRight, str(number + 1))
                worst = self._worst(number + 1)
                if worst:
                    colour = getattr(theme, TONES[worst])
                    ratio = self.devicePixelRatioF()
                    picture = icons.pixmap(SIGNS[worst], colour, side, ratio)
                    painter.drawPixmap(px(5), round(top) + (high - side) // 2, picture)
            top, block = bottom, block.next()
        painter.end()

    def _worst(self, line: int) -> str:
        found = [finding.severity for finding in self._by_line.get(line, ())]
        return min(found, key=_RANK.index) if found else ""

    # --- findings

    def show_findings(self, findings: Sequence[TextFinding]) -> None:
        """Mark the places of findings."""
        self._findings = tuple(findings)
        self._by_line = {}
        for finding in findings:
            self._by_line.setdefault(finding.line, []).append(finding)
        self._underline()
        self._mark()
        self._gutter.update()

    def show_found(self, places: Sequence[tuple[int, int]]) -> None:
        """Mark what a search found (positions of Qt's)."""
        shape = QTextCharFormat()
        shape.setBackground(QColor(self._context.theme.warn_tint))
        self._found = [self._selection(begin, end, shape) for begin, end in places]
        self._mark()

    def _selection(self, begin: int, end: int, shape: QTextCharFormat) -> QTextEdit.ExtraSelection:
        marked = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self.document())
        last = self.document().characterCount() - 1
        cursor.setPosition(min(begin, last))
        cursor.setPosition(min(end, last), QTextCursor.MoveMode.KeepAnchor)
        marked.cursor = cursor
        marked.format = shape
        return marked

    def _mark(self) -> None:
        here = QTextCharFormat()
        here.setBackground(QColor(self._context.theme.raised))
        here.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
        at = self.textCursor().position()
        self.setExtraSelections([self._selection(at, at, here), *self._found, *self._underlines])
        self._gutter.update()

    def _underline(self) -> None:
        """Those that are near; their cursors move with the text, so that they are made once."""
        theme = self._context.theme
        self._underlines = []
        first = self.firstVisibleBlock().blockNumber() + 1 - _AROUND
        last = first + 2 * _AROUND + self.height() // max(1, self.fontMetrics().height())
        for finding in self._findings:
            span = self._span(finding) if first <= finding.line <= last else None
            if span is not None:
                shape = QTextCharFormat()
                shape.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
                shape.setUnderlineColor(QColor(getattr(theme, TONES[finding.severity])))
                self._underlines.append(self._selection(*span, shape))

    def _near(self) -> None:
        """Other lines are to be seen."""
        if self._findings:
            self._underline()
            self._mark()

    def _span(self, finding: TextFinding) -> tuple[int, int] | None:
        block = self.document().findBlockByNumber(finding.line - 1)
        if not block.isValid() or not finding.length:
            return None
        text = block.text()
        begin = min(finding.column - 1, len(text))
        end = min(begin + finding.length, len(text))
        return block.position() + units(text, begin), block.position() + units(text, end)

    def line_at(self, y: int) -> int:
        """The line at a height of the pane, counted from 1."""
        return self.cursorForPosition(QPoint(0, y)).blockNumber() + 1

    def tell_line(self, y: int, where: QPoint) -> None:
        """What was found in the line, as a tool tip."""
        found = self._by_line.get(self.line_at(y), [])
        QToolTip.showText(where, as_written("\n\n".join(map(words, found)) if found else ""), self)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._tip(event)
            return True
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            standard = QKeySequence.StandardKey
            if any(event.matches(each) for each in (standard.Undo, standard.Redo)):
                event.ignore()  # Qt's own undo is off; the window's commands have these keys
                return True
        return super().event(event)

    def _tip(self, event: QHelpEvent) -> None:
        inside = QPoint(event.pos().x() - self.gutter_width(), event.pos().y())
        cursor = self.cursorForPosition(inside)
        at = cursor.position()
        found = [
            finding
            for finding in self._by_line.get(cursor.blockNumber() + 1, ())
            if (span := self._span(finding)) is not None and span[0] <= at <= span[1]
        ]
        QToolTip.showText(event.globalPos(), as_written("\n\n".join(map(words, found))), self)

    # --- going about

    def go_to(self, line: int, column: int = 1, length: int = 0) -> None:
        """Put the cursor at a place (counted from 1) and show it."""
        block = self.document().findBlockByNumber(max(0, line - 1))
        if not block.isValid():
            block = self.document().lastBlock()
        text = block.text()
        begin = min(column - 1, len(text))
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + units(text, begin))
        end = block.position() + units(text, min(begin + length, len(text)))
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        self.centerCursor()

    @property
    def line(self) -> int:
        """The cursor's line, counted from 1."""
        return self.textCursor().blockNumber() + 1

    def put_cursor(self, position: int | None) -> None:
        """Put the cursor at a position of Qt's."""
        if position is not None:
            cursor = self.textCursor()
            cursor.setPosition(max(0, min(position, self.document().characterCount() - 1)))
            self.setTextCursor(cursor)
            self.ensureCursorVisible()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()

    # --- typing

    def undo_step(self) -> bool:
        """Take a step back; False when there is none."""
        at = self.typing.undo()
        self.put_cursor(at)
        return at is not None

    def redo_step(self) -> bool:
        """Do it again; False when there is nothing."""
        at = self.typing.redo()
        self.put_cursor(at)
        return at is not None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        modifier = Qt.KeyboardModifier
        held = event.modifiers() & ~modifier.KeypadModifier
        if not self.isReadOnly() and held in (modifier.NoModifier, modifier.ShiftModifier):
            shift = held == modifier.ShiftModifier
            if self._structural(Qt.Key(event.key()), shift):
                return
        super().keyPressEvent(event)

    def _structural(self, key: Qt.Key, shift: bool) -> bool:
        """Keys that go about in tables, or end a line; False where it is an ordinary one."""
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            return self._next_cell(-1 if key == Qt.Key.Key_Backtab or shift else 1)
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if shift or not self._cell_below():
                self.textCursor().insertText("\n")  # Shift+Enter makes no other kind of line
                self.ensureCursorVisible()
            return True
        return False

    def insertFromMimeData(self, source: QMimeData) -> None:
        text = source.text().replace("\r\n", "\n").replace("\r", "\n")
        text = text.replace("\u2029", "\n").replace("\u2028", "\n").replace("\0", "")
        if tables.is_sheet(text) and not self.isReadOnly():
            self.paste_sheet(text)
        else:
            self.textCursor().insertText(text)
        self.ensureCursorVisible()

    # --- tables

    def lines(self) -> list[str]:
        """The text's lines."""
        return self.typing.history.text.split("\n")

    def _cursor_place(self) -> tuple[int, int]:
        cursor = self.textCursor()
        text = cursor.block().text()
        column = len(
            text.encode("utf-16-le", "surrogatepass")[: cursor.positionInBlock() * 2].decode(
                "utf-16-le", "ignore"
            )
        )
        return cursor.blockNumber(), column

    def table(self) -> tuple[Table, Place] | None:
        """The table and cell that the cursor is in."""
        line, column = self._cursor_place()
        if "|" not in self.textCursor().block().text():
            return None
        found = table_at(self.lines(), line)
        return None if found is None else (found, tables.place_at(found, line, column))

    def change_table(self, what: Callable[[Table, Place], Change | None], step: str = "") -> bool:
        """Change the table at the cursor; False where there is none or nothing to change."""
        found = self.table()
        change = what(*found) if found and not self.isReadOnly() else None
        if change is None:
            return False
        self.apply(change)
        return True

    def apply(self, change: Change) -> None:
        """Put lines in place of others, as one step."""
        lines = self.lines()
        after = [*lines[: change.first], *change.lines, *lines[change.first + change.old :]]
        self.replace_text("\n".join(after))
        self._go_to_cell(change.place)

    def replace_text(self, text: str) -> None:
        """Make the text another one, as one step; only what differs is touched."""
        typing = self.typing
        with typing.one_step():
            typing.change_to(text)

    def paste_sheet(self, text: str) -> None:
        """Cells of a spreadsheet into the table at the cursor, or as a new one."""
        found = self.table()
        cells = tables.sheet(text)
        if found is not None:
            self.apply(tables.paste(found[0], found[1], cells))
            return
        line, _ = self._cursor_place()
        lines = self.lines()
        if lines[line].strip():
            line += 1
        change = tables.paste(None, Place(line, 0), cells)
        before = [""] if line and lines[line - 1].strip() else []
        place = Place(line + len(before), 0)
        self.apply(change._replace(lines=(*before, *change.lines, ""), place=place))

    def new_table(self) -> None:
        """An empty table below the cursor's line."""
        line, _ = self._cursor_place()
        lines = self.lines()
        here = line + 1 if lines[line].strip() else line
        change = tables.new_table(3, 2, here)
        before = [""] if here and lines[here - 1].strip() else []
        place = Place(here + len(before), 0)
        self.apply(change._replace(lines=(*before, *change.lines, ""), place=place))

    def _next_cell(self, step: int) -> bool:
        found = self.table()
        if found is None:
            return False
        table, place = found
        to = table.next_cell(place, step)
        if to is not None:
            self._go_to_cell(to)
        elif step > 0:
            self.apply(tables.add_row(table, table.last))
        return True

    def _cell_below(self) -> bool:
        found = self.table()
        if found is None or self.textCursor().atBlockEnd():
            return False
        table, place = found
        line = place.line + (2 if place.line == table.first else 1)
        if line > table.last:
            self.apply(tables.add_row(table, table.last))
            self._go_to_cell(Place(table.last + 1, place.cell))
        else:
            self._go_to_cell(Place(line, place.cell))
        return True

    def _go_to_cell(self, place: Place) -> None:
        block = self.document().findBlockByNumber(place.line)
        if not block.isValid():
            return
        text = block.text()
        spans = tables.row_of(text).spans()
        begin, end = spans[min(place.cell, len(spans) - 1)] if spans else (0, 0)
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + units(text, begin))
        cursor.setPosition(block.position() + units(text, end), QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        self.ensureCursorVisible()


def words(finding: TextFinding) -> str:
    """A finding as a tool tip has it."""
    return f"{finding.message}\n{finding.todo}" if finding.todo else finding.message
