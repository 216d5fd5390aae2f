"""The table itself: key columns that stay, values that scroll sideways beside them.

Two Qt tables share one model, one selection and one vertical position. Traps of huge tables
are met here: fixed heights, headers with selection models of their own, no walk over selected
indexes, scrolling to the top before a shrinking reset.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from m4review.app.theme import Theme
from m4review.diff.drawing import CellDrawing
from m4review.diff.halves import Half, Values
from m4review.diff.header import PairHeader
from m4review.diff.query import Sort
from m4review.diff.reader import View
from m4review.diff.table import AnyIndex, DiffModel

_KEYS_SHARE = 0.6
"""Of the width, at most, for the keys."""
_NARROWEST, _LOWEST = 9, 5
"""The whole table at least, in heights of a row."""
_WIDEST = 18
"""Widest column at first, in line heights; the user may make it wider."""


class DiffGrid(QFrame):
    """Frozen keys on the left, value pairs on the right."""

    sort_asked = Signal(str, bool)
    """A header was clicked: field, and whether to add it to the order."""
    current_changed = Signal(int)
    """Another row is the current one."""
    menu_asked = Signal(int, object)
    """A menu is wanted on a header: scored column, and where (global)."""

    def __init__(self, model: DiffModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("diffGrid")
        self.widened: set[int] = set()
        """Columns whose width the user chose."""
        self._setting = False
        self.model = model
        self._drawing = CellDrawing()
        self._drawing.set_look(theme, self.font())  # the tables ask it for their rows' height
        self.keys = Half(model, theme, self._drawing, "Keys of the aligned rows")
        self.values = Values(
            model, theme, self._drawing, "Reference and agent values of the aligned rows"
        )
        self.values.setSelectionModel(self.keys.selectionModel())
        for half in self.halves:
            half.own_header_selections()
            half.pair_header.sectionClicked.connect(self._clicked)
            half.pair_header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            half.pair_header.customContextMenuRequested.connect(
                lambda place, header=half.pair_header: self._menu(header, place)
            )
        for at, column in enumerate(model.columns):
            self.keys.setColumnHidden(at, not column.frozen)
            self.values.setColumnHidden(at, column.frozen)
        self.keys.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.keys.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.values.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.values.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.keys.verticalScrollBar().valueChanged.connect(self.values.verticalScrollBar().setValue)
        self.values.verticalScrollBar().valueChanged.connect(self.keys.verticalScrollBar().setValue)
        self.keys.neighbour = self._right_of_keys
        self.values.neighbour = self._left_of_values
        self.keys.selectionModel().currentChanged.connect(self._current)
        self._layout_halves()
        self.setFocusProxy(self.keys)
        self.set_look(theme, self.font())
        for half in self.halves:  # only now: hiding a column resizes it too
            half.pair_header.sectionResized.connect(self._resized)

    @property
    def halves(self) -> tuple[Half, Half]:
        """Both tables."""
        return self.keys, self.values

    def _layout_halves(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(1, 1, 1, 1)
        row.setSpacing(0)
        left = QVBoxLayout()
        left.setSpacing(0)
        left.addWidget(self.keys, 1)
        # As high as the other table's scroll bar: both must end at the same row.
        self._foot = QWidget()
        left.addWidget(self._foot)
        row.addLayout(left)
        row.addWidget(self.values, 1)

    # --- look

    def set_look(self, theme: Theme, font: QFont) -> None:
        """Take over theme and font."""
        self._drawing.set_look(theme, font)
        for half in self.halves:
            half.verticalHeader().setDefaultSectionSize(self._drawing.row_height)
            half.pair_header.setFont(self._drawing.font)
            half.pair_header.set_theme(theme)
        self._foot.setFixedHeight(self.values.horizontalScrollBar().sizeHint().height())
        self._fit_keys()

    def default_widths(self, longest: Mapping[str, str]) -> None:
        """Widths that show names and values whole, within reason.

        Args:
            longest: by field a value that is about as long as they come.
        """
        metrics = QFontMetrics(self._drawing.font)
        room = round(metrics.height() * 1.1)  # beside the text
        sign = round(metrics.height() * 1.2)
        for at, column in enumerate(self.model.columns):
            title = metrics.horizontalAdvance(column.title + " ▲") * 1.1
            value = metrics.horizontalAdvance(longest.get(self.model.fields[at], ""))
            width: float
            match column.part:
                case "row":
                    width = metrics.horizontalAdvance(f"{self.model.rowCount():,}") + room
                    width = max(width, title + room)
                case "status":
                    most = len(self.model.layout_of_diff.scored)
                    texts = (f"{most} columns", "duplicate", "missing", column.title + " ▲")
                    width = max(metrics.horizontalAdvance(text) for text in texts) + sign + room
                case "key":
                    width = max(title, value) + room
                case _:
                    absent = "no such column" if column.part == "agent" else "no such row"
                    least = metrics.horizontalAdvance(absent) + room
                    half = (title + metrics.horizontalAdvance("> 99.9 %")) / 2 + room
                    beside = sign if column.part == "agent" else 0  # only it bears a sign
                    width = max(least, half, value + beside + room)
            self._put_width(at, round(min(width, metrics.height() * _WIDEST)))
        self._fit_keys()

    def set_width(self, column: int, width: int) -> None:
        """Set one column's width."""
        self._put_width(column, width)
        self._fit_keys()

    def _put_width(self, column: int, width: int) -> None:
        half = self.keys if self.model.columns[column].frozen else self.values
        self._setting = True
        half.setColumnWidth(column, max(24, width))
        self._setting = False

    def width_of(self, column: int) -> int:
        """A column's width."""
        half = self.keys if self.model.columns[column].frozen else self.values
        return half.columnWidth(column)

    def _fit_keys(self) -> None:
        """Show the keys whole, unless they would leave no room for the values."""
        whole = self.keys.horizontalHeader().length() + 1
        most = round(self.width() * _KEYS_SHARE)
        cut = whole > most
        policy = Qt.ScrollBarPolicy
        self.keys.setHorizontalScrollBarPolicy(
            policy.ScrollBarAlwaysOn if cut else policy.ScrollBarAlwaysOff
        )
        self._foot.setVisible(not cut)
        self.keys.setFixedWidth(most if cut else whole)

    def minimumSizeHint(self) -> QSize:
        # The keys' width follows from the table's own: it must not keep the page from shrinking.
        height = self._drawing.row_height
        return QSize(_NARROWEST * height, _LOWEST * height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_keys()

    def _resized(self, column: int, _old: int, _new: int) -> None:
        if not self._setting:
            self.widened.add(column)
            self._fit_keys()

    # --- what is shown

    def set_view(self, view: View) -> None:
        """Show another view of the file; where it has the same rows one stays where one is."""
        if self.model.has_rows_of(view):
            self.model.set_view(view)
            return
        for half in self.halves:
            half.scrollToTop()
        self.model.set_view(view)
        for half in self.halves:
            half.own_header_selections()

    def set_sorts(self, sorts: tuple[Sort, ...]) -> None:
        """Mark the sorted headers."""
        for half in self.halves:
            half.pair_header.set_sorts(sorts)

    def go_to(self, position: int, scored: int | None = None) -> None:
        """Make a position the current row, on the agent's value of a scored column if given."""
        if not 0 <= position < self.model.rowCount():
            return
        column = self._column_for(scored)
        index = self.model.index(position, column)
        half = self.keys if self.model.columns[column].frozen else self.values
        self.keys.selectionModel().setCurrentIndex(
            index, QItemSelectionModel.SelectionFlag.ClearAndSelect
        )
        first, last = half.visible_rows()
        hint = QAbstractItemView.ScrollHint
        margin = 3
        inside = first + margin <= position <= last - margin - 2
        half.scrollTo(index, hint.EnsureVisible if inside else hint.PositionAtCenter)

    def _column_for(self, scored: int | None) -> int:
        now = self.keys.selectionModel().currentIndex()
        if scored is None:
            return max(1, now.column())  # not on the row number
        for at, column in enumerate(self.model.columns):
            if column.part == "agent" and column.scored and column.scored.index == scored:
                return at
        return 2

    @property
    def current(self) -> int:
        """The current position; -1 when there is none."""
        index = self.keys.selectionModel().currentIndex()
        return index.row() if index.isValid() else -1

    @property
    def current_column(self) -> int:
        """The current column of the table; -1 when there is none."""
        index = self.keys.selectionModel().currentIndex()
        return index.column() if index.isValid() else -1

    def selected(self) -> list[tuple[int, int, list[int]]]:
        """Selected blocks as (first row, last row, columns that are shown); top to bottom."""
        blocks = []
        selection = self.keys.selectionModel().selection()
        for part in (selection.at(at) for at in range(selection.count())):
            columns = [c for c in range(part.left(), part.right() + 1) if self._is_shown(c)]
            if columns:
                blocks.append((part.top(), part.bottom(), columns))
        return sorted(blocks)

    @property
    def shown_columns(self) -> list[int]:
        """Columns of the table that are not hidden."""
        return [at for at in range(len(self.model.columns)) if self._is_shown(at)]

    def _is_shown(self, column: int) -> bool:
        if self.model.columns[column].frozen:
            return not self.keys.isColumnHidden(column)
        return not self.values.isColumnHidden(column)

    # --- slots

    def _current(self, index: AnyIndex, _before: AnyIndex) -> None:
        for half in self.halves:
            half.viewport().update()
        self.current_changed.emit(index.row() if index.isValid() else -1)

    def _clicked(self, column: int) -> None:
        shift = bool(QApplication.keyboardModifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.sort_asked.emit(self.model.columns[column].sort_field, shift)

    def _menu(self, header: PairHeader, place: QPoint) -> None:
        at = header.logicalIndexAt(place)
        scored = self.model.columns[at].scored if at >= 0 else None
        if scored is not None:
            self.menu_asked.emit(scored.index, header.mapToGlobal(place))

    def _right_of_keys(self, direction: int) -> QModelIndex:
        if direction < 0:
            return self.keys.currentIndex()
        return self._hop(self.keys, self.values, next(iter(self._visible(self.values)), None))

    def _left_of_values(self, direction: int) -> QModelIndex:
        if direction > 0:
            return self.values.currentIndex()
        return self._hop(self.values, self.keys, next(reversed(self._visible(self.keys)), None))

    def _visible(self, half: Half) -> list[int]:
        return [at for at in range(len(self.model.columns)) if not half.isColumnHidden(at)]

    def _hop(self, start: Half, half: Half, column: int | None) -> QModelIndex:
        """Hand the keyboard to the other half; returns the cell that becomes the current one."""
        if column is None:
            return start.currentIndex()
        index = self.model.index(start.currentIndex().row(), column)
        half.setFocus(Qt.FocusReason.OtherFocusReason)
        half.scrollTo(index)
        return index

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore()
