"""`ProseDiffView`: what became of a text since an earlier version, for any screen."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QComboBox, QPushButton, QVBoxLayout, QWidget

from engine.base.errors import M4Error
from engine.workbench import TextVersion
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.tips import as_written
from m4review.app.widgets import ElidedLabel, ErrorPanel, button, label
from m4review.prose.page import DiffPage
from m4review.prose.rows import DiffRow, as_text, rows_of, summary
from m4review.prose.viewmodel import ProseDiffModel

_MANY = 1200
"""Rows up to which everything can be shown at once."""


class ProseDiffView(QWidget):
    """Compares a text with a version to choose; N and P go to the next and previous change.

    `open` shows the versions of a text; `compare` two texts that are at hand.
    """

    line_chosen = Signal(int)
    """A row was clicked: its line in the later version (where it has none, in the earlier one)."""
    compared = Signal()
    """Another comparison is shown."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.model = ProseDiffModel(context.workbench, context.runner, self)
        self.rows: list[DiffRow] = []
        self.current: int | None = None
        """Which change is marked, counted from 0."""
        self.errors = ErrorPanel(context)
        self.page = DiffPage(context)
        self.versions = QComboBox()
        self.versions.setAccessibleName("Earlier version")
        self.versions.setToolTip("The version that the text is compared with")
        self.versions.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.versions.setMinimumContentsLength(28)
        self.file_button = button(
            context, "File…", self._choose_file, icon="folder-open", tip="Compare with any file"
        )
        self.beside = _chip("Side by side", "Both versions in columns of their own")
        self.only = _chip("Only changes", "Fold what did not change")
        self.beside.setChecked(context.settings.get("prose.beside"))
        self.only.setChecked(context.settings.get("prose.only_changes"))
        self.previous = button(
            context, "", lambda: self.step(-1), icon="chevron-up", tip="Previous change (P)"
        )
        self.next = button(
            context, "", lambda: self.step(1), icon="chevron-down", tip="Next change (N)"
        )
        self.previous.setAccessibleName("Previous change")
        self.next.setAccessibleName("Next change")
        self.status = ElidedLabel("", "muted")
        self._build()
        self.versions.activated.connect(self._version_chosen)
        self.beside.toggled.connect(self._look_chosen)
        self.only.toggled.connect(self._look_chosen)
        self.page.chosen.connect(self.line_chosen)
        self.model.versions_changed.connect(self._fill_versions)
        self.model.changed.connect(self._fill)
        self.model.failed.connect(self._failed)
        context.theme_changed.connect(self._draw)

    def _build(self) -> None:
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        line = FlowLayout(spacing=self.context.px(6))
        self._with = label("Compared with")
        line.addWidget(self._with)
        line.addWidget(self.versions)
        line.addWidget(self.file_button)
        line.addWidget(self.beside)
        line.addWidget(self.only)
        line.addWidget(self.previous)
        line.addWidget(self.next)
        rows.addLayout(line)
        rows.addWidget(self.status)
        rows.addWidget(self.errors)
        rows.addWidget(self.page, 1)
        self.setFocusProxy(self.page)
        self.page.installEventFilter(self)
        self._fill_versions()

    # --- what is compared

    def open(self, path: Path, text: str | None = None, version: TextVersion | None = None) -> None:
        """Compare a text with an earlier version; see `ProseDiffModel.open`."""
        self.errors.dismiss()
        self.model.open(path, text, version)

    def set_text(self, text: str) -> None:
        """The editor holds something else now."""
        self.model.set_text(text)

    def compare(self, before: str, after: str, before_title: str, after_title: str) -> None:
        """Compare two texts that are at hand."""
        self.errors.dismiss()
        self.model.compare(before, after, before_title, after_title)

    def step(self, way: int) -> None:
        """Go to the next (1) or previous (-1) change; from the last one to the first."""
        count = len(self.model.diff.changes) if self.model.diff else 0
        if not count:
            return
        start = -1 if self.current is None and way > 0 else self.current or 0
        self.current = (start + way) % count
        self.page.mark(self.current)
        self._say()

    # --- events

    def eventFilter(self, watched: object, event: object) -> bool:
        if (
            watched is self.page
            and isinstance(event, QKeyEvent)
            and event.type() == QKeyEvent.Type.KeyPress
            and self._key(event)
        ):
            return True
        return super().eventFilter(watched, event)  # type: ignore[arg-type]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._key(event):
            super().keyPressEvent(event)

    def _key(self, event: QKeyEvent) -> bool:
        plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        )
        if plain and event.key() in (Qt.Key.Key_N, Qt.Key.Key_P):
            self.step(1 if event.key() == Qt.Key.Key_N else -1)
            return True
        copies = event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if copies and event.key() == Qt.Key.Key_C and not self.page.textCursor().hasSelection():
            QGuiApplication.clipboard().setText(as_text(self.rows))
            self.context.told.emit("The comparison is on the clipboard.")
            return True
        return False

    # --- filling

    def _fill_versions(self) -> None:
        known = self.model.path is not None
        for widget in (self._with, self.versions, self.file_button):
            widget.setVisible(known)
        self.versions.clear()
        for version in self.model.versions:
            self.versions.addItem(version.title)
        self._select_version()

    def _select_version(self) -> None:
        if self.model.version in self.model.versions:
            self.versions.setCurrentIndex(self.model.versions.index(self.model.version))

    def _fill(self) -> None:
        self.errors.dismiss()
        self._select_version()
        self.current = None
        self._draw()
        self.compared.emit()

    def _draw(self) -> None:
        diff = self.model.diff
        if diff is None:
            return
        self.rows = rows_of(diff, only_changes=self.only.isChecked() or len(diff.steps) > _MANY)
        titles = (self.model.before_title, self.model.after_title)
        self.page.show_rows(self.rows, titles, beside=self.beside.isChecked())
        some = bool(diff.changes)
        self.previous.setEnabled(some)
        self.next.setEnabled(some)
        if self.current is not None:
            self.page.mark(self.current)
        self._say()

    def _say(self) -> None:
        diff = self.model.diff
        if diff is None:
            return
        words = summary(diff)
        if self.current is not None:
            words = f"Change {self.current + 1} of {len(diff.changes)}  ·  {words}"
        elif diff.changes:
            words += "  ·  N goes to the next change, P to the previous one"
        self.status.setText(words)

    def _failed(self, error: M4Error) -> None:
        self.errors.show_error(error)

    # --- choices

    def _version_chosen(self, index: int) -> None:
        self.model.choose(self.model.versions[index])

    def _choose_file(self) -> None:
        path = self.context.interaction.choose_file(
            "Compare with", "", ("Texts (*.md *.toml *.yaml *.txt)", "All files (*)")
        )
        if path is not None:
            self.model.choose_file(path)

    def _look_chosen(self) -> None:
        self.context.settings.set("prose.beside", self.beside.isChecked())
        self.context.settings.set("prose.only_changes", self.only.isChecked())
        self._draw()


def _chip(text: str, tip: str) -> QPushButton:
    chip = QPushButton(text)
    chip.setCheckable(True)
    chip.setProperty("kind", "chip")
    chip.setToolTip(as_written(tip))
    return chip
