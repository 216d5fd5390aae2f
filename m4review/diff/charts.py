"""Charts of one column, drawn with pyqtgraph: bars, a heat map, a curve.

Each is a list of marks that can be clicked, or walked with the arrow keys and opened with Enter.
What a mark says stands below the chart as text; the same values are in a table beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from engine.diagnosis.columns import Axis
from m4review.app.context import Context
from m4review.app.plots import StillPlot
from m4review.app.tips import as_written
from m4review.app.widgets import label

if TYPE_CHECKING:
    from PySide6.QtGui import QFocusEvent

_HEIGHT = 250
_MAP = "cividis"
"""Even steps of lightness, the same for all kinds of colour sight."""
_MOST_LABELS = 12


@dataclass(frozen=True)
class Mark:
    """Something in a chart that stands for rows."""

    x: float
    """Where it stands: the centre of a bar or bin, or a point of a curve."""
    y: float
    """Height of a bar, centre of a bin, or value of a curve."""
    words: str
    """What it says."""
    count: int
    """Rows."""


class Chart(QWidget):
    """What all charts share: theme, marks, mouse and keys."""

    chosen = Signal(int)
    """A mark's rows are wanted."""

    def __init__(self, context: Context, name: str, x: str, y: str) -> None:
        super().__init__()
        self._context = context
        self.marks: tuple[Mark, ...] = ()
        self.current = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(f"{name}: arrow keys walk, Enter shows the rows")
        self.plot = StillPlot()
        self.plot.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.plot.setFixedHeight(context.px(_HEIGHT))
        self.plot.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.said = label("", "muted", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.plot)
        column.addWidget(self.said)
        self._axes = {"bottom": x, "left": y}
        self._pointer: Any = None
        self.plot.viewport().installEventFilter(self)
        self.plot.viewport().setMouseTracking(True)

    # --- what the kinds of chart bring

    def draw(self) -> None:
        """Draw everything anew, in the present theme."""
        theme, plot = self._context.theme, self.plot
        plot.clear()
        plot.setFixedHeight(self._context.px(_HEIGHT))
        plot.setBackground(QColor(theme.surface))
        font = self.font()
        for side, text in self._axes.items():
            axis = plot.getAxis(side)
            axis.setPen(QColor(theme.muted))
            axis.setTextPen(QColor(theme.text))
            axis.setStyle(tickFont=font, hideOverlappingLabels=True)
            axis.enableAutoSIPrefix(False)
            style = {"color": theme.text, "font-size": f"{font.pointSizeF():.1f}pt"}
            axis.setLabel(text, **style)
        self._paint_marks()
        self._pointer = None
        self._point_out(self.current)

    def _paint_marks(self) -> None:
        raise NotImplementedError

    def _outline(self, mark: Mark) -> QRectF:
        """The mark's rectangle, in the plot's units."""
        raise NotImplementedError

    def mark_at(self, place: QPointF) -> int:
        """The mark at a place (the plot's units); -1 where there is none."""
        raise NotImplementedError

    # --- mouse and keys

    def walk_to(self, mark: int) -> None:
        """Make a mark the current one and say it."""
        if 0 <= mark < len(self.marks):
            self._point_out(mark)

    def _point_out(self, mark: int) -> None:
        self.current = mark
        if self._pointer is not None:
            self.plot.removeItem(self._pointer)
            self._pointer = None
        if not 0 <= mark < len(self.marks):
            self.current = -1
            self.said.setText("Click, or walk with the arrow keys; Enter shows the rows.")
            return
        chosen = self.marks[mark]
        rows = "row" if chosen.count == 1 else "rows"
        self.said.setText(f"{chosen.words}: {chosen.count:,} {rows}")
        rect = self._outline(chosen)
        pen = pg.mkPen(QColor(self._context.theme.accent), width=3)
        corners = ((rect.left(), rect.top()), (rect.right(), rect.top()),
                   (rect.right(), rect.bottom()), (rect.left(), rect.bottom()),
                   (rect.left(), rect.top()))  # fmt: skip
        self._pointer = pg.PlotDataItem([x for x, _ in corners], [y for _, y in corners], pen=pen)
        self.plot.addItem(self._pointer)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent):
            inside = self.plot.getPlotItem().vb.mapSceneToView(
                self.plot.mapToScene(event.position().toPoint())
            )
            mark = self.mark_at(inside)
            if event.type() == QEvent.Type.MouseMove:
                hand = Qt.CursorShape.PointingHandCursor
                self.plot.setCursor(hand if mark >= 0 else Qt.CursorShape.ArrowCursor)
                self.plot.setToolTip(as_written(self._tip(mark)))
            elif event.type() == QEvent.Type.MouseButtonRelease and mark >= 0:
                self._point_out(mark)
                self.chosen.emit(mark)
                return True
        return super().eventFilter(watched, event)

    def _tip(self, mark: int) -> str:
        if mark < 0:
            return ""
        return f"{self.marks[mark].words}: {self.marks[mark].count:,} rows"

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            if self.current >= 0:
                self.chosen.emit(self.current)
        elif (to := self._next(key)) is not None:
            self.walk_to(to)
        else:
            super().keyPressEvent(event)

    def _next(self, key: Qt.Key) -> int | None:
        """Where a key leads from the current mark; None where it means nothing here."""
        last = len(self.marks) - 1
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if key in steps and last >= 0:
            return min(max(self.current + steps[key], 0), last)
        ends: dict[Qt.Key, int] = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        return ends.get(key)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.current < 0 and self.marks:
            self.walk_to(0)


class BarChart(Chart):
    """Bars at 0, 1, 2 …, or over intervals of a number."""

    def __init__(self, context: Context, name: str, x: str, y: str = "rows") -> None:
        super().__init__(context, name, x, y)
        self._width = 0.8
        self._names: tuple[str, ...] = ()

    def show_bars(self, bars: Sequence[tuple[str, int]], *, special: frozenset[int]) -> None:
        """Show bars with their words.

        Args:
            bars: words and rows of each, from left to right.
            special: those drawn hatched: open intervals and the like.
        """
        self.marks = tuple(Mark(at, n, words, n) for at, (words, n) in enumerate(bars))
        self._names = tuple(words for words, _ in bars)
        self._special = special
        self.current = -1
        self.draw()

    def _paint_marks(self) -> None:
        theme = self._context.theme
        for special in (False, True):
            chosen = [m for at, m in enumerate(self.marks) if (at in self._special) is special]
            brush = pg.mkBrush(QColor(theme.accent))
            if special:
                brush.setStyle(Qt.BrushStyle.BDiagPattern)
            self.plot.addItem(
                pg.BarGraphItem(
                    x=[m.x for m in chosen],
                    height=[m.y for m in chosen],
                    width=self._width,
                    brush=brush,
                    pen=pg.mkPen(QColor(theme.accent)),
                )
            )
        every = max(1, math.ceil(len(self._names) / self._labels()))
        ticks = [(at, name) for at, name in enumerate(self._names) if at % every == 0]
        self.plot.getAxis("bottom").setTicks([ticks])
        top = max((m.y for m in self.marks), default=1) or 1
        self.plot.setXRange(-0.6, len(self.marks) - 0.4, padding=0)
        self.plot.setYRange(0, top * 1.08, padding=0)

    def _labels(self) -> int:
        """How many names fit below the bars."""
        longest = max((self.fontMetrics().horizontalAdvance(name) for name in self._names),
                      default=1)  # fmt: skip
        fitting = int(self.plot.width() * 0.8) // (longest + 12)
        return max(2, min(_MOST_LABELS, fitting))

    def _outline(self, mark: Mark) -> QRectF:
        return QRectF(mark.x - self._width / 2, 0, self._width, max(mark.y, 1e-9))

    def mark_at(self, place: QPointF) -> int:
        at = round(place.x())
        near = abs(place.x() - at) <= 0.5  # noqa: PLR2004 - half a bar
        return at if near and 0 <= at < len(self.marks) and place.y() >= 0 else -1


class HeatChart(Chart):
    """Counts over a grid; what holds more rows stands out more (by the logarithm)."""

    def show_grid(
        self, cells: Sequence[Mark], *, x: Axis, y: Axis, bins: int, ratio: float | None = None
    ) -> None:
        """Show bins.

        Args:
            cells: those that are not 0; `x` and `y` are their centres.
            x: the axis across.
            y: the axis upwards.
            bins: along each axis.
            ratio: `y` by `x` on a second line.
        """
        self._x, self._y, self._bins, self._ratio = x, y, bins, ratio
        self.marks = tuple(sorted(cells, key=lambda m: (m.x, m.y)))
        self._at = {self._bin(m.x, m.y): at for at, m in enumerate(self.marks)}
        self.current = -1
        self.draw()

    def _bin(self, x: float, y: float) -> tuple[int, int]:
        return (
            int((x - self._x.low) // self._x.step),
            int((y - self._y.low) // self._y.step),
        )

    def _paint_marks(self) -> None:
        theme = self._context.theme
        counts = np.full((self._bins, self._bins), np.nan)
        for (i, j), at in self._at.items():
            counts[i, j] = np.log1p(self.marks[at].count)
        image = pg.ImageItem(counts)
        colours = pg.colormap.get(_MAP)
        if not theme.dark:
            colours.reverse()  # the fullest squares stand out from the ground
        image.setColorMap(colours)
        image.setLevels((0.0, max(float(np.nanmax(counts)), 0.7) if self.marks else 1.0))
        wide, high = self._bins * self._x.step, self._bins * self._y.step
        image.setRect(QRectF(self._x.low, self._y.low, wide, high))
        self.plot.addItem(image)
        self.plot.setXRange(self._x.low, self._x.low + wide, padding=0.01)
        self.plot.setYRange(self._y.low, self._y.low + high, padding=0.01)
        self._line(1.0, "same", Qt.PenStyle.DashLine)
        if self._ratio is not None:
            self._line(self._ratio, f"× {self._ratio:.4g}", Qt.PenStyle.DotLine)

    def _line(self, ratio: float, words: str, style: Qt.PenStyle) -> None:
        """Where `y` is so many times `x`, as far as it lies in the picture."""
        x, y, theme = self._x, self._y, self._context.theme
        ends = sorted((y.low / ratio, (y.low + self._bins * y.step) / ratio))
        begin, end = max(x.low, ends[0]), min(x.low + self._bins * x.step, ends[1])
        if begin >= end:
            return
        pen = pg.mkPen(QColor(theme.text), width=1, style=style)
        self.plot.addItem(pg.PlotDataItem([begin, end], [begin * ratio, end * ratio], pen=pen))
        if self._x == self._y and self._ratio is None:
            return
        # Above the line; where it ends at the upper edge, left of it.
        at_top = end * ratio > y.low + 0.9 * self._bins * y.step
        name = pg.TextItem(words, color=QColor(theme.text), anchor=(1.6, 0) if at_top else (1, 1))
        name.setFont(self.font())
        name.setPos(end, end * ratio)
        self.plot.addItem(name)

    def _outline(self, mark: Mark) -> QRectF:
        wide, high = self._x.step, self._y.step
        return QRectF(mark.x - wide / 2, mark.y - high / 2, wide, high)

    def mark_at(self, place: QPointF) -> int:
        return self._at.get(self._bin(place.x(), place.y()), -1)

    def _next(self, key: Qt.Key) -> int | None:
        moves = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        if key not in moves or self.current < 0:
            return super()._next(key)
        here = self.marks[self.current]
        in_column = [
            at
            for at, m in enumerate(self.marks)
            if m.x == here.x and (m.y - here.y) * moves[key] > 0
        ]
        return min(in_column, key=lambda at: abs(self.marks[at].y - here.y), default=self.current)


class CurveChart(Chart):
    """A step curve with one upright line that stands for "now"."""

    def show_curve(self, points: Sequence[Mark], *, own: float, what_if: float | None) -> None:
        """Show a curve.

        Args:
            points: ascending in `x`; `y` is a share from 0 to 1.
            own: where the score stands.
            what_if: where the what-if stands.
        """
        self.marks = tuple(points)
        self._own, self._what_if = own, what_if
        self.current = -1
        self.draw()

    def _paint_marks(self) -> None:
        theme = self._context.theme
        if not self.marks:
            return
        places = self._places
        width = (places[-1] - places[0]) * 0.03 or 1.0
        x = np.append(np.asarray(places, dtype=float), places[-1] + width)
        y = np.asarray([100 * m.y for m in self.marks], dtype=float)
        pen = pg.mkPen(QColor(theme.accent), width=2)
        self.plot.addItem(pg.PlotDataItem(x, y, stepMode="center", pen=pen))
        self.plot.addItem(
            pg.ScatterPlotItem(places, list(y), size=5, brush=QColor(theme.accent), pen=None)
        )
        lines = [(self._own, theme.text, Qt.PenStyle.SolidLine, "as scored")]
        if self._what_if is not None:
            lines.append((self._what_if, theme.warn, Qt.PenStyle.DashLine, "what if"))
        for place, colour, style, words in lines:
            self.plot.addItem(
                pg.InfiniteLine(
                    float(np.interp(place, [m.x for m in self.marks], places)),
                    angle=90,
                    pen=pg.mkPen(QColor(colour), width=2, style=style),
                    label=words,
                    labelOpts={
                        "position": 0.1 if words == "as scored" else 0.25,
                        "color": QColor(colour),
                    },
                )
            )
        every = max(1, -(-len(places) // 8))
        chosen = range(0, len(places), every)
        self.plot.getAxis("bottom").setTicks(
            [[(places[k], f"{self.marks[k].x:g}") for k in chosen]]
        )
        self.plot.setXRange(places[0] - width, places[-1] + width, padding=0)
        low = min(y)
        self.plot.setYRange(max(0.0, low - (100 - low) * 0.1 - 0.1), 100.5, padding=0)

    @property
    def _places(self) -> list[float]:
        """Where the points stand: one step each, because tolerances spread over magnitudes."""
        return [float(at) for at in range(len(self.marks))]

    def _outline(self, mark: Mark) -> QRectF:
        at = float(self.marks.index(mark))
        low, high = self.plot.getPlotItem().vb.viewRange()[1]
        half = max(0.2, len(self.marks) / 200)
        return QRectF(at - half, low, 2 * half, high - low)

    def mark_at(self, place: QPointF) -> int:
        at = round(place.x())
        return at if 0 <= at < len(self.marks) else -1
