"""Changes by column as stacked bars, one group per column, one bar per further run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFontMetrics

from engine.diagnosis.compare import Comparison
from m4review.app.context import Context
from m4review.app.plots import StillPlot
from m4review.compare.words import DRAWN, LOOKS, letters

_NAME = 200
"""Pixels at 100 % for the columns' names."""
_LINE = 22
"""Pixels of a bar at 100 %."""


class ChangeBars(StillPlot):
    """Horizontal bars of what is wrong in either run; what is right in both is left out."""

    chosen = Signal(int, int, str)
    """Run, column and change of a part that was clicked."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._comparison: Comparison | None = None
        self._drawn: list[Any] = []
        self.setAccessibleName("Changes by column; the table has the same figures")
        self.getPlotItem().vb.invertY(True)
        self.scene().sigMouseClicked.connect(self._clicked)
        context.theme_changed.connect(self.draw)

    def show_comparison(self, comparison: Comparison | None) -> None:
        """Draw a comparison."""
        self._comparison = comparison
        self.draw()

    def _bars(self) -> list[tuple[int, int]]:
        """(column, further run) of each bar, from top to bottom; run counts from 1."""
        comparison = self._comparison
        if comparison is None:
            return []
        return [
            (column, run)
            for column in range(len(comparison.columns))
            for run, other in enumerate(comparison.others, start=1)
            if any(other.columns[column].cells.get(change, 0) for change in DRAWN)
        ]

    def draw(self) -> None:
        """Draw again."""
        theme, px = self._context.theme, self._context.px
        for item in self._drawn:
            self.removeItem(item)
        self._drawn = []
        self.setBackground(theme.surface)
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(theme.line)
            axis.setTextPen(theme.text)
            axis.setStyle(tickFont=self.font(), hideOverlappingLabels=False)
            axis.enableAutoSIPrefix(False)
        self.getAxis("left").setWidth(px(_NAME))
        self.getAxis("bottom").setHeight(px(42))
        self.setLabel("bottom", "cells that are wrong in one of the two", color=theme.muted)
        self.getAxis("bottom").label.setFont(self.font())
        self.showGrid(x=True, y=False, alpha=0.15)
        comparison, bars = self._comparison, self._bars()
        self.setFixedHeight(px(64 + _LINE * max(1, len(bars))))
        if comparison is None or not bars:
            return
        names = letters(len(comparison.runs))
        fit = QFontMetrics(self.font())
        ticks = []
        for at, (column, run) in enumerate(bars):
            name = comparison.columns[column]
            text = f"{name} · {names[run]}" if len(comparison.runs) > 2 else name  # noqa: PLR2004
            room = px(_NAME) - px(12)
            ticks.append((at, fit.elidedText(text, Qt.TextElideMode.ElideMiddle, room)))
        self.getAxis("left").setTicks([ticks])
        y = np.arange(len(bars), dtype=float)
        before = np.zeros(len(bars))
        for change in DRAWN:
            look = LOOKS[change]
            width = np.array(
                [comparison.others[run - 1].columns[col].cells.get(change, 0) for col, run in bars],
                dtype=float,
            )
            colour = QColor(getattr(theme, look.colour))
            some = width > 0
            item = pyqtgraph.BarGraphItem(
                x0=before[some], width=width[some], y=y[some], height=0.7,
                pen=pyqtgraph.mkPen(colour), brush=QBrush(colour, look.pattern),
            )  # fmt: skip
            self.addItem(item, ignoreBounds=True)
            self._drawn.append(item)
            before = before + width
        view = self.getPlotItem().vb
        view.setYRange(-0.6, len(bars) - 0.4, padding=0)
        view.setXRange(0, max(1.0, float(before.max())), padding=0.02)

    def part_at(self, x: float, y: float) -> tuple[int, int, str] | None:
        """Run, column and change at a point of the picture."""
        comparison, bars, at = self._comparison, self._bars(), round(y)
        if comparison is None or not 0 <= at < len(bars) or x < 0:
            return None
        column, run = bars[at]
        cells = comparison.others[run - 1].columns[column].cells
        reached = 0
        for change in DRAWN:
            reached += cells.get(change, 0)
            if x <= reached:
                return run, column, change
        return None

    def _clicked(self, event: Any) -> None:
        here = self.getPlotItem().vb.mapSceneToView(event.scenePos())
        part = self.part_at(here.x(), here.y())
        if part is not None:
            self.chosen.emit(*part)
