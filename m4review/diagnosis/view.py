"""The screen that says what went wrong in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QProgressBar,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.diagnosis.model import Diagnosis, Rows, Segment
from m4review.app.context import Context, Screen
from m4review.app.links import Place
from m4review.app.reports import save_report
from m4review.app.tables import ListTable
from m4review.app.widgets import (
    ColumnScroll,
    ElidedLabel,
    EmptyState,
    ErrorPanel,
    button,
    clear,
    label,
    page_layout,
)
from m4review.diagnosis.forest import MOST, Forest
from m4review.diagnosis.lists import SHARE, ShareBar, segments_model, signatures_model
from m4review.diagnosis.panels import ProposalsPanel, SignaturePanel
from m4review.diagnosis.viewmodel import DiagnosisViewModel, Scope
from m4review.diagnosis.words import (
    NOTHING_DEPARTS,
    NOTHING_FITS,
    NOTHING_YET,
    nothing_departs,
    summary_words,
)
from m4review.diff.words import judged_words

if TYPE_CHECKING:
    from engine.base.errors import M4Error
    from m4review.app.actions import Actions
    from m4review.app.jobs import Progress

_WIDE = 760
"""Pixels at 100 % from which on a finding stands beside the list, not under it."""


class DiagnosisScreen(Screen):
    """Signatures, segments, proposals and notes of one run."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = DiagnosisViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self._name = ElidedLabel("What went wrong", "title")
        self._line = label("", "muted", wrap=True)
        self.again_button = button(
            context, "Again", self._again, icon="refresh-cw",
            tip="Find out again, with fresh tests on the source",
        )  # fmt: skip
        self.longer_button = button(
            context, "Search longer", lambda: self._again(longer=True), icon="search",
            tip="The time was over before every change of the reference's SQL was tried. "
            "Find out again, with up to ten minutes for it",
        )  # fmt: skip
        self.longer_button.hide()
        self.report_button = button(
            context, "Save report…", self._report, icon="file-text",
            tip="One HTML file without row-level data (Ctrl+Shift+S)",
        )  # fmt: skip
        self.diff_button = button(
            context, "Open the diff", self._diff, icon="git-compare-arrows", tip="Ctrl+D"
        )
        self.scope = QComboBox()
        self.scope.setAccessibleName("What the signatures are about")
        self.signatures = ListTable(context, "Signatures, best first")
        self.signatures_model = signatures_model(lambda: context.theme)
        self.signature_panel = SignaturePanel(context)
        self.residual = label("", "muted")
        self.residual_button = button(context, "Show", self._show_residual)
        self.forest = Forest(context)
        self.segments = ListTable(context, "Segments, strongest first")
        self.segments_model = segments_model(lambda: context.theme)
        self.segments_words = label("", "muted", wrap=True)
        self.proposals = ProposalsPanel(context)
        self._notes = QVBoxLayout()
        self.tabs = QTabWidget()
        self.busy = QProgressBar()
        self.busy_words = ElidedLabel("", "muted")
        self.stop = button(context, "Cancel", self.model.cancel)
        self.empty = EmptyState(context, "stethoscope", "", "")
        self.right = EmptyState(context, "circle-check", *NOTHING_DEPARTS)
        self._shown_segments: tuple[Segment, ...] = ()
        self._stack = QStackedWidget()
        self._build()
        self._wire()
        self._busy(False)

    # --- building

    def _build(self) -> None:
        context = self.context
        page = page_layout(self, context)
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.addWidget(self._name, 1)
        buttons = QHBoxLayout()
        for each in (
            self.longer_button, self.again_button, self.report_button, self.diff_button,
        ):  # fmt: skip
            buttons.addWidget(each)
        buttons.addStretch()
        self._head.addLayout(buttons)
        page.addLayout(self._head)
        page.addWidget(self._line)
        page.addWidget(self.errors)
        waiting = QHBoxLayout()
        self.busy.setTextVisible(False)
        waiting.addWidget(self.busy, 1)
        waiting.addWidget(self.busy_words, 1)
        waiting.addWidget(self.stop)
        page.addLayout(waiting)
        self.tabs.addTab(self._signatures_tab(), "Signatures")
        self.tabs.addTab(self._segments_tab(), "Segments")
        self.tabs.addTab(self.proposals, "Proposals")
        notes = QWidget()
        notes.setLayout(self._notes)
        self.tabs.addTab(ColumnScroll(notes), "Notes")
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.tabs)
        self._stack.addWidget(self.right)
        page.addWidget(self._stack, 1)

    def _signatures_tab(self) -> QWidget:
        context = self.context
        left = QWidget()
        rows = QVBoxLayout(left)
        line = QHBoxLayout()
        line.addWidget(label("About", "muted"))
        line.addWidget(self.scope, 1)
        rows.addLayout(line)
        self.signatures.setModel(self.signatures_model)
        bar = ShareBar(context, self._share)
        bar.setParent(self.signatures)
        self.signatures.setItemDelegateForColumn(SHARE, bar)
        self.signatures.setWordWrap(True)  # a finding is a sentence: it is read, not guessed
        header = self.signatures.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        rows_of = self.signatures.verticalHeader()
        rows_of.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.sectionResized.connect(lambda *_: self.signatures.resizeRowsToContents())
        rows.addWidget(self.signatures, 1)
        rest = QHBoxLayout()
        rest.addWidget(self.residual, 1)
        rest.addWidget(self.residual_button)
        rows.addLayout(rest)
        self._split = split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(left)
        split.addWidget(self.signature_panel)
        split.setSizes([context.px(640), context.px(420)])
        return ColumnScroll(split)

    def _segments_tab(self) -> QWidget:
        whole = QWidget()
        rows = QVBoxLayout(whole)
        rows.addWidget(self.segments_words)
        self.segments.setModel(self.segments_model)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self.forest)
        split.addWidget(self.segments)
        split.setSizes([self.context.px(340), self.context.px(200)])
        rows.addWidget(split, 1)
        return ColumnScroll(whole)

    def _sizes(self) -> None:
        """What needs some room to be of use has it at any zoom; where it is narrow, by lines."""
        px, ways = self.context.px, Qt.Orientation
        wide = self.width() >= px(_WIDE)
        self._split.setOrientation(ways.Horizontal if wide else ways.Vertical)
        self.signature_panel.setMinimumSize(px(280), px(120 if wide else 260))
        self.signatures.setMinimumHeight(px(120))
        self.segments.setMinimumHeight(px(130))
        across = QBoxLayout.Direction
        self._head.setDirection(across.LeftToRight if wide else across.TopToBottom)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._sizes()

    def _wire(self) -> None:
        model = self.model
        model.changed.connect(self._fill)
        model.busy_changed.connect(self._busy)
        model.progressed.connect(self._progressed)
        model.failed.connect(self._failed)
        model.cancelled.connect(self._cancelled)
        self.scope.currentIndexChanged.connect(lambda _: self._fill_signatures())
        self.signatures.opened.connect(self._open_signature)
        self.signatures.selectionModel().currentRowChanged.connect(self._signature_chosen)
        self.signature_panel.rows_asked.connect(self._show_rows)
        self.signature_panel.row_asked.connect(
            lambda row: self.context.go(Place("diff", self.model.run_id, row))
        )
        self.segments.opened.connect(self._open_segment)
        self.segments.selectionModel().currentRowChanged.connect(
            lambda now, _before: self.forest.select(now.row())
        )
        self.forest.chosen.connect(self.segments.selectRow)
        self.proposals.rows_asked.connect(self._show_rows)
        self.context.theme_changed.connect(self._sizes)

    # --- the screen

    @property
    def title(self) -> str:
        return "What went wrong"

    def place(self) -> Place | None:
        return Place("diagnosis", self.model.run_id) if self.model.run_id else None

    def show_place(self, place: Place) -> None:
        if place.name != self.model.run_id:
            self.errors.dismiss()
        self.empty.say(
            "Looking for what the mismatches have in common…",
            "Hypotheses are tested on both values first, then by computing the reference again "
            "with one change each; at most about a minute and a half.",
        )
        self.model.show(place.name)

    def bind(self, actions: Actions) -> None:
        actions.bind("run.diff", self._diff)
        actions.bind("run.report", self._report)
        if self._stack.currentWidget() is self.tabs:
            self.signatures.setFocus()

    def leave(self, actions: Actions) -> None:
        for name in ("run.diff", "run.report"):
            actions.bind(name, None)

    def close_down(self) -> None:
        self.model.cancel()

    # --- commands

    def _again(self, *, longer: bool = False) -> None:
        self.model.show(self.model.run_id, again=True, longer=longer)

    def _diff(self) -> None:
        self.context.go(Place("diff", self.model.run_id))

    def _report(self) -> None:
        save_report(self.context, (self.model.run_id,))

    def _show_rows(self, rows: Rows, words: str, column: str | None = None) -> None:
        name = self._column() if column is None else column
        self.context.rows_asked.emit(self.model.run_id, rows, words, name)

    def _column(self) -> str:
        """The one column that the chosen signature speaks of."""
        chosen = self.signatures_model.record(self.signatures.currentIndex().row())
        if chosen is not None and len(chosen.columns) == 1:
            return chosen.columns[0]
        scope = self._scope()
        return scope.column if scope is not None else ""

    def _open_signature(self, row: int) -> None:
        chosen = self.signatures_model.record(row)
        if chosen is not None and chosen.rows.count:
            self._show_rows(chosen.rows, f"explained by: {chosen.title}")

    def _open_segment(self, row: int) -> None:
        chosen = self.segments_model.record(row)
        if chosen is not None:
            self._show_rows(chosen.mismatches, f"mismatching, {chosen.words}", chosen.column or "")

    def _show_residual(self) -> None:
        scope = self._scope()
        if scope is not None and scope.residual.count:
            self._show_rows(scope.residual, scope.residual_words, scope.column)

    # --- filling

    def _busy(self, on: bool) -> None:
        for each in (self.busy, self.busy_words, self.stop):
            each.setVisible(on)
        for each in (self.again_button, self.longer_button):
            each.setEnabled(not on)
        self.busy.setRange(0, 0)
        self.busy_words.setText("")

    def _progressed(self, progress: Progress) -> None:
        if progress.total > 0:
            self.busy.setRange(0, round(progress.total * 100))
            self.busy.setValue(round(progress.done * 100))
        self.busy_words.setText(progress.text)

    def _failed(self, error: M4Error) -> None:
        self.empty.say("This run cannot be diagnosed", "What happened stands above.")
        self.errors.show_error(error)

    def _cancelled(self) -> None:
        self.empty.say("Stopped", "Again starts anew.")
        if self.model.diagnosis is not None and not self.model.diagnosis.complete:
            self._line.setText("Stopped: this is what was found so far. Again starts anew.")

    def _fill(self) -> None:
        found = self.model.diagnosis
        is_first = self._stack.currentWidget() is not self.tabs
        self._stack.setCurrentWidget(self._page_of(found))
        # While more is found, what the reader has chosen stays chosen.
        scope, chosen = self.scope.currentText(), self._chosen_words()
        self.scope.blockSignals(True)
        self.scope.clear()
        self.scope.addItems([scope.title for scope in self.model.scopes])
        self.scope.setCurrentIndex(max(0, self.scope.findText(scope)))
        self.scope.blockSignals(False)
        self._fill_signatures(chosen)
        segments = found.segments if found is not None else ()
        if segments != self._shown_segments:
            self._shown_segments = segments
            self.segments_model.set_records(segments)
            self.forest.show_segments(segments)
            if segments:
                self.segments.selectRow(0)
        self.forest.setVisible(bool(segments))
        self.proposals.show_diagnosis(found)
        self.longer_button.setVisible(found is not None and found.cut_short)
        if found is None:
            self._line.setText("")
            return
        self.errors.dismiss()
        self._name.setText(f"What went wrong · {found.task}")
        judged = judged_words(found.judged)
        self._line.setText(f"{judged}\n{summary_words(found)}" if judged else summary_words(found))
        if nothing_departs(found):
            self.right.say(NOTHING_DEPARTS[0], " ".join((NOTHING_DEPARTS[1], *found.notes)))
        self._segments_words(len(segments))
        clear(self._notes)
        nothing = "Everything that was to be tested could be tested."
        notes = found.notes or (nothing if found.complete else "More is being tested.",)
        for note in notes:
            self._notes.addWidget(label(note, wrap=True))
        self._notes.addStretch(1)
        for at, (name, number) in enumerate(
            (
                ("Signatures", len(found.ranked)),
                ("Segments", len(segments)),
                ("Proposals", len(found.proposals)),
                ("Notes", len(found.notes)),
            )
        ):
            self.tabs.setTabText(at, f"{name} ({number})")
        if self.isVisible() and is_first:
            self.signatures.setFocus()
        self.title_changed.emit()

    def _page_of(self, found: Diagnosis | None) -> QWidget:
        if found is None:
            return self.empty
        return self.right if nothing_departs(found) else self.tabs

    def _chosen_words(self) -> str:
        """What the reader looks at, unless it is the first: that is the best one so far."""
        row = self.signatures.currentIndex().row()
        chosen = self.signatures_model.record(row) if row > 0 else None
        return chosen.words if chosen is not None else ""

    def _segments_words(self, number: int) -> None:
        if not number:
            words = "No group of stays mismatches more often than the others beyond chance."
        else:
            words = (
                "Groups of stays in which mismatches are more frequent than elsewhere. Enter or a "
                "double click shows a group's mismatching rows. "
            )
            if number > MOST:
                words += f"The picture has the first {MOST} of {number}."
        self.segments_words.setText(words)

    def _scope(self) -> Scope | None:
        at = self.scope.currentIndex()
        return self.model.scopes[at] if 0 <= at < len(self.model.scopes) else None

    def _share(self, row: int) -> float:
        signature = self.signatures_model.record(row)
        return signature.share if signature is not None else 0.0

    def _fill_signatures(self, chosen: str = "") -> None:
        scope = self._scope()
        signatures = scope.signatures if scope is not None else ()
        self.signatures_model.set_records(signatures)
        self.residual.setText(scope.residual_words if scope is not None else "")
        self.residual_button.setVisible(scope is not None and scope.residual.count > 0)
        if signatures:
            at = next((n for n, s in enumerate(signatures) if chosen and s.words == chosen), 0)
            self.signatures.selectRow(at)
        elif scope is not None:
            complete = self.model.diagnosis is not None and self.model.diagnosis.complete
            self.signature_panel.show_signature(None, NOTHING_FITS if complete else NOTHING_YET)

    def _signature_chosen(self, now: QModelIndex, _before: QModelIndex) -> None:
        self.signature_panel.show_signature(self.signatures_model.record(now.row()))
