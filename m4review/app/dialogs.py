"""The interaction facade of the window: real dialogs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLineEdit, QMessageBox, QWidget

from engine.base.errors import M4Error
from m4review.app.interaction import Interaction


class Dialogs(Interaction):
    """Tells, asks and chooses with dialogs over `window`."""

    def __init__(self, window: QWidget) -> None:
        super().__init__()
        self._window = window

    def _box(self, icon: QMessageBox.Icon, title: str, text: str) -> QMessageBox:
        box = QMessageBox(icon, title, title, parent=self._window)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(text)
        return box

    def tell(self, title: str, text: str) -> None:
        box = self._box(QMessageBox.Icon.Information, title, text)
        box.exec()
        box.deleteLater()

    def error(self, error: M4Error) -> None:
        place = f"{error.place}: " if error.place and str(error.place) else ""
        text = place + error.text
        if error.todo:
            text += f"\n\nWhat to do: {error.todo}"
        box = self._box(QMessageBox.Icon.Warning, error.title, text)
        if error.details:
            box.setDetailedText(error.details)
        box.exec()
        box.deleteLater()

    def confirm(self, title: str, text: str, *, yes: str, no: str = "Cancel") -> bool:
        box = self._box(QMessageBox.Icon.Question, title, text)
        agree = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
        stay = box.addButton(no, QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(stay)
        box.setEscapeButton(stay)
        box.exec()
        agreed = box.clickedButton() is agree
        box.deleteLater()
        return agreed

    def ask_text(self, title: str, label: str, *, text: str = "") -> str | None:
        return self._line(title, label, text, QLineEdit.EchoMode.Normal)

    def ask_secret(self, title: str, label: str) -> str | None:
        return self._line(title, label, "", QLineEdit.EchoMode.Password)

    def _line(self, title: str, label: str, text: str, echo: QLineEdit.EchoMode) -> str | None:
        dialog = QInputDialog(self._window)
        dialog.setTextEchoMode(echo)
        dialog.setWindowTitle(title)
        dialog.setLabelText(label)
        dialog.setTextValue(text)
        dialog.setMinimumWidth(420)
        agreed = dialog.exec() == QInputDialog.DialogCode.Accepted
        value = dialog.textValue()
        dialog.deleteLater()
        return value if agreed else None

    def choose_folder(self, title: str, start: str = "") -> Path | None:
        chosen = QFileDialog.getExistingDirectory(self._window, title, start)
        return Path(chosen) if chosen else None

    def choose_file(self, title: str, start: str = "", patterns: Sequence[str] = ()) -> Path | None:
        chosen, _ = QFileDialog.getOpenFileName(self._window, title, start, ";;".join(patterns))
        return Path(chosen) if chosen else None

    def choose_save(self, title: str, name: str, patterns: Sequence[str] = ()) -> Path | None:
        chosen, _ = QFileDialog.getSaveFileName(self._window, title, name, ";;".join(patterns))
        return Path(chosen) if chosen else None
