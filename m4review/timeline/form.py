"""Choosing a cell of a task's reference: source, key, column."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFrame, QLineEdit, QVBoxLayout, QWidget

from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.links import Place
from m4review.app.widgets import button, label
from m4review.timeline.cell import CellForm


class CellChooser(QFrame):
    """One line of fields, and a row by chance for those who only want to look."""

    asked = Signal(object)
    """Show the cell at this `Place`."""
    chance_asked = Signal(str)
    """Find a row by chance in this source."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.setProperty("card", True)
        outer = QVBoxLayout(self)  # the flow itself has no margins
        outer.setContentsMargins(*([context.px(8)] * 4))
        self._line = FlowLayout()
        outer.addLayout(self._line)
        self.source = QComboBox(self)
        self.source.setAccessibleName("Source")
        self.column = QComboBox(self)
        self.column.setAccessibleName("Column")
        for each in (self.source, self.column):
            each.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.keys: dict[str, QLineEdit] = {}
        self._task = ""
        self._parts: list[QWidget] = []
        self.chance = button(
            context, "Any row", lambda: self.chance_asked.emit(self.source.currentText()),
            tip="Fill in the key of a row of the reference, taken by chance",
        )  # fmt: skip
        self.go = button(context, "Show", self._ask, main=True)
        fixed: tuple[QWidget, ...] = (self.source, self.column, self.chance, self.go)
        for widget in fixed:
            widget.setParent(self)  # they get their places when the task is known
            widget.hide()

    def show_form(self, form: CellForm, place: Place | None) -> None:
        """Offer a task's sources, key columns and columns."""
        if form.task.name != self._task:
            self._task = form.task.name
            self._rebuild(form)
        if place is None:
            return
        if place.source:
            self.source.setCurrentText(place.source)
        for name, value in place.key:
            if name in self.keys:
                self.keys[name].setText(value)
        if place.column:
            self.column.setCurrentText(place.column)

    def _rebuild(self, form: CellForm) -> None:
        while self._line.count():
            item = self._line.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None and widget in self._parts:
                widget.hide()
                widget.deleteLater()
        self._parts = []
        self.source.clear()
        self.source.addItems(list(form.sources))
        self.column.clear()
        self.column.addItems(list(form.columns))
        for each in (self.source, self.column, self.chance, self.go):
            each.show()
        self._word("Source")
        self._line.addWidget(self.source)
        self.keys = {}
        for name in form.keys:
            self._word(name)
            field = QLineEdit()
            field.setAccessibleName(name)
            field.setMinimumWidth(self._context.px(150))
            field.returnPressed.connect(self._ask)
            self.keys[name] = field
            self._parts.append(field)
            self._line.addWidget(field)
        self._line.addWidget(self.chance)
        self._word("Column")
        self._line.addWidget(self.column)
        self._line.addWidget(self.go)

    def _word(self, text: str) -> None:
        word = label(text, "muted")
        word.setMinimumHeight(self._context.px(30))
        self._parts.append(word)
        self._line.addWidget(word)

    def begin(self) -> None:
        """Let the first field of the key that is empty, or else the first, be typed into."""
        fields = list(self.keys.values())
        empty = [field for field in fields if not field.text()]
        for field in (*empty, *fields)[:1]:
            field.setFocus()

    def fill_key(self, key: tuple[tuple[str, str], ...]) -> None:
        """Put a key into the fields."""
        for name, value in key:
            if name in self.keys:
                self.keys[name].setText(value)

    def _ask(self) -> None:
        key = tuple((name, field.text().strip()) for name, field in self.keys.items())
        if self.source.currentText() and all(value for _, value in key):
            place = Place(
                "timeline",
                self._task,
                source=self.source.currentText(),
                key=key,
                column=self.column.currentText(),
            )
            self.asked.emit(place)
        else:
            empty = [name for name, value in key if not value]
            what = ", ".join(empty) or "a source"
            self._context.told.emit(f"Fill in {what} first; Any row fills in a key by chance.")
