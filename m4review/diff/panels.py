"""Beside the diff: what a column's mismatches have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QClipboard,
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QFrame,
    QGridLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.app.widgets import clear, label
from m4review.diff.layout import (
    CELL_GLYPHS,
    CellStatus,
    Layout,
    percent,
)
from m4review.diff.query import Pair
from m4review.diff.reader import ColumnStatistics, Differences
from m4review.diff.words import difference_words, signed, signed_duration, words_of

_BREAK = "\u200b"
"""Takes no room, and a line may end there."""
_PIECE = 6
"""Characters between two places where a long word may be broken."""
_LONG_WORD = re.compile(rf"[^\s{_BREAK}]{{14,}}")
_MINUTE = 60.0
"""Seconds from which on a time difference is told without parts of a second."""
TONES: Mapping[CellStatus, str] = {
    CellStatus.EQUAL: "good",
    CellStatus.NEAR: "near",
    CellStatus.DIFFERENT: "different",
    CellStatus.REFERENCE_NULL: "null",
    CellStatus.AGENT_NULL: "null",
    CellStatus.BOTH_NULL: "good",
    CellStatus.NO_AGENT: "missing",
    CellStatus.NO_REFERENCE: "extra",
}
"""Colour of a cell's status, by its name in the theme."""


def scrolled(inner: QWidget) -> QScrollArea:
    """Lets a panel scroll up and down."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    inner.setProperty("plain", True)
    area.setWidget(inner)
    return area


def selectable(widget: QLabel) -> QLabel:
    """Lets a label's text be copied."""
    widget.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return widget


class ValueLabel(QLabel):
    """A text of any length in a narrow place: it is broken where it must be, and copied whole.

    Qt breaks words at blanks only; a long number would make its panel wider than it can be, and
    so be cut without a sign. Only who holds the label copies: a value is not to leave the program
    unasked or unrecorded, so it neither goes to the clipboard from here nor can it be dragged.
    """

    copy_asked = Signal(str)
    """This text, which is selected, is to be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        selectable(self)

    def setText(self, text: str) -> None:
        super().setText(_LONG_WORD.sub(_with_breaks, text.replace("_", f"_{_BREAK}")))

    @property
    def whole(self) -> str:
        """The text as it was given."""
        return self.text().replace(_BREAK, "")

    def _copy(self) -> None:
        if self.hasSelectedText():
            self.copy_asked.emit(self.selectedText().replace(_BREAK, ""))

    def event(self, event: QEvent) -> bool:
        # Else the key would copy the table's cells, though a text is selected here.
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QKeySequence.StandardKey.Copy)
            and self.hasSelectedText()
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
            event.accept()
            return
        super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        copy = menu.addAction("Copy")
        copy.setEnabled(self.hasSelectedText())
        copy.triggered.connect(lambda _=False: self._copy())
        menu.addAction("Select all").triggered.connect(
            lambda _=False: self.setSelection(0, len(self.text()))
        )
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.hasSelectedText():
            self.setSelection(0, 0)  # else the text could be dragged into another program
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        board = QGuiApplication.clipboard()
        if board.supportsSelection() and board.ownsSelection():
            board.clear(QClipboard.Mode.Selection)  # where it would be without being asked


def _with_breaks(found: re.Match[str]) -> str:
    word = found.group()
    return _BREAK.join(word[at : at + _PIECE] for at in range(0, len(word), _PIECE))


class Bar(QWidget):
    """A share as a bar with its number; drawn, so that it follows zoom and theme."""

    def __init__(self, context: Context, share: float, tone: str) -> None:
        super().__init__()
        self._context, self._share, self._tone = context, share, tone
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{share:.1%}")

    def sizeHint(self) -> QSize:
        return QSize(self._context.px(80), self._context.px(8))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(self.rect())
        radius = whole.height() / 2
        painter.setBrush(QColor(self._context.theme.hover))
        painter.drawRoundedRect(whole, radius, radius)
        if self._share > 0:
            part = QRectF(whole)
            part.setWidth(max(whole.height(), whole.width() * self._share))
            painter.setBrush(QColor(getattr(self._context.theme, self._tone)))
            painter.drawRoundedRect(part, radius, radius)
        painter.end()


class ColumnPanel(QWidget):
    """Counts by status, differences, and the pairs of values that meet most often."""

    column_chosen = Signal(object)
    pair_chosen = Signal(object)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._layout: Layout | None = None
        self._statistics: ColumnStatistics | None = None
        outer = QVBoxLayout(self)
        edge = context.px(8)
        outer.setContentsMargins(edge, edge, edge, edge)
        self.choice = QComboBox()
        self.choice.setAccessibleName("Column whose statistics are shown")
        self.choice.setToolTip("Column whose statistics are shown, with its mismatches")
        self.choice.currentIndexChanged.connect(
            lambda _: self.column_chosen.emit(self.choice.currentData())
        )
        outer.addWidget(self.choice)
        inner = QWidget()
        self._body = QVBoxLayout(inner)
        self._body.setContentsMargins(0, 0, context.px(4), 0)
        outer.addWidget(scrolled(inner), 1)
        self.pairs: QTableWidget | None = None
        context.theme_changed.connect(self._draw)

    def set_layout_of(self, layout: Layout) -> None:
        """Offer the columns of an opened file."""
        self._layout = layout
        self.choice.blockSignals(True)
        self.choice.clear()
        for column in layout.scored:
            self.choice.addItem(
                f"{column.name}   ≠ {layout.mismatches_of(column.index):,}", column.index
            )
        self.choice.blockSignals(False)

    def show_column(self, column: int) -> None:
        """Show what is known at once; the computed part follows with `show_statistics`."""
        at = self.choice.findData(column)
        if at >= 0 and at != self.choice.currentIndex():
            self.choice.setCurrentIndex(at)

    def show_statistics(self, statistics: ColumnStatistics | None) -> None:
        """Show the computed part (None: it is being computed)."""
        self._statistics = statistics
        self._draw()

    def _draw(self) -> None:
        clear(self._body)
        self.pairs = None
        layout, column = self._layout, self.choice.currentData()
        if layout is None or column is None:
            return
        scored = layout.scored[column]
        unit = " s" if scored.compared_as == "time" else ""
        tolerance = (
            "" if scored.compared_as == "text" else f", tolerance {scored.tolerance:g}{unit}"
        )
        self._body.addWidget(
            label(f"Compared as {scored.compared_as}{tolerance}", "muted", wrap=True)
        )
        self._counts(layout, column)
        statistics = self._statistics
        if statistics is None or statistics.column != column:
            self._body.addWidget(label("Counting…", "muted"))
        else:
            if statistics.differences is not None and statistics.differences.n:
                self._differences(statistics.differences, scored.compared_as == "time")
            self._pairs(statistics, scored.compared_as == "time")
        self._body.addStretch(1)

    def _counts(self, layout: Layout, column: int) -> None:
        self._body.addWidget(label("Cells by status", "section"))
        grid = QGridLayout()
        grid.setColumnStretch(0, 1)
        counts = layout.cell_counts[column]
        row = 0
        for status in CellStatus:
            number = counts.get(status, 0)
            if not number:
                continue
            share = number / layout.rows
            text = f"{CELL_GLYPHS[status] or '='}  {_SHORT[status]}"
            name = label(text, wrap=True)
            figure = label(f"{number:,}")
            figure.setAlignment(Qt.AlignmentFlag.AlignRight)
            part = label(percent(share), "muted")
            part.setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(name, row, 0)
            grid.addWidget(figure, row, 1)
            grid.addWidget(part, row, 2)
            grid.addWidget(Bar(self._context, share, TONES[status]), row + 1, 0, 1, 3)
            row += 2
        self._body.addLayout(grid)

    def _differences(self, found: Differences, times: bool) -> None:
        self._body.addWidget(label("Agent − reference where they differ", "section"))
        grid = QGridLayout()
        grid.setColumnStretch(0, 1)

        def shown(value: float | None) -> str:
            if value is None:
                return "–"
            if not times:
                return signed(value)
            return signed_duration(round(value) if abs(value) >= _MINUTE else value)

        rows = [
            ("rows", f"{found.n:,}"),
            ("median", shown(found.median)),
            ("mean", shown(found.mean)),
            ("from", shown(found.smallest)),
            ("to", shown(found.largest)),
            ("agent larger", percent(found.positive / found.n)),
        ]
        for at, (name, value) in enumerate(rows):
            figure = selectable(label(value))
            figure.setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(label(name, "muted"), at, 0)
            grid.addWidget(figure, at, 1)
        self._body.addLayout(grid)

    def _pairs(self, statistics: ColumnStatistics, times: bool) -> None:
        title = "Most frequent mismatching pairs"
        self._body.addWidget(label(title, "section"))
        if not statistics.pairs:
            self._body.addWidget(
                label("No mismatch among the keys that both tables have.", "muted", wrap=True)
            )
            return
        table = QTableWidget(len(statistics.pairs), 3)
        table.setAccessibleName(title)
        table.setHorizontalHeaderLabels(["reference", "agent", "rows"])
        if times:  # two times look alike at a glance: under each other, with the difference
            table.setColumnHidden(1, True)
            table.setHorizontalHeaderLabels(["reference, agent below", "agent", "rows"])
        table.verticalHeader().hide()
        table.setShowGrid(False)
        table.setTabKeyNavigation(False)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for at, counted in enumerate(statistics.pairs):
            left, right = counted.pair.reference, counted.pair.agent
            one, other = words_of(left), words_of(right)
            if times:
                one = "\n".join(filter(None, (one, other, difference_words(left, right))))
            cells = (one, other, f"{counted.count:,}")
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setToolTip(
                    as_written(f"{text}\n{percent(counted.count / statistics.mismatches)} of them")
                )
                if column == 2:  # noqa: PLR2004 - the count
                    item.setTextAlignment(
                        Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                    )
                table.setItem(at, column, item)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)

        def fit() -> None:
            table.resizeRowsToContents()
            height = header.sizeHint().height() + table.verticalHeader().length()
            table.setFixedHeight(height + 6)

        fit()
        header.sectionResized.connect(lambda *_: fit())
        pairs: list[Pair] = [counted.pair for counted in statistics.pairs]
        table.cellActivated.connect(lambda row, _column: self.pair_chosen.emit(pairs[row]))
        table.cellClicked.connect(lambda row, _column: self.pair_chosen.emit(pairs[row]))
        self._body.addWidget(table)
        more = statistics.distinct_pairs - len(pairs)
        hint = "Click a pair to see its rows."
        if more > 0:
            hint += f" {more:,} further pairs are not listed."
        self._body.addWidget(label(hint, "muted", wrap=True))
        self.pairs = table


_SHORT = {
    CellStatus.EQUAL: "equal",
    CellStatus.NEAR: "within tolerance",
    CellStatus.DIFFERENT: "different",
    CellStatus.REFERENCE_NULL: "null in the reference only",
    CellStatus.AGENT_NULL: "null in the agent's only",
    CellStatus.BOTH_NULL: "null on both sides",
    CellStatus.NO_AGENT: "no agent value",
    CellStatus.NO_REFERENCE: "extra or duplicate row",
}
