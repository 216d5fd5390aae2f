"""Around the list of events: what finds rows in it, and the chosen row in full."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from engine.diagnosis.lineage import Event
from m4review.app.context import Context
from m4review.app.widgets import ColumnScroll, label
from m4review.timeline.symbols import role_icon
from m4review.timeline.words import LOOKS, NO_TIME, Clock, breakable, told_first, value_words

_CHOOSE = "Choose a row to read it in full."
_NOTHING = "No row has all of these words."
_TOOK_PART = ("decisive", "entered")
_FOR = {True: "went into", False: "would have been for"}
"""A row that was refused went nowhere."""


class EventFinder(QWidget):
    """A field for words; how many rows have them."""

    sought = Signal(str)
    """Rows with these words are wanted; empty: all."""
    left = Signal()
    """The list is wanted (Enter or Down)."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.field = QLineEdit()
        self.field.setPlaceholderText("Find in the list: item, code, value, rule…")
        self.field.setAccessibleName("Find in the list of source rows")
        self.field.setClearButtonEnabled(True)
        self.field.setMinimumWidth(context.px(120))
        self.field.textChanged.connect(self.sought)
        self.count = label("", "muted")
        line = QHBoxLayout(self)
        line.setContentsMargins(0, context.px(4), 0, context.px(4))
        line.addWidget(self.field, 1)
        line.addWidget(self.count)

    def show_count(self, listed: int, whole: int) -> None:
        """Say how many of all rows are listed."""
        noun = "row" if whole == 1 else "rows"
        words = f"{whole:,} {noun}" if listed == whole else f"{listed:,} of {whole:,} {noun}"
        self.count.setText(words)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self.left.emit()
        elif key == Qt.Key.Key_Escape and self.field.text():
            self.field.clear()
        else:
            super().keyPressEvent(event)
            return
        event.accept()


class EventDetail(QWidget):
    """One event: its role with the mark, everything that is known of it, its rule as a whole."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._shown: tuple[Event, Clock] | None = None
        self._none = _CHOOSE
        self.mark, self.head = QLabel(), label(wrap=True)
        self.head.setStyleSheet("font-weight: 600")
        self.facts, self.rule = label("", "muted", wrap=True), label(wrap=True)
        self.why = label(wrap=True)
        self.why.setStyleSheet("font-weight: 600")
        self.about = label(wrap=True)
        inner = QWidget()
        rows = QVBoxLayout(inner)
        rows.setContentsMargins(0, context.px(4), context.px(4), 0)
        line = QHBoxLayout()
        line.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.head, 1)
        rows.addLayout(line)
        rows.addWidget(self.why)  # why it was refused is read first, and in words
        rows.addWidget(self.rule)
        rows.addWidget(self.about)
        rows.addWidget(self.facts)
        rows.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        scroll = ColumnScroll(inner)
        scroll.setAccessibleName("The chosen row in full")
        outer.addWidget(scroll)
        context.theme_changed.connect(self._fill)
        self._fill()

    def show_event(self, event: Event | None, clock: Clock | None, *, some: bool = True) -> None:
        """Show an event (None: none is chosen; not `some`: there is none to be chosen)."""
        self._none = _CHOOSE if some else _NOTHING
        self._shown = None if event is None or clock is None else (event, clock)
        self._fill()

    def _fill(self) -> None:
        for each in (self.mark, self.head, self.about, self.why, self.rule):
            each.setVisible(self._shown is not None)
        if self._shown is None:
            self.facts.setText(self._none)
            return
        event, clock = self._shown
        look, side = LOOKS[event.role], self._context.px(16)
        self.mark.setPixmap(role_icon(event.role, self._context.theme, side, 2.0).pixmap(side))
        title = f"{look.words}: {event.item or event.table}, {value_words(event)}"
        self.head.setText(breakable(title))
        when = clock.told(event.start) if event.start else NO_TIME
        if event.end is not None:
            when += f" to {clock.told(event.end)}"
        parts = [when, event.table, event.item_id and f"code {event.item_id}"]
        if event.columns:
            parts.append(f"{_FOR[event.role in _TOOK_PART]} {', '.join(event.columns)}")
        self.facts.setText(breakable("  ·  ".join(filter(None, parts))))
        self.about.setText(look.about)
        for each, text in zip((self.why, self.rule), told_first(event.rule), strict=True):
            each.setText(breakable(text))
            each.setVisible(bool(text))
