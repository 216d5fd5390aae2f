"""Figures as a short table: words, rows, share. A click or Enter on a line shows its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.diff.layout import percent

_TALLEST = 300


@dataclass(frozen=True)
class Row:
    """One line."""

    words: str
    """What is counted."""
    count: int
    """Rows."""
    condition: str
    """Which rows."""


class ValueTable(QTableWidget):
    """A list of counts."""

    chosen = Signal(object)
    """The `Row` whose rows are wanted."""

    def __init__(
        self,
        context: Context,
        name: str,
        rows: Sequence[Row],
        whole: int,
        *,
        first: str = "",
    ) -> None:
        super().__init__(len(rows), 3)
        self.rows = tuple(rows)
        self.setAccessibleName(f"{name}: values; Enter shows the rows of a line")
        self.setHorizontalHeaderLabels([first or name, "rows", "share"])
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for at, row in enumerate(rows):
            share = percent(row.count / whole) if whole else "–"
            for column, text in enumerate((row.words, f"{row.count:,}", share)):
                item = QTableWidgetItem(text)
                item.setToolTip(as_written(f"{row.words}: {row.count:,} rows ({share})"))
                if column:
                    item.setTextAlignment(right)
                self.setItem(at, column, item)
        header = self.horizontalHeader()
        header.setSectionsClickable(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        self._tallest = context.px(_TALLEST)
        self.cellClicked.connect(lambda row, _column: self._choose(row))
        self.cellActivated.connect(lambda row, _column: self._choose(row))
        self._last: tuple[int, int] | None = None
        header.sectionResized.connect(lambda *_: self._fit())
        self._fit()

    def _fit(self) -> None:
        self.resizeRowsToContents()
        height = self.horizontalHeader().sizeHint().height() + self.verticalHeader().length() + 4
        self.setFixedHeight(min(height, self._tallest))

    def _choose(self, row: int) -> None:
        if 0 <= row < len(self.rows):
            self.chosen.emit(self.rows[row])
