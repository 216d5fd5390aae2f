"""What was changed in texts since they were signed: prose by sentence and cell, code by line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPlainTextEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from engine.workbench.review_types import ChangedText
from m4review.app.context import Context
from m4review.app.widgets import label
from m4review.prose.view import ProseDiffView
from m4review.review.words import text_title

_CONTEXT = 3
_WIDE = 820
"""Pixels at 100 % from which on two versions stand side by side."""
_PROSE = ("instruction", "skill", "operational-spec")


class ChangesPanel(QWidget):
    """One changed text at a time."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._changes: tuple[ChangedText, ...] = ()
        self.choice = QComboBox()
        self.choice.setAccessibleName("Changed texts")
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.words = label("", "muted", wrap=True)
        self.view = QPlainTextEdit()
        self.view.setReadOnly(True)
        self.view.setProperty("code", True)
        self.view.setTabChangesFocus(True)
        self.view.setAccessibleName("What was changed")
        self.prose = ProseDiffView(context)
        self._ways = QStackedWidget()
        self._ways.addWidget(self.view)
        self._ways.addWidget(self.prose)
        box = QVBoxLayout(self)
        edge = context.px(6)
        box.setContentsMargins(edge, edge, edge, edge)
        line = QHBoxLayout()
        line.addWidget(self.choice)
        line.addWidget(self.words, 1)
        box.addLayout(line)
        box.addWidget(self._ways, 1)
        self.choice.currentIndexChanged.connect(self._show)
        context.theme_changed.connect(lambda: self._show(self.choice.currentIndex()))

    def show_changes(self, changes: Sequence[ChangedText]) -> None:
        """Show these."""
        self._changes = tuple(changes)
        self.choice.clear()
        self.choice.addItems([text_title(each.name) for each in self._changes])
        self._show(self.choice.currentIndex())

    def _show(self, at: int) -> None:
        self.view.clear()
        self._ways.setCurrentWidget(self.view)
        if not 0 <= at < len(self._changes):
            return
        change = self._changes[at]
        self.words.setText(f"It was {change.what} since it was signed.")
        if change.what == "changed" and change.before is None:
            self.view.setPlainText(
                "The signed version is not on this machine. Import a bundle that holds it."
            )
            return
        if change.name == "manifest":
            self.words.setText("The reference was built anew: other data, or another definition.")
        if change.name.partition(":")[0] in _PROSE:
            self._ways.setCurrentWidget(self.prose)
            with QSignalBlocker(self.prose.beside):  # two columns need room; no change of a setting
                wide = self.width() >= self._context.px(_WIDE)
                self.prose.beside.setChecked(wide and self._context.settings.get("prose.beside"))
            self.prose.compare(change.before or "", change.after or "", "As signed", "Now")
            return
        before = (change.before or "").splitlines()
        after = (change.after or "").splitlines()
        lines = difflib.unified_diff(before, after, "signed", "now", lineterm="", n=_CONTEXT)
        self._write(list(lines)[2:])

    def _write(self, lines: Sequence[str]) -> None:
        theme = self._context.theme
        looks = {
            "-": (theme.bad, theme.bad_tint), "+": (theme.good, theme.good_tint),
            "@": (theme.muted, ""),
        }  # fmt: skip
        cursor = QTextCursor(self.view.document())
        for line in lines:
            shape = QTextCharFormat()
            ink, paper = looks.get(line[:1], (theme.text, ""))
            shape.setForeground(QColor(ink))
            if paper:
                shape.setBackground(QColor(paper))
            text = "…" if line[:1] == "@" else f"{line[:1]} {line[1:]}"
            cursor.insertText(text + "\n", shape)
        self.view.moveCursor(QTextCursor.MoveOperation.Start)
