"""Letters typed in a list of choices look for a choice; they are no commands there.

Text fields keep typed letters from the single-key commands by themselves; a combo box does not.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QComboBox, QWidget

_COMMAND = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)


TYPE_AHEAD = "typeAhead"
"""Property of a list in which letters look for an entry."""


class TypingFirst(QObject):
    """Watches the combo box or list that has the keyboard, as long as its parent lives."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        QApplication.instance().focusChanged.connect(self._focus_moved)  # type: ignore[union-attr]

    def _focus_moved(self, before: QWidget | None, now: QWidget | None) -> None:
        if before is not None and _is_choice(before):
            before.removeEventFilter(self)
        if now is not None and _is_choice(now):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.text().isprintable()
            and event.text().strip()
            and not event.modifiers() & _COMMAND
        ):
            event.accept()
            return True
        return super().eventFilter(watched, event)


def _is_choice(widget: QWidget) -> bool:
    return isinstance(widget, QComboBox) or widget.property(TYPE_AHEAD) is True
