"""The runs of a comparison by their letters, a click away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from m4review.app.context import Context
from m4review.app.flow import FlowLayout
from m4review.app.links import Place
from m4review.app.tips import as_written
from m4review.app.widgets import ColumnScroll, clear
from m4review.compare.viewmodel import Side
from m4review.compare.words import letters, run_words

_LINES = 3
"""Lines of chips that are seen at once; the pictures below need the room."""
_WIDEST = 460
"""Pixels of a chip at 100 %."""


class RunChips(ColumnScroll):
    """One chip for each run; it opens the run."""

    def __init__(self, context: Context) -> None:
        self._flow = FlowLayout(spacing=context.px(6))
        self._inner = QWidget()
        self._inner.setLayout(self._flow)
        super().__init__(self._inner)
        self._context = context
        self.chips: list[QPushButton] = []

    def show_sides(self, sides: Sequence[Side]) -> None:
        """Show these runs, in their order."""
        clear(self._flow)
        self.chips = []
        for name, side in zip(letters(len(sides)), sides, strict=True):
            words = f"{name}   {run_words(side.summary)}"
            chip = QPushButton()
            chip.setProperty("kind", "chip")
            fit = chip.fontMetrics()
            room = self._context.px(_WIDEST)
            chip.setText(fit.elidedText(words, Qt.TextElideMode.ElideMiddle, room))
            chip.setAccessibleName(f"Open run {words}")
            chip.setToolTip(as_written(f"{words}\nOpens the run."))
            there = Place("run", side.summary.run_id)
            chip.clicked.connect(partial(self._go, there))
            self._flow.addWidget(chip)
            self.chips.append(chip)
        self.setVisible(bool(sides))
        self._fit()

    def _go(self, place: Place) -> None:
        self._context.go(place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        if not self.chips:
            return
        line = self.chips[0].sizeHint().height() + self._flow.spacing()
        needed = self._flow.heightForWidth(self.viewport().width())
        self.setFixedHeight(min(needed + self._flow.spacing(), _LINES * line))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), 0)
