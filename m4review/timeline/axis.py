"""The time axis: clock times, or hours from unit admission."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pyqtgraph

from m4review.timeline.words import Clock

_STEPS = (
    1 / 60, 5 / 60, 0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 720, 2160, 8760, 43800,
)  # fmt: skip
"""Hours between two ticks."""
_DAY = 24
_YEAR = 8760
_WIDTH = 110
"""Pixels that a tick's words need."""


class TimeAxis(pyqtgraph.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """Hours in the picture, told as the clock tells them."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.clock: Clock | None = None
        self.zoom = 1.0
        self.enableAutoSIPrefix(False)

    def set_clock(self, clock: Clock) -> None:
        """Tell times in this way."""
        self.clock = clock
        self.picture = None
        self.update()

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        wanted = (high - low) * _WIDTH * self.zoom / max(size, 1)
        step = next((step for step in _STEPS if step >= wanted), _STEPS[-1])
        return [(step, 0)]

    def tickStrings(self, values: Sequence[float], _scale: float, spacing: float) -> list[str]:
        clock = self.clock
        if clock is None:
            return ["" for _ in values]
        if clock.offsets:
            return [f"{value:g} h".replace("-", "−") for value in values]
        form = "%d %b %H:%M" if spacing < _DAY else "%d %b %Y" if spacing < _YEAR else "%Y"
        return [_told(clock, value, form) for value in values]


def _told(clock: Clock, hours: float, form: str) -> str:
    try:
        return (clock.origin + timedelta(minutes=round(hours * 60))).strftime(form)
    except OverflowError:
        return ""
