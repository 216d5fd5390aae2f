"""How short lists look: one row is one thing, Enter opens it."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from m4review.app.context import Context
from m4review.app.records import RecordModel


class ListTable(QTableView):
    """A table of records for mouse and keyboard."""

    opened = Signal(int)
    """A row was opened (Enter or double click)."""

    def __init__(self, context: Context, name: str) -> None:
        super().__init__()
        self._context = context
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setAlternatingRowColors(True)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self.doubleClicked.connect(self._opened)
        context.theme_changed.connect(self._resize)
        self._resize()

    def setModel(self, model: QAbstractItemModel | None) -> None:
        super().setModel(model)
        if isinstance(model, RecordModel):  # figures at the far right would be hard to follow
            self.horizontalHeader().setStretchLastSection(not model.columns[-1].numeric)

    def _opened(self, index: QModelIndex | QPersistentModelIndex) -> None:
        self.opened.emit(index.row())

    def _resize(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self._context.px(30))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.opened.emit(self.currentIndex().row())
            event.accept()
            return
        super().keyPressEvent(event)
