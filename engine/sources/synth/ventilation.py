"""Respiratory support: its course over the stay.

A row of phases: oxygen by cannula, mask, high flow, non-invasive and invasive ventilation,
tracheostomy, room air. What is charted of it: `airway`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.sources.synth.cohort import Cohort
from engine.sources.synth.course import Course
from engine.sources.synth.pictures import PICTURES
from engine.sources.synth.seeds import Array, Streams

AIR, CANNULA, MASK, HIGH_FLOW, NIV, TUBE, TRACH, TRACH_VENT = range(8)
"""Kinds of support, in the order of effort."""

Phase = tuple[int, float]
COURSES: Final[dict[str, tuple[tuple[float, tuple[Phase, ...]], ...]]] = {
    "room air": (
        (5, ((AIR, 1),)),
        (4, ((CANNULA, 1), (AIR, 1.4))),
        (1, ((MASK, 0.4), (CANNULA, 1), (AIR, 1))),
    ),
    "nasal": (
        (5, ((CANNULA, 2), (AIR, 1))),
        (2, ((MASK, 0.6), (CANNULA, 1.6), (AIR, 0.8))),
        (1, ((HIGH_FLOW, 1), (CANNULA, 1), (AIR, 0.5))),
        (1, ((CANNULA, 0.5), (TUBE, 1.5), (CANNULA, 1), (AIR, 0.5))),
    ),
    "mask": (
        (3, ((MASK, 1), (CANNULA, 1.4), (AIR, 0.5))),
        (3, ((HIGH_FLOW, 1.4), (CANNULA, 1), (AIR, 0.4))),
        (2, ((CANNULA, 0.3), (HIGH_FLOW, 0.6), (TUBE, 2), (CANNULA, 1))),
        (1, ((NIV, 0.5), (HIGH_FLOW, 1), (CANNULA, 1))),
    ),
    "niv": (
        (5, ((NIV, 1), (CANNULA, 1.5), (AIR, 0.2))),
        (2, ((CANNULA, 0.3), (NIV, 1), (HIGH_FLOW, 1), (CANNULA, 1))),
        (2, ((NIV, 0.4), (TUBE, 2), (NIV, 0.4), (CANNULA, 1))),
        (1, ((MASK, 1), (CANNULA, 1))),
    ),
    "short tube": (
        (6, ((TUBE, 0.7), (MASK, 0.4), (CANNULA, 1.2), (AIR, 0.6))),
        (3, ((TUBE, 1), (CANNULA, 1.3), (AIR, 0.6))),
        (1, ((TUBE, 0.7), (HIGH_FLOW, 0.7), (CANNULA, 1))),
    ),
    "tube later": (
        (4, ((CANNULA, 0.3), (TUBE, 2), (CANNULA, 1), (AIR, 0.4))),
        (2, ((MASK, 0.3), (TUBE, 2), (HIGH_FLOW, 0.6), (CANNULA, 0.8))),
        (2, ((TUBE, 2), (CANNULA, 1))),
        (2, ((MASK, 0.5), (CANNULA, 1.5), (AIR, 0.4))),
    ),
    "tube": ((4, ((TUBE, 2), (MASK, 0.4), (CANNULA, 1))), (1, ((TUBE, 2.5), (TRACH_VENT, 0.8)))),
    "long tube": (
        (4, ((HIGH_FLOW, 0.2), (TUBE, 3), (HIGH_FLOW, 0.5), (CANNULA, 0.5))),
        (2, ((TUBE, 2.5), (TRACH_VENT, 1), (TRACH, 0.8))),
        (1, ((NIV, 0.3), (TUBE, 3))),
    ),
    "trach": (
        (2, ((TRACH_VENT, 1.2), (TRACH, 1))),
        (1, ((TRACH, 1),)),
        (1, ((TUBE, 1), (TRACH, 1))),
    ),
}
"""Alternatives by name: weight, then phases with their relative length."""


@dataclass(frozen=True)
class Support:
    """Respiratory support, stays by hours."""

    kind: Array
    """One of the eight kinds, 8-bit."""
    fio2: Array
    """Inspired oxygen in percent, 21 on room air."""
    peep: Array
    """cmH2O; NaN without positive pressure."""
    hamilton: Array
    """Stays: ventilator of that make."""

    @property
    def tube(self) -> Array:
        """Ventilated through a tube or a tracheostomy."""
        through: Array = (self.kind == TUBE) | (self.kind == TRACH_VENT)
        return through


def make_support(streams: Streams, cohort: Cohort, course: Course) -> Support:
    """The support of every hour, fitting the picture and the lungs."""
    rng = streams.of("support")
    stays, length = cohort.stays, course.valid.shape[1]
    kind = _phases(rng, cohort, length)
    hour = np.arange(length)[None, :]
    hours = cohort.hours[:, None]
    # Before death most are ventilated, the others have oxygen by mask.
    failing = cohort.dies[:, None] & (hour > 0.45 * hours) & (kind < TUBE)
    kind = np.where(failing, np.where(rng.random((stays, 1)) < 0.7, TUBE, MASK), kind)
    # A failed extubation now and then: a few hours back on the tube.
    again = (rng.random(stays) < 0.05)[:, None] & (kind == CANNULA)
    back = np.abs(hour - hours * rng.uniform(0.5, 0.9, (stays, 1))) < 6
    kind = np.where(again & back, TUBE, kind).astype(np.int8)

    lung = course.organ["lung"]
    slope = np.array([0, 22, 55, 62, 52, 62, 45, 55])[kind]
    floor = np.array([21, 24, 35, 35, 30, 30, 28, 30])[kind]
    fio2 = np.clip(21 + slope * (0.12 + lung) + 2.5 * course.noise, floor, 100)
    fio2 = np.where(kind == AIR, 21, np.round(fio2 / 5) * 5)
    # New on the ventilator: full oxygen for the first hour.
    new = kind == TUBE
    new[:, 1:] &= kind[:, :-1] != TUBE
    fio2 = np.where(new, 100, fio2)
    positive = (kind == NIV) | (kind == TUBE) | (kind == TRACH_VENT)
    peep = np.round(4.6 + 9.5 * np.clip(lung - 0.25, 0, None) + 0.4 * course.noise)
    hamilton: Array = rng.random(stays) < 0.3
    return Support(
        kind=kind,
        fio2=fio2,
        peep=np.where(positive, np.clip(peep, 0, 24), np.nan),
        hamilton=hamilton,
    )


def _phases(rng: np.random.Generator, cohort: Cohort, length: int) -> Array:
    """Stays by hours: kind of support by the drawn course of each picture."""
    phases = np.full((cohort.stays, 4), -1, dtype=np.int8)
    spans = np.zeros((cohort.stays, 4))
    for index, picture in enumerate(PICTURES):
        mine = np.flatnonzero(cohort.picture == index)
        options = COURSES[picture.support]
        weights = np.array([weight for weight, _ in options], dtype=float)
        which = rng.choice(len(options), len(mine), p=weights / weights.sum())
        for number, (_, steps) in enumerate(options):
            for place, (kind, span) in enumerate(steps):
                phases[mine[which == number], place] = kind
                spans[mine[which == number], place] = span
    spans *= rng.gamma(4, 0.25, spans.shape)
    ends = np.cumsum(spans, axis=1) / spans.sum(axis=1, keepdims=True) * cohort.hours[:, None]
    hour = np.arange(length)[None, :]
    support: Array = np.repeat(phases[:, :1], length, axis=1)
    for place in range(1, phases.shape[1]):
        begun = hour >= np.ceil(ends[:, place - 1 : place])
        here = phases[:, place : place + 1]
        support = np.where(begun & (here >= 0), here, support)
    return support
