"""Windows, stay and the values that are times: shades and lines of the picture, with words."""

from __future__ import annotations

from typing import Any

import pyqtgraph
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics

from m4review.app.context import Context
from m4review.app.tips import as_written, in_lines
from m4review.timeline.tracks import Span, Tracks

_LINE = 19
"""Pixels at 100 % from the words of one line to those of the next."""
_FAR = 0.75
"""Part of the picture's width from which on words do not stand right of a line."""


class Edges:
    """Makes them, and keeps their words where they can be read."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._font = QFont()
        self._tall = 1
        self._made: list[Any] = []
        self._pairs: list[tuple[Any, Any, str]] = []
        self.lines: list[tuple[Any, int]] = []
        """Lines and which line of words is theirs: -1 for the stay's, at the top."""

    def forget(self) -> None:
        """Nothing is drawn any more."""
        self._made, self._pairs, self.lines = [], [], []

    def draw(self, tracks: Tracks, font: QFont, tall: int) -> list[Any]:
        """Everything to be put into the picture.

        Args:
            tracks: what is shown.
            font: of the words.
            tall: pixels of the picture without its axis.
        """
        self.forget()
        self._font, self._tall = font, tall
        theme = self._context.theme
        for number, span in enumerate(tracks.windows):
            if span.start is not None and span.end is not None and not span.is_moment:
                self._shade(span)
            name = "window" if len(tracks.windows) == 1 else f"window {number + 1}"
            self._ends(span, name, theme.accent, Qt.PenStyle.SolidLine, number)
        if tracks.stay is not None:
            self._ends(tracks.stay, "stay", theme.warn, Qt.PenStyle.DashDotLine, -1)
        middle = sum(tracks.of_window()) / 2
        for number, moment in enumerate(tracks.moments, start=len(tracks.windows)):
            colour, style = (
                (theme.different, Qt.PenStyle.DashLine) if moment.agent
                else (theme.text, Qt.PenStyle.SolidLine)
            )  # fmt: skip
            left = moment.at > middle  # the words stand where there is room for them
            self._line(moment.at, moment.words, colour, style, number, left=left, wide=2.2)
        return self._made

    def place(self, tall: int) -> None:
        """The picture has another height."""
        self._tall = tall
        for line, number in self.lines:
            line.label.setPosition(self._down(number))

    def turn(self, view: Any) -> None:
        """Words of a span stand inside it; where it is too narrow, its name alone beside it.

        Else they would cross: "ends" would be read before "begins".
        """
        (low, high), _ = view.viewRange()
        metrics, pixel = QFontMetrics(self._font), view.viewPixelSize()[0]
        for begin, end, name in self._pairs:
            words = [f"{name} begins", f"{name} ends"]
            room = (end.value() - begin.value()) / pixel
            inside = room >= sum(map(metrics.horizontalAdvance, words)) + self._context.px(24)
            right = end.value() < low + _FAR * (high - low)
            _say(begin, words[0] if inside else "" if right else name, left=not inside)
            _say(end, words[1] if inside else name if right else "", left=inside)

    def _down(self, number: int) -> float:
        """How far down the words of a line stand, 0 to 1; those of the stay at the top."""
        step = self._context.px(_LINE) / self._tall
        return 0.6 * step if number < 0 else 1 - (0.6 + number % 6) * step

    def _shade(self, span: Span) -> None:
        tint = QColor(self._context.theme.selection)
        tint.setAlpha(110)
        region = pyqtgraph.LinearRegionItem(
            (span.start, span.end), movable=False, brush=tint,
            pen=pyqtgraph.mkPen(self._context.theme.accent, width=1.5 * self._context.zoom),
        )  # fmt: skip
        region.setZValue(-20)
        region.setToolTip(as_written(in_lines(span.words)))
        self._made.append(region)

    def _ends(self, span: Span, name: str, colour: str, style: Qt.PenStyle, number: int) -> None:
        """Lines at a span's ends, with words; one line where it ends where it begins."""
        if span.is_moment and span.start is not None:
            words = f"{name}: nothing is in it" if span.empty else f"{name}: this moment alone"
            line = self._line(span.start, words, colour, style, number, left=False)
            line.setToolTip(as_written(in_lines(span.words)))
            return
        both = []
        for at, which in ((span.start, "begins"), (span.end, "ends")):
            if at is not None:
                line = self._line(
                    at, f"{name} {which}", colour, style, number, left=which == "ends"
                )
                line.setToolTip(as_written(in_lines(span.words)))
                both.append(line)
        if len(both) == 2:  # noqa: PLR2004 - it is closed
            self._pairs.append((both[0], both[1], name))

    def _line(
        self, at: float, words: str, colour: str, style: Qt.PenStyle, number: int, *,
        left: bool, wide: float = 1.5,
    ) -> Any:  # fmt: skip
        """A line at a time, with words to its left or right; those of lower numbers lower."""
        line = pyqtgraph.InfiniteLine(
            at, angle=90, label=words,
            pen=pyqtgraph.mkPen(colour, width=wide * self._context.zoom, style=style),
            labelOpts={"position": self._down(number),
                       "color": colour, "movable": False, "fill": self._context.theme.surface,
                       "anchors": _anchors(left=left)},
        )  # fmt: skip
        line.label.textItem.setFont(self._font)
        line.setZValue(-10)
        self._made.append(line)
        self.lines.append((line, number))
        return line


def _anchors(*, left: bool) -> list[tuple[float, float]]:
    """Where a line's words stand: left or right of it, in either half of the view."""
    return [(1.0, 0.5)] * 2 if left else [(0.0, 0.5)] * 2


def _say(line: Any, words: str, *, left: bool) -> None:
    """Let a line's words be these, on that side; empty: none."""
    label, anchors = line.label, _anchors(left=left)
    if label.format != words or label.anchors != anchors:
        label.anchors = anchors
        label.setFormat(words)
        label.setVisible(bool(words))
