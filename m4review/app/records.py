"""A table model over a short list of records (tasks, runs, sources), from column specs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from m4review.app.theme import Theme
from m4review.app.tips import as_written

R = TypeVar("R")
AnyIndex = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


@dataclass(frozen=True)
class Column(Generic[R]):
    """How one column shows a record."""

    title: str
    """Its header."""
    text: Callable[[R], str]
    """What stands in the cell."""
    numeric: bool = False
    """Right-aligned?"""
    tone: Callable[[R], str] | None = None
    """Name of a theme colour for the text; "" is the ordinary one."""
    order: Callable[[R], Any] | None = None
    """What it sorts by; the text when None."""
    tip: Callable[[R], str] | None = None
    """Tool tip; the text when None."""
    about: str = ""
    """Tool tip of its header: what its words mean."""


class RecordModel(QAbstractTableModel, Generic[R]):
    """Records in rows; sorting is the model's own (the lists are short)."""

    def __init__(
        self,
        columns: Sequence[Column[R]],
        theme: Callable[[], Theme],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self._theme = theme
        self._records: list[R] = []
        self._sorted: tuple[int, Qt.SortOrder] | None = None

    def set_records(self, records: Sequence[R]) -> None:
        """Show these."""
        self.beginResetModel()
        self._records = list(records)
        self._order()
        self.endResetModel()

    def update_records(self, records: Sequence[R], key: Callable[[R], object]) -> bool:
        """Show these, without a reset where they are the same things in the same order.

        Selection and scroll position then stay, also where some were added at the end.

        Args:
            records: what is shown now.
            key: what makes a record the same thing as before.

        Returns:
            True where it had to be reset.
        """
        before, after = [key(r) for r in self._records], [key(r) for r in records]
        count = len(before)
        if self._sorted is not None or not count or before != after[:count]:
            self.set_records(records)
            return True
        self._records[:] = records[:count]
        if count:  # what a cell says may rest on more than its record
            self.dataChanged.emit(self.index(0, 0), self.index(count - 1, len(self.columns) - 1))
        if len(after) > count:
            self.beginInsertRows(_NOWHERE, count, len(after) - 1)
            self._records.extend(records[count:])
            self.endInsertRows()
        return False

    def record(self, row: int) -> R | None:
        """The record in a row."""
        return self._records[row] if 0 <= row < len(self._records) else None

    def rowCount(self, parent: AnyIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._records)

    def columnCount(self, parent: AnyIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        record, column = self._records[index.row()], self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(record)
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_written(column.tip(record) if column.tip else column.text(record))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.numeric else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ForegroundRole and column.tone is not None:
            name = column.tone(record)
            return QColor(getattr(self._theme(), name)) if name else None
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.numeric else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.about or None
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if not 0 <= column < len(self.columns):
            return
        self.layoutAboutToBeChanged.emit()
        self._sorted = (column, order)
        self._order()
        self.layoutChanged.emit()

    def _order(self) -> None:
        if self._sorted is None:
            return
        at, order = self._sorted
        column = self.columns[at]
        by = column.order or (lambda record: column.text(record).casefold())

        def key(record: R) -> tuple[bool, Any]:
            value = by(record)
            return (value is None, value if value is not None else 0)

        self._records.sort(key=key, reverse=order == Qt.SortOrder.DescendingOrder)
