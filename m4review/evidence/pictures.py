"""Shares as bars and a distribution as a histogram; each says the same in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from engine.claims.values import BINS
from m4review.app.context import Context
from m4review.app.plots import StillPlot
from m4review.app.tips import as_written
from m4review.app.widgets import label

if TYPE_CHECKING:
    from m4review.app.theme import Theme


class ShareBar(QWidget):
    """A share from 0 to 1 as the filled part of a bar."""

    def __init__(self, context: Context, share: float, name: str) -> None:
        super().__init__()
        self._context, self.share = context, max(0.0, min(1.0, share))
        self.setAccessibleName(f"{name}: {share:.1%}")
        self.setToolTip(as_written(f"{name}: {share:.1%}"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self._context.px(120), self._context.px(12))

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, painter = self._context.theme, QPainter(self)
        whole = QRectF(0.5, 0.5, self.width() - 1, self.height() - 1)
        painter.setPen(QColor(theme.line))
        painter.setBrush(QColor(theme.hover))
        painter.drawRect(whole)
        if self.share:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.accent))
            # A share that is there can be seen, however small it is.
            filled = max(2.0, (self.width() - 2) * self.share)
            painter.drawRect(QRectF(1, 1, filled, self.height() - 2))
        painter.end()


class Histogram(QWidget):
    """Rows by value from the first to the last percentile, with the stated range drawn in."""

    def __init__(
        self,
        context: Context,
        histogram: Mapping[str, Any],
        limits: tuple[float | None, float | None, str],
        quantiles: Mapping[str, float],
    ) -> None:
        super().__init__()
        self._context, self._histogram, self._limits = context, histogram, limits
        self._quantiles = quantiles
        self.plot = StillPlot()
        self.said = label(self._words(), "muted", wrap=True)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(self.plot)
        rows.addWidget(self.said)
        context.theme_changed.connect(self.draw)
        self.draw()

    def _words(self) -> str:
        low, high = self._histogram["from"], self._histogram["to"]
        words = (
            f"From {low:.4g} to {high:.4g} lie 98 % of the values; the first and the last bar hold "
        )
        words += "what lies outside."
        if self._limits[2]:
            words += f" Dashed lines: the stated range {self._limits[2]}"
            outside = [
                f"{end:g}"
                for end in self._limits[:2]
                if end is not None and not self._span[0] <= end <= self._span[1]
            ]
            words += f" ({' and '.join(outside)} beyond the picture)." if outside else "."
        return words

    @property
    def _span(self) -> tuple[float, float]:
        low, high = float(self._histogram["from"]), float(self._histogram["to"])
        room = (high - low or 1.0) * 0.6
        ends = [e for e in self._limits[:2] if e is not None and low - room <= e <= high + room]
        return min([low, *ends]), max([high, *ends])

    def draw(self) -> None:
        """Draw everything anew, in the present theme."""
        theme, plot = self._context.theme, self.plot
        plot.clear()
        plot.setFixedHeight(self._context.px(170))
        plot.setBackground(QColor(theme.surface))
        low, high = float(self._histogram["from"]), float(self._histogram["to"])
        width = (high - low) / BINS or 1.0
        rows = {int(b): int(n) for b, n in self._histogram["rows"].items()}
        plot.addItem(
            pg.BarGraphItem(
                x=[low + (b + 0.5) * width for b in rows],
                height=list(rows.values()),
                width=width * 0.92,
                brush=QColor(theme.accent),
                pen=QColor(theme.surface),
            )
        )
        self._axes(theme)
        first, last = self._span
        for end in self._limits[:2]:
            if end is not None and first <= end <= last:
                self._line(end, f"{end:g}", theme.bad, Qt.PenStyle.DashLine)
        if (middle := self._quantiles.get("0.5")) is not None:
            self._line(float(middle), "median", theme.text, Qt.PenStyle.DotLine)
        room = (last - first or 1.0) * 0.04
        plot.setXRange(first - room, last + room, padding=0)
        plot.setYRange(0, max(rows.values(), default=1) * 1.18, padding=0)

    def _line(self, x: float, words: str, colour: str, style: Qt.PenStyle) -> None:
        line = pg.InfiniteLine(
            x,
            angle=90,
            pen=pg.mkPen(colour, width=2, style=style),
            label=words,
            labelOpts={"color": colour, "position": 0.93},
        )
        self.plot.addItem(line)

    def _axes(self, theme: Theme) -> None:
        font = self.font()
        for side, text in (("bottom", "value"), ("left", "rows")):
            axis = self.plot.getAxis(side)
            axis.setPen(QColor(theme.muted))
            axis.setTextPen(QColor(theme.text))
            axis.setStyle(tickFont=font, hideOverlappingLabels=True)
            axis.enableAutoSIPrefix(False)
            axis.setLabel(text, color=theme.text)
