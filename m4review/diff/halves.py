"""The two tables of the grid: how they paint, and how the values scroll from pair to pair."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSlider,
    QFrame,
    QHeaderView,
    QTableView,
)

from m4review.app.theme import Theme
from m4review.diff import snap
from m4review.diff.drawing import CellDrawing, Lane, Page
from m4review.diff.header import PairHeader
from m4review.diff.looks import look_of
from m4review.diff.table import AnyIndex, DiffModel

WAIT = 0.009
"""Seconds that a paint waits for its rows: most come in time, and the window stays alive."""
_NOTCH = 120
"""What a wheel tells for one notch, in eighths of a degree."""


class Half(QTableView):
    """One of the two tables."""

    neighbour: Callable[[int], QModelIndex] | None = None
    """Where the cursor goes when it leaves sideways (-1 to the left, 1 to the right)."""

    def __init__(self, model: DiffModel, theme: Theme, drawing: CellDrawing, name: str) -> None:
        super().__init__()
        self._diff = model
        self._drawing = drawing
        self.setAccessibleName(name)
        self.setHorizontalHeader(header := PairHeader(model, theme, self))
        self.pair_header = header
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setObjectName("diffHalf")
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        vertical = self.verticalHeader()
        vertical.hide()
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        vertical.setMinimumSectionSize(8)
        vertical.setDefaultSectionSize(drawing.row_height)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setModel(model)  # only now: each setting above would lay the table out again

    def own_header_selections(self) -> None:
        """See `PairHeader.own_selection`."""
        self.pair_header.own_selection()
        vertical = self.verticalHeader()
        vertical.setSelectionModel(QItemSelectionModel(self._diff, vertical))

    def visible_rows(self) -> tuple[int, int]:
        """First and last position on screen."""
        first = max(0, self.rowAt(0))
        height = max(1, self.verticalHeader().defaultSectionSize())
        return first, first + self.viewport().height() // height + 1

    def paintEvent(self, event: QPaintEvent) -> None:
        first, last = self.visible_rows()
        # Sorted rows lie all over the file and come too late for any wait.
        self._diff.ensure(first, last, wait=0 if self._diff.view.query.sort else WAIT)
        clip = event.rect()
        with QPainter(self.viewport()) as painter:
            self._drawing.paint(painter, self._page(clip), clip)

    def _page(self, clip: QRect) -> Page:
        """What is seen within `clip`."""
        height = self.verticalHeader().defaultSectionSize()
        begin, end = self.visible_rows()
        zero = self.rowViewportPosition(begin) - begin * height  # where row 0 would be
        first = max(begin, (clip.top() - 1 - zero) // height)  # the current row draws one above
        last = min(end, (clip.bottom() - zero) // height, self._diff.rowCount() - 1)
        now = self.currentIndex()
        return Page(
            lanes=self._lanes(clip, first, last),
            first=first,
            top=zero + first * height,
            row_height=height,
            records=self._diff.records(first, last),
            width=self.viewport().width(),
            current=now.row() if now.isValid() else -1,
        )

    def _lanes(self, clip: QRect, first: int, last: int) -> list[Lane]:
        header, now = self.pair_header, self.currentIndex()
        selection = self.selectionModel().selection()
        blocks = [
            (part.top(), part.bottom(), part.left(), part.right())
            for part in (selection.at(at) for at in range(selection.count()))
            if part.top() <= last and part.bottom() >= first
        ]
        lanes = []
        for at, column in enumerate(self._diff.columns):
            if header.isSectionHidden(at):
                continue
            x, width = header.sectionViewportPosition(at), header.sectionSize(at)
            if x > clip.right() or x + width <= clip.left():
                continue
            selected = [(top, end) for top, end, left, right in blocks if left <= at <= right]
            focus = (
                at == now.column()
                and self.hasFocus()
                and any(top <= now.row() <= end for top, end in selected)
            )
            lanes.append(Lane(column, x, width, selected, focus))
        return lanes

    def sizeHintForColumn(self, column: int) -> int:
        """Pixels that show the values on screen whole (a double click on a header's edge)."""
        first, last = self.visible_rows()
        shown = self._diff.columns[column]
        records = self._diff.records(first, last)
        looks = (look_of(record, shown) for record in records if record is not None)
        return max((ceil(self._drawing.width_of(look)) for look in looks), default=0)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        before = self.currentIndex()
        after = super().moveCursor(action, modifiers)
        if after == before:
            sideways = {
                QAbstractItemView.CursorAction.MoveLeft: -1,
                QAbstractItemView.CursorAction.MoveRight: 1,
            }.get(action)
            if sideways is not None and self.neighbour is not None:
                return self.neighbour(sideways)
        return after


class Values(Half):
    """The pairs: scrolls sideways from one whole pair to the next."""

    def __init__(self, model: DiffModel, theme: Theme, drawing: CellDrawing, name: str) -> None:
        super().__init__(model, theme, drawing, name)
        self._turned = 0
        bar = self.horizontalScrollBar()
        bar.actionTriggered.connect(self._asked)
        bar.valueChanged.connect(self._moved)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._diff.rowCount() == 0:
            with QPainter(self.viewport()) as painter:
                painter.setFont(self._drawing.font)
                painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
                painter.drawText(
                    self.viewport().rect(),
                    int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap),
                    "No row passes the filters.\nClear them (Ctrl+Backspace) to see all rows.",
                )

    def stops(self) -> list[int]:
        """Where the table may stand (`snap.stops`)."""
        pairs: dict[int, list[int]] = {}
        for at, column in enumerate(self._diff.columns):
            if column.scored is not None and not self.isColumnHidden(at):
                pairs.setdefault(column.scored.index, []).append(self.columnWidth(at))
        return snap.stops(list(pairs.values()), self.viewport().width())

    def updateGeometries(self) -> None:
        super().updateGeometries()
        bar = self.horizontalScrollBar()
        places = self.stops()
        bar.setMaximum(places[-1])  # the last stop may leave some room at the right
        bar.setValue(snap.nearest(places, bar.value()))

    def _asked(self, action: int) -> None:
        """Make what the user did to the scroll bar end at a stop."""
        bar = self.horizontalScrollBar()
        wanted, now, places = bar.sliderPosition(), bar.value(), self.stops()
        steps = QAbstractSlider.SliderAction
        if action == steps.SliderMove.value and bar.isSliderDown():
            place = snap.nearest(places, wanted)
        elif wanted == now:
            return
        elif action in (steps.SliderPageStepAdd.value, steps.SliderPageStepSub.value):
            place = snap.nearest(places, wanted)
            if place == now:
                place = snap.beside(places, now, 1 if wanted > now else -1)
        else:
            place = snap.beside(places, now, 1 if wanted > now else -1)
        bar.setSliderPosition(place)

    def _moved(self, offset: int) -> None:
        place = snap.nearest(self.stops(), offset)
        if place != offset:
            self.horizontalScrollBar().setValue(place)
            return
        # Names and cut values follow the edges, so that what was painted cannot just be moved.
        self.viewport().update()
        self.pair_header.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta()
        if abs(turn.x()) <= abs(turn.y()):
            super().wheelEvent(event)
            return
        self._turned += turn.x()
        notches = int(self._turned / _NOTCH)
        self._turned -= notches * _NOTCH
        bar, places = self.horizontalScrollBar(), self.stops()
        for _ in range(abs(notches)):
            bar.setValue(snap.beside(places, bar.value(), -1 if notches > 0 else 1))
        event.accept()

    def scrollTo(
        self,
        index: AnyIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        bar = self.horizontalScrollBar()
        before = bar.value()
        super().scrollTo(index, hint)
        column = index.column()
        if column < 0 or self.isColumnHidden(column):
            return
        bar.setValue(self._place_for(column, before))

    def _place_for(self, column: int, offset: int) -> int:
        """Where to stand so that the pair of a column is seen whole, or else the column."""
        header, view = self.pair_header, self.viewport().width()
        first = column - (self._diff.columns[column].part == "agent")
        left = header.sectionPosition(first)
        right = header.sectionPosition(first + 1) + header.sectionSize(first + 1)
        if right - left > view:
            left = header.sectionPosition(column)
            right = left + header.sectionSize(column)
        return snap.showing(self.stops(), offset, left, right, view)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        column = self.currentIndex().column()
        if column >= 0 and not self.isColumnHidden(column):
            bar = self.horizontalScrollBar()
            bar.setValue(self._place_for(column, bar.value()))
