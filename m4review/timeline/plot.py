"""The picture of a stay: windows shaded, one track per item, roles told apart by shape and fill.

Twenty thousand events stay quick: one scatter per role, bars as one path per role, and labels only
for what is in sight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph
from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QToolTip

from engine.diagnosis.lineage import Role
from m4review.app.context import Context
from m4review.app.plots import calm
from m4review.app.tips import as_written, in_lines
from m4review.timeline.axis import TimeAxis
from m4review.timeline.edges import Edges, Head, told_windows
from m4review.timeline.labels import Room, placed
from m4review.timeline.symbols import brush_of, pen_of
from m4review.timeline.tracks import BAR, Tracks
from m4review.timeline.words import LOOKS, ROLES, Clock, event_words

_LABELS = 60
"""Values that are written beside marks at most."""
_TRIED = 400
"""Events for which room is sought: each is held against every mark in sight."""
_NEAR = 14
"""Pixels from which on a mark counts as pointed at."""
_TALL = 20
"""Pixels of a track at 100 % below which the view scrolls instead of squeezing."""
_HEIGHT = 260
"""Pixels at 100 % that it has at least."""
_NAME = 200
"""Pixels at 100 % for the items' names; whole names stand in the list."""
_AXIS = 42
"""Pixels at 100 % of the time axis with its words."""
_FEW = 5
"""Tracks that are in sight at least."""
_TOP = -0.7
"""Where the picture begins; the first track's middle is 0."""


class TimeBox(pyqtgraph.ViewBox):  # type: ignore[misc]  # pyqtgraph has no types
    """The wheel zooms in time; with Shift it goes up and down."""

    def wheelEvent(self, event: Any, axis: int | None = None) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            low, high = self.viewRange()[1]
            self.translateBy(y=-(high - low) * 0.15 * (1 if event.delta() > 0 else -1))
            event.accept()
            return
        super().wheelEvent(event, axis=0 if axis is None else axis)


class Timeline(pyqtgraph.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """Draws `Tracks`; tells what is pointed at and chosen."""

    chosen = Signal(int)
    """An event was chosen: its number in the lineage."""
    pointed = Signal(str)
    """What is under the crosshair, in a line."""

    def __init__(self, context: Context) -> None:
        self.axis, self.head = TimeAxis(), Head(context)
        box = TimeBox(enableMenu=False)
        axes = {"bottom": self.axis, "top": self.head}
        super().__init__(viewBox=box, enableMenu=False, axisItems=axes)
        calm(self)
        self._context = context
        self.tracks: Tracks | None = None
        self.clock: Clock | None = None
        self.current = -1
        self.unfolded = False
        self.shown: frozenset[Role] = frozenset(ROLES)
        self._drawn: list[Any] = []
        self._labels: list[Any] = []
        self._names = 0
        self.setAccessibleName("Timeline of the stay")
        self.setAccessibleDescription(
            "Left and Right go from event to event in time, Up and Down between tracks, plus and "
            "minus zoom, Home fits the window, F fits the stay, A everything."
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.view = self.getPlotItem().vb
        self.view.invertY(True)
        self.view.setMouseEnabled(x=True, y=True)
        self.edges = Edges(context)
        self._cross = [pyqtgraph.InfiniteLine(angle=angle, movable=False) for angle in (90, 0)]
        self._ring = pyqtgraph.ScatterPlotItem(pxMode=True)
        for each in (*self._cross, self._ring):
            each.setZValue(50)
            self.addItem(each, ignoreBounds=True)
            each.hide()
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(60)
        self._later.timeout.connect(self._label)
        self.view.sigRangeChanged.connect(lambda *_: self._later.start())
        self.scene().sigMouseMoved.connect(self._moved)
        self.scene().sigMouseClicked.connect(self._clicked)
        context.theme_changed.connect(self.draw)

    # --- what is shown

    def show_tracks(self, tracks: Tracks | None, clock: Clock | None) -> None:
        """Show a cell's events (None: nothing)."""
        self.tracks, self.clock, self.current, self.unfolded = tracks, clock, -1, False
        if clock is not None:
            self.axis.set_clock(clock)
        self.draw()
        if tracks is not None:
            self.view.setLimits(yMin=_TOP - 0.3, yMax=max(len(tracks.names), _FEW) + 0.3)
            self.fit_window()

    @property
    def foldable(self) -> int:
        """Windows that are folded into one lane where not all of them are wanted."""
        windows = () if self.tracks is None else self.tracks.windows
        return len(windows) - len(told_windows(windows))

    def unfold(self, on: bool) -> None:
        """Give every window a lane of its own, or fold the most of many into one."""
        if on != self.unfolded:
            self.unfolded = on
            self.draw()

    def show_roles(self, roles: frozenset[Role]) -> None:
        """Leave the events of other roles out."""
        if roles != self.shown:
            self.shown = roles
            self.draw()

    def select(self, event: int) -> None:
        """Mark an event and bring it into sight; -1 for none."""
        self.current = event
        at = self._mark()
        if at is None:
            return
        x, y = at
        (left, right), (low, high) = self.view.viewRange()
        if not left <= x <= right:
            half = (right - left) / 2
            self.view.setXRange(x - half, x + half, padding=0)
        if not min(low, high) <= y <= max(low, high):
            half = abs(high - low) / 2
            self._set_tracks(y - half, y + half)
        self._later.start()

    def _mark(self) -> tuple[float, float] | None:
        """Set the ring around the chosen event, where that is; None without one."""
        tracks, event = self.tracks, self.current
        if tracks is None or event < 0 or np.isnan(tracks.start[event]):
            self._ring.hide()
            return None
        at = float(tracks.start[event]), float(tracks.height[event])
        self._ring.setData([at[0]], [at[1]])
        self._ring.show()
        return at

    def draw(self) -> None:
        """Draw everything again, in the theme's colours."""
        theme, zoom = self._context.theme, self._context.zoom
        for item in (*self._drawn, *self._labels):
            self.removeItem(item)
        self._drawn, self._labels = [], []
        self.setBackground(theme.surface)
        self.axis.zoom = zoom
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(theme.line)
            axis.setTextPen(theme.text)
            axis.setStyle(tickFont=self.font(), hideOverlappingLabels=side == "bottom")
        self.getAxis("bottom").setHeight(self._context.px(_AXIS))
        self._names = self._room()
        self.getAxis("left").setWidth(self._names)
        self.showGrid(x=True, y=True, alpha=0.12)
        for line in self._cross:
            line.setPen(pyqtgraph.mkPen(theme.muted, width=1, style=Qt.PenStyle.DashLine))
        ring = pyqtgraph.mkPen(theme.text, width=2.5 * zoom)
        self._ring.setData([], [], symbol="o", size=22 * zoom, pen=ring, brush=None)
        about = self.clock.about if self.clock is not None else ""
        self.setLabel("bottom", about, color=theme.muted)
        self.axis.label.setFont(self.font())
        tracks = self.tracks
        self.head.show_tracks(tracks, self.font(), unfolded=self.unfolded)
        if tracks is None:
            self.getAxis("left").setTicks([[]])
            return
        names = [(n, self._short(name)) for n, name in enumerate(tracks.names)]
        self.getAxis("left").setTicks([names])
        for item in self.edges.draw(tracks, unfolded=self.unfolded):
            self._keep(item)
        for number, role in enumerate(ROLES):
            if role in self.shown:
                self._draw_role(tracks, number, role)
        self._mark()  # to draw again moves nothing
        self._later.start()

    def _room(self) -> int:
        """Pixels for the items' names: less where the picture is narrow."""
        share = int(self.width()) * 3 // 10
        return min(self._context.px(_NAME), max(self._context.px(60), share))

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        names = getattr(self, "_names", 0)  # pyqtgraph resizes it while it is made
        if not names:
            return
        if names != self._room():
            self.draw()
        if self.tracks is not None and event is not None and event.oldSize() != event.size():
            self._fit_tracks(self.view.viewRange()[1][0])

    def sizeHint(self) -> QSize:
        """What it needs; Qt's own hint is the height that it has, so that it would never shrink."""
        if getattr(self, "_names", None) is None:
            return QSize(super().sizeHint())
        return QSize(self._context.px(2 * _NAME), self.needed)

    @property
    def needed(self) -> int:
        """Pixels that it needs to be of use: more where its head has many lanes."""
        px = self._context.px
        return max(px(_HEIGHT), self.head.tall + px(_AXIS) + _FEW * px(_TALL))

    @property
    def _tall(self) -> int:
        """Pixels for the tracks; before it is laid out they say nothing."""
        least = max(int(self.height()), self._context.px(_HEIGHT))
        return least - self._context.px(_AXIS) - self.head.tall

    def _short(self, name: str) -> str:
        """As much of a name as the axis has room for."""
        room = self._names - self._context.px(10)
        return QFontMetrics(self.font()).elidedText(name, Qt.TextElideMode.ElideMiddle, room)

    def _draw_role(self, tracks: Tracks, number: int, role: Role) -> None:
        look, zoom = LOOKS[role], self._context.zoom
        mine = (tracks.role == number) & tracks.timed
        lasting = mine & ~np.isnan(tracks.end)
        points = mine & np.isnan(tracks.end)
        colour = getattr(self._context.theme, look.colour)
        if lasting.any():
            bars = pyqtgraph.BarGraphItem(
                x0=tracks.start[lasting], x1=tracks.end[lasting],
                y0=tracks.height[lasting] - BAR, y1=tracks.height[lasting] + BAR,
                pen=pen_of(look, colour, zoom), brush=brush_of(look, colour, bar=True),
            )  # fmt: skip
            bars.setZValue(10 - number)
            self._keep(bars)
        if points.any():
            scatter = pyqtgraph.ScatterPlotItem(
                x=tracks.start[points], y=tracks.height[points], symbol=look.symbol,
                size=look.size * zoom, pen=pen_of(look, colour, zoom),
                brush=brush_of(look, colour, bar=False), pxMode=True,
            )  # fmt: skip
            scatter.setZValue(20 - number)
            self._keep(scatter)

    def _keep(self, item: Any) -> None:
        self.addItem(item, ignoreBounds=True)
        self._drawn.append(item)

    def _label(self) -> None:
        """Write values beside what is used and in sight, as far as there is room."""
        for item in self._labels:
            self.removeItem(item)
        self._labels = []
        tracks, theme = self.tracks, self._context.theme
        if tracks is None:
            return
        (left, right), (top, bottom) = self.view.viewRange()
        px, metrics = self._context.px, QFontMetrics(self.font())
        line = px(16) * self.view.viewPixelSize()[1]
        ends = np.where(np.isnan(tracks.end), tracks.start, tracks.end)
        here = (tracks.start <= right) & (ends >= left)
        seen = tracks.timed & self._visible() & here
        whole = (tracks.height >= top + line / 2) & (tracks.height <= bottom - line / 2)
        wanted = np.flatnonzero(seen & whole & (tracks.role <= 1))
        if len(wanted) > _LABELS:
            wanted = np.flatnonzero(seen & whole & (tracks.role == 0))
        if self.current >= 0 and self.current not in wanted and seen[self.current]:
            wanted = np.append(self.current, wanted)
        pixel = (right - left) / max(1, self.view.width())
        room = Room(
            low=left, high=right, top=top, pixel=pixel, line=line,
            near=px(8), edge=px(6), least=px(36), width=metrics.horizontalAdvance,
            cut=lambda text, most: metrics.elidedText(text, Qt.TextElideMode.ElideRight, most),
        )  # fmt: skip
        behind = QColor(theme.surface)
        behind.setAlpha(190)
        marks = np.flatnonzero(seen)
        events = [int(event) for event in wanted[:_TRIED]]
        for each in placed(tracks, events, marks, self.current, room, most=_LABELS):
            text = pyqtgraph.TextItem(each.words, color=theme.text, fill=behind, anchor=(0, 0.5))
            text.setFont(self.font())
            text.setPos(each.at, each.height)
            text.setZValue(30)
            self.addItem(text, ignoreBounds=True)
            self._labels.append(text)

    def _visible(self) -> Any:
        if self.tracks is None:
            return np.zeros(0, dtype=bool)
        return np.isin(self.tracks.role, [n for n, role in enumerate(ROLES) if role in self.shown])

    # --- going about

    def fit_window(self) -> None:
        """Show the windows and what was used."""
        if self.tracks is not None:
            self._fit(self.tracks.of_window())

    def fit_stay(self) -> None:
        """Show the whole stay."""
        if self.tracks is not None:
            self._fit(self.tracks.of_stay())

    def fit_all(self) -> None:
        """Show everything."""
        if self.tracks is not None:
            self._fit(self.tracks.whole())

    def _fit(self, hours: tuple[float, float]) -> None:
        if self.tracks is None:
            return
        self.view.setXRange(*hours, padding=0)
        self._fit_tracks(_TOP)

    def _fit_tracks(self, top: float) -> None:
        """Show as many tracks as there is room for, from there on."""
        if self.tracks is None:
            return
        items = len(self.tracks.names)
        edges = -2 * _TOP - 1
        fit = max(_FEW, int(self._tall / self._context.px(_TALL) - edges))
        if items <= fit:
            self._set_tracks(_TOP, max(items, 1) - 1 - _TOP)
            return
        top = min(max(top, _TOP), items + _TOP - fit)
        self._set_tracks(top, top + fit + edges)
        self.pointed.emit(
            f"{fit} of {items} items are in sight; Shift and the wheel, dragging, or Up and Down "
            "show the others."
        )

    def _set_tracks(self, top: float, bottom: float) -> None:
        self.view.setYRange(top, bottom, padding=0)

    def zoom_by(self, factor: float) -> None:
        """Zoom in time, around the chosen event where it is in sight."""
        (left, right), _ = self.view.viewRange()
        middle = (left + right) / 2
        if self.tracks is not None and self.current >= 0:
            at = float(self.tracks.start[self.current])
            middle = at if left <= at <= right else middle
        self.view.setXRange(
            middle - (middle - left) * factor, middle + (right - middle) * factor, padding=0
        )

    def step(self, direction: int) -> None:
        """Choose the next (1) or the one before (-1) in time."""
        tracks = self.tracks
        if tracks is None:
            return
        order = tracks.ordered
        order = order[self._visible()[order]]
        if not len(order):
            return
        here = np.flatnonzero(order == self.current)
        if len(here):
            at = int(here[0]) + direction
        else:
            left = self.view.viewRange()[0][0]
            at = int(np.searchsorted(tracks.start[order], left))
        self._choose(int(order[min(max(at, 0), len(order) - 1)]))

    def change_track(self, direction: int) -> None:
        """Choose the event of the next track that is nearest in time."""
        tracks = self.tracks
        if tracks is None or self.current < 0:
            self.step(1)
            return
        seen = self._visible() & tracks.timed
        others = np.unique(tracks.track[seen])
        here = int(tracks.track[self.current])
        beyond = others[others > here] if direction > 0 else others[others < here][::-1]
        if len(beyond):
            mine = np.flatnonzero(seen & (tracks.track == beyond[0]))
            far = np.abs(tracks.start[mine] - tracks.start[self.current])
            self._choose(int(mine[int(far.argmin())]))

    def _choose(self, event: int) -> None:
        self.select(event)
        self.chosen.emit(event)
        if self.tracks is not None and self.clock is not None:
            words = event_words(self.tracks.events[event], self.clock)
            self.pointed.emit(words.replace("\n", "  ·  "))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        does = {
            Qt.Key.Key_Left: lambda: self.step(-1),
            Qt.Key.Key_Right: lambda: self.step(1),
            Qt.Key.Key_Up: lambda: self.change_track(-1),
            Qt.Key.Key_Down: lambda: self.change_track(1),
            Qt.Key.Key_Plus: lambda: self.zoom_by(0.7),
            Qt.Key.Key_Equal: lambda: self.zoom_by(0.7),
            Qt.Key.Key_Minus: lambda: self.zoom_by(1 / 0.7),
            Qt.Key.Key_Home: self.fit_window,
            Qt.Key.Key_F: self.fit_stay,
            Qt.Key.Key_A: self.fit_all,
        }.get(Qt.Key(key))
        if does is None or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().keyPressEvent(event)
            return
        does()
        event.accept()

    # --- the mouse

    def nearest(self, at: QPointF) -> int:
        """The event drawn nearest to a point of the scene, -1 where none is near."""
        tracks = self.tracks
        if tracks is None or not len(tracks.events):
            return -1
        here = self.view.mapSceneToView(at)
        wide, high = self.view.viewPixelSize()
        x = np.maximum(tracks.start - here.x(), 0)
        ends = np.where(np.isnan(tracks.end), tracks.start, tracks.end)
        x = np.maximum(x, here.x() - ends) / wide
        y = (tracks.height - here.y()) / high
        y = np.where(np.isnan(tracks.end), y, np.maximum(0, np.abs(y) - BAR / high))
        far = np.where(self._visible() & tracks.timed, np.hypot(x, y), np.inf)
        found = int(np.argmin(far))
        return found if far[found] <= _NEAR * self._context.zoom else -1

    def _moved(self, at: QPointF) -> None:
        inside = self.view.sceneBoundingRect().contains(at) and self.tracks is not None
        for line in self._cross:
            line.setVisible(inside)
        if not inside or self.clock is None or self.tracks is None:
            return
        here = self.view.mapSceneToView(at)
        self._cross[0].setPos(here.x())
        self._cross[1].setPos(here.y())
        event = self.nearest(at)
        when = self.clock.of_hours(here.x())
        if event < 0:
            self.pointed.emit(when)
            QToolTip.hideText()
            return
        words = event_words(self.tracks.events[event], self.clock)
        self.pointed.emit(f"{when}  ·  " + words.replace("\n", "  ·  "))
        QToolTip.showText(
            self.mapToGlobal(self.mapFromScene(at)), as_written(in_lines(words)), self
        )

    def _clicked(self, event: Any) -> None:
        found = self.nearest(event.scenePos())
        if found >= 0:
            self._choose(found)
        self.setFocus()
