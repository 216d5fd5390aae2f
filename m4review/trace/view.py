"""The trace of a run: filters, steps, the chosen step; follows a run that lives."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QCheckBox,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QSplitter,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.widgets import label
from m4review.trace.detail import StepDetail
from m4review.trace.steps import Told, number_of
from m4review.trace.table import EXIT, KIND, NUMBER, TIME, TOOK, TURN, WHAT, Loaded, StepTable
from m4review.trace.viewmodel import TraceViewModel
from m4review.trace.words import SHOWS, StepFilter

_WIDTHS = {NUMBER: 62, TURN: 48, TIME: 62, KIND: 84, EXIT: 52, TOOK: 64}
_TYPING = 250
"""Milliseconds after the last key before a search begins."""


class StepList(QTableView):
    """The steps as rows of one height."""

    scrolled = Signal()
    """The user moved about by hand."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.setAccessibleName("Steps of the run")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setAlternatingRowColors(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        self.verticalScrollBar().sliderMoved.connect(lambda _: self.scrolled.emit())
        self.verticalScrollBar().actionTriggered.connect(lambda _: self.scrolled.emit())
        context.theme_changed.connect(self.sizes)

    def sizes(self) -> None:
        """Column widths and row heights at the present size."""
        self.verticalHeader().setDefaultSectionSize(self._context.px(28))
        header = self.horizontalHeader()
        header.setMinimumSectionSize(self._context.px(30))
        for column, width in _WIDTHS.items():
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            self.setColumnWidth(column, self._context.px(width))
        header.setSectionResizeMode(WHAT, QHeaderView.ResizeMode.Stretch)

    def wheelEvent(self, event: object) -> None:
        super().wheelEvent(event)  # type: ignore[arg-type]
        self.scrolled.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() in (
            Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown,
            Qt.Key.Key_Home, Qt.Key.Key_End,
        ):  # fmt: skip
            self.scrolled.emit()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()  # else the page would take it for its own command

    @property
    def at_end(self) -> bool:
        """Is the last row seen?"""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum()


class TracePane(QWidget):
    """Steps on the left, the chosen one on the right."""

    chosen = Signal(int)
    """Number of a step that is now shown."""
    diff_asked = Signal()
    address_asked = Signal(int)

    def __init__(self, context: Context, model: TraceViewModel) -> None:
        super().__init__()
        self.context, self.model = context, model
        self.table = StepTable(lambda: context.theme, self)
        self.list = StepList(context)
        self.list.setModel(self.table)
        self.list.sizes()
        self.detail = StepDetail(context, model)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search the steps…")
        self.search.setAccessibleName("Search the steps")
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(context.px(190))
        self.count = label("", "muted")
        self.count.setMinimumHeight(context.px(30))
        self.follow = QCheckBox("Follow")
        self.follow.setToolTip("Stay at the newest step while the run lives")
        self.follow.hide()
        self.live = False
        self._wanted: int | None = None
        self._wanted_line: int | None = None
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING)
        self.chips: dict[str, QPushButton] = {}
        self._build()
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.search.returnPressed.connect(self._ask)
        self._typing.timeout.connect(self._ask)
        self.follow.toggled.connect(self._followed)
        self.list.scrolled.connect(self._scrolled)
        self.list.selectionModel().currentRowChanged.connect(lambda *_: self._chose())
        self.detail.diff_asked.connect(self.diff_asked)
        self.detail.address_asked.connect(self.address_asked)
        model.loaded.connect(self._loaded)
        model.grown.connect(self._grown)
        model.read_out.connect(self._read_out)
        model.looking.connect(self._looking)

    def _build(self) -> None:
        rows = QVBoxLayout(self)
        edge = self.context.px(8)
        rows.setContentsMargins(edge, edge, edge, edge)
        bar = FlowLayout(spacing=self.context.px(6))
        group = QButtonGroup(self)
        for show, text in SHOWS.items():
            chip = QPushButton(text)
            chip.setProperty("kind", "chip")
            chip.setCheckable(True)
            chip.setChecked(show == "all")
            chip.clicked.connect(lambda _=False: self._ask())
            group.addButton(chip)
            self.chips[show] = chip
            bar.addWidget(chip)
        for each in (self.search, self.follow, self.count):
            bar.addWidget(each)
        rows.addLayout(bar)
        self.halves = QSplitter(Qt.Orientation.Horizontal)
        self.halves.setChildrenCollapsible(False)
        self.halves.addWidget(self.list)
        self.halves.addWidget(self.detail)
        self.halves.setStretchFactor(0, 5)
        self.halves.setStretchFactor(1, 4)
        rows.addWidget(self.halves, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= self.context.px(820)
        way = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
        if self.halves.orientation() != way:
            self.halves.setOrientation(way)

    # --- filter

    def _ask(self) -> None:
        self._typing.stop()
        show = next((name for name, chip in self.chips.items() if chip.isChecked()), "all")
        asked = StepFilter(show, self.search.text())
        if asked != self.model.filter:
            self._wanted = self.current
            self.model.ask(asked)

    def clear_filter(self) -> None:
        """Show every step again."""
        with QSignalBlocker(self.search):
            self.search.clear()
        self.chips["all"].setChecked(True)
        self._ask()

    # --- steps

    @property
    def current(self) -> int | None:
        """Number of the step that is shown."""
        return None if self.detail.step is None else self.detail.step.number

    def go_to(self, number: int) -> None:
        """Show a step (or the next one that has a row), once the trace is read."""
        self._set_follow(False)
        step = self.table.numbered(number)
        if step is None:
            self._wanted = number
            return
        if not self.model.filter.fits(step) and not self.model.filter.open:
            self._wanted = number
            self.clear_filter()
            return
        self._select(number)

    def go_to_line(self, line: int) -> None:
        """Show the step that begins on a line of the trace, or last before it."""
        self._set_follow(False)
        if self.model.reading and self.table.steps.last_line < line:
            self._wanted_line = line
            return
        self._wanted_line = None
        number = self.table.at_line(line)
        if number is not None:
            self.go_to(number)

    def _read_out(self) -> None:
        self._counted()
        if self._wanted_line is not None:
            self.go_to_line(self._wanted_line)

    def _select(self, number: int) -> None:
        row = self.table.row_of(number)
        if row is None:
            row = self.table.rowCount() - 1
        if row >= 0:
            self.list.selectRow(row)
            self.list.scrollTo(
                self.table.index(row, 0), QAbstractItemView.ScrollHint.PositionAtCenter
            )

    def _chose(self) -> None:
        step = self.table.step(self.list.currentIndex().row())
        self.detail.show_step(step)
        if step is not None:
            if not step.looked:
                self.model.look(step)
            self.chosen.emit(step.number)

    def _loaded(self, loaded: Loaded) -> None:
        self.list.scrollToTop()
        self.table.load(loaded)
        wanted = self._wanted
        if not self.model.looks:  # else it may have its row only then
            self._wanted = None
        self._counted()
        if not loaded.steps:
            self.detail.show_step(None)
            self._wanted = wanted
        elif self.follow.isChecked() and self.live:
            self._to_end()
        elif self.table.rowCount():
            first = self.table.step(0)
            self._select(wanted if wanted is not None else first.number if first else 1)
        else:
            self.detail.show_step(None)

    def _grown(self, steps: Sequence[Told]) -> None:
        self.table.put(steps)
        self._counted()
        if self.live and self.follow.isChecked():
            self._to_end()
            return
        now = self.current
        if now is not None and any(number_of(step) == now for step in steps):
            self.detail.show_step(self.table.numbered(now))
        if self._wanted is not None and self.table.numbered(self._wanted) is not None:
            wanted, self._wanted = self._wanted, None
            self._select(wanted)
        elif now is None and self.table.rowCount() and self._wanted is None:
            self.list.selectRow(0)
        if self._wanted_line is not None:
            self.go_to_line(self._wanted_line)

    def _counted(self) -> None:
        shown, total = self.table.rowCount(), len(self.table.steps)
        if not total:
            wait = "Reading…" if self.model.reading else "No steps yet" if self.live else ""
            self.count.setText(wait or "This run has no steps")
            return
        more = ", reading…" if self.model.reading and not self.live else ""
        if self.model.looks:
            more = f", looking into {total:,}…"
        of = "" if self.model.filter.open else f" of {total:,}"
        self.count.setText(f"{shown:,}{of} steps{more}")

    def _looking(self, done: int) -> None:
        total = len(self.table.steps)
        if self.model.looks and done < total:
            self.count.setText(f"Looking into the steps: {done:,} of {total:,}")

    # --- following

    def set_live(self, live: bool) -> None:
        """Does the run still live?"""
        if live and not self.live:
            self._set_follow(True)
        self.live = live
        self.follow.setVisible(live)
        self._counted()

    def _set_follow(self, on: bool) -> None:
        with QSignalBlocker(self.follow):
            self.follow.setChecked(on)

    def _followed(self, on: bool) -> None:
        if on:
            self._to_end()

    def _to_end(self) -> None:
        rows = self.table.rowCount()
        if rows:
            self.list.selectRow(rows - 1)
            self.list.scrollToBottom()
            self._chose()

    def _scrolled(self) -> None:
        """Whoever scrolls back wants to read; at the end again, the newest is followed again."""
        QTimer.singleShot(0, self, self._look_where)

    def _look_where(self) -> None:
        if self.live:
            last = self.list.currentIndex().row() == self.table.rowCount() - 1
            self._set_follow(self.list.at_end and last)

    def close_down(self) -> None:
        """The window closes."""
        self._typing.stop()
