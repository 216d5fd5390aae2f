"""A layout that goes on in the next line when the window is narrow."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Widgets from left to right, in as many lines as they need."""

    def __init__(
        self, parent: QWidget | None = None, spacing: int = 6, *, one_line: bool = False
    ) -> None:
        """Make one.

        Args:
            parent: the widget that it lays out.
            spacing: between widgets and between lines, in pixels.
            one_line: beside others it asks for the width of all its widgets, not of the widest.
        """
        super().__init__(parent)
        self._one_line = one_line
        self._items: list[QLayoutItem] = []
        self._heights: dict[int, int] = {}
        """By width; Qt asks again and again while it lays out a page."""
        self.setSpacing(spacing)
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = self._place(QRect(0, 0, width, 0), move=False)
        return self._heights[width]

    def invalidate(self) -> None:
        self._heights.clear()
        super().invalidate()

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, move=True)

    def sizeHint(self) -> QSize:
        size = self.minimumSize()
        if self._one_line:
            widths = [i.sizeHint().width() for i in self._items if not i.isEmpty()]
            size.setWidth(sum(widths) + self.spacing() * max(0, len(widths) - 1))
        return size

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            if not item.isEmpty():
                size = size.expandedTo(item.sizeHint())
        return size

    def _place(self, rect: QRect, *, move: bool) -> int:
        """Lay the widgets out, those of a line on one middle; returns the height they take."""
        x, y, height = rect.x(), rect.y(), 0
        line: list[tuple[QLayoutItem, QRect]] = []
        for item in self._items:
            if item.isEmpty():
                continue
            hint = item.sizeHint()
            if x > rect.x() and x + hint.width() > rect.right() + 1:
                _settle(line, height, move=move)
                x, y, height = rect.x(), y + height + self.spacing(), 0
            line.append((item, QRect(QPoint(x, y), hint)))
            x += hint.width() + self.spacing()
            height = max(height, hint.height())
        _settle(line, height, move=move)
        return y + height - rect.y()


def _settle(line: list[tuple[QLayoutItem, QRect]], height: int, *, move: bool) -> None:
    """Give the widgets of a finished line their places, and begin a new line."""
    for item, place in line:
        if move:
            item.setGeometry(place.translated(0, (height - place.height()) // 2))
    line.clear()
