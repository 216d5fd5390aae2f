"""The form of one question: answer, severity, words, what it refers to."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from engine.reviews.verdicts import ANSWERS, SEVERITIES
from m4review.app import icons
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.tips import as_written
from m4review.app.widgets import PushButton, button, label, set_tone
from m4review.review.marks import answer_icon
from m4review.review.sheet.viewmodel import Kind, ReviewViewModel
from m4review.review.words import lines_words

_KINDS: tuple[tuple[Kind, str], ...] = (
    ("anchors", "hash"), ("evidence", "database"), ("places", "play"), ("rows", "flag"),
)  # fmt: skip
_KEEP = "Kept beside the ledger, encrypted; leaves this machine only where the policy allows it."


class Words(QPlainTextEdit):
    """A field that takes the room that is there, and asks for little."""

    left = Signal()
    """Escape: on with the keys of the page."""

    def __init__(self, context: Context, lines: int) -> None:
        super().__init__()
        self._context, self._lines = context, lines
        self.setTabChangesFocus(True)

    def sizeHint(self) -> QSize:
        height = self.fontMetrics().lineSpacing() * self._lines + self._context.px(16)
        return QSize(self._context.px(200), height)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)


class _AsWideAsTheList(QStyledItemDelegate):
    """A row asks for no width: a long text ends in dots, and no scroll bar covers the rows."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(1, super().sizeHint(option, index).height())


class RowList(QListWidget):
    """A list as high as its rows, within bounds; a row is as wide as the list."""

    def __init__(self, context: Context, least: int, most: int) -> None:
        super().__init__()
        self._context, self._least, self._most = context, least, most
        self.setUniformItemSizes(True)
        self.setItemDelegate(_AsWideAsTheList(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        side = context.px(16)
        self.setIconSize(QSize(side, side))
        context.theme_changed.connect(self._resize)

    def _resize(self) -> None:
        side = self._context.px(16)
        self.setIconSize(QSize(side, side))
        self.fit()

    def _height(self, rows: int) -> int:
        row = self.sizeHintForRow(0) if self.count() else self.fontMetrics().height()
        return max(1, min(rows, self.count())) * row + self._context.px(6)

    def fit(self, most: int | None = None) -> None:
        """Take the height of what is in it, at most so many rows."""
        if most is not None:
            self._most = most
        self.setMaximumHeight(self._height(self._most))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(self._context.px(200), self._height(self._most))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._context.px(120), self._height(self._least))


class AttachmentList(RowList):
    """What an answer refers to; Enter opens, Del takes away."""

    opened = Signal(str, object)
    """Kind and value."""
    removed = Signal(str, int)
    """Kind and number."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, 2, 4)
        self.setAccessibleName("What the answer refers to")
        self.itemActivated.connect(self._open)

    def show_entry(self, entry: dict[str, Any]) -> None:
        """Show what an answer refers to."""
        at = self.currentRow()
        self.clear()
        theme = self._context.theme
        for kind, name in _KINDS:
            for number, value in enumerate(entry.get(kind) or []):
                item = QListWidgetItem(icons.icon(name, theme.muted), attachment_words(kind, value))
                item.setData(Qt.ItemDataRole.UserRole, (kind, number, value))
                item.setToolTip(as_written(_KEEP if kind == "rows" else item.text()))
                self.addItem(item)
        self.setCurrentRow(max(0, min(at, self.count() - 1)))
        self.setVisible(self.count() > 0)
        self.fit()

    def _open(self, item: QListWidgetItem) -> None:
        kind, _, value = item.data(Qt.ItemDataRole.UserRole)
        self.opened.emit(kind, value)

    def remove(self) -> None:
        """Take the current one away."""
        item = self.currentItem()
        if item is not None:
            kind, number, _ = item.data(Qt.ItemDataRole.UserRole)
            self.removed.emit(kind, number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove()
            return
        super().keyPressEvent(event)


def attachment_words(kind: str, value: Any) -> str:
    """An attachment in a line; the key of a row is not spelt out."""
    if kind == "anchors":
        return lines_words(str(value.get("text")), str(value.get("lines")))
    if kind == "evidence":
        return str(value.get("words") or value.get("name") or "Evidence")
    if kind == "rows":
        parts = str(value).split("/")
        if "row" in parts[:-1]:
            at = parts[parts.index("row") + 1]
            row = f"{int(at) + 1:,}" if at.isdecimal() else at  # the diff counts from 1
            column = f", {parts[parts.index('column') + 1]}" if "column" in parts[:-1] else ""
            return f"Flagged row {row}{column} of a run"
        return "Flagged row of the reference"
    return str(value)


class AnswerPanel(QWidget):
    """The question that is shown, and its answer."""

    opened = Signal(str, object)
    """An attachment is to be opened: kind and value."""

    def __init__(self, context: Context, model: ReviewViewModel) -> None:
        super().__init__()
        self._context, self._model = context, model
        self.title = label("", "heading", wrap=True)
        self.question = label("", wrap=True)
        self.again = label(
            "A text that this rests on was changed since you answered: answer again.", wrap=True
        )
        set_tone(self.again, "warn")
        self.answers: dict[str, PushButton] = {}
        self.severities: dict[str, PushButton] = {}
        self.words = Words(context, 3)
        self.words.setAccessibleName("In your words")
        self.words.setToolTip("W to write; Esc leads back to the questions and their keys")
        self.attachments = AttachmentList(context)
        self.remove = button(
            context, "Take away", self.attachments.remove, icon="x",
            tip="The chosen reference (Del)",
        )  # fmt: skip
        self.lacks = label("", wrap=True)
        set_tone(self.lacks, "warn")
        self._severity = QWidget()
        self._build()
        self.words.textChanged.connect(lambda: model.set_words(self.words.toPlainText()))
        self.attachments.opened.connect(self.opened)
        self.attachments.removed.connect(model.detach)
        model.item_changed.connect(self.fill)
        model.saved_changed.connect(self._fill_lacks)
        context.theme_changed.connect(self.fill)

    def _build(self) -> None:
        px = self._context.px
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(px(6))
        for each in (self.title, self.question, self.again):
            box.addWidget(each)
        flow = FlowLayout(spacing=px(6))
        for number, answer in enumerate(ANSWERS, start=1):
            chip = self._chip(f" {number} {answer.capitalize()}", f"Key {number}")
            chip.clicked.connect(lambda _=False, said=answer: self._model.answer(said))
            self.answers[answer] = chip
            flow.addWidget(chip)
        box.addLayout(flow)
        line = QHBoxLayout(self._severity)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(label("Severity", "muted"))
        for number, severity in enumerate(SEVERITIES, start=len(ANSWERS) + 1):
            chip = self._chip(f"{number} {severity.capitalize()}", f"Key {number}")
            chip.clicked.connect(partial(self._pick, severity))
            self.severities[severity] = chip
            line.addWidget(chip)
        line.addStretch(1)
        box.addWidget(self._severity)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        box.addWidget(self.words, 1)
        box.addWidget(self.attachments)
        foot = QHBoxLayout()
        foot.addWidget(self.lacks, 1)
        foot.addWidget(self.remove)
        box.addLayout(foot)

    def _chip(self, text: str, tip: str) -> PushButton:
        chip = PushButton(text)
        chip.setCheckable(True)
        chip.setProperty("kind", "chip")
        chip.setToolTip(as_written(tip))
        return chip

    def _pick(self, severity: str, _checked: bool = False) -> None:
        self._model.set_severity(severity)

    def fill(self) -> None:
        """Show the question that the model shows."""
        model, sheet = self._model, self._model.sheet
        entry = model.entry
        if sheet is None or entry is None:
            return
        item = sheet.checklist.item(model.current)
        self.title.setText(item.title)
        self.question.setText(item.question)
        self.again.setVisible(item.id in sheet.again and not entry["verdict"])
        verdict = entry["verdict"] or ""
        for answer, chip in self.answers.items():
            chip.setChecked(answer == verdict)
            chip.setIcon(answer_icon(self._context.theme, answer))
            chip.setIconSize(QSize(self._context.px(14), self._context.px(14)))
        bad = verdict in ("concern", "disagree")
        self._severity.setVisible(bad)
        for severity, chip in self.severities.items():
            chip.setChecked(severity == entry["severity"])
        if self.words.toPlainText() != entry["text"]:
            with QSignalBlocker(self.words):
                self.words.setPlainText(entry["text"])
        needed = verdict not in ("", "agree")
        self.words.setPlaceholderText(
            "Why? In your words (needed)" if needed else "In your words (not needed to agree)"
        )
        self.attachments.show_entry(dict(entry))
        self.remove.setVisible(self.attachments.count() > 0)
        self._fill_lacks()

    def _fill_lacks(self) -> None:
        model = self._model
        entry = model.entry
        lacking = model.missing.get(model.current, ())
        show = bool(lacking) and entry is not None and bool(entry["verdict"])
        text = "; ".join(lacking)
        self.lacks.setText(f"{text[:1].upper()}{text[1:]}." if show else "")

    def forget(self) -> None:
        """Let go of what was written."""
        with QSignalBlocker(self.words):
            self.words.clear()
            self.words.document().clearUndoRedoStacks()
        self.attachments.clear()
        self.lacks.setText("")
