"""The awkward rows of an eICU-shaped source, as `awkward` for MIMIC-IV.

Some stays are written by hand as a whole: nothing else is charted for them, so that what
counts of a stray value can be seen.
"""

from __future__ import annotations

import numpy as np

from engine.sources.synth.cohort import ENOUGH, Cohort
from engine.sources.synth.eicu_chart import (
    BREATHS,
    CELSIUS,
    CUFF,
    FAHRENHEIT,
    GCS_EYES,
    GCS_MOTOR,
    GCS_TOTAL,
    GCS_VALUE,
    GCS_VERBAL,
    HEART_RATE,
    LINE,
    MEAN_ARTERY,
    MEAN_LINE,
    SIGNS,
    Cell,
    NurseChart,
)
from engine.sources.synth.eicu_other import COMA_PATH, OUTPUT_PATH, Flowsheets
from engine.sources.synth.picks import Picks
from engine.sources.synth.seeds import Array
from engine.sources.synth.writer import NO_TIME

_WRONG: Cell = (SIGNS, "Glasgow coma score", "GCS Total")
_INVASIVE, _NON_INVASIVE = LINE[2], CUFF[2]

SCRIPTS: tuple[tuple[tuple[int, Cell, str], ...], ...] = (
    ((10, GCS_TOTAL, "8"), (5, HEART_RATE, "30"), (9, HEART_RATE, "130"), (5, BREATHS, "14"),
     (9, BREATHS, "50"), (5, CELSIUS, "36.5"), (9, CELSIUS, "40"), (5, _INVASIVE, "70"),
     (5, _NON_INVASIVE, "20")),
    ((10, GCS_MOTOR, "1"), (5, HEART_RATE, "88.5"), (5, BREATHS, "24"), (9, BREATHS, "45"),
     (5, CELSIUS, "34"), (9, CELSIUS, "40"), (5, _INVASIVE, "50.995"), (5, _NON_INVASIVE, "20")),
    ((10, GCS_TOTAL, "2"), (10, GCS_TOTAL, "10"), (5, HEART_RATE, "106.4"), (5, BREATHS, "12.5"),
     (9, BREATHS, "23"), (5, CELSIUS, "33.0"), (9, CELSIUS, "35.0"), (5, _INVASIVE, "70"),
     (9, _INVASIVE, "160")),
    ((10, GCS_TOTAL, "2"), (10, GCS_MOTOR, "1"), (10, GCS_VERBAL, "1"), (5, HEART_RATE, "24"),
     (9, HEART_RATE, "226"), (5, BREATHS, "0"), (5, CELSIUS, "35.935"), (5, _INVASIVE, "143.45")),
    ((-360, GCS_TOTAL, "9"), (-361, GCS_TOTAL, "3"), (1440, GCS_VALUE, "7"), (1441, GCS_TOTAL, "3"),
     (0, HEART_RATE, "31"), (1440, HEART_RATE, "126"), (1441, HEART_RATE, "31"), (5, BREATHS, "0"),
     (9, BREATHS, "14"), (5, CELSIUS, "24"), (9, CELSIUS, "47"), (5, MEAN_LINE, "0.5"),
     (9, MEAN_LINE, "251")),
    ((30, GCS_TOTAL, "6"), (30, GCS_MOTOR, "2"), (20, GCS_TOTAL, "6"), (20, GCS_MOTOR, "4"),
     (5, MEAN_ARTERY, "20.6"), (5, BREATHS, "60.5"), (9, BREATHS, "5.999")),
    ((5, _WRONG, "5"), (5, _NON_INVASIVE, "20.65"), (5, CELSIUS, "36.885")),
    ((30, GCS_TOTAL, "15.9"), (40, GCS_MOTOR, "0"), (5, _NON_INVASIVE, "150"), (9, _NON_INVASIVE,
    "62")),
    ((10, GCS_TOTAL, "1 T"), (5, HEART_RATE, "Paced"), (5, FAHRENHEIT, "106"), (5, _NON_INVASIVE,
    "144")),
    ((10, GCS_TOTAL, ">15"), (20, GCS_TOTAL, "-"), (30, GCS_TOTAL, "1,2"), (40, GCS_TOTAL, "nan"),
     (50, GCS_TOTAL, " 14 "), (60, GCS_TOTAL, "+13"), (70, GCS_TOTAL, "1e1"), (80, GCS_TOTAL,
     "12."),
     (90, GCS_EYES, ".5"), (95, GCS_TOTAL, "1_1"), (99, GCS_TOTAL, "13.4996"), (99, HEART_RATE,
     "")),
    ((30, GCS_TOTAL, "14"), (5, HEART_RATE, "107")),
    ((5, HEART_RATE, "32"), (9, HEART_RATE, "88")),
)  # fmt: skip
"""Minute, cell and text of stays that have nothing else charted."""

URINE: tuple[tuple[tuple[int, str, float], ...], ...] = (
    ((30, "Urine", 671.0),),
    ((30, "Urine", 670.9),),
    ((30, "Urine", 1426.995),),
    ((30, "Urine", -50.0),),
    ((30, "Urine", 6896.5),),
    ((30, "FOLEY cath", 100.0),),
    ((30, "Foley irrigant", 2000.0), (31, "Foley Floor", 2000.0), (32, "foley PACU", 2000.0),
     (33, "straight CATH", 2000.0)),
    ((0, "Urine", 900.0), (1440, "Urine", 700.0), (1441, "Urine", 900.0)),
    ((30, "Urine", 2544.0),),
    ((30, "Urine", 7000.0),),
)  # fmt: skip
"""Minute, label and volume of the same stays; two have no urine at all."""

MIXED: tuple[tuple[tuple[int, Cell, str | None], ...], ...] = (
    ((300, GCS_TOTAL, "16"), (310, GCS_TOTAL, "14.5")),
    ((300, HEART_RATE, None), (305, BREATHS, "61"), (306, CELSIUS, "98.6")),
    ((300, GCS_TOTAL, "15"), (300, GCS_TOTAL, "15")),
)
"""Recipes added to ordinary stays."""


def add_awkward_charts(picks: Picks, chart: NurseChart, sheets: Flowsheets) -> None:
    """Scripts and recipes of the nurses' charts, urine, examination and airway."""
    mine = np.flatnonzero(picks.world.cohort.scripted)
    for way, script in enumerate(SCRIPTS):
        stay = mine[np.arange(len(mine)) % len(SCRIPTS) == way]
        for minute, cell, text in script:
            chart.add(cell, stay, np.full(len(stay), minute), [text] * len(stay))
        if way < len(URINE):
            for minute, label, volume in URINE[way]:
                sheets.output.add(stay=stay, offset=minute, value=volume, path=OUTPUT_PATH + label)
        if way >= len(SCRIPTS) - 2:
            sheets.exam.add(stay=stay, offset=40, path=COMA_PATH + "3", value="3")
            sheets.exam.add(stay=stay, offset=50, path=COMA_PATH + "scored", value="1")
            sheets.exam.add(stay=stay, offset=1441, path=COMA_PATH + "1", value=None)
    for recipe in MIXED:
        stay = picks.take()
        for minute, cell, word in recipe:
            chart.add(cell, stay, np.full(len(stay), minute), [word] * len(stay))
    for minute in (0, 10, 1440, 1441):
        stay = picks.take()
        sheets.airway.add(stay=stay, offset=minute, size="7.5")
    sheets.airway.add(stay=picks.take(), offset=60, volume="450")
    sheets.airway.add(stay=picks.take(), offset=60, cuff=25.0)
    sheets.airway.add(stay=picks.take(), offset=60)


def odd_patients(cohort: Cohort, wait: Array, age: Array, source: Array) -> None:
    """Bounds of waiting time and age, and admission sources that contradict, in place.

    Args:
        cohort: the chunk; only the first one, if large enough, gets them.
        wait: hospitaladmitoffset in minutes.
        age: texts.
        source: unitadmitsource.
    """
    if cohort.number or cohort.stays < ENOUGH:
        return
    lone = np.flatnonzero(~(cohort.blank | cohort.scripted))[60:]
    offsets = (-10, -11, -296, -297, -1440, -1441, -18708, -18709, 0, 30, NO_TIME)
    wait[lone[: len(offsets)]] = offsets
    for place, text in enumerate((">89", "89", "77", "53", "23", "24", "78", "54", None)):
        age[lone[20 + place]] = text
    planned = np.flatnonzero(cohort.adm_elective[cohort.stay_adm] & ~cohort.blank)
    for place, text in enumerate(
        ("Emergency Department", "Emergency Department", "Floor", "Floor")
    ):
        source[planned[place]] = text
    source[planned[4:8]] = None
