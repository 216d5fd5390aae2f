"""Which events of the picture get their value written beside them. Numbers only, no drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from m4review.timeline.tracks import BAR, Tracks
from m4review.timeline.words import mark_words


@dataclass(frozen=True)
class Room:
    """How much room there is, and how much a text takes."""

    low: float
    """Hours at the picture's left edge."""
    high: float
    """Hours at its right edge."""
    top: float
    """Tracks at its upper edge."""
    pixel: float
    """Hours that a pixel stands for."""
    line: float
    """Tracks from which on two texts do not touch each other, one being higher."""
    near: int
    """Pixels from the middle of a mark to its text."""
    edge: int
    """Pixels beside a text."""
    least: int
    """Pixels below which a cut text says nothing."""
    width: Callable[[str], int]
    """Pixels of a text."""
    cut: Callable[[str, int], str]
    """A text cut to so many pixels."""


@dataclass(frozen=True)
class Label:
    """A text beside a mark."""

    event: int
    """Whose value it is."""
    words: str
    """The text."""
    at: float
    """Hours at which it begins."""
    height: float
    """Where its middle stands, in tracks downwards."""


def placed(
    tracks: Tracks,
    wanted: Iterable[int],
    marks: npt.NDArray[np.int64],
    current: int,
    room: Room,
    *,
    most: int,
) -> list[Label]:
    """The texts of events, at most `most`, each right of its mark; else left; else above a bar.

    The chosen event comes first and whole, then what was used. No text covers another one, a used
    mark or a bar, nor is it cut by the picture's edge; what was only compared, and what stands
    left, covers no mark at all. Words end in "…" where they must, a number is written whole or not
    at all. In a bar that is long enough the text stands at its beginning.

    Args:
        tracks: what is drawn.
        wanted: events to be written.
        marks: every event that is drawn and in sight.
        current: the chosen event; -1 for none.
        room: the measures.
        most: how many.
    """
    taken = _Taken(tracks, marks, room)
    found: list[Label] = []
    for event in sorted(wanted, key=lambda e: (e != current, tracks.role[e], tracks.start[e])):
        if len(found) >= most:
            break
        label = _place(tracks, event, taken, room, chosen=event == current)
        if label is not None:
            taken.add(label)
            found.append(label)
    return found


class _Taken:
    """What a text must not cover: marks from their left to their right end, and other texts."""

    def __init__(self, tracks: Tracks, marks: npt.NDArray[np.int64], room: Room) -> None:
        self._room = room
        self._event, self._used = marks, tracks.role[marks] == 0
        near = room.near * room.pixel
        ends = np.where(np.isnan(tracks.end), tracks.start, tracks.end)[marks]
        self._bar = ~np.isnan(tracks.end[marks])
        self._low = tracks.start[marks] - np.where(self._bar, 0, near)
        self._high = ends + np.where(self._bar, 0, near)
        self._height = tracks.height[marks]
        self._texts: list[tuple[float, float, float]] = []

    def add(self, label: Label) -> None:
        """A text stands there."""
        room = self._room
        end = label.at + (room.width(label.words) + room.edge) * room.pixel
        self._texts.append((label.at, end, label.height))

    def free(self, event: int, begin: float, end: float, height: float, *, used: bool) -> float:
        """How far a text that begins there can reach, at most to `end`; `begin` where nowhere."""
        line = self._room.line
        near = (np.abs(self._height - height) < line) & (self._event != event)
        if used:
            near &= self._used | self._bar
        near &= (self._high > begin) & (self._low < end)
        lows = [float(self._low[near].min())] if near.any() else []
        lows += [low for low, high, at in self._texts
                 if abs(at - height) < line and high > begin and low < end]  # fmt: skip
        return max(begin, min([end, *lows]))


def _place(tracks: Tracks, event: int, taken: _Taken, room: Room, *, chosen: bool) -> Label | None:
    row, height = tracks.events[event], float(tracks.height[event])
    words, used = mark_words(row), tracks.role[event] == 0
    wide = (room.width(words) + room.edge) * room.pixel
    near = room.near * room.pixel
    start, stop = float(tracks.start[event]), float(tracks.end[event])
    begin = start + near
    if stop == stop:  # noqa: PLR0124 - a bar: its end is a number
        low, high = max(start, room.low), min(stop, room.high)
        inside = int((high - low - 2 * near) / room.pixel) - room.edge
        if row.number is None and not chosen and inside >= room.least:  # words fit, or are cut
            words = words if room.width(words) <= inside else room.cut(words, inside)
            wide = (room.width(words) + room.edge) * room.pixel
        begin = low + near if low + 2 * near + wide <= high else stop + near
        start = low
    left = start - near - wide
    if chosen:
        at = begin if begin + wide <= room.high else left
        return Label(event, words, min(max(at, room.low), room.high - wide), height)
    reach = taken.free(event, begin, min(begin + wide, room.high), height, used=used)
    if reach >= begin + wide:
        return Label(event, words, begin, height)
    if left >= room.low and (used or begin + wide > room.high):
        whole = taken.free(event, left, left + wide, height, used=False) >= left + wide
        if whole:
            return Label(event, words, left, height)
    if used and stop == stop:  # noqa: PLR0124
        above, at = height - BAR - 0.8 * room.line, max(min(start, room.high - wide), room.low)
        whole = taken.free(event, at, at + wide, above, used=False) >= at + wide
        if whole and above - room.line / 2 >= room.top:
            return Label(event, words, at, above)
    free = int((reach - begin) / room.pixel) - room.edge
    if row.number is not None or free < room.least:
        return None
    return Label(event, room.cut(words, free), begin, height)
