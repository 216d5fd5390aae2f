"""The interaction facade of the window: real dialogs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QInputDialog,
    QLineEdit,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from m4review.app.interaction import Interaction
from m4review.app.widgets import ColumnScroll, label


def endings_of(pattern: str) -> tuple[str, ...]:
    """The endings in a pattern of names: ``.csv`` in ``Table (*.csv)``."""
    return tuple(each.casefold() for each in re.findall(r"\*(\.\w+)", pattern))


class Dialogs(Interaction):
    """Tells, asks and chooses with dialogs over `window`."""

    def __init__(self, window: QWidget) -> None:
        super().__init__()
        self._window = window
        self._folder: Path | None = None

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

    def confirm_facts(
        self,
        title: str,
        text: str,
        facts: Sequence[tuple[str, str]],
        *,
        more: str = "",
        yes: str,
        no: str = "Cancel",
    ) -> bool:
        dialog = QDialog(self._window)
        dialog.setWindowTitle(title)
        metrics = dialog.fontMetrics()
        outer = QVBoxLayout(dialog)
        outer.setSpacing(metrics.height() // 2)
        outer.addWidget(label(title, "heading", wrap=True))
        outer.addWidget(label(text, wrap=True))
        inner = QWidget()
        grid = QGridLayout(inner)
        grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate(facts):
            grid.addWidget(label(name, "muted"), row, 0)
            grid.addWidget(label(value, wrap=True), row, 1)
        grid.setRowStretch(len(facts), 1)
        scroll = ColumnScroll(inner)
        outer.addWidget(scroll, 1)
        if more:
            outer.addWidget(label(more, wrap=True))
        buttons = QDialogButtonBox()
        agree = buttons.addButton(yes, QDialogButtonBox.ButtonRole.AcceptRole)
        stay = buttons.addButton(no, QDialogButtonBox.ButtonRole.RejectRole)
        agree.setAutoDefault(False)
        stay.setDefault(True)
        buttons.accepted.connect(dialog.accept)
        buttons.rejected.connect(dialog.reject)
        outer.addWidget(buttons)
        stay.setFocus()
        wide = metrics.averageCharWidth() * 90
        around = outer.totalHeightForWidth(wide) - scroll.sizeHint().height()
        high = around + grid.totalHeightForWidth(wide) + metrics.height()
        dialog.resize(wide, min(high, metrics.height() * 30))
        agreed = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
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

    def choose_one(self, title: str, label: str, options: Sequence[str]) -> str | None:
        value, agreed = QInputDialog.getItem(self._window, title, label, list(options), 0, False)
        return value if agreed else None

    def choose_files(
        self, title: str, start: str = "", patterns: Sequence[str] = ()
    ) -> tuple[Path, ...]:
        chosen, _ = QFileDialog.getOpenFileNames(self._window, title, start, ";;".join(patterns))
        return tuple(map(Path, chosen))

    def choose_folder(self, title: str, start: str = "") -> Path | None:
        chosen = QFileDialog.getExistingDirectory(self._window, title, start)
        return Path(chosen) if chosen else None

    def choose_file(self, title: str, start: str = "", patterns: Sequence[str] = ()) -> Path | None:
        chosen, _ = QFileDialog.getOpenFileName(self._window, title, start, ";;".join(patterns))
        return Path(chosen) if chosen else None

    def choose_save(self, title: str, name: str, patterns: Sequence[str] = ()) -> Path | None:
        """The name has an ending of the patterns, and what it would replace was asked about."""
        while (chosen := self._save_name(title, name, patterns)) is not None:
            named, first = chosen
            endings = {each for pattern in patterns for each in endings_of(pattern)}
            if not endings or named.suffix.casefold() in endings:
                return named  # the dialog has asked
            full = named.with_name(named.name + first)
            if not full.exists() or self.confirm(
                f"Replace {full.name}?", "There is a file of that name.", yes="Replace"
            ):
                return full
        return None

    def _save_name(self, title: str, name: str, patterns: Sequence[str]) -> tuple[Path, str] | None:
        """The name that was chosen, and the ending of the pattern that was."""
        start = str(self._folder / name) if self._folder is not None else name
        dialog = QFileDialog(self._window, title, start, ";;".join(patterns))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)

        def take_ending() -> None:
            found = endings_of(dialog.selectedNameFilter())
            dialog.setDefaultSuffix(found[0] if found else "")

        dialog.filterSelected.connect(lambda _: take_ending())
        take_ending()
        agreed = dialog.exec() == QDialog.DialogCode.Accepted
        files, ending = dialog.selectedFiles(), dialog.defaultSuffix()
        dialog.deleteLater()
        if not agreed or not files:
            return None
        self._folder = Path(files[0]).parent
        return Path(files[0]), f".{ending}" if ending else ""
