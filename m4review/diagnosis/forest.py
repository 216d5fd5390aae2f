"""Segments as a forest plot: how much more often each mismatches than the rest, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent

from engine.diagnosis.model import Segment
from m4review.app.context import Context
from m4review.app.plots import StillPlot
from m4review.diagnosis.words import interval_words

MOST = 12
"""Segments that are drawn; the table has them all."""
_LINE = 22


class Forest(StillPlot):
    """One line per segment: a square at share − base, whiskers for the interval, and zero."""

    chosen = Signal(int)
    """Number of a segment that was clicked."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._segments: tuple[Segment, ...] = ()
        self.current = -1
        self._names = 0
        self.setAccessibleName("Segments: share minus base with intervals; the table has the same")
        self.getPlotItem().vb.invertY(True)
        self._drawn: list[Any] = []
        self.scene().sigMouseClicked.connect(self._clicked)
        context.theme_changed.connect(self.draw)

    def show_segments(self, segments: Sequence[Segment]) -> None:
        """Draw these, in their order."""
        self._segments, self.current = tuple(segments[:MOST]), -1
        self.draw()

    def select(self, number: int) -> None:
        """Mark a segment."""
        if number != self.current:
            self.current = number
            self.draw()

    def draw(self) -> None:
        """Draw again."""
        theme, px, zoom = self._context.theme, self._context.px, self._context.zoom
        for item in self._drawn:
            self.removeItem(item)
        self._drawn = []
        self.setBackground(theme.surface)
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(theme.line)
            axis.setTextPen(theme.text)
            axis.setStyle(tickFont=self.font(), hideOverlappingLabels=False)
        self._names = self._room()
        self.getAxis("left").setWidth(self._names)
        self.getAxis("left").setTicks([[(n, self._name(s)) for n, s in enumerate(self._segments)]])
        self.getAxis("bottom").setHeight(px(42))
        self.setLabel(
            "bottom", "mismatches here minus elsewhere, percentage points", color=theme.muted
        )
        self.getAxis("bottom").label.setFont(self.font())
        self.showGrid(x=True, y=False, alpha=0.15)
        self.setMinimumHeight(px(min(70 + _LINE * len(self._segments), 340)))
        if not self._segments:
            return
        y = np.arange(len(self._segments), dtype=float)
        low, high = (np.array([100 * s.difference[n] for s in self._segments]) for n in (0, 1))
        middle = np.array([100 * (s.share - s.base) for s in self._segments])
        zero = pyqtgraph.InfiniteLine(
            0, angle=90, pen=pyqtgraph.mkPen(theme.muted, style=Qt.PenStyle.DashLine)
        )
        whiskers = pyqtgraph.ErrorBarItem(
            x=middle, y=y, left=np.maximum(middle - low, 0), right=np.maximum(high - middle, 0),
            beam=0.25, pen=pyqtgraph.mkPen(theme.text, width=1.6 * zoom),
        )  # fmt: skip
        marks = pyqtgraph.ScatterPlotItem(
            x=middle, y=y, symbol="s", size=9 * zoom, brush=theme.accent, pen=theme.surface
        )
        for item in (zero, whiskers, marks):
            self._add(item)
        if 0 <= self.current < len(self._segments):
            band = pyqtgraph.LinearRegionItem(
                (self.current - 0.45, self.current + 0.45), orientation="horizontal",
                movable=False, brush=theme.selection, pen=pyqtgraph.mkPen(None),
            )  # fmt: skip
            band.setZValue(-10)
            self._add(band)
        view = self.getPlotItem().vb
        view.setYRange(-0.6, len(self._segments) - 0.4, padding=0)
        view.setXRange(min(0.0, float(low.min())), max(0.0, float(high.max())), padding=0.06)

    def _room(self) -> int:
        """Pixels for the names: as many as the longest needs, and at most half of the picture."""
        metrics = QFontMetrics(self.font())
        longest = max((metrics.horizontalAdvance(_said(s)) for s in self._segments), default=0)
        return max(
            self._context.px(80), min(longest + self._context.px(14), int(self.width()) // 2)
        )

    def _name(self, segment: Segment) -> str:
        """A segment's name, as much of it as there is room for."""
        room = self._names - self._context.px(10)
        return QFontMetrics(self.font()).elidedText(
            _said(segment), Qt.TextElideMode.ElideRight, room
        )

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if getattr(self, "_names", 0) and self._names != self._room():
            self.draw()  # pyqtgraph resizes it while it is made

    def _add(self, item: Any) -> None:
        self.addItem(item, ignoreBounds=True)
        self._drawn.append(item)

    def _clicked(self, event: Any) -> None:
        at = round(self.getPlotItem().vb.mapSceneToView(event.scenePos()).y())
        if 0 <= at < len(self._segments):
            self.chosen.emit(at)


def _said(segment: Segment) -> str:
    return f"{segment.column or 'keys'}: {segment.words}"


def tip_of(segment: Segment) -> str:
    """A segment's interval for a tool tip."""
    return f"{segment.words}: {interval_words(segment)} percentage points"
