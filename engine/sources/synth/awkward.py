"""The awkward rows that real data have and rules must survive.

Unit variants, duplicates, impossible values, texts instead of numbers, times outside the stay,
values exactly on a bound. Each recipe is put into a few stays; from two hundred stays on, each
is in at least two.
"""

from __future__ import annotations

import numpy as np

from engine.sources.synth.awkward_events import add_events
from engine.sources.synth.awkward_labs import add_results
from engine.sources.synth.cohort import DAY, HOUR
from engine.sources.synth.neuro import EYES, MOTOR, VERBAL
from engine.sources.synth.picks import SHARE, Picks, Tables
from engine.sources.synth.world import World
from engine.sources.synth.writer import NO_TIME

Entry = tuple[float, int, float, str | None]
"""Minute, item, number, text; the text ``"="`` writes the number as text, None is null."""
_NONE = float("nan")


def _n(minute: float, item: int, *numbers: float) -> tuple[Entry, ...]:
    """Numbers of one item at one minute."""
    return tuple((minute, item, number, "=") for number in numbers)


def _t(minute: float, item: int, *texts: str | None) -> tuple[Entry, ...]:
    """Texts of one item at one minute."""
    return tuple((minute, item, _NONE, text) for text in texts)


def _spread(item: int, *numbers: float) -> tuple[Entry, ...]:
    """Numbers of one item, a minute apart."""
    return tuple((3 + place, item, number, "=") for place, number in enumerate(numbers))


CHARTED: tuple[tuple[Entry, ...], ...] = (
    # Vital signs: out of range, duplicates, invasive and cuff together, swapped units.
    _spread(220045, 300, 0, -5) + _t(9, 220045, "Unable to Assess", None),
    _n(3, 220045, 80, 90),
    _n(3, 220179, 100) + _n(3, 220050, 120) + _n(3, 225309, 400) + _n(5, 225309, 399),
    _n(3, 220181, 65) + _n(3, 220052, 75) + _n(4, 220180, 0) + _n(4, 220051, 55) + _n(6, 220052,
    300),
    _n(3, 220210, 70) + _n(3, 224690, 69) + _n(7, 220210, 22) + _n(7, 224690, 18),
    _n(3, 223761, 38) + _n(3, 223762, 98.6),
    _n(3, 223761, 98.6) + _n(3, 223762, 38),
    _n(3, 223761, 98.6, 98.6, 100.3),
    _spread(223762, 37.0347, 35.9949, 35.99449, 50, 10),
    _spread(223761, 96.8, 96.7, 100.4, 100.5, 120, 70),
    _spread(220277, 100, 101, 0),
    _n(3, 223762, 33.1),
    _n(3, 223762, 32.9),
    _n(3, 223762, 39.9),
    _n(3, 225664, 999999) + _n(5, 220621, 0) + _n(6, 226537, -1),
    _t(3, 224642, "Oral", "Axillary") + _t(5, 224642, None),
    _t(3, 220048, "SR (Sinus Rhythm)", "AF (Atrial Fibrillation)") + _t(6, 220048, None),
    _t(3, 224651, "Rare"),
    _n(3, 220765, 0) + _n(4, 220765, 100) + _n(5, 220765, 150) + _n(5, 227989, 20) + _t(6, 220765,
    None),
    # Height and weight.
    _n(3, 226730, 230) + _n(3, 226707, 67) + _spread(226730, 120, 120.005, 229.996)[1:],
    _n(3, 226730, 170.0049, 171) + _n(3, 226707, 60, 61),
    _spread(224639, 0, -3) + _t(8, 226512, None),
    _n(3, 224639, 82000),
    _n(3, 226512, 81) + _n(3, 224639, 82.5),
    # Oxygen: flow without number, several devices, a device without flow.
    _t(3, 223834, "junk") + _t(3, 226732, "Nasal cannula"),
    _t(3, 226732, "Trach mask ", "Face tent", "Bipap mask ", "CPAP mask ", "Venti mask ") + _n(3,
    227287, 6),
    _t(3, 226732, None, "Nasal cannula") + _n(3, 223834, 6),
    _t(3, 226732, "Nasal cannula", "Nasal cannula") + _n(3, 223834, 2),
    _t(3, 226732, "Nasal cannula ") + _n(3, 223834, 3),
    _t(3, 226732, "Nasal cannula"),
    ((3, 223834, 5, None), *_t(3, 226732, "Nasal cannula")),
    _spread(223835, 0.19, 0.2, 0.21, 0.29, 1, 1.01, 19.99, 20, 20.5, 100, 100.1, -1, 0.55),
    _n(3, 220339, 100) + _n(3, 224700, 101) + _n(4, 220339, -1) + _n(5, 220339, 5) + _n(5, 224700,
    8),
    _t(3, 223849, "CMV", "CPAP/PSV") + _t(5, 223849, None),
    # Coma scale: voice beside a tube, other spelling, no number.
    ((3, 223900, 1, "No Response-ETT"), (3, 223900, 4, "Confused"), (3, 223901, 5,
    "Localizes Pain"),
     (3, 220739, 3, "To Speech")),
    ((3, 223900, 1, "no response-ETT"), (3, 223901, 5, "Localizes Pain"), (3, 220739, 3,
    "To Speech")),
    ((3, 223901, _NONE, "Unable to assess"), (5, 223900, _NONE, "No Response-ETT")),
    # Renal replacement: circuit texts, conflicting modes, a number that is none.
    _t(3, 224146, "Active", "Clots Present", "Recirculating")
    + _t(5, 224146, "Clotted", "Clots Increasing", "Clots Present", "No Clot Present")
    + _t(7, 224146, "Discontinued", "No Clot Present") + _t(9, 224146,
    "Line pressure inconsistent"),
    _t(3, 227290, "CVVHD", "CVVHDF") + _n(3, 224144, 100, 200) + _t(5, 224144, "abc")
    + ((7, 224144, 200, None),),
    _t(3, 225965, "In use", "Capped") + _n(4, 226499, 2000) + _t(5, 226118, None),
    _n(3, 224149, -80) + _n(3, 224150, 90) + _t(3, 227290, "CVVH"),
    # Every further item of renal replacement once.
    _t(3, 224135, "Right IJ") + _t(3, 224139, "WNL") + _t(3, 225740, "Yes") + _t(3, 225956,
    "Clotted")
    + _t(3, 227753, "Yes") + _n(4, 225725, 1) + _n(4, 226118, 1) + _n(4, 224404, 1.2) + _n(4,
    224406, 1.3)
    + _n(4, 227438, 50),
    _n(3, 224145, 500) + _t(3, 225958, "1000", "500") + _t(4, 225976, "Prismasate K2"),
    _n(3, 225806, 2000) + _n(3, 225807, 2150) + _n(3, 225810, 4) + _t(3, 225951, "Clear")
    + _t(3, 225953, "Dianeal 2.5%") + _t(3, 225963, "Tenckhoff"),
    _n(3, 225959, 1000) + _n(3, 227639, 500) + _t(3, 225952, "Heparin") + _t(3, 225961, "units")
    + _t(3, 227638, "Cefazolin") + _t(3, 227640, "mg"),
)  # fmt: skip
"""Recipes for `chartevents`, at some hour of the first day."""


def add_awkward(world: World, tables: Tables) -> None:
    """Put every recipe into some stays of the chunk."""
    picks = Picks(world)
    for number, recipe in enumerate(CHARTED):
        stay = picks.take()
        for minute, item, value, text in recipe:
            points = picks.at(stay, 4 + number % 7, minute + 10)
            if text == "=":
                tables.chart.add(item, points, value)
            else:
                tables.chart.add(item, points, value, words=[text], which=np.zeros(len(stay), int))
    _add_storage(picks, tables)
    _add_outside(picks, tables)
    _add_scripts(picks, tables)
    add_results(picks, tables)
    add_events(picks, tables)


def _add_storage(picks: Picks, tables: Tables) -> None:
    """Oxygen flows that only the storage time tells apart, or not even that."""
    chart = tables.chart
    stay = picks.take()
    points = picks.at(stay, 6, 21)
    chart.add(223834, points, 40, store=points.time + 300)
    chart.add(227582, points, 10, store=points.time + 360)
    chart.add(227287, points, 3)
    chart.add(226732, points, text="Nasal cannula")
    chart.add(226732, points, text="High flow nasal cannula")
    stay = picks.take()
    points = picks.at(stay, 6, 21)
    chart.add(223834, points, 5, store=NO_TIME)
    chart.add(223834, points, 7, store=points.time + 60)
    chart.add(226732, points, text="Face tent")
    stay = picks.take()
    points = picks.at(stay, 6, 21)
    for item, flow in ((223834, 6), (227582, 10)):
        chart.add(item, points, flow, store=points.time + 120)
    chart.add(226732, points, text="Bipap mask ")
    chart.add(226732, points, text="Endotracheal tube")


def _add_outside(picks: Picks, tables: Tables) -> None:
    """Rows outside the stay and exactly on the bounds of the first day."""
    chart = tables.chart
    stay = picks.take()
    chart.add(220045, picks.since(stay, -40 * DAY), 77)
    stay = picks.take()
    chart.add(224639, picks.since(stay, -HOUR), 71.5)
    stay = picks.take()
    after = picks.world.cohort.outtime[stay] - picks.world.cohort.intime[stay] + 3 * HOUR
    late = picks.world.points(stay, picks.world.cohort.intime[stay] + after)
    chart.add(224639, late, 73.2)
    tables.outputs.add(stay=stay, time=late.time // 60 * 60, item=226559, value=80.0)
    for seconds, rate in ((-6 * HOUR, 34), (-6 * HOUR - 60, 216), (DAY, 152), (DAY + 60, 219)):
        stay = picks.take(exact=True)
        chart.add(220045, picks.since(stay, seconds), rate)
    stay = picks.take(exact=True)
    for seconds, number in ((-6 * HOUR, 3), (-6 * HOUR - 60, 1), (DAY, 2), (DAY + 60, 1)):
        chart.add(223901, picks.since(stay, seconds), number, text="Abnormal Flexion")
    stay = picks.take(exact=True)
    chart.add(220045, picks.since(stay, 0), 31)
    # Pulse between whole numbers: the mean of two at one time.
    calm = np.flatnonzero((picks.world.body.heart_rate * picks.world.course.valid).max(1) < 104.0)[
        :: max(1, int(1 / SHARE / 8))
    ]
    calm = calm[~picks.world.cohort.blank[calm]]
    for rate in (106, 107):
        chart.add(220045, picks.at(calm, 3, 19), rate)


def _add_scripts(picks: Picks, tables: Tables) -> None:
    """Stays written by hand: coma scale, support and urine at telling distances."""
    chart = tables.chart
    mine = np.flatnonzero(picks.world.cohort.scripted)
    ways = len(COMA_SCRIPTS)
    for way in range(ways):
        stay = mine[np.arange(len(mine)) % ways == way]
        for hour, device in SUPPORT_SCRIPTS[way % len(SUPPORT_SCRIPTS)]:
            points = picks.at(stay, hour)
            if device.startswith("mode "):
                chart.add(223849, points, text=device[5:])
            elif device.startswith("hamilton "):
                chart.add(229314, points, text=device[9:])
            else:
                chart.add(223834, points, 4)
                chart.add(226732, points, text=device)
        for hour, item, number, text in COMA_SCRIPTS[way % len(COMA_SCRIPTS)]:
            chart.add(item, picks.at(stay, hour), number, text=text)
        for hour, volume in URINE_SCRIPTS[way % len(URINE_SCRIPTS)]:
            points = picks.at(stay, hour)
            tables.outputs.add(stay=stay, time=points.time // 60 * 60, item=226559, value=volume)


SUPPORT_SCRIPTS: tuple[tuple[tuple[float, str], ...], ...] = (
    ((0, "Nasal cannula"), (2, "Nasal cannula"), (4, "High flow nasal cannula"),
     (6, "High flow nasal cannula"), (8, "None"), (10, "None")),
    ((0, "None"), (14, "None"), (28, "None"), (41.99, "None")),
    ((0, "Nasal cannula"), (2, "Nasal cannula"), (4, "High flow nasal cannula"), (6,
    "Nasal cannula"),
     (8, "Nasal cannula")),
    ((0, "Bipap mask "), (0, "mode CMV"), (1, "Bipap mask "), (1, "mode CMV"), (2, "None"),
     (2, "hamilton NIV"), (3, "None"), (3, "hamilton NIV")),
    ((0, "Trach mask "), (0, "mode CMV"), (1, "hamilton ASV"), (2, "mode CPAP"), (2,
    "hamilton NIV"),
     (3, "mode CPAP/PSV"), (3, "hamilton NIV"), (4, "mode SPONT"), (4, "hamilton SPONT"),
     (5, "mode Standby"), (5, "hamilton APRV")),
    ((0, "Nasal cannula"), (2, "Nasal cannula"), (16, "High flow nasal cannula"),
     (17, "High flow nasal cannula"), (18, "T-piece"), (19, "Other")),
)  # fmt: skip
"""Hour and device with an oxygen flow, or a mode."""
COMA_SCRIPTS: tuple[tuple[tuple[float, int, float, str], ...], ...] = (
    ((1, 223900, 2, "Incomprehensible sounds"), (1, 223901, 4, "Flex-withdraws"), (1, 220739, 2,
    "To Pain"),
     (7, 220739, 3, "To Speech")),
    ((1, 223900, 2, "Incomprehensible sounds"), (1, 223901, 4, "Flex-withdraws"), (1, 220739, 2,
    "To Pain"),
     (6.984, 220739, 3, "To Speech"), (8, 220739, 4, "Spontaneously")),
    ((1, 223900, 1, "No Response-ETT"), (1, 223901, 1, "No response"), (1, 220739, 1, "None"),
     (2, 223901, 1, "No response"), (2, 220739, 1, "None"), (3, 223901, 2, "Abnormal extension")),
    ((1, 223900, 1, "No Response-ETT"), (1, 223901, 1, "No response"), (1, 220739, 1, "None"),
     (2, 223900, 3, "Inappropriate Words"), (2, 220739, 2, "To Pain")),
    ((1, 220739, 1, "None"),),
    ((1, 223900, 1, "No Response-ETT"), (1, 223901, 1, "No response"), (1, 220739, 1, "None")),
    *(
        ((2, 220739, eyes, EYES[eyes - 1]), (2, 223900, verbal, VERBAL[verbal - 1]),
         (2, 223901, motor, MOTOR[motor - 1]))
        for eyes, verbal, motor in ((1, 1, 1), (1, 1, 4), (1, 1, 6), (1, 3, 2), (1, 2, 3),
                                    (2, 1, 5), (2, 3, 5), (3, 3, 6), (3, 4, 5), (2, 5, 6))
    ),
)  # fmt: skip
"""Hour, item, number and text."""
URINE_SCRIPTS: tuple[tuple[tuple[float, float], ...], ...] = (
    ((1, 100.0), (6, 200.0), (6.5, 10.0), (12, 111.0), (30, 50.0)),
    ((-1, 30.0), (4, 400.0), (9, 350.0), (9.017, 10.0), (20, 500.0)),
    ((2, 205.0), (12, 200.0), (25, 100.0)),
    tuple((float(hour), 20.0 if hour < 16 else 0.0) for hour in range(1, 40)),
    ((5.9981, 50.0),),
    tuple((hour / 3, 12.0) for hour in range(1, 60)),
)  # fmt: skip
"""Hour and volume in mL."""
