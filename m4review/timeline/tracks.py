"""Where each event is drawn: one track per item, hours across. Plain numbers, no widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from engine.diagnosis.lineage import CellLineage, Event, Value, Window
from m4review.timeline.words import ROLES, Clock, is_moment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_REACH = 0.3
"""How far a value lifts a mark from the middle of its track; tracks are 1 apart."""
BAR = 0.22
"""Half the thickness of a bar; tracks are 1 apart."""
_SHORT = 48.0
"""Hours; what lasts longer (a stay, an admission) says nothing about where to look."""
_LONGEST = 366 * 24.0
"""Hours; a window or stay longer than this is not what a picture begins with."""
_AROUND = 14 * 24.0
"""Hours before and after the stay; what was used further away is no part of the first look."""


@dataclass(frozen=True)
class Span:
    """A shaded window or the stay."""

    start: float | None
    """Hours; None when open."""
    end: float | None
    """Hours; None when open."""
    words: str
    """What it is."""
    empty: bool = False
    """It ends where it begins and leaves that moment out."""

    @property
    def is_moment(self) -> bool:
        """Does it end where it begins?"""
        return self.start is not None and self.start == self.end


@dataclass(frozen=True)
class Moment:
    """A value of the cell that is a time itself."""

    at: float
    """Hours."""
    words: str
    """Whose value it is."""
    agent: bool
    """Is it the agent's alone?"""


@dataclass(frozen=True)
class Tracks:
    """A cell's events, laid out. Arrays have one entry per event, in the lineage's order."""

    events: tuple[Event, ...]
    """All of them."""
    names: tuple[str, ...]
    """Items from top to bottom."""
    track: Ints
    """Number of each event's track."""
    start: Floats
    """Hours; NaN without a time."""
    end: Floats
    """Hours; NaN for what does not last."""
    height: Floats
    """Where it is drawn, downwards; the track's number less what its value lifts it."""
    role: Ints
    """Position in `ROLES`."""
    windows: tuple[Span, ...]
    """What the windows are, each span once."""
    stay: Span | None
    """The stay."""
    moments: tuple[Moment, ...] = ()
    """Both values, where they are times."""

    @property
    def timed(self) -> npt.NDArray[np.bool_]:
        """Which events have a place in the picture."""
        return ~np.isnan(self.start)

    @property
    def ordered(self) -> Ints:
        """The timed events in order of time."""
        order = np.lexsort((self.track, self.start))
        return order[self.timed[order]].astype(np.int64)

    def whole(self) -> tuple[float, float]:
        """Hours from the first to the last thing."""
        timed = self.timed
        ends = np.where(np.isnan(self.end), self.start, self.end)
        marks = [*self.start[timed], *ends[timed]] if timed.any() else []
        for span in (*self.windows, *([self.stay] if self.stay else [])):
            marks += [at for at in (span.start, span.end) if at is not None]
        return _wide([*marks, *(moment.at for moment in self.moments)])

    def of_stay(self) -> tuple[float, float]:
        """Hours of the stay; everything where it is not known."""
        if self.stay is None or self.stay.start is None or self.stay.end is None:
            return self.whole()
        return _wide([self.stay.start, self.stay.end])

    def of_window(self) -> tuple[float, float]:
        """Hours of the closed windows, the used events and both times; else those of the stay."""
        closed = [
            (span.start, span.end)
            for span in self.windows
            if span.start is not None and span.end is not None and span.end - span.start < _LONGEST
        ]
        # A window of months, beside one of hours, would press everything into a few pixels.
        near = [ends for ends in closed if self._near_stay(np.array(ends)).all()]
        marks = [at for ends in near or closed for at in ends]
        stay = self.stay
        if not marks and not self.moments and stay is not None and stay.end is not None:
            low, high = self.of_stay()
            marks = [low, high] if high - low < _LONGEST else []
        used = self.timed & (self.role == 0) & ~(self.end - self.start > _SHORT)
        around = used & self._near_stay(self.start)
        used = around if around.any() else used
        marks += [m.at for m in self.moments if self._near_stay(np.array([m.at]))[0]]
        if used.any():
            ends = np.where(np.isnan(self.end), self.start, self.end)
            marks += [float(self.start[used].min()), float(ends[used].max())]
        return _wide(marks) if marks else self.of_stay()

    def _near_stay(self, hours: Floats) -> npt.NDArray[np.bool_]:
        """Which hours lie in the stay or some days around it; all where it is not known."""
        if self.stay is None or self.stay.start is None:
            return np.ones(hours.shape, dtype=bool)
        last = self.stay.start if self.stay.end is None else self.stay.end
        return (hours >= self.stay.start - _AROUND) & (hours <= last + _AROUND)


def _wide(marks: Sequence[float]) -> tuple[float, float]:
    if not marks:
        return (0.0, 24.0)
    low, high = float(min(marks)), float(max(marks))
    edge = max(0.5, 0.04 * (high - low))
    return (low - edge, high + edge)


def lay_out(lineage: CellLineage, clock: Clock, agent: Value = None) -> Tracks:
    """Lay the events of a cell out.

    Args:
        lineage: where the reference's value comes from.
        clock: how times are told.
        agent: the agent's value, where there is a run.
    """
    events = lineage.events
    role = np.array([ROLES.index(e.role) for e in events], dtype=np.int64)
    labels = [e.item or e.table for e in events]
    best: dict[str, tuple[int, str]] = {}
    for label, number, event in zip(labels, role, events, strict=True):
        if event.start is not None:
            best[label] = min(best.get(label, (len(ROLES), label)), (int(number), label))
    names = tuple(sorted(best, key=lambda name: (best[name][0], name.casefold())))
    place = {name: at for at, name in enumerate(names)}
    track = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
    nan = float("nan")
    start = np.array([clock.hours(e.start) if e.start else nan for e in events], dtype=float)
    end = np.array(
        [clock.hours(e.end) if e.start and e.end and e.end > e.start else nan for e in events],
        dtype=float,
    )
    value = np.array([nan if e.number is None else e.number for e in events], dtype=float)
    windows = _windows(lineage.windows, clock)
    begin, over = (None if at is None else clock.hours(at) for at in lineage.stay)
    stay = None if begin is None and over is None else Span(begin, over, stay_name(lineage))
    height = _heights(track, end, value, len(names))
    moments = _moments(lineage.value, agent, clock)
    return Tracks(events, names, track, start, end, height, role, windows, stay, moments)


def stay_name(lineage: CellLineage) -> str:
    """What the span of a cell is: a stay in a unit, or a whole hospital admission."""
    of_admission = "hadm_id" in lineage.key and "stay_id" not in lineage.key
    return "admission" if of_admission else "stay"


def same_span(windows: Sequence[Window]) -> tuple[tuple[Window, ...], ...]:
    """Windows by their span, in their order: picture and list count them in this way."""
    spans: dict[tuple[datetime | None, datetime | None], list[Window]] = {}
    for window in windows:
        spans.setdefault((window.start, window.end), []).append(window)
    return tuple(map(tuple, spans.values()))


def _windows(windows: Sequence[Window], clock: Clock) -> tuple[Span, ...]:
    """Each span once, with the rules of all windows that are it."""
    found = []
    for same in same_span(windows):
        first, empty = same[0], is_moment(same[0]) and all(any(each.without) for each in same)
        start, end = (None if at is None else clock.hours(at) for at in (first.start, first.end))
        rules = "\n".join(dict.fromkeys(each.rule for each in same))
        found.append(Span(start, end, rules, empty=empty))
    return tuple(found)


def _moments(reference: Value, agent: Value, clock: Clock) -> tuple[Moment, ...]:
    given = [
        (clock.hours(value), whose)
        for value, whose in ((reference, "reference"), (agent, "agent"))
        if isinstance(value, datetime)
    ]
    if len(given) == 2 and given[0][0] == given[1][0]:  # noqa: PLR2004 - both sides
        return (Moment(given[0][0], "reference and agent", agent=False),)
    return tuple(Moment(at, whose, agent=whose == "agent") for at, whose in given)


def _heights(track: Ints, end: Floats, value: Floats, tracks: int) -> Floats:
    """Higher values of an item stand higher in its track; bars and texts in the middle."""
    height = track.astype(float)
    finite = np.isfinite(value) & np.isnan(end)
    for number in range(tracks):
        here = finite & (track == number)
        if here.sum() < 2:  # noqa: PLR2004 - one value is no scale
            continue
        low, high = np.percentile(value[here], [2, 98])
        if high > low:
            lift = np.clip((value[here] - low) / (high - low), 0, 1) * 2 - 1
            height[here] -= _REACH * lift
    return height
