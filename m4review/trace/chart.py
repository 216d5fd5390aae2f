"""Tokens over time: what a run has used of its model so far, response by response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget

from engine.agents.traces import TraceStep
from m4review.app.context import Context
from m4review.app.widgets import label
from m4review.trace.words import moment

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
        self._plots: list[pyqtgraph.PlotWidget] = []
        self._curves: list[Any] = []
        for name in ("Tokens in", "Tokens out"):
            plot = self._plot()
            plot.setAccessibleName(f"{name} over time")
            plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            plot.setMouseEnabled(x=False, y=False)
            plot.hideButtons()
            plot.getAxis("left").enableAutoSIPrefix(True)
            plot.setTitle(None)
            plot.scene().sigMouseClicked.connect(
                lambda event, of=plot: self._clicked(of, event.scenePos())
            )
            self._plots.append(plot)
            self._curves.append(plot.plot([], []))
            rows.addWidget(plot, 1)
        self._plots[1].setXLink(self._plots[0])
        context.theme_changed.connect(self.draw)
        self.draw()

    def _plot(self) -> pyqtgraph.PlotWidget:
        """A plot, with the menus that the library makes for it in our hands: they go with us."""
        before = QApplication.topLevelWidgets()
        plot = pyqtgraph.PlotWidget(enableMenu=False)
        for stray in QApplication.topLevelWidgets():
            if stray is not plot and stray not in before:
                stray.setParent(self, stray.windowFlags())
        return plot

    def show_tokens(self, tokens: Tokens) -> None:
        """Draw these."""
        if tokens != self.tokens or not self.words.text():
            self.tokens = tokens
            self.draw()

    def draw(self) -> None:
        """Draw again, in the theme's colours."""
        theme, px, points = self._context.theme, self._context.px, self.tokens.points
        for plot in self._plots:
            plot.setVisible(bool(points))
        if not points:
            self.words.setText("No tokens were told.")
            return
        last = points[-1]
        self.words.setText(
            f"{last.input:,} tokens in and {last.output:,} out over {len(points):,} "
            f"{'response' if len(points) == 1 else 'responses'}, {self.tokens.origin}."
            + ("" if last.output else " Tokens out are told only at the end, if at all.")
        )
        minutes = self.tokens.timed and last.at >= 120  # noqa: PLR2004 - seconds
        unit = "Minutes" if minutes else "Seconds" if self.tokens.timed else "Response"
        scale = 60.0 if minutes else 1.0
        xs = [point.at / scale for point in points]
        series = ((theme.accent, [p.input for p in points]), (theme.different, None))
        for number, (colour, values) in enumerate(series):
            plot, curve = self._plots[number], self._curves[number]
            ys = values if values is not None else [p.output for p in points]
            plot.setBackground(theme.surface)
            plot.setFixedHeight(px(150 if number == 0 else 170))
            pen = pyqtgraph.mkPen(colour, width=2 * self._context.zoom)
            curve.setData(
                xs, ys, pen=pen, symbol="o", symbolSize=px(5), symbolBrush=colour, symbolPen=None
            )
            for side in ("left", "bottom"):
                axis = plot.getAxis(side)
                axis.setPen(theme.line)
                axis.setTextPen(theme.muted)
                axis.setStyle(tickFont=self.font())
            plot.getAxis("left").setWidth(px(84))
            plot.setLabel("left", "tokens in" if number == 0 else "tokens out", color=theme.muted)
            plot.setLabel("bottom", unit if number else "", color=theme.muted)
            plot.showGrid(x=True, y=True, alpha=0.15)
            plot.setYRange(0, max(1, *ys), padding=0.08)
            plot.setXRange(min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1, padding=0.03)

    def _clicked(self, plot: pyqtgraph.PlotWidget, at: QPointF) -> None:
        scale = 60.0 if self.tokens.timed and self.tokens.points[-1].at >= 120 else 1.0  # noqa: PLR2004
        x = plot.getPlotItem().vb.mapSceneToView(at).x() * scale
        known = [point for point in self.tokens.points if point.step is not None]
        if known:
            nearest = min(known, key=lambda point: abs(point.at - x))
            self.chosen.emit(nearest.step or 0)
