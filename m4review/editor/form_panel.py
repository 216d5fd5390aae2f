"""Front matter and task.toml as a form beside the text; each change is one step of the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from engine.base.errors import BadInput
from engine.editing.form import (
    Field,
    Value,
    skill_form,
    task_form,
    with_skill_field,
    with_task_field,
)
from engine.editing.texts import Kind
from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.app.widgets import ColumnScroll, clear, label


class _Words(QPlainTextEdit):
    """Several lines of words; Tab goes on to the next field."""

    def __init__(self, done: Callable[[], object]) -> None:
        super().__init__()
        self._done = done
        self.setTabChangesFocus(True)

    def focusOutEvent(self, event: object) -> None:
        super().focusOutEvent(event)  # type: ignore[arg-type]
        self._done()


class FormPanel(QWidget):
    """The fields of the text's head."""

    def __init__(self, context: Context, change: Callable[[str], object]) -> None:
        super().__init__()
        self._context, self._change = context, change
        self._text = ""
        self._kind: Kind = "instruction"
        self._fields: tuple[Field, ...] = ()
        self.widgets: dict[str, QWidget] = {}
        self.problem = label("", "muted", wrap=True)
        inner = QWidget()
        self._rows = QVBoxLayout(inner)
        self._rows.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._area = ColumnScroll(inner)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self.problem)
        box.addWidget(self._area, 1)
        self._locked = False

    def take_keyboard(self) -> None:
        """The keys go to the first field that can be changed."""
        free = (each for each in self.widgets.values() if each.isEnabled())
        field = next(free, None) or self._area
        field.show()  # what was just made is shown a moment later, and takes no keys before
        field.setFocus(Qt.FocusReason.TabFocusReason)

    @staticmethod
    def has_form(kind: Kind) -> bool:
        """Do texts of this kind have a form?"""
        return kind in ("skill", "task")

    def show_text(self, kind: Kind, text: str, *, locked: bool) -> None:
        """Show the fields of a text as it is now; a field that is being typed in stays."""
        self._kind, self._text, self._locked = kind, text, locked
        try:
            fields = skill_form(text) if kind == "skill" else task_form(text)
        except BadInput as error:
            self.problem.setText(f"{error.text} {error.todo or ''}")
            self.problem.show()
            self._area.setEnabled(False)
            return
        self.problem.hide()
        self._area.setEnabled(True)
        shape = [(f.name, f.shape, f.choices) for f in fields]
        if shape != [(f.name, f.shape, f.choices) for f in self._fields]:
            self._build(fields)
        self._fields = fields
        for field in fields:
            self._fill(field)

    def _build(self, fields: tuple[Field, ...]) -> None:
        clear(self._rows)
        self.widgets = {}
        for field in fields:
            name = label(field.label, "section")
            self._rows.addWidget(name)
            widget = self._widget(field)
            widget.setAccessibleName(field.label)
            widget.setToolTip(as_written(field.help))
            name.setBuddy(widget)
            self.widgets[field.name] = widget
            self._rows.addWidget(widget)
            tip = label(field.help, "muted", wrap=True)
            self._rows.addWidget(tip)
            self._rows.addSpacing(self._context.px(6))
        self._rows.addStretch(1)

    def _widget(self, field: Field) -> QWidget:
        def done() -> None:
            self._done(field.name)

        if field.shape == "choice":
            combo = QComboBox()
            combo.addItems(["", *field.choices])
            combo.activated.connect(lambda _: done())
            return combo
        if field.shape == "words":
            words = _Words(done)
            words.setFixedHeight(self._context.px(96))
            return words
        line = QLineEdit()
        line.editingFinished.connect(done)
        return line

    def _fill(self, field: Field) -> None:
        widget = self.widgets[field.name]
        text = _shown(field.value)
        if isinstance(widget, QComboBox):
            if widget.findText(text) < 0:
                widget.addItem(text)
            widget.setCurrentText(text)
            widget.setEnabled(not self._locked)
        elif isinstance(widget, QPlainTextEdit):
            if not widget.hasFocus() and widget.toPlainText() != text:
                widget.setPlainText(text)
            widget.setReadOnly(self._locked)
        elif isinstance(widget, QLineEdit):
            if not (widget.hasFocus() and widget.isModified()) and widget.text() != text:
                widget.setText(text)
            widget.setReadOnly(self._locked or field.shape == "locked")
            widget.setEnabled(field.shape != "locked")

    def _done(self, name: str) -> None:
        field = next((f for f in self._fields if f.name == name), None)
        if field is None or self._locked or field.shape == "locked":
            return
        widget = self.widgets[name]
        if isinstance(widget, QComboBox):
            given = widget.currentText()
        elif isinstance(widget, QPlainTextEdit):
            given = " ".join(widget.toPlainText().split())
        else:
            given = cast("QLineEdit", widget).text().strip()
        if given == _shown(field.value) or (not given and field.value is None):
            return
        try:
            value = _read(field, given)
            if self._kind == "skill":
                text = with_skill_field(self._text, name, given)
            else:
                text = with_task_field(self._text, name, value)
        except BadInput as error:
            self.problem.setText(f"{field.label}: {error.text} {error.todo or ''}")
            self.problem.show()
            return
        self._change(text)


def _shown(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else " ".join(value.split())


def _read(field: Field, given: str) -> Value:
    if field.shape == "list":
        return tuple(part.strip() for part in given.split(",") if part.strip())
    if field.shape == "share":
        try:
            share = float(given.replace(",", "."))
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise BadInput("This is no share.", todo="Write a number from 0 to 1.")
        return share
    return given
