"""Which events of the picture get their value written beside them. Numbers only, no drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from m4review.timeline.tracks import Tracks
from m4review.timeline.words import value_words

_LONGEST = 24
"""Characters of a value."""


@dataclass(frozen=True)
class Room:
    """How much room there is, and how much a text takes."""

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


def placed(
    tracks: Tracks, wanted: Iterable[int], current: int, room: Room, most: int
) -> list[tuple[int, str]]:
    """Events and their texts, at most `most`.

    The chosen event comes first and whole, then what was used. No text covers another one, nor the
    mark of a used row; words end in "…" where they must, a number is written whole or not at all.
    """
    events = list(wanted)
    near = room.near * room.pixel
    taken: list[tuple[float, float, float]] = []  # from, to (hours), height
    for event in events:
        if tracks.role[event] == 0:
            x = float(tracks.start[event])
            taken.append((x - near, x + near, float(tracks.height[event])))
    found: list[tuple[int, str]] = []
    for event in sorted(events, key=lambda e: (e != current, tracks.role[e], tracks.start[e])):
        if len(found) >= most:
            break
        row, height = tracks.events[event], float(tracks.height[event])
        words = value_words(row)[:_LONGEST]
        begin = float(tracks.start[event]) + near
        there = [(low, high) for low, high, at in taken if abs(at - height) < room.line]
        right = min((low for low, _ in there if low > begin - near), default=float("inf"))
        end = begin + (room.width(words) + room.edge) * room.pixel
        if event != current:
            if any(low < begin + room.pixel < high for low, high in there):
                continue
            if end > right:
                free = int((right - begin) / room.pixel) - room.edge
                if row.number is not None or free < room.least:
                    continue
                words, end = room.cut(words, free), right
        taken.append((begin, end, height))
        found.append((int(event), words))
    return found
