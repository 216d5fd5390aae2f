"""What is charted of respiratory support: devices, flows, modes and settings.

About every four hours and at each change, each with its own gaps: a device without an oxygen
flow is common, and so is a ventilator without a mode.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.chart import Chart
from engine.sources.synth.seeds import Array
from engine.sources.synth.ventilation import (
    AIR,
    CANNULA,
    HIGH_FLOW,
    MASK,
    NIV,
    TRACH,
    TRACH_VENT,
    TUBE,
)
from engine.sources.synth.world import Points, World

Weighted = tuple[tuple[str, float], ...]

DEVICES: Final[dict[int, tuple[tuple[str, float], ...]]] = {
    AIR: (("None", 1.0),),
    CANNULA: (("Nasal cannula", 60), ("Oxymizer", 1.2)),
    MASK: (("Non-rebreather", 12), ("Face tent", 20), ("Aerosol-cool", 22), ("Venti mask ", 12),
           ("Medium conc mask ", 9), ("Ultrasonic neb", 1.5), ("Vapomist", 1.5), ("High flow neb",
           8)),
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
    ("CMV/ASSIST/AutoFlow", 30), ("CMV/ASSIST", 8), ("CPAP/PSV", 24), ("PSV/SBT", 5),
    ("MMV/PSV/AutoFlow", 3),
    ("MMV/PSV", 2), ("CMV", 3), ("PCV+Assist", 4), ("PCV+", 1), ("PCV+/PSV", 1), ("SIMV/PSV", 1),
    ("SIMV/PSV/AutoFlow", 1), ("APRV", 1.2), ("APV (cmv)", 1), ("SPONT", 3), ("Standby", 2),
    ("CPAP", 1.5),
    ("Ambient", 0.4), ("(S) CMV", 0.4), ("APRV/Biphasic+ApnPress", 0.3), ("APRV/Biphasic+ApnVol",
    0.3),
    ("Apnea Ventilation", 0.3), ("CMV/AutoFlow", 0.5), ("CPAP/PPS", 0.3), ("CPAP/PSV+Apn TCPL",
    0.3),
    ("CPAP/PSV+ApnPres", 0.4), ("CPAP/PSV+ApnVol", 0.5), ("MMV", 0.3), ("MMV/AutoFlow", 0.3),
    ("P-CMV", 0.4),
    ("PRES/AC", 0.5), ("PRVC/AC", 0.5), ("PRVC/SIMV", 0.3), ("SIMV", 0.4), ("SIMV/AutoFlow", 0.3),
    ("SIMV/PRES", 0.3), ("SIMV/VOL", 0.3), ("SYNCHRON MASTER", 0.2), ("SYNCHRON SLAVE", 0.2),
    ("VOL/AC", 0.5),
)  # fmt: skip
"""Texts of item 223849 with weights; SPONT, Standby and CPAP classify nothing."""
HAMILTON: Final[tuple[tuple[str, float], ...]] = (
    ("ASV", 20), ("APV (cmv)", 30), ("SPONT", 25), ("P-CMV", 6), ("APV (simv)", 4), ("P-SIMV", 2),
    ("SIMV", 1),
    ("APRV", 2), ("(S) CMV", 2), ("VS", 2), ("Ambient", 1), ("Standby", 1),
)  # fmt: skip
"""Texts of item 229314 with a tube."""
HAMILTON_NIV: Final[tuple[tuple[str, float], ...]] = (("NIV", 40), ("NIV-ST", 50), ("DuoPaP", 10))
"""Texts of item 229314 with a mask."""


def weighted(rng: np.random.Generator, options: Weighted, count: int) -> Array:
    """Indices into the options, drawn by weight."""
    weights = np.array([weight for _, weight in options], dtype=float)
    return rng.choice(len(options), count, p=weights / weights.sum())


def texts(options: Weighted) -> list[str]:
    """The texts of weighted options."""
    return [text for text, _ in options]


def chart_support(world: World, chart: Chart) -> None:
    """Add devices, flows, modes and settings to the chart."""
    rng = world.streams.of("airway")
    cohort, kind = world.cohort, world.support.kind
    stays, length = cohort.stays, kind.shape[1]
    hour = np.arange(length)[None, :]
    due = (hour + rng.integers(0, 4, (stays, 1))) % 4 == 0
    due &= rng.random(due.shape) > 0.04
    due[:, 0] = rng.random(stays) < 0.8
    due[:, 1:] |= kind[:, 1:] != kind[:, :-1]
    # Now and then nobody charts for most of a day.
    pause = (rng.random(stays) < 0.06)[:, None]
    begin = (cohort.hours * rng.uniform(0.2, 0.8, stays))[:, None]
    due &= ~(pause & (hour > begin) & (hour < begin + rng.integers(13, 18, (stays, 1))))
    points = world.hourly(due & ~cohort.scripted[:, None], rng, odd=0.12)
    _chart_devices(rng, world, chart, points)
    _chart_modes(rng, world, chart, points)
    _chart_settings(rng, world, chart, points)


def _chart_devices(rng: np.random.Generator, world: World, chart: Chart, points: Points) -> None:
    state = points.of(world.support.kind).astype(np.int64)
    count = len(points)
    charted = rng.random(count) < _DEVICE_CHARTED[state]
    habit: Array = rng.random(world.cohort.stays)
    for support, options in DEVICES.items():
        mine = points[charted & (state == support)]
        share = np.cumsum([weight for _, weight in options])
        # Each patient mostly keeps one device of the kind.
        usual = np.searchsorted(share / share[-1], habit[mine.stay])
        other = weighted(rng, options, len(mine))
        keeps = rng.random(len(mine)) < 0.85
        which = np.where(keeps, np.minimum(usual, len(options) - 1), other)
        chart.add(226732, mine, words=texts(options), which=which)
    # A second device at the same time (a cannula beside the mask, high flow and cannula).
    both = charted & np.isin(state, [MASK, HIGH_FLOW, NIV]) & (rng.random(count) < 0.06)
    chart.add(226732, points[both], text="Nasal cannula")
    flowing = rng.random(count) < _FLOW_CHARTED[state]
    need = (points.of(world.support.fio2) - 20) / 80
    flow = np.select(
        [state == AIR, state == CANNULA, state == MASK, state == HIGH_FLOW, state == NIV],
        [
            0 * need,
            np.clip(np.round(1 + 12 * need), 1, 6),
            np.round(6 + 9 * need),
            np.round((30 + 30 * need) / 5) * 5,
            np.round(4 + 10 * need),
        ],
        np.round(5 + 8 * need),
    )
    bipap = flowing & (state == NIV) & (rng.random(count) < 0.6)
    plain = flowing & ~bipap
    chart.add(223834, points[plain], flow[plain])
    chart.add(227582, points[bipap], flow[bipap])
    extra = flowing & np.isin(state, [MASK, HIGH_FLOW]) & (rng.random(count) < 0.05)
    chart.add(227287, points[extra], np.round(2 + 4 * need[extra]))


def _easy(rng: np.random.Generator, world: World, points: Points) -> Array:
    """Weaning: the patient triggers the breaths himself."""
    lung = points.of(world.course.organ["lung"])
    easy: Array = rng.random(len(points)) < np.clip(0.95 - 1.1 * lung, 0.1, 0.9)
    return easy


def _chart_modes(rng: np.random.Generator, world: World, chart: Chart, points: Points) -> None:
    """Modes: controlled while ill, supported while weaning."""
    state, count = points.of(world.support.kind), len(points)
    tubed = (state == TUBE) | (state == TRACH_VENT)
    easy = _easy(rng, world, points)
    hamilton = world.support.hamilton[points.stay]
    named = tubed & (rng.random(count) < 0.93)
    masked = (state == NIV) & (rng.random(count) < 0.6)
    for wanted, item, options, calm in (
        (named & ~hamilton, 223849, MODES, "CPAP/PSV"),
        (named & hamilton, 229314, HAMILTON, "SPONT"),
        (masked, 229314, HAMILTON_NIV, "NIV-ST"),
    ):
        mine = points[wanted]
        usual = weighted(rng, options[:3], world.cohort.stays)[mine.stay]
        usual = np.where(easy[wanted], texts(options).index(calm), usual)
        keeps = rng.random(len(mine)) < 0.6
        which = np.where(keeps, usual, weighted(rng, options, len(mine)))
        chart.add(item, mine, words=texts(options), which=which)
    kept = tubed & (rng.random(count) < 0.35)
    make = hamilton[kept].astype(np.int64)
    chart.add(223848, points[kept], words=("Drager", "Hamilton"), which=make)


def _chart_settings(rng: np.random.Generator, world: World, chart: Chart, points: Points) -> None:
    state = points.of(world.support.kind)
    tubed = (state == TUBE) | (state == TRACH_VENT)
    pushed = tubed | (state == NIV)
    count = len(points)
    lung = points.of(world.course.organ["lung"])
    easy = _easy(rng, world, points)
    female, height = world.cohort.female[points.stay], world.cohort.height[points.stay]
    ideal = np.where(female, 45.5, 50) + 0.905 * (height - 152.4)
    volume = np.clip(ideal * (7.6 - 1.4 * np.clip(lung, 0, 1)), 240, 720)
    volume = np.round(volume / 10) * 10
    rate = np.clip(np.round(13 + 13 * lung), 8, 34)
    own = np.where(easy, np.round(4 + 6 * rng.random(count)), np.round(2 * rng.random(count)))
    seen = volume + np.round(rng.normal(0, 22, count))
    peep = points.of(world.support.peep)
    plateau = np.round(peep + 8 + 11 * lung + rng.normal(0, 1.2, count))
    trapped = (rng.random(count) < 0.2) * rng.integers(1, 4, count)
    settings: tuple[tuple[int, Array, Array, float], ...] = (
        (224688, tubed & ~easy, rate, 0.95),
        (224690, tubed, np.where(easy, 8 + own, rate + own), 0.95),
        (224689, tubed, own, 0.8),
        (224684, tubed & ~easy, volume, 0.95),
        (224685, tubed, seen, 0.93),
        (224686, tubed & easy, seen, 0.6),
        (224687, tubed, np.round(seen * (rate + 0.3 * own) / 1000, 1), 0.9),
        (224696, tubed & ~easy, plateau, 0.5),
        (220339, pushed, peep, 0.95),
        (224700, tubed, peep + trapped, 0.15),
        (224691, tubed, np.round(40 + 20 * lung), 0.1),
    )
    for item, wanted, values, share in settings:
        mine = wanted & (rng.random(count) < share)
        chart.add(item, points[mine], values[mine])
    told = pushed | np.isin(state, [HIGH_FLOW, MASK])
    told &= rng.random(count) < np.where(tubed, 0.97, 0.6)
    # Some charts give the fraction instead of percent.
    fraction = (rng.random(world.cohort.stays) < 0.03)[points.stay]
    fio2 = points.of(world.support.fio2)
    fio2 = np.round(np.where(fraction, fio2 / 100, fio2), 2)
    chart.add(223835, points[told], fio2[told])
