"""One signature in full, and the proposals with their clues."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from engine.diagnosis.model import Change, Diagnosis, Proposal, Signature
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.highlight import SqlHighlighter
from m4review.app.tips import as_written
from m4review.app.widgets import ColumnScroll, Tone, badge, button, clear, label, set_tone
from m4review.diagnosis.words import (
    ABOUT,
    EVIDENCE_ABOUT,
    FAULTS,
    against_words,
    columns_words,
    count_words,
    explained_words,
    parameter_words,
)

_CHOOSE = "Choose a signature to see what it rests on."
_LINES = 12
"""Lines of a piece of SQL that are shown without scrolling."""
_WORD = 36
"""Characters of a word in a clue; a longer one has no room in large letters."""
_LONG_WORD = re.compile(rf"\S{{{_WORD + 1},}}")
_TIP = 2_000
"""Characters of a clue in its tool tip."""
_TONES: dict[str, Tone] = {
    "agent": "bad", "skill": "warn", "instruction": "warn", "reference": "warn",
    "undecided": "plain",
}  # fmt: skip


class SignaturePanel(QWidget):
    """What was tested, how well it fits, what speaks against it, and the ways to the rows."""

    rows_asked = Signal(object, str)
    """Show these `Rows`, which are so in words."""
    row_asked = Signal(int)
    """Show this row of the diff."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._signature: Signature | None = None
        self._instead = _CHOOSE
        inner = QWidget()
        self._body = QVBoxLayout(inner)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(ColumnScroll(inner))
        context.theme_changed.connect(lambda: self.show_signature(self._signature, self._instead))

    def show_signature(self, signature: Signature | None, instead: str = _CHOOSE) -> None:
        """Show a signature (None: nothing is chosen; `instead` is said then)."""
        self._signature, self._instead = signature, instead
        clear(self._body)
        body = self._body
        if signature is None:
            body.addWidget(label(self._instead, "muted", wrap=True))
            body.addStretch(1)
            return
        body.addWidget(label(signature.title, "heading", wrap=True))
        body.addWidget(label(signature.words, wrap=True))
        if signature.local_words:
            body.addWidget(label(signature.local_words, wrap=True))
        body.addWidget(label(f"It {explained_words(signature)}.", wrap=True))
        against = label(against_words(signature), wrap=True)
        if signature.broken:
            set_tone(against, "warn")
        body.addWidget(against)
        body.addLayout(self._ways(signature))
        self._text("What it predicts", signature.predicts)
        self._text("How it was tested", EVIDENCE_ABOUT[signature.evidence])
        self._text("Columns", columns_words(signature))
        self._text("With", parameter_words(signature))
        if signature.change is not None:
            self._change(signature.change)
        for words in signature.alike:
            self._text("Explains just the same cells", words)
        body.addStretch(1)

    def _text(self, title: str, text: str) -> None:
        if text:
            self._body.addWidget(label(title, "section"))
            shown = label(text, wrap=True)
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._body.addWidget(shown)

    def _ways(self, signature: Signature) -> FlowLayout:
        ways = FlowLayout()
        rows, against, example = signature.rows, signature.against, signature.counter_example
        if rows.count:
            words = f"explained by: {signature.title}"
            ways.addWidget(
                button(
                    self._context, f"Its {count_words(rows.count, 'row')}",
                    lambda: self.rows_asked.emit(rows, words), icon="git-compare-arrows", main=True,
                )
            )  # fmt: skip
        if against.count:
            other = f"not explained by: {signature.title}"
            ways.addWidget(
                button(
                    self._context, f"{count_words(against.count, 'row')} it leaves open",
                    lambda: self.rows_asked.emit(against, other),
                )
            )  # fmt: skip
        if example is not None:
            ways.addWidget(
                button(
                    self._context, "Counter-example", lambda: self.row_asked.emit(example),
                    tip="A row that contradicts it",
                )
            )  # fmt: skip
        return ways

    def _change(self, change: Change) -> None:
        title = f"The change of the reference's SQL that was tried, in {change.query}"
        self._body.addWidget(label(title, "section", wrap=True))
        for name, sql in (("As it is", change.before), ("As it was tried", change.after)):
            self._body.addWidget(label(name, "muted"))
            if sql.strip():
                self._body.addWidget(_piece(self._context, sql.strip(), name))
            else:
                self._body.addWidget(label("(left out)"))


def _piece(context: Context, sql: str, name: str) -> QPlainTextEdit:
    """A short read-only piece of SQL, as tall as it needs to be."""
    box = QPlainTextEdit(sql)
    box.setReadOnly(True)
    box.setTabChangesFocus(True)
    box.setProperty("code", True)
    box.setAccessibleName(name)
    SqlHighlighter(box.document(), context)
    box.ensurePolished()
    lines = min(_LINES, 1 + sql.count("\n") + sum(len(li) // 50 for li in sql.splitlines()))
    height = QFontMetrics(box.font()).lineSpacing() * lines + context.px(26)
    box.setFixedHeight(height)
    return box


def _cut(word: re.Match[str]) -> str:
    """A word that no line has room for (data in an agent's script, say), with a sign at its end."""
    return f"{word[0][:_WORD]}…"


class ProposalsPanel(QWidget):
    """Whose fault it may be, with the clues, for the reviewer to decide."""

    rows_asked = Signal(object, str, str)
    """Show these `Rows`, which are so in words, of this column."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        inner = QWidget()
        self._body = QVBoxLayout(inner)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(ColumnScroll(inner))

    def show_diagnosis(self, diagnosis: Diagnosis | None) -> None:
        """Show the proposals of a run."""
        clear(self._body)
        proposals = diagnosis.proposals if diagnosis is not None else ()
        words = (
            "These are proposals from what the texts and the agent's SQL say. Whose fault it is, "
            "the reviewer decides."
            if proposals
            else "There is nothing to propose: no signature leads clearly enough."
        )
        self._body.addWidget(label(words, "muted", wrap=True))
        ranked = diagnosis.ranked if diagnosis is not None else ()
        for proposal in proposals:
            about = next(
                (
                    s.words for s in ranked
                    if s.id == proposal.signature and s.columns == proposal.columns
                ), "",
            )  # fmt: skip
            self._body.addWidget(self._card(proposal, about))
        self._body.addStretch(1)

    def _card(self, proposal: Proposal, about: str) -> QFrame:
        frame = QFrame()
        frame.setProperty("card", True)
        rows = QVBoxLayout(frame)
        head = QHBoxLayout()
        head.addWidget(badge(FAULTS[proposal.fault], _TONES[proposal.fault]))
        head.addWidget(label(", ".join(proposal.columns) or "keys", "muted", wrap=True), 1)
        if proposal.rows.count:
            words = f"{FAULTS[proposal.fault].lower()}: {', '.join(proposal.columns) or 'keys'}"
            column = proposal.columns[0] if len(proposal.columns) == 1 else ""
            head.addWidget(
                button(
                    self._context, f"Show {count_words(proposal.rows.count, 'row')}",
                    lambda: self.rows_asked.emit(proposal.rows, words, column),
                )
            )  # fmt: skip
        rows.addLayout(head)
        if about:
            finding = label(about, wrap=True)
            finding.setStyleSheet("font-weight: 600")
            rows.addWidget(finding)
        rows.addWidget(label(proposal.words, wrap=True))
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        for at, clue in enumerate(proposal.clues):
            who = label(ABOUT[clue.about], "section")
            grid.addWidget(who, at, 0, Qt.AlignmentFlag.AlignTop)
            box = QVBoxLayout()
            said = label(_LONG_WORD.sub(_cut, clue.text), wrap=True)
            said.setToolTip(as_written(clue.text[:_TIP]))
            said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            box.addWidget(said)
            if clue.where:
                box.addWidget(label(clue.where, "muted", wrap=True))
            grid.addLayout(box, at, 1)
        rows.addLayout(grid)
        return frame
