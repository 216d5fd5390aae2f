"""The rows of a comparison, page by page, and one row in full: every run's values side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.diagnosis.compare import Comparison
from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.tips import as_written
from m4review.app.widgets import ColumnScroll, ElidedLabel, button, label
from m4review.compare.reader import PAGE, AlignedRow, Page
from m4review.compare.viewmodel import CompareViewModel
from m4review.compare.words import DRAWN, LOOKS, change_words, letters
from m4review.diff.layout import MATCHES, CellStatus
from m4review.diff.words import words_of


class _Values(QTableWidget):
    """A table of values, from which none is copied: Qt would do it unasked and unrecorded."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)


def _table(name: str) -> QTableWidget:
    table = _Values()
    table.setAccessibleName(name)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setShowGrid(False)
    table.setAlternatingRowColors(True)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    return table


def _value(value: object, status: int) -> str:
    """A run's value with a sign before it where it does not match."""
    if status == CellStatus.NO_AGENT:
        return "− no value"
    shown = words_of(value)
    return shown if CellStatus(status) in MATCHES else f"≠ {shown}"


class RowsPane(QWidget):
    """Filters, a page of rows, and the current row in full."""

    def __init__(self, context: Context, model: CompareViewModel) -> None:
        super().__init__()
        self._context, self._model = context, model
        self.run = QComboBox()
        self.run.setAccessibleName("Run that is held against the first")
        self.column = QComboBox()
        self.column.setAccessibleName("Column that is listed")
        for each in (self.run, self.column):
            each.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.run.activated.connect(lambda at: model.choose(run=at + 1))
        self.column.activated.connect(lambda at: model.choose(column=at - 1 if at else None))
        self.chips: dict[str, QPushButton] = {}
        self.table = _table("Rows that at least one run has wrong")
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.currentCellChanged.connect(lambda row, *_: self._show_row(row))
        self.detail = _table("Every run's values of the chosen row")
        self.where = ElidedLabel("", "muted")
        self.former = button(context, "Former", lambda: model.turn(-1), icon="chevron-left")
        self.next = button(context, "Next", lambda: model.turn(1), icon="chevron-right")
        self._build()
        model.page_changed.connect(self._fill)

    def _build(self) -> None:
        body = QWidget()  # scrolls in a low window
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ColumnScroll(body))
        rows = QVBoxLayout(body)
        self._sizes()
        self._context.theme_changed.connect(self._sizes)
        line = FlowLayout()
        line.addWidget(label("First run A beside", "muted"))
        line.addWidget(self.run)
        line.addWidget(label("in", "muted"))
        line.addWidget(self.column)
        for change in DRAWN:
            look = LOOKS[change]
            chip = QPushButton(f"{look.sign} {look.words}")
            chip.setProperty("kind", "chip")
            chip.setCheckable(True)
            chip.setChecked(True)
            chip.setAutoDefault(False)
            chip.setToolTip(as_written(look.about))
            chip.clicked.connect(lambda on, which=change: self._model.toggle(which, on))
            self.chips[change] = chip
            line.addWidget(chip)
        rows.addLayout(line)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self.table)
        split.addWidget(self.detail)
        split.setSizes([self._context.px(320), self._context.px(220)])
        rows.addWidget(split, 1)
        foot = QHBoxLayout()
        foot.addWidget(self.where, 1)
        foot.addWidget(self.former)
        foot.addWidget(self.next)
        rows.addLayout(foot)

    def _sizes(self) -> None:
        """What needs some height to be of use has it at any zoom."""
        for table in (self.table, self.detail):
            table.setMinimumHeight(self._context.px(150))
            table.verticalHeader().setDefaultSectionSize(self._context.px(30))

    def show_comparison(self, comparison: Comparison | None) -> None:
        """Offer a comparison's runs and columns."""
        self.run.clear()
        self.column.clear()
        self.table.setRowCount(0)
        self.detail.setRowCount(0)
        if comparison is None:
            return
        names = letters(len(comparison.runs))
        self.run.addItems([f"run {name}" for name in names[1:]])
        self.column.addItems(["whole rows", *comparison.columns])

    def _fill(self) -> None:
        file, page = self._model.file, self._model.page
        if file is None or page is None:
            return
        comparison, chosen = file.comparison, page.chosen
        self.run.setCurrentIndex(chosen.run - 1)
        self.column.setCurrentIndex(0 if chosen.column is None else chosen.column + 1)
        for change, chip in self.chips.items():
            chip.setChecked(change in chosen.changes)
        names = letters(len(comparison.runs))
        titles = [*comparison.keys]
        if chosen.column is None:
            titles += [f"{name}: wrong cells" for name in names]
        else:
            titles += [f"{comparison.columns[chosen.column]}, reference", *names]
        titles += [f"A to {name}" for name in names[1:]]
        self.table.blockSignals(True)
        self.table.setColumnCount(len(titles))
        self.table.setHorizontalHeaderLabels(titles)
        self.table.setRowCount(len(page.rows))
        for at, row in enumerate(page.rows):
            self._put(self.table, at, self._texts(row, page))
        self.table.resizeColumnsToContents()
        self.table.setCurrentCell(0 if page.rows else -1, 0)
        self.table.blockSignals(False)
        self._show_row(0)
        last = page.first + len(page.rows)
        where = f"rows {page.first + 1:,} to {last:,} of {page.total:,}" if last else "no such row"
        self.where.setText(f"{where} · rows that all runs have right are counted, not listed")
        self.former.setEnabled(page.first > 0)
        self.next.setEnabled(page.first + PAGE < page.total)

    def _texts(self, row: AlignedRow, page: Page) -> list[str]:
        texts = [words_of(key) for key in row.keys]
        column = page.chosen.column
        if column is None:
            for run in range(len(row.changes)):
                wrong = [c for c in row.cells if CellStatus(c.statuses[run]) not in MATCHES]
                texts.append(str(len(wrong)))
            return [*texts, *map(change_words, row.changes[1:])]
        cell = row.cells[column]
        texts.append(words_of(cell.reference))
        texts += [_value(v, s) for v, s in zip(cell.values, cell.statuses, strict=True)]
        return [*texts, *map(change_words, cell.changes[1:])]

    def _put(self, table: QTableWidget, at: int, texts: list[str]) -> None:
        for number, text in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setToolTip(as_written(text))
            table.setItem(at, number, item)

    def _show_row(self, at: int) -> None:
        file, page = self._model.file, self._model.page
        if file is None or page is None or not 0 <= at < len(page.rows):
            self.detail.setRowCount(0)
            return
        row, comparison = page.rows[at], file.comparison
        names = letters(len(comparison.runs))
        titles = ["Column", "Reference", *names, *(f"A to {name}" for name in names[1:])]
        self.detail.setColumnCount(len(titles))
        self.detail.setHorizontalHeaderLabels(titles)
        self.detail.setRowCount(len(row.cells))
        for number, (name, cell) in enumerate(zip(comparison.columns, row.cells, strict=True)):
            values = [_value(v, s) for v, s in zip(cell.values, cell.statuses, strict=True)]
            texts = [name, words_of(cell.reference), *values, *map(change_words, cell.changes[1:])]
            self._put(self.detail, number, texts)
        self.detail.resizeColumnsToContents()
