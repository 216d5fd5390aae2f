"""What was said about one item, and what was decided: read-only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from engine.base.text import neutralise
from engine.reviews.verdicts import Verdict
from engine.workbench.review_types import ItemPage, Voice
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.widgets import button, card, clear, label
from m4review.review.marks import answer_icon
from m4review.review.sheet.answer import attachment_words
from m4review.review.words import DECISIONS, full_words, verdict_words

_LONGEST = 48
"""Characters; what is longer is read whole when it is opened."""


def brief_words(words: str) -> str:
    """As much of a check's words as a button may say: a wide one would push the texts away."""
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1].rstrip()}…"


class VoicesPanel(QWidget):
    """One card per reviewer, and one of the decision."""

    opened = Signal(str, object)
    """An attachment is to be opened: kind (anchors, evidence, places, rows) and value."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(context.px(8))

    def show_item(self, page: ItemPage) -> None:
        """Show everything about an item."""
        clear(self._box)
        item = page.outcome.item
        self._box.addWidget(label(item.title, "heading", wrap=True))
        self._box.addWidget(label(item.question, "muted", wrap=True))
        self._box.addWidget(label(full_words(page.outcome.standing).capitalize() + ".", wrap=True))
        if page.outcome.changed:
            told = "; ".join(change.words for change in page.outcome.changed)
            self._box.addWidget(label(f"{told}.", "muted", wrap=True))
        self.add_voices(page.voices)
        if page.decision is not None:
            differs = ", ".join(page.differs)
            words = f"The adjudicator decided: {DECISIONS[page.decision.verdict]}" + (
                f" (other than {differs})" if differs else ""
            )
            self._box.addWidget(self._card(words, page.decision.verdict, page.decision.reason))
        self._box.addStretch(1)

    def show_voices(self, voices: Sequence[Voice]) -> None:
        """Show what reviewers said, and nothing else."""
        clear(self._box)
        self.add_voices(voices)

    def show_own(self, verdicts: Sequence[tuple[str, Verdict]]) -> None:
        """Show one's own answers: titles and verdicts."""
        clear(self._box)
        for title, verdict in verdicts:
            words = f"{title}: {verdict_words(verdict)}"
            self._box.addWidget(self._card(words, verdict.verdict, verdict.text))
        self._box.addStretch(1)

    def forget(self) -> None:
        """Let go of what is shown."""
        clear(self._box)

    def add_voices(self, voices: Sequence[Voice]) -> None:
        """A card per reviewer."""
        for voice in voices:
            who = f"{voice.by} (you)" if voice.mine else voice.by
            frame = self._card(
                f"{who}: {verdict_words(voice.verdict)}", voice.verdict.verdict, voice.verdict.text
            )
            layout = frame.layout()
            links = self._links(voice)
            if links is not None and isinstance(layout, QVBoxLayout):
                layout.addLayout(links)
            self._box.addWidget(frame)

    def _card(self, words: str, verdict: str, text: str) -> QWidget:
        box = QVBoxLayout()
        head = QHBoxLayout()
        sign = QLabel()
        side = self._context.px(16)
        sign.setPixmap(answer_icon(self._context.theme, verdict).pixmap(side, side))
        head.addWidget(sign)
        title = label(neutralise(words), wrap=True)
        title.setStyleSheet("font-weight: 600;")
        head.addWidget(title, 1)
        box.addLayout(head)
        if text.strip():
            body = label(neutralise(text), wrap=True)
            body.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse
                | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            box.addWidget(body)
        return card(box)

    def _links(self, voice: Voice) -> FlowLayout | None:
        found: list[tuple[str, object, str]] = []
        for anchor in voice.verdict.anchors:
            lines = f"{anchor.first}-{anchor.last}" if anchor.last > anchor.first else anchor.first
            value: object = {"text": anchor.text, "lines": str(lines)}
            found.append(("anchors", value, "hash"))
        found += [("evidence", each, "database") for each in voice.verdict.evidence]
        found += [("places", each, "play") for each in voice.verdict.places]
        found += [("rows", each, "flag") for each in voice.rows or ()]
        if not found and voice.rows is not None:
            return None
        flow = FlowLayout()
        for kind, value, icon in found:
            words = neutralise(attachment_words(kind, value))
            link = button(
                self._context, brief_words(words), partial(self.opened.emit, kind, value), icon=icon
            )
            link.setAccessibleName(words)
            flow.addWidget(link)
        if voice.rows is None:
            flow.addWidget(label("Flagged rows are not on this machine.", "muted"))
        return flow
