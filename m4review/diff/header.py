"""The two-storey header: a column's name over "reference" and "agent", with its match rate."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QWidget

from m4review.app.theme import Theme
from m4review.diff.layout import percent
from m4review.diff.query import Sort
from m4review.diff.table import DiffModel, TableColumn


class PairHeader(QHeaderView):
    """Draws each pair of value columns under one name; marks what is sorted by."""

    def __init__(self, model: DiffModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._diff = model
        self._theme = theme
        self._sorts: tuple[Sort, ...] = ()
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.setMinimumSectionSize(36)
        self.setAccessibleName("Columns")

    def own_selection(self) -> None:
        """Give the header a selection model of its own.

        The table's selection of millions of rows would otherwise be walked at each paint.
        """
        self.setSelectionModel(QItemSelectionModel(self._diff, self))

    def set_theme(self, theme: Theme) -> None:
        """Take over other colours."""
        self._theme = theme
        self.viewport().update()

    def set_sorts(self, sorts: tuple[Sort, ...]) -> None:
        """Mark what the rows are sorted by."""
        self._sorts = sorts
        self.viewport().update()

    def sizeHint(self) -> QSize:
        # Only the height counts; Qt would ask each column for its text to find a width.
        return QSize(0, round(QFontMetrics(self.font()).height() * 2.9))

    def paintSection(self, painter: QPainter, rect: QRect, logical: int) -> None:
        column = self._diff.columns[logical]
        theme = self._theme
        painter.save()
        painter.fillRect(rect, QColor(theme.raised))
        painter.setClipRect(rect)
        if column.scored is None:
            pad = self._pad
            self._words(painter, rect.adjusted(pad, 0, -pad, 0), column, bold=True)
        else:
            self._pair(painter, rect, column, logical)
        painter.setPen(QPen(QColor(theme.line)))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.restore()

    def _pair(
        self,
        painter: QPainter,
        rect: QRect,
        column: TableColumn,
        logical: int,
    ) -> None:
        theme, pad, half = self._theme, self._pad, rect.height() // 2
        if column.part == "reference":
            left, width = rect.left(), rect.width() + self._shown(logical + 1)
        else:
            before = self._shown(logical - 1)
            left, width = rect.left() - before, rect.width() + before
        # Within what can be seen: the name stays while any part of its pair does.
        seen_left = max(left, 0)
        seen = min(left + width, self.viewport().width()) - seen_left
        over = QRect(seen_left + pad, rect.top(), seen - 2 * pad, half)
        self._name(painter, over, column)
        painter.setPen(QPen(QColor(theme.line)))
        painter.drawLine(rect.left(), rect.top() + half, rect.right(), rect.top() + half)
        edge, end = max(rect.left(), 0), min(rect.right() + 1, self.viewport().width())
        lower = QRect(edge + pad, rect.top() + half, end - edge - 2 * pad, half)
        self._words(painter, lower, column, bold=False)
        if column.part == "reference":
            painter.setPen(QPen(QColor(theme.muted)))
            painter.drawLine(rect.topLeft(), rect.bottomLeft())

    @property
    def _pad(self) -> int:
        return round(QFontMetrics(self.font()).height() * 0.45)

    def _shown(self, logical: int) -> int:
        return 0 if self.isSectionHidden(logical) else self.sectionSize(logical)

    def _name(self, painter: QPainter, rect: QRect, column: TableColumn) -> None:
        theme = self._theme
        scored = column.scored
        if scored is None:
            return
        share = self._diff.layout_of_diff.match_rate(scored.index)
        what_if = scored.index in self._diff.what_if
        rate = ("if: " if what_if else "") + percent(share)
        font = QFont(self.font())
        metrics = QFontMetrics(font)
        rate_width = metrics.horizontalAdvance(rate) + 8
        bold = QFont(font)
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(QColor(theme.text))
        room = rect.width() - rate_width
        if room < rect.width() // 2:  # hardly in view: a name without a rate, never the reverse
            room, rate = rect.width(), ""
        name = QFontMetrics(bold).elidedText(column.title, Qt.TextElideMode.ElideRight, room)
        painter.drawText(
            rect, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), name
        )
        painter.setFont(font)
        painter.setPen(
            QColor(theme.warn if what_if else theme.good if share == 1 else theme.different)
        )
        painter.drawText(
            rect, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), rate
        )

    def _words(self, painter: QPainter, rect: QRect, column: TableColumn, *, bold: bool) -> None:
        font = QFont(self.font())
        if bold:
            font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.text if bold else self._theme.muted))
        text = column.title if column.scored is None else column.part
        mark = self._mark(column)
        side = Qt.AlignmentFlag.AlignRight if column.numeric else Qt.AlignmentFlag.AlignLeft
        shown = QFontMetrics(font).elidedText(
            text + mark, Qt.TextElideMode.ElideRight, rect.width()
        )
        painter.drawText(rect, int(side | Qt.AlignmentFlag.AlignVCenter), shown)

    def _mark(self, column: TableColumn) -> str:
        for number, sort in enumerate(self._sorts, start=1):
            if sort.field == column.sort_field:
                arrow = "▼" if sort.descending else "▲"
                return f" {arrow}" + (str(number) if len(self._sorts) > 1 else "")
        return ""
