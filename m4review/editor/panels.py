"""What stands around the text: notes, findings, outline, whom a change concerns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.editing.outline import Heading
from engine.workbench import TextEffect, TextFinding, TextUser
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.tips import as_written
from m4review.app.widgets import ColumnScroll, button, clear, label
from m4review.editor.pane import TONES

SEVERITIES = {"error": "error", "warning": "warning", "info": "to look at"}


@dataclass(frozen=True)
class Offer:
    """Something that a note offers to do."""

    text: str
    """Of the button."""
    do: Callable[[], object]
    """What it does."""
    main: bool = False
    """Is it what most people want?"""


class Note(QFrame):
    """One thing to be known, and what can be done about it; stands in the page."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("notePanel")
        self.setAccessibleName("Note")
        self._context = context
        box = QVBoxLayout(self)
        self.text = label("", wrap=True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        box.addWidget(self.text)
        self.buttons = QHBoxLayout()
        box.addLayout(self.buttons)
        self.hide()

    def say(self, text: str, *offers: Offer) -> None:
        """Show a note; the last button puts it away."""
        self.text.setText(text)
        clear(self.buttons)
        for offer in offers:
            self.buttons.addWidget(button(self._context, offer.text, offer.do, main=offer.main))
        self.buttons.addWidget(button(self._context, "Close", self.hide))
        self.buttons.addStretch(1)
        self.show()


class Outline(QListWidget):
    """The headings; Enter or a click goes there."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Outline: headings of the text")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._headings: tuple[Heading, ...] = ()
        self.itemActivated.connect(self._go)
        self.itemClicked.connect(self._go)

    def show_headings(self, headings: tuple[Heading, ...]) -> None:
        """Show these."""
        if headings == self._headings:
            return
        same = [(h.level, h.text) for h in headings] == [(h.level, h.text) for h in self._headings]
        self._headings = headings
        if same:
            return
        self.clear()
        top = min((heading.level for heading in headings), default=1)
        for heading in headings:
            text = heading.text or "(no words)"
            item = QListWidgetItem("   " * (heading.level - top) + text)
            item.setToolTip(as_written(text))
            self.addItem(item)

    def follow(self, line: int) -> None:
        """Mark the heading that a line stands under."""
        row = sum(1 for heading in self._headings if heading.line <= line) - 1
        if row != self.currentRow():
            self.setCurrentRow(max(0, row))

    def _go(self, item: QListWidgetItem) -> None:
        self.chosen.emit(self._headings[self.row(item)].line)


class Findings(QWidget):
    """What the lint says, as a list; Enter goes to the place."""

    chosen = Signal(object)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.summary = label("", "section")
        self.table = ListTable(context, "Findings of the lint")
        self.model: RecordModel[TextFinding] = RecordModel(
            [
                Column("line", lambda f: str(f.line), numeric=True, order=lambda f: f.line),
                Column(
                    "kind",
                    lambda f: SEVERITIES[f.severity],
                    tone=lambda f: TONES[f.severity],
                    order=lambda f: list(SEVERITIES).index(f.severity),
                ),
                Column("rule", lambda f: f.rule),
                Column("what", lambda f: f.message, tip=lambda f: f"{f.message}\n{f.todo}"),
            ],
            lambda: context.theme,
            self,
        )
        self.table.setModel(self.model)
        # Widths from the rows that are to be seen: there may be thousands, at every lint.
        self.table.horizontalHeader().setResizeContentsPrecision(0)
        self.table.opened.connect(self._open)
        self.table.clicked.connect(lambda index: self._open(index.row()))
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self.summary)
        box.addWidget(self.table, 1)

    def show_findings(self, findings: Sequence[TextFinding]) -> None:
        """Show these."""
        self.model.set_records(list(findings))
        self.table.setVisible(bool(findings))
        self.summary.setText(summary(findings))

    def _open(self, row: int) -> None:
        finding = self.model.record(row)
        if finding is not None:
            self.chosen.emit(finding)


def summary(findings: Sequence[TextFinding]) -> str:
    """How many findings of each kind."""
    if not findings:
        return "Lint: nothing found"
    counts = [
        (sum(f.severity == severity for f in findings), word)
        for severity, word in (("error", "error"), ("warning", "warning"), ("info", "to look at"))
    ]
    parts = [
        f"{count} {word}{'s' if count > 1 and word != 'to look at' else ''}"
        for count, word in counts
        if count
    ]
    return "Lint: " + ", ".join(parts) + "   (F8 goes to the next)"


class Concern(QFrame):
    """Whose text it is too, and what saving would do to each of them."""

    def __init__(
        self,
        context: Context,
        *,
        save: Callable[[], object],
        count: Callable[[], object],
        wait: Callable[[], object],
    ) -> None:
        super().__init__()
        self.setObjectName("notePanel")
        self.setAccessibleName("Whom this change concerns")
        self._context = context
        box = QVBoxLayout(self)
        self.title = label("", "heading", wrap=True)
        box.addWidget(self.title)
        inner = QWidget()
        self._rows = QVBoxLayout(inner)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._area = ColumnScroll(inner)
        self._area.setMaximumHeight(context.px(190))
        box.addWidget(self._area)
        line = FlowLayout()
        self.agree = button(
            context, "Save it for all of them", save, main=True, tip="Asked once per session"
        )
        line.addWidget(self.agree)
        line.addWidget(button(context, "Count again", count, icon="refresh-cw"))
        line.addWidget(
            button(context, "Not now", wait, tip="What you type is kept as a draft meanwhile")
        )
        box.addLayout(line)
        self.hide()

    def show_effects(self, users: Sequence[TextUser], effects: Sequence[TextEffect] | None) -> None:
        """Show what is known; None while it is being counted."""
        clear(self._rows)
        many = len(users)
        whose = f"{many} tasks use this text." if many > 1 else "This text has been signed."
        if effects is None:
            self.title.setText(f"{whose} Looking at what saving would do to each…")
            for user in users:
                self._rows.addWidget(label(user.task, "muted"))
        else:
            known = "Saving would do this:" if effects else "What saving would do is not known."
            self.title.setText(f"{whose} {known}")
            for effect in effects:
                self._row(effect)
        self._rows.addStretch(1)
        self.agree.setText("Save it for all of them" if many > 1 else "Save it all the same")
        self.agree.setEnabled(effects is not None)
        self.show()

    def _row(self, effect: TextEffect) -> None:
        line = QHBoxLayout()
        name = label(effect.task)
        name.setStyleSheet("font-weight: 600;")
        line.addWidget(name, 0, Qt.AlignmentFlag.AlignTop)
        text = label(effect_words(effect), wrap=True)
        text.setToolTip(as_written("\n".join(f"line {f.line}: {f.message}" for f in effect.appear)))
        line.addWidget(text, 1)
        self._rows.addLayout(line)


def effect_words(effect: TextEffect) -> str:
    """What saving does to one task, in a sentence or two."""
    parts = []
    for stale in effect.stale:
        role = "the adjudicator " if stale.adjudicator else ""
        count = len(stale.items)
        asked = "1 question is" if count == 1 else f"{count} questions are"
        parts.append(f"the signature of {role}{stale.name} becomes stale: {asked} asked again")
    if effect.appear:
        first = effect.appear[0]
        more = f" (and {len(effect.appear) - 1} more)" if len(effect.appear) > 1 else ""
        parts.append(f"lint finds in line {first.line}: {first.message}{more}")
    if effect.go:
        count = len(effect.go)
    return "; ".join(parts) if parts else "no signature becomes stale, the lint says the same"
