"""The confusion matrix of score levels as a table: reference down, agent across."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
)

from engine.diagnosis.columns import Confusion, MatrixCell
from m4review.app.context import Context
from m4review.app.tips import as_written

_WIDEST = 190
_MOST = 560
_FAINTEST, _STRONGEST = 0.10, 0.55


class _Framed(QStyledItemDelegate):
    """Frames the diagonal, so that it is not told by colour."""

    def __init__(self, context: Context, same: Callable[[int, int], bool]) -> None:
        super().__init__()
        self._context, self._same = context, same

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        super().paint(painter, option, index)
        if self._same(index.row(), index.column()):
            painter.save()
            painter.setPen(QPen(QColor(self._context.theme.muted), 2))
            painter.drawRect(option.rect.adjusted(1, 1, -2, -2))
            painter.restore()


class MatrixTable(QTableWidget):
    """Counts; stronger colour for more rows, by the logarithm."""

    chosen = Signal(object)
    """The `MatrixCell` whose rows are wanted."""

    def __init__(self, context: Context, found: Confusion) -> None:
        named, rest = range(found.named), range(found.named, len(found.levels))
        down = {cell.reference for cell in found.cells}
        across = {cell.agent for cell in found.cells}
        self._down = [*named, *(level for level in rest if level in down)]
        self._across = [*named, *(level for level in rest if level in across)]
        super().__init__(len(self._down), len(self._across))
        self._found = found
        self._cells = {(cell.reference, cell.agent): cell for cell in found.cells}
        self.setAccessibleName("Reference level against agent level; Enter shows the rows")
        self.setVerticalHeaderLabels([found.levels[n] for n in self._down])
        self.setHorizontalHeaderLabels([found.levels[n] for n in self._across])
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setItemDelegate(_Framed(context, self._same))
        self.itemDelegate().setParent(self)
        self._fill(context)
        self.cellClicked.connect(self._choose)
        self.cellActivated.connect(self._choose)

    def _fill(self, context: Context) -> None:
        theme = context.theme
        most = math.log1p(max((cell.count for cell in self._found.cells), default=1))
        middle = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for row, reference in enumerate(self._down):
            for column, agent in enumerate(self._across):
                cell = self._cells.get((reference, agent))
                item = QTableWidgetItem(f"{cell.count:,}" if cell else "·")
                item.setTextAlignment(middle)
                if cell is None:
                    item.setForeground(QColor(theme.muted))
                    item.setToolTip(as_written(f"{self._words(reference, agent)}: no row"))
                else:
                    tint = QColor(theme.good if self._same(row, column) else theme.different)
                    part = math.log1p(cell.count) / most if most else 0
                    tint.setAlphaF(_FAINTEST + (_STRONGEST - _FAINTEST) * part * 0.6)
                    item.setBackground(tint)
                    item.setForeground(QColor(theme.text))
                    item.setToolTip(
                        as_written(f"{self._words(reference, agent)}: {cell.count:,} rows")
                    )
                self.setItem(row, column, item)
        header = self.horizontalHeader()
        header.setSectionsClickable(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setMaximumSectionSize(context.px(_WIDEST))
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.verticalHeader().setSectionsClickable(False)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        for levels, head_of in (
            (self._across, self.horizontalHeaderItem),
            (self._down, self.verticalHeaderItem),
        ):
            for at, level in enumerate(levels):
                if (head := head_of(at)) is not None:
                    head.setToolTip(as_written(self._found.levels[level]))
        self.resizeRowsToContents()
        bar = self.horizontalScrollBar().sizeHint().height()
        height = header.sizeHint().height() + self.verticalHeader().length() + bar + 8
        self.setFixedHeight(min(height, context.px(_MOST)))

    def _same(self, row: int, column: int) -> bool:
        """Do both sides have one level, or null? Two other values need not be the same."""
        reference, agent, named = self._down[row], self._across[column], self._found.named
        null = named + 1
        return reference == agent and bool(agent < named or agent == null)

    def _words(self, reference: int, agent: int) -> str:
        levels = self._found.levels
        return f"reference {levels[reference]}, agent {levels[agent]}"

    def words_of(self, cell: MatrixCell) -> str:
        """A cell in words."""
        return self._words(cell.reference, cell.agent)

    def _choose(self, row: int, column: int) -> None:
        cell = self._cells.get((self._down[row], self._across[column]))
        if cell is not None:
            self.chosen.emit(cell)
