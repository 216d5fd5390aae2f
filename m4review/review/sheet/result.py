"""A review that can be read: each item with what was said and decided, and what was changed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QTabWidget, QVBoxLayout, QWidget

from engine.workbench.review_types import ItemPage, ReviewPage
from m4review.app.context import Context
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import ColumnScroll, button, label
from m4review.review.changes import ChangesPanel
from m4review.review.sheet.texts import TextsPanel
from m4review.review.sheet.voices import VoicesPanel
from m4review.review.words import DECISIONS, STANDING_SIGNS, STANDING_WORDS, verdict_words


class ResultPanel(QWidget):
    """Items on the left, the chosen one on the right with texts and changes."""

    opened = Signal(str, object)
    again_asked = Signal()
    """The reviewers are to be asked again."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.words = label("", wrap=True)
        self.again = button(
            context, "Ask again…", self.again_asked.emit, icon="refresh-cw",
            tip="Another round about what no longer holds, and only that",
        )  # fmt: skip
        self.table = ListTable(context, "Questions and answers")
        self.voices = VoicesPanel(context)
        self.texts = TextsPanel(context, refer=False)
        self.changes = ChangesPanel(context)
        self.beside = QTabWidget()
        self.model: RecordModel[ItemPage] | None = None
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        head = QHBoxLayout()
        head.addWidget(self.words, 1)
        head.addWidget(self.again)
        page.addLayout(head)
        inner = QWidget()
        box = QVBoxLayout(inner)
        box.setContentsMargins(context.px(8), context.px(8), context.px(8), context.px(8))
        box.addWidget(self.voices)
        self.beside.addTab(ColumnScroll(inner), "What was said")
        self.beside.addTab(self.changes, "Changed since")
        self.beside.addTab(self.texts, "Texts")
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.table)
        splitter.addWidget(self.beside)
        splitter.setSizes([context.px(640), context.px(440)])
        page.addWidget(splitter, 1)
        self.voices.opened.connect(self._open)

    def show_page(self, page: ReviewPage) -> None:
        """Show a task's review."""
        voices = next((item.voices for item in page.items if item.voices), ())
        columns: list[Column[ItemPage]] = [
            Column("Question", lambda p: p.outcome.item.title),
            Column(
                "Standing",
                lambda p: STANDING_WORDS[p.outcome.standing],
                tone=lambda p: STANDING_SIGNS[p.outcome.standing].tone,
            ),
        ]
        columns += [self._said(at, voice.by) for at, voice in enumerate(voices)]
        columns += [
            Column("Decided", lambda p: DECISIONS[p.decision.verdict] if p.decision else ""),
            Column("Other than", lambda p: ", ".join(p.differs)),
        ]
        self.model = RecordModel(columns, lambda: self._context.theme, self)
        self.table.setModel(self.model)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._chose())
        self.model.set_records(page.items)
        doubted = (at for at, item in enumerate(page.items) if item.outcome.standing != "agree"
                   or item.decision is not None)  # fmt: skip
        self.table.selectRow(next(doubted, 0))
        self.texts.set_texts(page.texts)
        self.changes.show_changes(page.changed)
        self.beside.setTabVisible(1, bool(page.changed))
        if page.changed:
            self.beside.setCurrentIndex(1)
        else:
            self.beside.setCurrentIndex(0)

    def _said(self, at: int, name: str) -> Column[ItemPage]:
        def text(page: ItemPage) -> str:
            return verdict_words(page.voices[at].verdict) if at < len(page.voices) else ""

        return Column(name, text)

    def _chose(self) -> None:
        if self.model is None:
            return
        page = self.model.record(self.table.currentIndex().row())
        if page is not None:
            self.voices.show_item(page)
            self.texts.set_item(page.outcome.item, ())

    def _open(self, kind: str, value: object) -> None:
        if kind == "anchors" and isinstance(value, dict):
            self.beside.setCurrentWidget(self.texts)
            self.texts.go_to(str(value["text"]), str(value["lines"]))
        else:
            self.opened.emit(kind, value)

    def forget(self) -> None:
        """Let go of what is shown."""
        if self.model is not None:
            self.model.set_records(())
        self.voices.forget()
