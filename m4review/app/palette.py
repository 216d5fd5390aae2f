"""Ctrl+K: every command that can be given now, found by typing a part of it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from m4review.app import icons
from m4review.app.actions import Actions, Command, key_text
from m4review.app.context import Context


def matching(commands: list[Command], text: str) -> list[Command]:
    """Commands in which every word of `text` occurs, best first."""
    words = text.casefold().split()
    found = []
    for command in commands:
        name = f"{command.text} {command.menu}".casefold()
        if all(word in name for word in words):
            starts = command.text.casefold().startswith(words[0]) if words else False
            found.append((not starts, command.text, command))
    return [command for _, _, command in sorted(found, key=lambda item: item[:2])]


class Palette(QDialog):
    """A line to type in and the commands that fit; Enter gives the chosen one."""

    def __init__(self, context: Context, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._context, self._actions = context, actions
        self.setAccessibleName("Commands")
        self.setMinimumSize(context.px(520), context.px(360))
        box = QVBoxLayout(self)
        self.line = QLineEdit()
        self.line.setPlaceholderText("Type a command…")
        self.line.setAccessibleName("Command")
        self.list = QListWidget()
        self.list.setAccessibleName("Commands that fit")
        self.list.setIconSize(QSize(context.px(16), context.px(16)))
        box.addWidget(self.line)
        box.addWidget(self.list)
        self.line.textChanged.connect(self._fill)
        self.line.installEventFilter(self)
        self.list.itemActivated.connect(lambda _: self._give())
        self._fill("")

    def _fill(self, text: str) -> None:
        self.list.clear()
        theme = self._context.theme
        for command in matching(self._actions.available(), text):
            keys = key_text(command)
            item = QListWidgetItem(command.text + (f"    {keys}" if keys else ""))
            item.setIcon(icons.icon(command.icon or "square-terminal", theme.muted))
            item.setData(Qt.ItemDataRole.UserRole, command.name)
            self.list.addItem(item)
        self.list.setCurrentRow(0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step is not None:
                row = self.list.currentRow() + step
                self.list.setCurrentRow(max(0, min(row, self.list.count() - 1)))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._give()
                return True
        return super().eventFilter(watched, event)

    def _give(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        name = str(item.data(Qt.ItemDataRole.UserRole))
        self.accept()
        self._actions.trigger(name)
