"""The screen that holds two to eight runs of a task side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QProgressBar,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context, Screen
from m4review.app.flow import FlowLayout
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
from m4review.compare.bars import ChangeBars
from m4review.compare.beside import GivenPane, StepList
from m4review.compare.counts import count_lines, counts_model
from m4review.compare.legend import legend
from m4review.compare.rows import RowsPane
from m4review.compare.runs import RunChips
from m4review.compare.viewmodel import CompareViewModel
from m4review.compare.words import letters

if TYPE_CHECKING:
    from engine.base.errors import M4Error
    from engine.diagnosis.compare import Comparison
    from m4review.app.actions import Actions
    from m4review.app.jobs import Progress


_LEAST = 300
"""Pixels of the tabs at 100 %, at least."""
_EACH = 3
"""Runs up to which the sentence tells each; the table has all of them."""
_PICTURE = 0.6
"""Of the height, at most, for the picture of the counts."""


class CompareScreen(Screen):
    """Counts, rows, steps and given texts of several runs."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = CompareViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self._name = ElidedLabel("Comparison", "title")
        self.runs = RunChips(context)
        self._line = label("", "muted", wrap=True)
        self.report_button = button(
            context, "Save report…", self._report, icon="file-text",
            tip="One HTML file without row-level data (Ctrl+Shift+S)",
        )  # fmt: skip
        self.bars = ChangeBars(context)
        self.legend = FlowLayout()
        self.counts = ListTable(context, "Changes by run and column")
        self.counts_model = counts_model(lambda: context.theme)
        self.rows = RowsPane(context, self.model)
        self.steps = (StepList(context, 0), StepList(context, 1))
        self.given = GivenPane(context)
        self.tabs = QTabWidget()
        self.busy = QProgressBar()
        self.busy_words = ElidedLabel("", "muted")
        self.stop = button(context, "Cancel", self._cancel)
        self.empty = EmptyState(context, "columns-3", "", "")
        self._stack = QStackedWidget()
        self._build()
        self._wire()
        self._busy(False)

    def _build(self) -> None:
        context = self.context
        inner = QWidget()
        page = page_layout(inner, context)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ColumnScroll(inner))  # large letters: the page scrolls
        head = QHBoxLayout()
        head.addWidget(self._name, 1)
        head.addWidget(self.report_button)
        page.addLayout(head)
        page.addWidget(self.runs)
        page.addWidget(self._line)
        page.addWidget(self.errors)
        waiting = QHBoxLayout()
        self.busy.setTextVisible(False)
        waiting.addWidget(self.busy, 1)
        waiting.addWidget(self.busy_words, 1)
        waiting.addWidget(self.stop)
        page.addLayout(waiting)
        self.tabs.addTab(self._counts_tab(), "Counts")
        self.tabs.addTab(self.rows, "Rows")
        both = QSplitter(Qt.Orientation.Horizontal)
        both.setChildrenCollapsible(False)
        for each in self.steps:
            both.addWidget(each)
        self.tabs.addTab(both, "Steps")
        self.tabs.addTab(self.given, "Given texts")
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.tabs)
        self._keep_room()
        policy = QSizePolicy.Policy  # as high as there is room, and never too low to read
        self._stack.setSizePolicy(policy.Expanding, policy.Ignored)
        page.addWidget(self._stack, 1)

    def _counts_tab(self) -> QWidget:
        self.counts.setModel(self.counts_model)
        drawn = QWidget()
        rows = QVBoxLayout(drawn)
        rows.addWidget(self.bars)
        rows.addWidget(
            label("Columns that are right in both runs are left out of the picture.", "muted")
        )
        rows.addStretch(1)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(ColumnScroll(drawn))
        split.addWidget(self.counts)
        split.setStretchFactor(1, 1)
        self._split = split
        whole = QWidget()
        outer = QVBoxLayout(whole)
        outer.addLayout(self.legend)
        outer.addWidget(split, 1)
        return whole

    def _wire(self) -> None:
        model = self.model
        model.changed.connect(self._fill)
        model.busy_changed.connect(self._busy)
        model.progressed.connect(self._progressed)
        model.failed.connect(self._failed)
        self.bars.chosen.connect(self._show_part)
        self.counts.opened.connect(self._open_line)
        for each in self.steps:
            each.opened.connect(self._show_step)
        self.context.theme_changed.connect(self._fill_legend)
        self.context.theme_changed.connect(self._keep_room)

    # --- the screen

    @property
    def title(self) -> str:
        return f"{len(self.model.runs)} runs compared" if self.model.runs else "Comparison"

    def place(self) -> Place | None:
        return Place("compare", runs=self.model.runs) if self.model.runs else None

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        if place.runs != self.model.runs:
            self.empty.say("Aligning the runs…", "Every reference row, by its key.")
        self.model.show(place.runs)

    def bind(self, actions: Actions) -> None:
        actions.bind("run.report", self._report)
        if self._stack.currentWidget() is self.tabs:
            self.counts.setFocus()

    def leave(self, actions: Actions) -> None:
        actions.bind("run.report", None)

    def close_down(self) -> None:
        self.model.close()

    # --- commands

    def _report(self) -> None:
        if self.model.file is not None:
            save_report(self.context, self.model.runs)

    def _cancel(self) -> None:
        self.model.close()
        self.empty.say("Stopped", "Choose the runs again in the list of runs.")

    def _show_part(self, run: int, column: int, change: str) -> None:
        only = next((each for each in self.rows.chips if each == change), None)
        self.model.choose(run=run, column=column, only=only)  # type: ignore[arg-type]
        self.tabs.setCurrentWidget(self.rows)

    def _open_line(self, row: int) -> None:
        line = self.counts_model.record(row)
        if line is not None:
            self.model.choose(run=line.run, column=line.column)
            self.tabs.setCurrentWidget(self.rows)

    def _show_step(self, run: int, step: int) -> None:
        if 0 <= run < len(self.model.runs):
            self.context.go(Place("run", self.model.runs[run], step=step))

    # --- filling

    def _busy(self, on: bool) -> None:
        for each in (self.busy, self.busy_words, self.stop):
            each.setVisible(on)
        self.busy.setRange(0, 0)
        self.busy_words.setText("")

    def _progressed(self, progress: Progress) -> None:
        if progress.total > 0:
            self.busy.setRange(0, round(progress.total * 100))
            self.busy.setValue(round(progress.done * 100))
        self.busy_words.setText(progress.text)

    def _failed(self, error: M4Error) -> None:
        if self.model.file is None:
            self.empty.say("These runs cannot be compared", "What happened stands above.")
        self.errors.show_error(error)

    def _fill(self) -> None:
        file, sides = self.model.file, self.model.sides
        comparison = file.comparison if file is not None else None
        self._stack.setCurrentWidget(self.tabs if comparison is not None else self.empty)
        self.report_button.setEnabled(comparison is not None)
        self.bars.show_comparison(comparison)
        self.counts_model.set_records(count_lines(comparison) if comparison is not None else [])
        self.rows.show_comparison(comparison)
        for each in self.steps:
            each.show_sides(sides)
        self.given.show_sides(sides)
        self.runs.show_sides(sides if comparison is not None else ())
        self._line.setText(_summary(comparison) if comparison is not None else "")
        self._fill_legend()
        if comparison is None:
            self._name.setText("Comparison")
            return
        self._name.setText(f"{len(sides)} runs of {sides[0].summary.task}")
        self._share_height()
        self.counts.selectRow(0)
        if self.isVisible():
            self.counts.setFocus()
        self.title_changed.emit()

    def _keep_room(self) -> None:
        self._stack.setMinimumHeight(self.context.px(_LEAST))

    def _share_height(self) -> None:
        """The picture as high as its bars need, at most most of the height; the table the rest."""
        whole = self._split.height()
        needed = self.bars.height() + self.context.px(60)
        drawn = min(needed, round(whole * _PICTURE))
        self._split.setSizes([drawn, whole - drawn])

    def _fill_legend(self) -> None:
        clear(self.legend)
        for widget in legend(self.context, self.devicePixelRatioF()):
            self.legend.addWidget(widget)


def _summary(comparison: Comparison) -> str:
    first = (
        f"A has {comparison.first_wrong:,} of {comparison.reference_rows:,} reference rows wrong"
    )
    always = f"{comparison.always_wrong:,} are wrong in every run"
    names = letters(len(comparison.runs))
    if len(names) > _EACH:
        return f"{first}; {always}. What each other run mends and breaks stands below."
    parts = []
    for name, other in zip(names[1:], comparison.others, strict=True):
        rows = other.rows
        parts.append(
            f"{name} mends {rows.get('mended', 0):,} and breaks {rows.get('broken', 0):,} rows of A"
        )
    return f"{first}; {'; '.join(parts)}. {always}."
