"""Tokens over time: what a run has used of its model so far, response by response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from engine.agents.traces import TraceStep
from m4review.app.context import Context
from m4review.app.widgets import label
from m4review.trace.words import moment

_MINUTES = 120
"""Seconds from which on time is told in minutes."""
_MOST = 5_000
"""Points that are drawn; of more, every n-th."""


@dataclass(frozen=True)
class Point:
    """What was used after one response."""

    at: float
    """Seconds from the begin, or the number of the response where no times are known."""
    input: int
    """Tokens in so far."""
    output: int
    """Tokens out so far."""
    step: int | None
    """The step that tells it."""


@dataclass(frozen=True)
class Tokens:
    """The points of a run."""

    points: tuple[Point, ...]
    """In order."""
    timed: bool
    """Are they seconds?"""
    origin: str
    """Who counted, in words."""


def tokens_of(steps: Iterable[TraceStep], egress: Sequence[Mapping[str, Any]] = ()) -> Tokens:
    """Tokens over time: by the gateway's log where it counted, else by the trace."""
    found = _summed(
        [
            (moment(_text(line.get("ts"))), _count(line, "input_tokens"), out, None)
            for line in egress
            if (out := _count(line, "output_tokens")) or _count(line, "input_tokens")
        ],
        "counted by the gateway, request by request",
    )
    if found.points:
        return found
    told = [
        (moment(step.at), step.tokens.input or 0, step.tokens.output or 0, step.number)
        for step in steps
        if step.kind == "usage" and step.tokens is not None
    ]
    return _summed(told, "as the agent's trace tells it, response by response")


def _summed(told: Sequence[tuple[float | None, int, int, int | None]], origin: str) -> Tokens:
    timed = bool(told) and all(at is not None for at, *_ in told)
    begin = told[0][0] or 0.0 if told else 0.0
    points, total_in, total_out = [], 0, 0
    for number, (at, into, out, step) in enumerate(told, start=1):
        total_in, total_out = total_in + into, total_out + out
        x = (at or 0.0) - begin if timed else float(number)
        points.append(Point(x, total_in, total_out, step))
    every = max(1, -(-len(points) // _MOST))
    kept = points[::every]
    if points and kept[-1] is not points[-1]:
        kept.append(points[-1])
    return Tokens(tuple(kept), timed, origin)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(line: Mapping[str, Any], name: str) -> int:
    value = line.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


class Curve(pyqtgraph.GraphicsLayoutWidget):  # type: ignore[misc]
    """One curve with its axes.

    Put together from parts: the library's ready-made plot makes menus that belong to no window.
    """

    clicked = Signal(float)
    """Where along the axis of time."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(f"{name} over time")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.box = self.addViewBox(row=0, col=1, enableMenu=False, enableMouse=False)
        self.left = pyqtgraph.AxisItem("left")
        self.bottom = pyqtgraph.AxisItem("bottom")
        for axis, row, column in ((self.left, 0, 0), (self.bottom, 1, 1)):
            axis.linkToView(self.box)
            axis.setGrid(40)
            axis.enableAutoSIPrefix(enable=False)
            self.addItem(axis, row=row, col=column)
        self.curve = pyqtgraph.PlotDataItem([], [])
        self.box.addItem(self.curve)
        self.scene().sigMouseClicked.connect(
            lambda event: self.clicked.emit(self.box.mapSceneToView(event.scenePos()).x())
        )


class TokenChart(QWidget):
    """Two curves, tokens in and tokens out, over the time of the run."""

    chosen = Signal(int)
    """The step of a point that was clicked."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.tokens = Tokens((), timed=False, origin="")
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        self.words: QLabel = label("", "muted", wrap=True)
        rows.addWidget(self.words)
        self.curves = (Curve("Tokens in"), Curve("Tokens out"))
        for curve in self.curves:
            curve.clicked.connect(self._clicked)
            rows.addWidget(curve, 1)
        context.theme_changed.connect(self.draw)
        self.draw()

    def show_tokens(self, tokens: Tokens) -> None:
        """Draw these."""
        if tokens != self.tokens or not self.words.text():
            self.tokens = tokens
            self.draw()

    @property
    def _unit(self) -> tuple[str, float]:
        """What the axis of time says, and its seconds (or responses)."""
        if not self.tokens.timed:
            return "response", 1.0
        points = self.tokens.points
        long = bool(points) and points[-1].at >= _MINUTES
        return ("minutes", 60.0) if long else ("seconds", 1.0)

    def draw(self) -> None:
        """Draw again, in the theme's colours."""
        points = self.tokens.points
        for curve in self.curves:
            curve.setVisible(bool(points))
        if not points:
            self.words.setText("No tokens were told.")
            return
        last = points[-1]
        self.words.setText(
            f"{last.input:,} tokens in and {last.output:,} out over {len(points):,} "
            f"{'response' if len(points) == 1 else 'responses'}, {self.tokens.origin}."
            + ("" if last.output else " Tokens out are told only at the end, if at all.")
        )
        unit, scale = self._unit
        xs = [point.at / scale for point in points]
        theme = self._context.theme
        into, out = self.curves
        self._axes(into, "tokens in", "")
        self._axes(out, "tokens out", unit)
        self._draw_one(into, xs, [p.input for p in points], theme.accent)
        self._draw_one(out, xs, [p.output for p in points], theme.different)

    def _axes(self, of: Curve, left: str, bottom: str) -> None:
        theme, px = self._context.theme, self._context.px
        of.setBackground(theme.surface)
        of.setFixedHeight(px(175 if bottom else 150))
        for axis in (of.left, of.bottom):
            axis.setPen(theme.line)
            axis.setTextPen(theme.muted)
            axis.setStyle(tickFont=self.font())
        style = {"color": theme.muted, "font-size": f"{self.font().pointSizeF():.1f}pt"}
        of.left.setWidth(px(96))
        of.left.setLabel(left, **style)
        of.bottom.setLabel(bottom, **style)
        of.bottom.showLabel(bool(bottom))
        if self.tokens.timed:
            of.bottom.setTickSpacing()
        else:  # there is no half a response
            every = max(1, round(len(self.tokens.points) / 10))
            of.bottom.setTickSpacing(levels=[(every, 0)])

    def _draw_one(self, of: Curve, xs: list[float], ys: list[int], colour: str) -> None:
        of.curve.setData(
            xs,
            ys,
            pen=pyqtgraph.mkPen(colour, width=2 * self._context.zoom),
            symbol="o",
            symbolSize=self._context.px(5),
            symbolBrush=colour,
            symbolPen=None,
        )
        of.box.setYRange(0, max(1, *ys), padding=0.08)
        of.box.setXRange(min(xs), max(*xs, min(xs) + 1), padding=0.03)

    def _clicked(self, at: float) -> None:
        _, scale = self._unit
        known = [point for point in self.tokens.points if point.step is not None]
        if known:
            nearest = min(known, key=lambda point: abs(point.at - at * scale))
            self.chosen.emit(nearest.step or 0)
