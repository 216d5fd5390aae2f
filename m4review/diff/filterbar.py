"""The bar over the diff: what is shown, by kind, column and key, with the counts of each kind."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.tips import as_written
from m4review.app.widgets import button, keep_height, label
from m4review.diff.condition import is_field, names
from m4review.diff.layout import CellStatus, KeyStatus, Layout
from m4review.diff.query import CELL_KINDS, Kind
from m4review.diff.viewmodel import DiffViewModel
from m4review.diff.words import words_of

_TYPING = 250
"""Milliseconds without a key before a typed filter is applied."""

_LARGE = 1.5
"""Zoom from which on kinds that do not occur are left out."""
_CHIP = 300
"""Pixels at 100 % for the words of a filter."""
_OFFERED = 30
"""Names listed in a tool tip."""

_CHIPS: tuple[tuple[Kind, str, str, str], ...] = (
    (Kind.DIFFERENT, "≠", "different", "Rows with a cell whose two values differ"),
    (Kind.NULL, "∅", "null on one side", "Rows with a cell that is null on one side only"),
    (Kind.MISSING, "−", "missing", "Rows that the agent's table lacks"),
    (Kind.EXTRA, "+", "extra", "Rows whose key the reference does not have"),
    (Kind.DUPLICATE, "×2", "duplicate", "Further agent rows of a key (only the first counts)"),
    (Kind.NEAR, "≈", "within tolerance", "Rows with a cell that matches only by the tolerance"),
)
_ROW_KINDS = {
    Kind.MISSING: KeyStatus.MISSING,
    Kind.EXTRA: KeyStatus.EXTRA,
    Kind.DUPLICATE: KeyStatus.DUPLICATE,
}


class FilterBar(QWidget):
    """Filters by mouse and keyboard; follows the view-model's query."""

    def __init__(self, context: Context, model: DiffViewModel) -> None:
        super().__init__()
        self._context, self._model = context, model
        self.only = QPushButton("≠  Only mismatches")
        self.only.setCheckable(True)
        self.only.setProperty("kind", "chip")
        self.only.setToolTip("Leave out the rows in which everything matches (Ctrl+M)")
        self.column = QComboBox()
        self.column.setAccessibleName("Column whose mismatches are looked at")
        self.column.setToolTip("Mismatches and kinds are those of this column")
        self.column.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.text = QLineEdit()
        self.text.setPlaceholderText("Key contains…   or   stay_id=30000123")
        self.text.setAccessibleName("Filter by key")
        self.text.setClearButtonEnabled(True)
        self.text.setMinimumWidth(context.px(60))
        self.text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.pair = QPushButton()
        self.pair.setProperty("kind", "chip")
        self.pair.hide()
        self.chosen = QPushButton()
        self.chosen.setProperty("kind", "chip")
        self.chosen.clicked.connect(lambda _=False: model.drop_chosen())
        self.chosen.hide()
        self.sql = QLineEdit()
        self.sql.setAccessibleName("Condition in SQL")
        self.sql.setClearButtonEnabled(True)
        self.sql.returnPressed.connect(lambda: model.show_typed(self.sql.text()))
        self.sql_line = QWidget()
        self.clear = button(context, "Clear", model.clear, icon="x", tip="Show all rows again")
        self.clear.setEnabled(False)
        self.chips: dict[Kind, QPushButton] = {}
        self._tools: tuple[QWidget, ...] = ()
        self._tools_above = False
        self._chosen_above = False
        self._build()
        self._wire()

    def _wire(self) -> None:
        model = self._model
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_TYPING)
        self._timer.timeout.connect(lambda: model.set_text(self.text.text()))
        self.text.textEdited.connect(lambda _: self._timer.start())
        self.text.returnPressed.connect(lambda: model.set_text(self.text.text()))
        self.only.toggled.connect(model.set_only_mismatches)
        self.column.currentIndexChanged.connect(
            lambda _: model.set_column(self.column.currentData())
        )
        self.pair.clicked.connect(lambda: model.set_pair(None))
        model.query_changed.connect(self._follow)
        model.view_changed.connect(lambda _: self._count())
        self._context.theme_changed.connect(self._count)

    def _build(self) -> None:
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(self._context.px(6))
        first = QHBoxLayout()
        first.addWidget(self.only)
        first.addWidget(label("in", "muted"))
        first.addWidget(self.column)
        first.addWidget(self.text, 1)
        first.addWidget(self.clear)
        self._first = first
        second = FlowLayout(spacing=self._context.px(6))
        second.addWidget(self.pair)
        second.addWidget(self.chosen)
        for kind, _, words, tip in _CHIPS:
            chip = QPushButton()
            chip.setCheckable(True)
            chip.setProperty("kind", "chip")
            chip.setToolTip(as_written(f"{tip}. Several kinds may be chosen."))
            chip.setAccessibleName(words)
            chip.toggled.connect(lambda on, which=kind: self._model.toggle_kind(which, on))
            self.chips[kind] = chip
            second.addWidget(chip)
        rows.addLayout(first)
        expert = QHBoxLayout(self.sql_line)
        expert.setContentsMargins(0, 0, 0, 0)
        expert.addWidget(label("Rows for which", "muted"))
        expert.addWidget(self.sql, 1)
        expert.addWidget(
            button(self._context, "Apply", lambda: self._model.show_typed(self.sql.text()))
        )
        self.sql_line.hide()
        rows.addWidget(self.sql_line)
        rows.addLayout(second)
        self._second = second

    @property
    def second_row(self) -> FlowLayout:
        """The row of kinds; the screen adds its own buttons. It breaks where there is no room."""
        return self._second

    def set_tools(self, tools: Sequence[QWidget]) -> None:
        """Buttons that end the first row where it has room, and else the second one."""
        self._tools = tuple(tools)
        for each in tools:
            self._second.addWidget(each)

    def _place_chosen(self) -> None:
        """The chip of chosen rows shares the first line where all has room in it."""
        spacing = self._first.spacing()
        wide = self.chosen.sizeHint().width() + spacing
        needed = self._first.minimumSize().width() + wide
        if self._chosen_above:
            needed -= wide
        if not self._tools_above:
            needed += sum(each.sizeHint().width() + spacing for each in self._tools)
        above = not self.chosen.isHidden() and needed <= self.width()
        if above == self._chosen_above:
            return
        self._chosen_above = above
        (self._second if above else self._first).removeWidget(self.chosen)
        if above:
            self._first.insertWidget(self._first.indexOf(self.clear), self.chosen)
        else:
            self._second.addWidget(self.chosen)

    def _place_tools(self) -> None:
        spacing = self._first.spacing()
        needed = self._first.minimumSize().width() + (0 if self._tools_above else spacing)
        if not self._tools_above:
            needed += sum(each.sizeHint().width() + spacing for each in self._tools)
        above = needed <= self.width()
        if above == self._tools_above:
            return
        self._tools_above = above
        for each in self._tools:
            (self._second if above else self._first).removeWidget(each)
            (self._first if above else self._second).addWidget(each)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_tools()
        self._place_chosen()
        self._need_height()

    def _need_height(self) -> None:
        self._second.invalidate()  # what was shown or hidden just now is told it only later
        keep_height(self)

    def minimumSizeHint(self) -> QSize:
        # The tools go to the second line where there is no room: they must not ask for it.
        hint = super().minimumSizeHint()
        if self._tools_above:
            spacing = self._first.spacing()
            tools = sum(each.sizeHint().width() + spacing for each in self._tools)
            chosen = self.chosen.sizeHint().width() + spacing if self._chosen_above else 0
            hint.setWidth(max(self._second.minimumSize().width(), hint.width() - tools - chosen))
        return hint

    def set_layout_of(self, layout: Layout) -> None:
        """Offer the columns of an opened file."""
        with QSignalBlocker(self.column):
            self.column.clear()
            self.column.addItem("any column", None)
            for column in layout.scored:
                self.column.addItem(column.name, column.index)
        example = layout.scored[0].name if layout.scored else "column"
        self.sql.setPlaceholderText(
            f"{example}__status = 'different' AND {example}__agent IS NOT NULL"
        )
        offered = [name for name in names(layout) if not is_field(name)]
        self.sql.setToolTip(
            as_written(
                "A condition over the columns of an export, in SQL; Enter applies it.\n"
                + "\n".join(offered[:_OFFERED])
                + (f"\n… and {len(offered) - _OFFERED} more" if len(offered) > _OFFERED else "")
            )
        )
        self._follow()

    def forget(self) -> None:
        """No file is open: no count is left of the former one."""
        for kind, glyph, words, _ in _CHIPS:
            self.chips[kind].setText(f"{glyph}  {words}")
            self.chips[kind].setAccessibleName(words)
            self.chips[kind].setEnabled(False)

    def toggle_sql(self) -> None:
        """Show the line for a condition in SQL, or put it away."""
        on = not self.sql_line.isVisible()
        self.sql_line.setVisible(on)
        self._need_height()
        if on:
            self.sql.setFocus()
        else:
            self._model.drop_chosen()

    def focus_text(self) -> None:
        """Put the cursor into the key filter."""
        self.text.setFocus()
        self.text.selectAll()

    def _follow(self) -> None:
        query = self._model.query
        with QSignalBlocker(self.only):
            self.only.setChecked(query.only_mismatches)
        with QSignalBlocker(self.column):
            self.column.setCurrentIndex(max(0, self.column.findData(query.column)))
        if self.text.text() != query.text and not self._timer.isActive():
            self.text.setText(query.text)
        for kind, chip in self.chips.items():
            with QSignalBlocker(chip):
                chip.setChecked(kind in query.kinds)
        self.pair.setVisible(query.pair is not None)
        if query.pair is not None and self._model.file is not None:
            name = self._model.layout.scored[query.pair.column].name
            left, right = words_of(query.pair.reference), words_of(query.pair.agent)
            self._put(self.pair, f"{name}: {left} → {right}", "with these two values")
        self.chosen.setVisible(query.chosen is not None)
        if query.chosen is not None:
            self._put(self.chosen, query.chosen.words, "of this kind")
        self._place_chosen()
        self.clear.setEnabled(not query.plain or query.column is not None)
        self._count()

    def _put(self, chip: QPushButton, words: str, which: str) -> None:
        """Say what a chip filters by; what has no room is cut at the end and whole in the tip."""
        room = self._context.px(_CHIP)
        shown = chip.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, room)
        chip.setText(f"{shown}   ×")
        chip.setAccessibleName(f"Only: {words}")
        chip.setToolTip(as_written(f"Only rows {which}: {words}\nClick to take it away."))

    def _count(self) -> None:
        if self._model.file is None:
            return
        layout, column = self._model.counted, self._model.query.column
        for kind, glyph, words, _ in _CHIPS:
            chip = self.chips[kind]
            if kind in _ROW_KINDS:
                number = layout.key_counts.get(_ROW_KINDS[kind], 0)
                unit = "row" if number == 1 else "rows"
            else:
                statuses: tuple[CellStatus, ...] = CELL_KINDS[kind]
                number = layout.cells(*statuses, column=column)
                unit = "cell" if number == 1 else "cells"
            said = f"{words} {unit}" if kind is Kind.DIFFERENT else words  # not the rows below
            chip.setText(f"{glyph}  {number:,} {said}")
            chip.setAccessibleName(f"{number:,} {unit} {words}")
            chip.setEnabled(number > 0 or chip.isChecked())
            # In large letters the rows need the room more than what there is none of.
            chip.setVisible(chip.isEnabled() or self._context.zoom < _LARGE)
        self._need_height()
