"""Respiratory support: its course over the stay, and what is charted of it.

The course is a row of phases (oxygen by cannula, mask, high flow, non-invasive and invasive
ventilation, tracheostomy, room air). Devices, flows, modes and settings are charted about every
four hours and at each change, each with its own gaps, as the specifications expect them:
a device without an oxygen flow is common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.sources.synth.chart import Chart
from engine.sources.synth.cohort import HOUR, Cohort
from engine.sources.synth.course import Course
from engine.sources.synth.pictures import PICTURES
from engine.sources.synth.seeds import stream

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

DEVICES: Final[dict[int, tuple[tuple[str, float], ...]]] = {
    AIR: (("None", 1.0),),
    CANNULA: (("Nasal cannula", 60), ("Oxymizer", 1.2)),
    MASK: (("Non-rebreather", 12), ("Face tent", 20), ("Aerosol-cool", 22), ("Venti mask ", 12),
           ("Medium conc mask ", 9), ("Ultrasonic neb", 1.5), ("Vapomist", 1.5), ("High flow neb", 8)),
    HIGH_FLOW: (("High flow nasal cannula", 1.0),),
    NIV: (("Bipap mask ", 70), ("CPAP mask ", 30)),
    TUBE: (("Endotracheal tube", 97), ("T-piece", 2), ("Other", 1)),
    TRACH: (("Trach mask ", 80), ("Tracheostomy tube", 20)),
    TRACH_VENT: (("Tracheostomy tube", 100),),
}  # fmt: skip
"""Texts of item 226732 with weights; trailing blanks as charted."""
_FLOW_CHARTED = np.array([0.6, 0.97, 0.95, 0.97, 0.72, 0.16, 0.85, 0.3])
_DEVICE_CHARTED = np.array([0.75, 0.97, 0.96, 0.97, 0.95, 0.96, 0.96, 0.96])

MODES: Final[tuple[tuple[str, float], ...]] = (
    ("CMV/ASSIST/AutoFlow", 30), ("CMV/ASSIST", 8), ("CPAP/PSV", 24), ("PSV/SBT", 5), ("MMV/PSV/AutoFlow", 3),
    ("MMV/PSV", 2), ("CMV", 3), ("PCV+Assist", 4), ("PCV+", 1), ("PCV+/PSV", 1), ("SIMV/PSV", 1),
    ("SIMV/PSV/AutoFlow", 1), ("APRV", 1.2), ("APV (cmv)", 1), ("SPONT", 3), ("Standby", 2), ("CPAP", 1.5),
    ("Ambient", 0.4), ("(S) CMV", 0.4), ("APRV/Biphasic+ApnPress", 0.3), ("APRV/Biphasic+ApnVol", 0.3),
    ("Apnea Ventilation", 0.3), ("CMV/AutoFlow", 0.5), ("CPAP/PPS", 0.3), ("CPAP/PSV+Apn TCPL", 0.3),
    ("CPAP/PSV+ApnPres", 0.4), ("CPAP/PSV+ApnVol", 0.5), ("MMV", 0.3), ("MMV/AutoFlow", 0.3), ("P-CMV", 0.4),
    ("PRES/AC", 0.5), ("PRVC/AC", 0.5), ("PRVC/SIMV", 0.3), ("SIMV", 0.4), ("SIMV/AutoFlow", 0.3),
    ("SIMV/PRES", 0.3), ("SIMV/VOL", 0.3), ("SYNCHRON MASTER", 0.2), ("SYNCHRON SLAVE", 0.2), ("VOL/AC", 0.5),
)  # fmt: skip
"""Texts of item 223849 with weights; SPONT, Standby and CPAP classify nothing."""
HAMILTON: Final[tuple[tuple[str, float], ...]] = (
    ("ASV", 20), ("APV (cmv)", 30), ("SPONT", 25), ("P-CMV", 6), ("APV (simv)", 4), ("P-SIMV", 2), ("SIMV", 1),
    ("APRV", 2), ("(S) CMV", 2), ("VS", 2), ("Ambient", 1), ("Standby", 1),
)  # fmt: skip
"""Texts of item 229314 with a tube."""
HAMILTON_NIV: Final[tuple[tuple[str, float], ...]] = (("NIV", 40), ("NIV-ST", 50), ("DuoPaP", 10))
"""Texts of item 229314 with a mask."""


@dataclass(frozen=True)
class Support:
    """Respiratory support, stays × hours."""

    kind: np.ndarray
    """One of the eight kinds, 8-bit."""
    fio2: np.ndarray
    """Inspired oxygen in percent, 21 on room air."""
    peep: np.ndarray
    """cmH2O; NaN without positive pressure."""
    hamilton: np.ndarray
    """Stays: ventilator of that make."""

    @property
    def tube(self) -> np.ndarray:
        """Ventilated through a tube or a tracheostomy."""
        return (self.kind == TUBE) | (self.kind == TRACH_VENT)


def make_support(kind: str, seed: int, cohort: Cohort, course: Course) -> Support:
    """The support of every hour, fitting the picture and the lungs."""
    rng = stream(seed, kind, cohort.number, "support")
    stays, length = course.valid.shape
    phases = np.full((stays, 4), -1, dtype=np.int8)
    spans = np.zeros((stays, 4))
    for index, picture in enumerate(PICTURES):
        mine = np.flatnonzero(cohort.picture == index)
        options = COURSES[picture.support]
        weights = np.array([weight for weight, _ in options], dtype=float)
        which = rng.choice(len(options), len(mine), p=weights / weights.sum())
        for number, (_, steps) in enumerate(options):
            chosen = mine[which == number]
            for place, (support, span) in enumerate(steps):
                phases[chosen, place] = support
                spans[chosen, place] = span
    spans *= rng.gamma(4, 0.25, spans.shape)
    bound = np.cumsum(spans, axis=1) / spans.sum(axis=1, keepdims=True) * cohort.hours[:, None]
    start = np.concatenate([np.zeros((stays, 1)), bound[:, :-1]], axis=1)
    hour = np.arange(length)
    support = np.repeat(phases[:, :1], length, axis=1)
    for place in range(1, phases.shape[1]):
        begun = (hour[None, :] >= np.ceil(start[:, place : place + 1])) & (
            phases[:, place : place + 1] >= 0
        )
        support = np.where(begun, phases[:, place : place + 1], support)
    late = cohort.dies & (rng.random(stays) < 0.7)
    fails = late[:, None] & (hour[None, :] > 0.45 * cohort.hours[:, None]) & (support < TUBE)
    support = np.where(fails, TUBE, support).astype(np.int8)
    # A failed extubation now and then: a few hours back on the tube.
    again = (rng.random(stays) < 0.05)[:, None] & (support == CANNULA)
    at = (cohort.hours * rng.uniform(0.5, 0.9, stays))[:, None]
    support = np.where(again & (np.abs(hour[None, :] - at) < 6), TUBE, support).astype(np.int8)

    lung = course.organ["lung"]
    base = np.array([21, 21, 21, 21, 21, 21, 21, 21])[support]
    slope = np.array([0, 22, 55, 62, 52, 62, 45, 55])[support]
    floor = np.array([21, 24, 35, 35, 30, 30, 28, 30])[support]
    fio2 = np.clip(base + slope * (0.12 + lung) + 2.5 * course.noise, floor, 100)
    fio2 = np.where(support == AIR, 21, np.round(fio2 / 5) * 5)
    # New on the ventilator: full oxygen for the first hour.
    new = (support == TUBE) & np.concatenate(
        [np.ones((stays, 1), dtype=bool), support[:, :-1] != TUBE], axis=1
    )
    fio2 = np.where(new, 100, fio2)
    positive = (support == NIV) | (support == TUBE) | (support == TRACH_VENT)
    peep = np.clip(np.round(4.6 + 9.5 * np.clip(lung - 0.25, 0, None) + 0.4 * course.noise), 0, 24)
    return Support(
        kind=support,
        fio2=fio2,
        peep=np.where(positive, peep, np.nan),
        hamilton=rng.random(stays) < 0.3,
    )


def weighted(
    rng: np.random.Generator, options: tuple[tuple[str, float], ...], count: int
) -> np.ndarray:
    """Indices into the options, drawn by weight."""
    weights = np.array([weight for _, weight in options], dtype=float)
    return rng.choice(len(options), count, p=weights / weights.sum())


def chart_support(
    kind: str, seed: int, cohort: Cohort, course: Course, support: Support, chart: Chart
) -> None:
    """Add devices, flows, modes and settings to the chart."""
    rng = stream(seed, kind, cohort.number, "ventilation")
    length = course.valid.shape[1]
    shift = rng.integers(0, 4, (cohort.stays, 1))
    changed = np.zeros(course.valid.shape, dtype=bool)
    changed[:, 1:] = support.kind[:, 1:] != support.kind[:, :-1]
    due = (np.arange(length)[None, :] + shift) % 4 == 0
    due &= rng.random(due.shape) > 0.04
    due[:, 0] = rng.random(cohort.stays) < 0.8
    # Now and then nobody charts for most of a day.
    pause = (rng.random(cohort.stays) < 0.06)[:, None]
    begin = (cohort.hours * rng.uniform(0.2, 0.8, cohort.stays))[:, None]
    hour = np.arange(length)[None, :]
    quiet = pause & (hour > begin) & (hour < begin + rng.integers(13, 18, (cohort.stays, 1)))
    points = course.valid & (due | changed) & ~quiet
    stay, at = np.nonzero(points)
    time = course.first[stay] + at * HOUR
    odd = rng.random(len(stay)) < 0.12
    time = time + np.where(odd, rng.integers(1, 59, len(stay)) * 60, 0)
    state = support.kind[stay, at].astype(np.int64)
    fio2 = support.fio2[stay, at]
    _chart_devices(rng, cohort, chart, stay, time, state, fio2)
    _chart_machine(rng, course, support, chart, stay, at, time, state, cohort)


def _chart_devices(
    rng: np.random.Generator, cohort: Cohort, chart: Chart,
    stay: np.ndarray, time: np.ndarray, state: np.ndarray, fio2: np.ndarray,
) -> None:  # fmt: skip
    charted = rng.random(len(stay)) < _DEVICE_CHARTED[state]
    habit = rng.random(cohort.stays)
    for support, options in DEVICES.items():
        mine = np.flatnonzero(charted & (state == support))
        words = [word for word, _ in options]
        share = np.cumsum([weight for _, weight in options])
        # Each patient mostly keeps one device of the kind.
        usual = np.searchsorted(share / share[-1], habit[stay[mine]])
        other = weighted(rng, options, len(mine))
        which = np.where(rng.random(len(mine)) < 0.85, np.minimum(usual, len(words) - 1), other)
        chart.add_words(226732, stay[mine], time[mine], words, which)
    # A second device at the same time (a cannula beside the mask, high flow and cannula).
    both = np.flatnonzero(
        charted & np.isin(state, [MASK, HIGH_FLOW, NIV]) & (rng.random(len(stay)) < 0.06)
    )
    chart.add(226732, stay[both], time[both], text="Nasal cannula")
    flowing = rng.random(len(stay)) < _FLOW_CHARTED[state]
    need = (fio2 - 20) / 80
    flow = np.select(
        [state == AIR, state == CANNULA, state == MASK, state == HIGH_FLOW, state == NIV],
        [0 * need, np.clip(np.round(1 + 12 * need), 1, 6), np.round(6 + 9 * need), np.round((30 + 30 * need) / 5) * 5,
         np.round(4 + 10 * need)],
        np.round(5 + 8 * need),
    )  # fmt: skip
    bipap = flowing & (state == NIV) & (rng.random(len(stay)) < 0.6)
    plain = np.flatnonzero(flowing & ~bipap)
    chart.add(223834, stay[plain], time[plain], flow[plain])
    chart.add(227582, stay[bipap], time[bipap], flow[bipap])
    extra = np.flatnonzero(
        flowing & np.isin(state, [MASK, HIGH_FLOW]) & (rng.random(len(stay)) < 0.05)
    )
    chart.add(227287, stay[extra], time[extra], np.round(2 + 4 * need[extra]))


def _chart_machine(
    rng: np.random.Generator, course: Course, support: Support, chart: Chart,
    stay: np.ndarray, at: np.ndarray, time: np.ndarray, state: np.ndarray, cohort: Cohort,
) -> None:  # fmt: skip
    tubed = (state == TUBE) | (state == TRACH_VENT)
    pushed = tubed | (state == NIV)
    count = len(stay)
    # Modes: controlled while ill, supported while weaning.
    lung = course.organ["lung"][stay, at]
    named = tubed & (rng.random(count) < 0.93)
    hamilton = support.hamilton[stay]
    easy = rng.random(count) < np.clip(0.95 - 1.1 * lung, 0.1, 0.9)
    for wanted, item, options, calm in (
        (named & ~hamilton, 223849, MODES, MODES.index(("CPAP/PSV", 24))),
        (named & hamilton, 229314, HAMILTON, HAMILTON.index(("SPONT", 25))),
        ((state == NIV) & (rng.random(count) < 0.6), 229314, HAMILTON_NIV, 1),
    ):
        mine = np.flatnonzero(wanted)
        which = weighted(rng, options, len(mine))
        usual = weighted(rng, options[:3], cohort.stays)[stay[mine]]
        keeps = rng.random(len(mine)) < 0.6
        which = np.where(keeps, np.where(easy[mine], calm, usual), which)
        chart.add_words(item, stay[mine], time[mine], [word for word, _ in options], which)
    kept = np.flatnonzero(tubed & (rng.random(count) < 0.35))
    chart.add_words(
        223848, stay[kept], time[kept], ["Drager", "Hamilton"], hamilton[kept].astype(np.int64)
    )
    # Settings and measurements.
    female = cohort.female[stay]
    ideal = np.where(female, 45.5, 50) + 0.905 * (cohort.height[stay] - 152.4)
    volume = np.round(np.clip(ideal * (7.6 - 1.4 * np.clip(lung, 0, 1)), 240, 720) / 10) * 10
    rate = np.clip(np.round(13 + 13 * lung), 8, 34)
    own = np.where(
        easy, np.clip(np.round(4 + 6 * rng.random(count)), 0, 16), np.round(2 * rng.random(count))
    )
    seen = volume + np.round(rng.normal(0, 22, count))
    peep = support.peep[stay, at]
    plateau = np.round(peep + 8 + 11 * lung + rng.normal(0, 1.2, count))
    settings = (
        (224688, tubed & ~easy, rate, 0.95),
        (224690, tubed, np.where(easy, 8 + own, rate + own), 0.95),
        (224689, tubed, own, 0.8),
        (224684, tubed & ~easy, volume, 0.95),
        (224685, tubed, seen, 0.93),
        (224686, tubed & easy, seen, 0.6),
        (224687, tubed, np.round(seen * (rate + 0.3 * own) / 1000, 1), 0.9),
        (224696, tubed & ~easy, plateau, 0.5),
        (220339, pushed, peep, 0.95),
        (224700, tubed, peep + (rng.random(count) < 0.2) * rng.integers(1, 4, count), 0.15),
        (224691, tubed & (rng.random(count) < 0.2), np.round(40 + 20 * lung), 0.5),
    )
    for item, wanted, values, share in settings:
        mine = np.flatnonzero(wanted & (rng.random(count) < share))
        chart.add(item, stay[mine], time[mine], values[mine])
    fio2 = support.fio2[stay, at]
    told = np.flatnonzero(
        (pushed | np.isin(state, [HIGH_FLOW, MASK]))
        & (rng.random(count) < np.where(tubed, 0.97, 0.6))
    )
    # Some charts give the fraction instead of percent.
    fraction = rng.random(cohort.stays) < 0.03
    value = np.where(fraction[stay[told]], fio2[told] / 100, fio2[told])
    chart.add(223835, stay[told], time[told], np.round(value, 2))
