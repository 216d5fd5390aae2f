"""Windows, the stay and values that are times: shaded and lined in the picture, named above it.

Their names stand in a head of their own, one lane each, so that they cover no mark and
no other word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyqtgraph
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QPolygonF

from m4review.app.context import Context
from m4review.app.tips import as_written, in_lines
from m4review.timeline.tracks import Span, Tracks
from m4review.timeline.words import hours_words

_LANE = 16
"""Pixels of a lane at 100 %."""
_FOLDED = 4
"""Windows that have a lane of their own while the others are folded into one."""
_UNFOLDED = 24
"""The same once they are unfolded: beyond that the lanes would be taller than the picture."""
_TINT = 110
"""How opaque so many windows, one upon the other, are shaded; more of them are fainter each."""
_TICK = 4
"""Half the height of a line's end at 100 %, and the length of an arrow."""

Kind = Literal["stay", "window", "folded", "reference", "agent"]


@dataclass(frozen=True)
class Lane:
    """One line of the head."""

    kind: Kind
    """What it is: its colour and pattern."""
    start: float | None
    """Hours; None when open."""
    end: float | None
    """Hours; None when open, the start's for a moment."""
    name: str
    """Short."""
    more: str = ""
    """What follows the name where there is room."""


@dataclass(frozen=True)
class Written:
    """Where a lane is drawn, in pixels from the picture's left edge."""

    left: float
    """Where its line begins."""
    right: float
    """Where its line ends."""
    beyond: tuple[bool, bool]
    """Does it go on to the left, to the right of what is in sight?"""
    words: str
    """As much of its name as there is room for."""
    at: float
    """Where the words begin."""


def told_windows(windows: Sequence[Span], *, unfolded: bool = False) -> tuple[int, ...]:
    """Positions of the windows that have a lane of their own, in their order.

    Those with two ends come first, then open ones; a moment says the least. One alone is never
    folded, for its fold would take the same room.
    """

    def rank(at: int) -> int:
        span = windows[at]
        return 2 if span.is_moment else int(span.start is None or span.end is None)

    most = _UNFOLDED if unfolded else _FOLDED
    order = sorted(range(len(windows)), key=rank)
    return tuple(sorted(order if len(order) <= most + 1 else order[:most]))


def lanes_of(tracks: Tracks, *, unfolded: bool = False) -> tuple[Lane, ...]:
    """What the head tells of a cell, from top to bottom: the stay, the windows, both times.

    Windows are numbered as in the list of them; those without a lane are counted in one.
    """
    zero = tracks.stay.start if tracks.stay is not None else None
    found = []
    if tracks.stay is not None:
        begin, end = tracks.stay.start, tracks.stay.end
        lasts = f": {(end - begin) / 24:.1f} days" if begin is not None and end is not None else ""
        found.append(Lane("stay", begin, end, tracks.stay.words, lasts))
    told = told_windows(tracks.windows, unfolded=unfolded)
    for at in told:
        span, name = tracks.windows[at], f"window {at + 1}" if len(tracks.windows) > 1 else "window"
        found.append(Lane("window", span.start, span.end, name, _span_words(span, zero)))
    others = [span for at, span in enumerate(tracks.windows) if at not in told]
    if others:
        starts, ends = [span.start for span in others], [span.end for span in others]
        first = None if None in starts else min(at for at in starts if at is not None)
        last = None if None in ends else max(at for at in ends if at is not None)
        found.append(Lane("folded", first, last, f"{len(others)} more windows"))
    for moment in tracks.moments:
        kind: Kind = "agent" if moment.agent else "reference"
        found.append(Lane(kind, moment.at, moment.at, moment.words))
    return tuple(found)


def _span_words(span: Span, zero: float | None) -> str:
    if span.is_moment:
        return ": nothing is in it" if span.empty else ": this moment alone"
    if zero is None:
        return ""
    start, end = (None if at is None else hours_words(at - zero) for at in (span.start, span.end))
    if start is None or end is None:
        return f": from {start} on" if start else f": up to {end}" if end else ""
    return f": {start} to {end}"


def write(
    lane: Lane, low: float, high: float, *, width: float, metrics: QFontMetrics, gap: float
) -> Written:
    """Lay one lane out.

    Args:
        lane: which one.
        low: hours at the left edge.
        high: hours at the right edge.
        width: pixels from edge to edge.
        metrics: of the words.
        gap: pixels beside words.
    """
    pixel = width / max(high - low, 1e-9)
    start = -1.0 if lane.start is None else (lane.start - low) * pixel
    end = width + 1.0 if lane.end is None else (lane.end - low) * pixel
    beyond = start < 0, end > width
    left, right = min(max(start, 0.0), width), min(max(end, 0.0), width)
    for words in (lane.name + lane.more, lane.name):
        wide = metrics.horizontalAdvance(words)
        if right - left >= wide + 4 * gap:
            return Written(left, right, beyond, words, (left + right - wide) / 2)
        if right + 2 * gap + wide <= width:
            return Written(left, right, beyond, words, right + 2 * gap)
        if left - 2 * gap - wide >= 0:
            return Written(left, right, beyond, words, left - 2 * gap - wide)
    room = max(width - 2 * gap, 0)
    words = metrics.elidedText(lane.name, Qt.TextElideMode.ElideRight, int(room))
    return Written(left, right, beyond, words, gap)


class Head(pyqtgraph.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """The lanes above the picture."""

    def __init__(self, context: Context) -> None:
        super().__init__("top")
        self._context = context
        self.lanes: tuple[Lane, ...] = ()
        self._font = QFont()

    def show_tracks(self, tracks: Tracks | None, font: QFont, *, unfolded: bool) -> None:
        """Name what a cell's picture has (None: nothing)."""
        self._font = font
        self.lanes = lanes_of(tracks, unfolded=unfolded) if tracks is not None else ()
        every = lanes_of(tracks, unfolded=True) if tracks is not None else ()
        words = [lane.name + lane.more for lane in every]
        self.setToolTip(as_written(in_lines("\n".join(words))))
        self.setHeight(self.tall)
        self.update()

    @property
    def tall(self) -> int:
        """Pixels that the lanes need."""
        return len(self.lanes) * self._context.px(_LANE)

    def written(self) -> list[Written]:
        """Each lane as it is drawn now."""
        view = self.linkedView()
        if view is None:
            return []
        low, high = view.viewRange()[0]
        width, gap = self.size().width(), self._context.px(4)
        metrics = QFontMetrics(self._font)
        return [
            write(lane, low, high, width=width, metrics=metrics, gap=gap) for lane in self.lanes
        ]

    def boundingRect(self) -> QRectF:
        return QRectF(QPointF(0, 0), self.size())

    def paint(self, painter: QPainter, *_args: object) -> None:
        theme, px = self._context.theme, self._context.px
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        metrics = QFontMetrics(self._font)
        for number, (lane, each) in enumerate(zip(self.lanes, self.written(), strict=False)):
            middle = (number + 0.5) * px(_LANE)
            colour = QColor(_colour(lane.kind, theme))
            wide = metrics.horizontalAdvance(each.words)
            whole = QPen(colour, 1.5 * self._context.zoom)
            style = Qt.PenStyle.DotLine if lane.kind == "folded" else Qt.PenStyle.SolidLine
            painter.setPen(QPen(colour, whole.widthF(), style))
            for begin, end in _pieces(each, wide, px(4)):
                painter.drawLine(QPointF(begin, middle), QPointF(end, middle))
            painter.setPen(whole)
            self._ends(painter, each, middle, colour)
            base = middle + (metrics.ascent() - metrics.descent()) / 2
            painter.drawText(QPointF(each.at, base), each.words)

    def _ends(self, painter: QPainter, each: Written, middle: float, colour: QColor) -> None:
        """A bar where it ends, an arrow where it goes on out of sight."""
        tick = self._context.px(_TICK)
        painter.setBrush(colour)
        out = each.beyond[1] and each.left == each.right, each.beyond[0] and each.left == each.right
        for at, goes_on, not_here, way in (
            (each.left, each.beyond[0], out[0], 1), (each.right, each.beyond[1], out[1], -1),
        ):  # fmt: skip
            if goes_on:
                side = at + way * 1.5 * tick
                arrow = [QPointF(at, middle), QPointF(side, middle - tick),
                         QPointF(side, middle + tick)]  # fmt: skip
                painter.drawPolygon(QPolygonF(arrow))
            elif not not_here:
                painter.drawLine(QPointF(at, middle - tick), QPointF(at, middle + tick))


def _pieces(each: Written, wide: float, gap: float) -> list[tuple[float, float]]:
    """A lane's line, left out where the words stand in it."""
    if not wide or each.at + wide < each.left or each.at > each.right:
        return [(each.left, each.right)]
    return [(each.left, each.at - gap), (each.at + wide + gap, each.right)]


def _colour(kind: Kind, theme: Any) -> str:
    names = {
        "stay": "warn", "window": "accent", "folded": "muted", "reference": "text",
        "agent": "different",
    }  # fmt: skip
    return str(getattr(theme, names[kind]))


class Edges:
    """Makes what stands in the picture itself: shaded windows, and lines at every end."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: list[Any] = []

    def draw(self, tracks: Tracks, *, unfolded: bool) -> list[Any]:
        """Everything to be put into the picture of these; of a folded window faint ends only."""
        self._made = []
        theme, pen = self._context.theme, Qt.PenStyle
        told = told_windows(tracks.windows, unfolded=unfolded)
        tint = _TINT * _FOLDED // max(_FOLDED, len(told))
        for at, span in enumerate(tracks.windows):
            if at not in told:
                self._ends(span, theme.muted, pen.DotLine, wide=1)
                continue
            if span.start is not None and span.end is not None and not span.is_moment:
                self._shade(span, tint)
            self._ends(span, theme.accent, pen.SolidLine)
        if tracks.stay is not None:
            self._ends(tracks.stay, theme.warn, pen.DashDotLine)
        for moment in tracks.moments:
            colour, style = (
                (theme.different, pen.DashLine) if moment.agent else (theme.text, pen.SolidLine)
            )
            self._line(moment.at, moment.words, colour, style, wide=2.2)
        return self._made

    def _shade(self, span: Span, opaque: int) -> None:
        tint = QColor(self._context.theme.selection)
        tint.setAlpha(opaque)
        region = pyqtgraph.LinearRegionItem(
            (span.start, span.end), movable=False, brush=tint,
            pen=pyqtgraph.mkPen(self._context.theme.accent, width=1.5 * self._context.zoom),
        )  # fmt: skip
        region.setZValue(-20)
        region.setToolTip(as_written(in_lines(span.words)))
        self._made.append(region)

    def _ends(self, span: Span, colour: str, style: Qt.PenStyle, *, wide: float = 1.5) -> None:
        """Lines at a span's ends; one line where it ends where it begins."""
        for at in dict.fromkeys((span.start, span.end)):
            if at is not None:
                self._line(at, span.words, colour, style, wide=wide)

    def _line(
        self, at: float, words: str, colour: str, style: Qt.PenStyle, *, wide: float = 1.5
    ) -> None:
        line = pyqtgraph.InfiniteLine(
            at, angle=90, pen=pyqtgraph.mkPen(colour, width=wide * self._context.zoom, style=style)
        )
        line.setToolTip(as_written(in_lines(words)))
        line.setZValue(-10)
        self._made.append(line)
