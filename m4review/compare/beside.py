"""Two runs beside each other: the steps of their traces, and the texts that they were given."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from engine.agents.traces import TraceStep
from m4review.app.context import Context
from m4review.app.widgets import button, label
from m4review.compare.given import GivenText, given_to
from m4review.compare.viewmodel import Side
from m4review.compare.words import letters, run_words

_STEP = Qt.ItemDataRole.UserRole


def step_words(step: TraceStep) -> str:
    """A step in a line."""
    what = step.command or step.text or (step.error.message if step.error else "")
    first = next((line.strip() for line in what.splitlines() if line.strip()), "")
    bad = "✗ " if step.failed else ""
    return f"{step.number}  {bad}{step.tool or step.kind}  {first[:160]}"


class StepList(QWidget):
    """One run's steps, and the chosen one in full."""

    opened = Signal(int, int)
    """Run and step."""

    def __init__(self, context: Context, at: int) -> None:
        super().__init__()
        self._sides: tuple[Side, ...] = ()
        self.choice = QComboBox()
        self.choice.setAccessibleName("Run on this side")
        self.choice.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.choice.currentIndexChanged.connect(lambda _: self._fill())
        self._at = at
        self.list = QListWidget()
        self.list.setAccessibleName("Steps")
        self.list.setUniformItemSizes(True)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setProperty("code", True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("The chosen step")
        go = button(context, "In the trace", self._go, icon="list")
        head = QHBoxLayout()
        head.addWidget(self.choice, 1)
        head.addWidget(go)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self.list)
        split.addWidget(self.text)
        rows = QVBoxLayout(self)
        rows.addLayout(head)
        rows.addWidget(split, 1)
        self.list.currentItemChanged.connect(lambda item, _: self._show(item))
        self.list.itemActivated.connect(lambda _: self._go())

    def show_sides(self, sides: tuple[Side, ...]) -> None:
        """Offer the runs."""
        self._sides = sides
        self.choice.blockSignals(True)
        self.choice.clear()
        for name, side in zip(letters(len(sides)), sides, strict=True):
            self.choice.addItem(f"{name}: {run_words(side.summary)}")
        self.choice.setCurrentIndex(min(self._at, len(sides) - 1))
        self.choice.blockSignals(False)
        self._fill()

    def _fill(self) -> None:
        self.list.clear()
        self.text.clear()
        at = self.choice.currentIndex()
        for step in self._sides[at].steps if 0 <= at < len(self._sides) else ():
            if step.kind in ("usage", "other"):
                continue
            item = QListWidgetItem(step_words(step))
            item.setData(_STEP, step)
            self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _show(self, item: QListWidgetItem | None) -> None:
        step = item.data(_STEP) if item is not None else None
        if isinstance(step, TraceStep):
            parts: Sequence[str] = (step.command or step.text, *step.sql, step.output)
            kept = dict.fromkeys(part.strip() for part in parts if part.strip())
            self.text.setPlainText("\n\n".join(kept))

    def _go(self) -> None:
        item = self.list.currentItem()
        step = item.data(_STEP) if item is not None else None
        if isinstance(step, TraceStep):
            self.opened.emit(self.choice.currentIndex(), step.number)


class GivenPane(QWidget):
    """How the texts that two runs were given differ, line by line."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._sides: tuple[Side, ...] = ()
        self._texts: tuple[GivenText, ...] = ()
        self.first, self.second, self.file = QComboBox(), QComboBox(), QComboBox()
        line = QHBoxLayout()
        for box, name, word in (
            (self.first, "First run", "From"),
            (self.second, "Second run", "to"),
            (self.file, "Text", "Text"),
        ):
            box.setAccessibleName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            line.addWidget(label(word, "muted"))
            line.addWidget(box)
        line.addStretch(1)
        self.words = label("", wrap=True)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setProperty("code", True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("Difference of the texts")
        rows = QVBoxLayout(self)
        rows.addLayout(line)
        rows.addWidget(self.words)
        rows.addWidget(self.text, 1)
        for box in (self.first, self.second):
            box.currentIndexChanged.connect(lambda _: self._pair())
        self.file.currentIndexChanged.connect(lambda _: self._show())
        context.theme_changed.connect(self._show)

    def show_sides(self, sides: tuple[Side, ...]) -> None:
        """Offer the runs."""
        self._sides = sides
        for box, at in ((self.first, 0), (self.second, 1)):
            box.blockSignals(True)
            box.clear()
            box.addItems([f"run {name}" for name in letters(len(sides))])
            box.setCurrentIndex(min(at, len(sides) - 1))
            box.blockSignals(False)
        self._pair()

    def _pair(self) -> None:
        a, b = self.first.currentIndex(), self.second.currentIndex()
        known = 0 <= a < len(self._sides) and 0 <= b < len(self._sides)
        self._texts = given_to(self._sides[a].texts, self._sides[b].texts) if known else ()
        self.file.blockSignals(True)
        self.file.clear()
        self.file.addItems([f"{'=' if t.same else '≠'} {t.name}" for t in self._texts])
        self.file.blockSignals(False)
        different = [text for text in self._texts if not text.same]
        self.words.setText(
            f"{len(different)} of {len(self._texts)} texts before the agent differ."
            if different
            else "Both runs were given the same texts."
        )
        self._show()

    def _show(self) -> None:
        at = self.file.currentIndex()
        self.text.clear()
        self.text.setCurrentCharFormat(QTextCharFormat())  # else the last difference's colour stays
        if not 0 <= at < len(self._texts):
            return
        text = self._texts[at]
        if text.same:
            self.text.setPlainText(text.first or "")
            return
        theme = self._context.theme
        cursor = QTextCursor(self.text.document())
        for line in text.difference():
            shape = QTextCharFormat()
            name = {"+": "good", "-": "bad", "@": "muted"}.get(line[:1], "text")
            shape.setForeground(QColor(getattr(theme, name)))
            cursor.insertText(line + "\n", shape)
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
