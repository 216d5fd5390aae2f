"""Find and replace, below the text."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLineEdit, QPushButton

from engine.base.errors import UsageError
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.tips import as_written
from m4review.app.widgets import button, label, set_tone
from m4review.editor.find import MOST, Wanted, places, replaced
from m4review.editor.pane import TextPane


class FindBar(QFrame):
    """A line to look for, one to put in its place, and where one is among what was found."""

    closed = Signal()

    def __init__(self, context: Context, pane: TextPane) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._context, self._pane = context, pane
        self._places: list[tuple[int, int]] = []
        self.wanted = QLineEdit()
        self.wanted.setAccessibleName("Find")
        self.wanted.setPlaceholderText("Find")
        self.by = QLineEdit()
        self.by.setAccessibleName("Replace by")
        self.by.setPlaceholderText("Replace by")
        self.case = self._switch("Aa", "Upper and lower case matter (Alt+C)", "Alt+C")
        self.whole = self._switch("Word", "Only whole words (Alt+W)", "Alt+W")
        self.pattern = self._switch(
            ".*",
            "A regular expression; in the replacement \\1 is the first group (Alt+R)",
            "Alt+R",
        )
        self.count = label("", "muted")
        self._next = button(context, "Next", lambda: self.step(1), tip="F3 or Enter")
        self._before = button(context, "Before", lambda: self.step(-1), tip="Shift+F3")
        self._one = button(context, "Replace", self.replace_one, tip="This place, then the next")
        self._all = button(context, "Replace all", self.replace_all, tip="One undo brings all back")
        close = button(context, "Close", self.close_bar, tip="Esc")
        grid = QGridLayout(self)
        grid.setColumnStretch(0, 1)
        grid.addWidget(self.wanted, 0, 0)
        first = FlowLayout()
        for each in (self.case, self.whole, self.pattern, self._before, self._next, self.count):
            first.addWidget(each)
        grid.addLayout(first, 0, 1)
        grid.addWidget(self.by, 1, 0)
        second = FlowLayout()
        for each in (self._one, self._all, close):
            second.addWidget(each)
        grid.addLayout(second, 1, 1)
        grid.setColumnMinimumWidth(1, context.px(430))
        self.setTabOrder(self.wanted, self.by)
        self.wanted.textChanged.connect(lambda _: self.look())
        for field in (self.wanted, self.by):
            field.installEventFilter(self)
        self.hide()

    def _switch(self, text: str, tip: str, key: str) -> QPushButton:
        made = QPushButton(text)
        made.setCheckable(True)
        made.setProperty("kind", "chip")
        made.setToolTip(as_written(tip))
        made.setAccessibleName(tip.partition(" (")[0])
        made.setShortcut(key)
        made.setAutoDefault(False)
        made.toggled.connect(lambda _: self.look())
        return made

    def show_bar(self, *, replace: bool = False) -> None:
        """Open it; what is chosen in the text is looked for."""
        chosen = self._pane.textCursor().selectedText()
        self.show()
        if chosen and "\u2029" not in chosen:
            self.wanted.setText(chosen)
        field = self.by if replace and self.wanted.text() else self.wanted
        field.setFocus()
        field.selectAll()
        self.look()

    def close_bar(self) -> None:
        """Close it; the marks go."""
        self.hide()
        self._places = []
        self._pane.show_found([])
        self._pane.setFocus()
        self.closed.emit()

    @property
    def _what(self) -> Wanted:
        return Wanted(
            self.wanted.text(),
            pattern=self.pattern.isChecked(),
            case=self.case.isChecked(),
            whole=self.whole.isChecked(),
        )

    def look(self) -> None:
        """Find again, because the text or what is wanted changed."""
        if not self.isVisible():
            return
        try:
            self._places = places(self._what, self._pane.typing.history.text)
        except UsageError as error:
            self._places = []
            self._say(error.text, bad=True)
        else:
            self._tell()
        self._pane.show_found(self._places[:500])

    def _tell(self) -> None:
        if not self.wanted.text():
            self._say("")
        elif not self._places:
            self._say("Not found", bad=True)
        else:
            cursor = self._pane.textCursor()
            here = (cursor.selectionStart(), cursor.selectionEnd())
            many = f"{len(self._places):,}" + ("+" if len(self._places) == MOST else "")
            at = f"{self._places.index(here) + 1} of " if here in self._places else ""
            self._say(f"{at}{many} found" if not at else f"{at}{many}")

    def _say(self, text: str, *, bad: bool = False) -> None:
        self.count.setText(text)
        set_tone(self.count, "bad" if bad else "plain")

    def step(self, direction: int) -> None:
        """Go to the next place, or the one before; from the end on from the beginning."""
        if not self.isVisible():
            self.show_bar()
        if not self._places:
            return
        cursor = self._pane.textCursor()
        if direction > 0:
            at = cursor.selectionEnd()
            to = next((p for p in self._places if p[0] >= at), self._places[0])
        else:
            at = cursor.selectionStart()
            to = next((p for p in reversed(self._places) if p[1] <= at), self._places[-1])
        cursor.setPosition(to[0])
        cursor.setPosition(to[1], cursor.MoveMode.KeepAnchor)
        self._pane.setTextCursor(cursor)
        self._pane.ensureCursorVisible()
        self._tell()

    def replace_one(self) -> None:
        """Replace the place that is chosen; where none is, choose the next one."""
        cursor = self._pane.textCursor()
        here = (cursor.selectionStart(), cursor.selectionEnd())
        if self._pane.isReadOnly():
            return
        if here in self._places:
            new, _ = replaced(
                self._what, cursor.selectedText().replace("\u2029", "\n"), self.by.text()
            )
            with self._pane.typing.one_step():
                cursor.insertText(new)
            self._pane.setTextCursor(cursor)
            self.look()
        self.step(1)

    def replace_all(self) -> None:
        """Replace every place in one step."""
        if self._pane.isReadOnly() or not self._places:
            return
        text, count = replaced(self._what, self._pane.typing.history.text, self.by.text())
        self._pane.replace_text(text)
        self.look()
        self._context.told.emit(f"{count:,} replaced; Ctrl+Z brings them back.")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:  # from a button too
            self.close_bar()
            return
        super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
                if watched is self.by and not shift:
                    self.replace_one()
                else:
                    self.step(-1 if shift else 1)
                return True
        return super().eventFilter(watched, event)
