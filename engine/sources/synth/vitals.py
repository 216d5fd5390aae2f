"""Charted vital signs, rhythm, weight, height and intracranial pressure."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.body import Body
from engine.sources.synth.chart import Chart
from engine.sources.synth.cohort import HOUR, Cohort
from engine.sources.synth.course import Course
from engine.sources.synth.seeds import stream
from engine.sources.synth.ventilation import Support

RHYTHMS: Final = ("SR (Sinus Rhythm)", "ST (Sinus Tachycardia) ", "SB (Sinus Bradycardia)", "AF (Atrial Fibrillation)",
                  "A Paced", "V Paced", "1st AV (First degree AV Block) ", "3rd AV (Complete Heart Block)",
                  "A Flut (Atrial Flutter) ", "VT (Ventricular Tachycardia) ")  # fmt: skip
_SITES: Final = ("Oral", "Axillary", "Blood", "Tympanic", "Temporal Artery Scan", "Rectal")


def chart_vitals(
    kind: str, seed: int, cohort: Cohort, course: Course, support: Support, body: Body, chart: Chart
) -> None:
    """Add hourly vital signs and what goes with them to the chart."""
    rng = stream(seed, kind, cohort.number, "vitals")
    # One stay in a hundred has no charted heart rate: the monitor was not connected.
    silent = rng.random(cohort.stays) < 0.01
    points = course.valid & (rng.random(course.valid.shape) > 0.03)
    stay, at = np.nonzero(points)
    time = course.first[stay] + at * HOUR
    odd = rng.random(len(stay)) < 0.05
    time = time + np.where(odd, rng.integers(1, 60, len(stay)) * 60, 0)

    def add(
        item: int, values: np.ndarray, where: np.ndarray, share: float, decimals: int = 0
    ) -> None:
        mine = np.flatnonzero(where & (rng.random(len(stay)) < share))
        chart.add(item, stay[mine], time[mine], np.round(values[stay[mine], at[mine]], decimals))

    everywhere = np.ones(len(stay), dtype=bool)
    heard = ~silent[stay]
    add(220045, body.heart_rate, heard, 0.99)
    add(220210, body.breaths, everywhere, 0.985)
    add(220277, body.saturation, everywhere, 0.98)
    # An arterial line in the sicker ones; the cuff then is checked now and then.
    sick = 1.6 * cohort.organs[:, 0] + 0.5 * support.tube.any(1) + rng.normal(0, 0.25, cohort.stays)
    line = sick > 1.0
    second_line = line & (rng.random(cohort.stays) < 0.05)
    lined = line[stay]
    for cuff, arterial, art, values in (
        (220179, 220050, 225309, body.systolic),
        (220180, 220051, 225310, body.diastolic),
        (220181, 220052, 225312, body.mean),
    ):
        differs = rng.normal(0, 3.2, values.shape)
        add(arterial, values, lined & ~second_line[stay], 0.96)
        add(art, values, second_line[stay], 0.9)
        add(cuff, np.clip(values + differs, 10, None), np.where(lined, at % 6 == 0, True), 0.95)
    _temperature(rng, body, chart, stay, at, time, course)
    _glucose(rng, cohort, body, chart, stay, at, time)
    _rhythm(rng, cohort, body, chart, stay, at, time)
    _size(rng, cohort, course, chart)
    _pressure_in_head(rng, cohort, course, chart, stay, at, time)


def _temperature(
    rng: np.random.Generator, body: Body, chart: Chart, stay: np.ndarray, at: np.ndarray, time: np.ndarray,
    course: Course,
) -> None:  # fmt: skip
    stays = course.valid.shape[0]
    core = rng.random(stays) < 0.12
    due = np.where(core[stay], True, (at + stay) % 4 == 0) & (rng.random(len(stay)) < 0.93)
    celsius = rng.random(stays) < 0.22
    mine = np.flatnonzero(due & celsius[stay])
    chart.add(223762, stay[mine], time[mine], np.round(body.temperature[stay[mine], at[mine]], 1))
    mine = np.flatnonzero(due & ~celsius[stay])
    chart.add(
        223761,
        stay[mine],
        time[mine],
        np.round(body.temperature[stay[mine], at[mine]] * 1.8 + 32, 1),
    )
    mine = np.flatnonzero(due & (rng.random(len(stay)) < 0.6))
    usual = np.where(core, 2, rng.choice(6, stays, p=[0.72, 0.1, 0.02, 0.08, 0.05, 0.03]))
    chart.add_words(224642, stay[mine], time[mine], list(_SITES), usual[stay[mine]])


def _glucose(
    rng: np.random.Generator, cohort: Cohort, body: Body, chart: Chart,
    stay: np.ndarray, at: np.ndarray, time: np.ndarray,
) -> None:  # fmt: skip
    every = np.where(cohort.shift("glucose") > 100, 1, np.where(body.diabetic, 4, 8))
    due = ((at + stay) % every[stay] == 0) & (rng.random(len(stay)) < 0.9)
    which = rng.choice(3, len(stay), p=[0.8, 0.16, 0.04])
    for number, item in enumerate((225664, 220621, 226537)):
        mine = np.flatnonzero(due & (which == number))
        chart.add(item, stay[mine], time[mine], np.round(body.glucose[stay[mine], at[mine]]))


def _rhythm(
    rng: np.random.Generator, cohort: Cohort, body: Body, chart: Chart,
    stay: np.ndarray, at: np.ndarray, time: np.ndarray,
) -> None:  # fmt: skip
    flutters = rng.random(cohort.stays) < 0.06 + 0.0022 * np.clip(cohort.age - 45, 0, None)
    flutters |= cohort.named("fast arrhythmia") & (rng.random(cohort.stays) < 0.8)
    paced = rng.random(cohort.stays) < 0.04
    blocked = cohort.named("bradycardia")
    mine = np.flatnonzero(((at + stay) % 4 == 0) & (rng.random(len(stay)) < 0.9))
    who, rate = stay[mine], body.heart_rate[stay[mine], at[mine]]
    which = np.select(
        [
            flutters[who] & (rng.random(len(mine)) < 0.75),
            paced[who],
            blocked[who] & (rate < 55),
            rate >= 100,
            rate < 60,
        ],
        [np.where(rng.random(len(mine)) < 0.1, 8, 3), 4 + (who % 2), 7, 1, 2],
        np.where(rng.random(len(mine)) < 0.03, 6, 0),
    )
    which = np.where(rng.random(len(mine)) < 0.002, 9, which)
    chart.add_words(220048, who, time[mine], list(RHYTHMS), which)
    beats = np.flatnonzero(rng.random(len(mine)) < 0.3)
    kinds = ["None", "PVCs", "PACs", "Nonsustained VT"]
    often = ["Rare", "Occasional", "Frequent"]
    which = rng.choice(4, len(beats), p=[0.3, 0.45, 0.22, 0.03])
    chart.add_words(224650, who[beats], time[mine[beats]], kinds, which)
    some = beats[which > 0]
    chart.add_words(
        224651, who[some], time[mine[some]], often, rng.choice(3, len(some), p=[0.5, 0.35, 0.15])
    )
    twice = some[rng.random(len(some)) < 0.12]
    chart.add_words(
        226479, who[twice], time[mine[twice]], ["PACs", "PVCs"], rng.integers(0, 2, len(twice))
    )
    chart.add_words(226480, who[twice], time[mine[twice]], often, rng.integers(0, 3, len(twice)))


def _size(rng: np.random.Generator, cohort: Cohort, course: Course, chart: Chart) -> None:
    """Weight at admission and daily, height in cm or inches."""
    stay = np.arange(cohort.stays)
    soon = cohort.intime + rng.integers(5 * 60, 5 * HOUR, cohort.stays)
    has = rng.random(cohort.stays) < 0.93
    chart.add(226512, stay[has], soon[has], cohort.weight[has])
    pounds = has & (rng.random(cohort.stays) < 0.5)
    chart.add(226531, stay[pounds], soon[pounds], np.round(cohort.weight[pounds] * 2.20462, 1))
    again = has & (rng.random(cohort.stays) < 0.02)
    chart.add(226512, stay[again], soon[again] + 26 * HOUR, np.round(cohort.weight[again] + 1.2, 1))
    # Daily at about five in the morning; fluid comes and goes.
    who, at = np.nonzero(course.valid & ((course.times // HOUR) % 24 == 5))
    weighed = rng.random(len(who)) < 0.45
    who, at = who[weighed], at[weighed]
    swing = 4.5 * np.clip(at / 48, 0, 1) * course.at("shock", who, at) + rng.normal(
        0, 0.7, len(who)
    )
    chart.add(224639, who, course.first[who] + at * HOUR, np.round(cohort.weight[who] + swing, 1))
    tall = np.flatnonzero(rng.random(cohort.stays) < 0.6)
    inches = np.round(cohort.height / 2.54)
    chart.add(226730, tall, soon[tall], cohort.height[tall])
    chart.add(226707, tall, soon[tall], inches[tall])
    only = np.flatnonzero(rng.random(cohort.stays) < 0.04)
    chart.add(226707, only, soon[only] + 7 * 60, inches[only])


def _pressure_in_head(
    rng: np.random.Generator, cohort: Cohort, course: Course, chart: Chart,
    stay: np.ndarray, at: np.ndarray, time: np.ndarray,
) -> None:  # fmt: skip
    bolt = cohort.named("head injury", "stroke") & (cohort.organs[:, 2] > 0.62)
    bolt &= rng.random(cohort.stays) < 0.5
    mine = np.flatnonzero(bolt[stay])
    value = 7 + 13 * course.organ["brain"][stay[mine], at[mine]] + rng.normal(0, 2.2, len(mine))
    chart.add(220765, stay[mine], time[mine], np.round(np.clip(value, 1, 60)))
    second = mine[(bolt & (rng.random(cohort.stays) < 0.15))[stay[mine]]]
    chart.add(227989, stay[second], time[second], np.round(rng.normal(12, 3, len(second)).clip(1)))
