"""Writing a review: questions on the left, the texts that are signed on the right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidgetItem,
    QScrollArea,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from m4review.app.context import Context
from m4review.app.links import parse
from m4review.app.tips import as_written
from m4review.app.widgets import ColumnScroll, button, label, set_tone
from m4review.evidence.view import EvidencePanel
from m4review.review.changes import ChangesPanel
from m4review.review.marks import answer_icon
from m4review.review.sheet.answer import AnswerPanel, RowList
from m4review.review.sheet.sign import AFTER, answer_words, bindings
from m4review.review.sheet.texts import TextsPanel
from m4review.review.sheet.viewmodel import ReviewViewModel
from m4review.review.words import text_title

_NO_DATA = "none, texts only"
_BINDS = "The signature binds the reference that was built from this source."
_NOT_BUILT = "None is ready: build one on the page of the task."
_NARROW = 900
"""Pixels at 100 %."""
_ROWS = ((720, 12), (560, 9))
"""From which height (pixels at 100 %) on how many questions are shown without scrolling."""


class WritingPanel(QWidget):
    """The sheet while it is written."""

    signing = Signal()
    """The signature was given."""

    def __init__(self, context: Context, model: ReviewViewModel) -> None:
        super().__init__()
        self._context, self._model = context, model
        self.list = RowList(context, 5, 12)
        self.list.setAccessibleName("Questions")
        self.answer = AnswerPanel(context, model)
        self.texts = TextsPanel(context)
        self.beside = QTabWidget()
        self.beside.setAccessibleName("Texts and evidence")
        self.beside.tabBar().setAccessibleName("Texts and evidence")
        self.evidence = EvidencePanel(context, attachable=True)
        self.evidence.attach_to = lambda: model.current
        self._evidence_place = QScrollArea()  # it is wide: in a narrow window it scrolls
        self._evidence_place.setFrameShape(QFrame.Shape.NoFrame)
        self._evidence_place.setWidgetResizable(True)
        self._evidence_place.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it has the keys
        edge = context.px(8)
        self.evidence.setContentsMargins(edge, edge, edge, edge)
        self._evidence_place.setWidget(self.evidence)
        self.changes = ChangesPanel(context)
        self.note = QFrame()
        self.note.setObjectName("notePanel")
        self._note_words = label("", wrap=True)
        self.take = button(
            context, "Take the new texts", self._take, icon="refresh-cw",
            tip="Answers that rest on unchanged texts stay",
        )  # fmt: skip
        self.source = QComboBox()
        self.source.setAccessibleName("Reference that the signature binds")
        self.state = QLabel()
        self.state.setTextFormat(Qt.TextFormat.PlainText)
        self.state.setAccessibleName("State of the draft")
        self.progress = label("", "muted")
        self.next_open = button(
            context, "What is missing", lambda: model.step(1, lacking=True), icon="search",
            tip="The next question that lacks something (O)",
        )  # fmt: skip
        self.sign_button = button(context, "Sign…", self.sign, icon="pen-line", main=True, tip="F9")
        self._foot = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._build()
        self._wire()

    def _build(self) -> None:
        px = self._context.px
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(px(8))
        line = QHBoxLayout(self.note)
        line.addWidget(self._note_words, 1)
        line.addWidget(self.take)
        self.note.hide()
        page.addWidget(self.note)
        inner = QWidget()
        left = QVBoxLayout(inner)
        left.setContentsMargins(0, 0, px(4), 0)
        left.setSpacing(px(8))
        left.addWidget(self.list)
        left.addWidget(self.answer, 1)
        self.left = ColumnScroll(inner)
        self.beside.setTabBarAutoHide(True)
        self.beside.addTab(self.texts, "Texts")
        at = self.beside.addTab(self._evidence_place, "Evidence")
        self.beside.setTabToolTip(at, "What the data say to each claim of the texts (Ctrl+E)")
        self.beside.addTab(self.changes, "Changed since")
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(self.left)
        self.splitter.addWidget(self.beside)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([px(490), px(560)])
        page.addWidget(self.splitter, 1)
        told, done = QHBoxLayout(), QHBoxLayout()
        told.addWidget(self.state)
        told.addSpacing(px(12))
        told.addWidget(self.progress, 1)
        done.addWidget(label("Reference of", "muted"))
        done.addWidget(self.source, 1)
        done.addWidget(self.next_open)
        done.addWidget(self.sign_button)
        self._foot.addLayout(told, 1)
        self._foot.addLayout(done)
        page.addLayout(self._foot)

    def _wire(self) -> None:
        model = self._model
        model.item_changed.connect(self._item_changed)
        model.saved_changed.connect(self._fill_state)
        model.texts_changed.connect(self._texts_changed)
        self.list.currentRowChanged.connect(self._row)
        self.texts.referred.connect(model.refer)
        self.texts.view.left.connect(self.list.setFocus)
        self.answer.opened.connect(self._open)
        self.beside.currentChanged.connect(lambda _: self._look_at_evidence())
        self.evidence.attach.connect(self._attach)
        self.source.activated.connect(lambda _: self._bind())
        self._context.theme_changed.connect(self._fill_list)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a small window, or a large zoom, the foot has two lines and the list fewer rows."""
        super().resizeEvent(event)
        px, way = self._context.px, QBoxLayout.Direction
        narrow = self.width() < px(_NARROW)
        self._foot.setDirection(way.TopToBottom if narrow else way.LeftToRight)
        rows = next((rows for high, rows in _ROWS if self.height() >= px(high)), 4)
        self.list.fit(rows)

    # --- filling

    def fill(self) -> None:
        """Show the sheet that the model has."""
        sheet = self._model.sheet
        if sheet is None:
            return
        self.texts.set_texts(sheet.texts)
        self.changes.show_changes(sheet.changed)
        again = bool(sheet.changed)
        self.beside.setTabVisible(self.beside.indexOf(self.changes), again)
        if again:
            self.beside.setCurrentWidget(self.changes)
        with QSignalBlocker(self.source):
            self.source.clear()
            self.source.addItem(_NO_DATA, "")
            for name in sheet.sources:
                self.source.addItem(name, name)
            self.source.setCurrentIndex(max(0, self.source.findData(sheet.draft["source"] or "")))
        self.source.setToolTip(as_written(_BINDS if sheet.sources else f"{_BINDS} {_NOT_BUILT}"))
        self._look_at_evidence()
        self._texts_changed()
        self._item_changed()
        self._fill_state()

    def _look_at_evidence(self) -> None:
        """Only what is looked at is read."""
        sheet = self._model.sheet
        if sheet is not None and self.beside.currentWidget() is self._evidence_place:
            self.evidence.show_task(sheet.task, str(sheet.draft["source"] or ""))

    def turn_to_evidence(self) -> None:
        """From the texts to the evidence, and back to the questions."""
        if self.beside.currentWidget() is self._evidence_place:
            self.beside.setCurrentWidget(self.texts)
            self.list.setFocus()
        else:
            self.beside.setCurrentWidget(self._evidence_place)
            self.evidence.take_keyboard()

    def _attach(self, check: Mapping[str, Any]) -> None:
        """A check becomes part of the answer that was shown when it was asked for."""
        sheet = self._model.sheet
        if sheet is not None:
            item = self.evidence.attached_to or self._model.current
            new = self._model.attach("evidence", dict(check), item)
            title = sheet.checklist.item(item).title
            words = "Attached to" if new else "It is attached already to"
            self._context.told.emit(f"{words}: {title}.")

    def forget(self) -> None:
        """Let go of what was written."""
        self.answer.forget()
        self.list.clear()

    def _item_changed(self) -> None:
        model, sheet = self._model, self._model.sheet
        if sheet is None:
            return
        self._fill_list()
        self.answer.fill()
        item = sheet.checklist.item(model.current)
        self.texts.set_item(item, (model.entry or {}).get("anchors") or ())
        self._fill_state()

    def _fill_list(self) -> None:
        model, sheet = self._model, self._model.sheet
        if sheet is None:
            return
        with QSignalBlocker(self.list):
            if self.list.count() != len(sheet.items):
                self.list.clear()
                self.list.addItems([""] * len(sheet.items))
            for row, item in enumerate(sheet.items):
                entry = model.entry_of(item.id)
                self._fill_row(self.list.item(row), item.title, item.id, entry.get("verdict"))
                if item.id == model.current:
                    self.list.setCurrentRow(row)
        self.list.fit()
        if (chosen := self.list.currentItem()) is not None:
            self.list.scrollToItem(chosen)

    def _fill_row(self, row: QListWidgetItem, title: str, item: str, verdict: str | None) -> None:
        lacking = item in self._model.missing
        said = verdict or "not answered"
        if verdict and lacking:
            said = f"{verdict}, incomplete"
        row.setText(f"{title}:  {said}")
        row.setIcon(answer_icon(self._context.theme, verdict))
        row.setToolTip(as_written("; ".join(self._model.missing.get(item, ()))))

    def _fill_state(self) -> None:
        model, sheet = self._model, self._model.sheet
        if sheet is None:
            return
        at = f" at {model.saved_at}" if model.saved_at else ""
        words = {
            "none": "Nothing is written yet",
            "changed": "Not kept yet…",
            "saving": "Keeping…",
            "saved": f"✓ Kept{at}, encrypted, on this machine only",
            "failed": "✗ The draft could not be kept",
        }
        self.state.setText(words[model.saved])
        set_tone(self.state, {"saved": "good", "failed": "bad"}.get(model.saved, "plain"))  # type: ignore[arg-type]
        answered = sum(bool(model.entry_of(i.id).get("verdict")) for i in sheet.items)
        lacking = len(model.missing) - (len(sheet.items) - answered)
        more = f", {lacking} of them incomplete" if lacking else ""
        self.progress.setText(f"{answered} of {len(sheet.items)} answered{more}")
        self.next_open.setEnabled(bool(model.missing))
        self.sign_button.setEnabled(not model.signing)

    def _texts_changed(self) -> None:
        changes = self._model.changes
        self.note.setVisible(bool(changes))
        if changes:
            told = ", ".join(f"{text_title(each.text)} was {each.what}" for each in changes)
            sheet = self._model.sheet
            items = [
                item.title
                for item in (sheet.items if sheet is not None else ())
                if any(item.rests_on(each.text) for each in changes)
            ]
            self._note_words.setText(
                f"While you write: {told}. To be answered again: {', '.join(items) or 'nothing'}."
            )

    # --- doing

    def _row(self, row: int) -> None:
        sheet = self._model.sheet
        if sheet is not None and 0 <= row < len(sheet.items):
            self._model.choose(sheet.items[row].id)

    def _take(self) -> None:
        self._model.show(self._model.task)

    def _bind(self) -> None:
        self._model.show(self._model.task, source=self.source.currentData())

    def _open(self, kind: str, value: object) -> None:
        if kind == "anchors" and isinstance(value, dict):
            self.beside.setCurrentWidget(self.texts)
            self.texts.go_to(str(value.get("text")), str(value.get("lines")))
        elif kind in ("rows", "places"):
            try:
                self._context.go(parse(str(value)))
            except M4Error as error:
                self._context.interaction.error(error)
        elif kind == "evidence" and isinstance(value, dict):
            facts = [(str(n), str(v)) for n, v in value.items() if isinstance(v, str | int | float)]
            self._context.interaction.confirm_facts(
                "Evidence", str(value.get("words") or ""), facts, yes="Close", no="Back"
            )

    def sign(self) -> None:
        """Show what the signature binds, and sign."""
        model, sheet, draft = self._model, self._model.sheet, self._model.draft
        if sheet is None or draft is None:
            return
        if model.missing:
            titles = [i.title for i in sheet.items if i.id in model.missing]
            self._context.told.emit(f"Not complete yet: {', '.join(titles)}.")
            if model.current not in model.missing:
                model.step(1, lacking=True)
            return
        if model.changes:
            self._context.told.emit("A text was changed: take the new texts first.")
            return
        agreed = self._context.interaction.confirm_facts(
            "Sign the review",
            f"{answer_words(sheet, draft)}. The signature binds exactly these (SHA-256):",
            bindings(sheet, draft),
            more=AFTER,
            yes="Sign and seal",
            no="Go on writing",
        )
        if agreed:
            self.signing.emit()
            model.sign()
            self._fill_state()
