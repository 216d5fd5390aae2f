"""The list of columns beside the diff: which are shown, in which order, which stay in view."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.app.typing_first import TYPE_AHEAD
from m4review.app.widgets import button, label
from m4review.diff.arrange import Arrangement, plain
from m4review.diff.layout import Layout, percent

_COLUMN = Qt.ItemDataRole.UserRole


class ColumnsPanel(QWidget):
    """Follows an arrangement, and says when the user wants another."""

    changed = Signal(object)
    """The `Arrangement` that is wanted."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._layout: Layout | None = None
        self._arrangement: Arrangement | None = None
        self._setting = False
        self.list = QListWidget()
        self.list.setProperty(TYPE_AHEAD, True)
        self.list.setAccessibleName("Columns: checked ones are shown, in this order")
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.list.itemChanged.connect(self._checked)
        self.list.model().rowsMoved.connect(self._dragged)
        self.list.currentItemChanged.connect(lambda *_: self._follow_current())
        self.up = button(context, "Up", lambda: self._move(-1), icon="chevron-up", tip="Alt+Up")
        self.down = button(context, "Down", lambda: self._move(1), icon="chevron-down")
        self.freeze = QCheckBox("Keep beside the keys")
        self.freeze.setToolTip("The column stays in view when the table scrolls sideways")
        self.freeze.toggled.connect(self._freeze)
        self.reset = button(context, "All as at first", self._reset, icon="refresh-cw")
        column = QVBoxLayout(self)
        edge = context.px(8)
        column.setContentsMargins(edge, edge, edge, edge)
        column.addWidget(label("Drag, or use the buttons. Unchecked ones are hidden.", "muted",
                               wrap=True))  # fmt: skip
        column.addWidget(self.list, 1)
        line = QHBoxLayout()
        line.addWidget(self.up)
        line.addWidget(self.down)
        line.addStretch(1)
        column.addLayout(line)
        column.addWidget(self.freeze)
        column.addWidget(self.reset)

    def set_arrangement(self, arrangement: Arrangement, layout: Layout) -> None:
        """Show how the columns stand."""
        self._arrangement, self._layout = arrangement, layout
        current = self.current
        self._setting = True
        with QSignalBlocker(self.list):
            self.list.clear()
            for at in arrangement.order:
                scored = layout.scored[at]
                kept = "  (beside the keys)" if at in arrangement.frozen else ""
                text = f"{scored.name}   {percent(layout.match_rate(at))}{kept}"
                item = QListWidgetItem(text)
                item.setToolTip(as_written(text))
                item.setData(_COLUMN, at)
                item.setFlags(
                    Qt.ItemFlag.ItemIsEnabled
                    | Qt.ItemFlag.ItemIsSelectable
                    | Qt.ItemFlag.ItemIsUserCheckable
                    | Qt.ItemFlag.ItemIsDragEnabled
                )
                shown = at not in arrangement.hidden
                item.setCheckState(Qt.CheckState.Checked if shown else Qt.CheckState.Unchecked)
                self.list.addItem(item)
            place = arrangement.order.index(current) if current in arrangement.order else 0
            self.list.setCurrentRow(place)
        self._setting = False
        self._follow_current()

    @property
    def current(self) -> int | None:
        """The column that the list stands on."""
        item = self.list.currentItem()
        return None if item is None else int(item.data(_COLUMN))

    def _follow_current(self) -> None:
        arrangement, current = self._arrangement, self.current
        if arrangement is None or current is None:
            return
        place = self.list.currentRow()
        self.up.setEnabled(place > 0)
        self.down.setEnabled(place < self.list.count() - 1)
        with QSignalBlocker(self.freeze):
            self.freeze.setChecked(current in arrangement.frozen)

    def _checked(self, item: QListWidgetItem) -> None:
        if self._arrangement is None:
            return
        hide = item.checkState() == Qt.CheckState.Unchecked
        self._want(self._arrangement.hide(int(item.data(_COLUMN)), hide))

    def _move(self, step: int) -> None:
        if self._arrangement is not None and self.current is not None:
            self._want(self._arrangement.move(self.current, self.list.currentRow() + step))

    def _dragged(self) -> None:
        if self._arrangement is None or self._setting:
            return
        order = tuple(int(self.list.item(at).data(_COLUMN)) for at in range(self.list.count()))
        if sorted(order) == sorted(self._arrangement.order):
            self._want(Arrangement(order, self._arrangement.hidden, self._arrangement.frozen))

    def _freeze(self, on: bool) -> None:
        if self._arrangement is not None and self.current is not None:
            self._want(self._arrangement.freeze(self.current, on))

    def _reset(self) -> None:
        if self._layout is not None:
            self._want(plain(self._layout))

    def _want(self, arrangement: Arrangement) -> None:
        if arrangement == self._arrangement:  # the last column that is shown stays
            if self._layout is not None:
                self.set_arrangement(arrangement, self._layout)
            return
        self.changed.emit(arrangement)
