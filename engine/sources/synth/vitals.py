"""Charted vital signs, rhythm, weight, height and intracranial pressure."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.chart import Chart
from engine.sources.synth.cohort import HOUR
from engine.sources.synth.seeds import Array
from engine.sources.synth.world import Points, World

RHYTHMS: Final = (
    "SR (Sinus Rhythm)",
    "ST (Sinus Tachycardia) ",
    "SB (Sinus Bradycardia)",
    "AF (Atrial Fibrillation)",
    "A Paced",
    "V Paced",
    "1st AV (First degree AV Block) ",
    "3rd AV (Complete Heart Block)",
    "A Flut (Atrial Flutter) ",
    "VT (Ventricular Tachycardia) ",
)
_SITES: Final = ("Oral", "Axillary", "Blood", "Tympanic", "Temporal Artery Scan", "Rectal")
_OFTEN: Final = ("Rare", "Occasional", "Frequent")


def chart_vitals(world: World, chart: Chart) -> None:
    """Add hourly vital signs and what goes with them to the chart."""
    rng = world.streams.of("vitals")
    body, stays = world.body, world.cohort.stays
    points = world.hourly(rng.random(world.course.valid.shape) > 0.03, rng)

    def add(item: int, values: Array, wanted: Array, share: float) -> None:
        mine = points[wanted & (rng.random(len(points)) < share)]
        chart.add(item, mine, np.round(mine.of(values)))

    always = np.ones(len(points), dtype=bool)
    # One stay in a hundred has no charted heart rate: the monitor was not connected.
    silent: Array = rng.random(stays) < 0.01
    add(220045, body.heart_rate, ~silent[points.stay], 0.99)
    add(220210, body.breaths, always, 0.985)
    add(220277, body.saturation, always, 0.98)
    # An arterial line in the sicker ones; the cuff then is checked now and then.
    sick = 1.6 * world.cohort.organs[:, 0] + 0.5 * world.support.tube.any(1)
    line: Array = sick + rng.normal(0, 0.25, stays) > 1.0
    second: Array = line & (rng.random(stays) < 0.05)
    lined = line[points.stay]
    for cuff, arterial, art, values in (
        (220179, 220050, 225309, body.systolic),
        (220180, 220051, 225310, body.diastolic),
        (220181, 220052, 225312, body.mean),
    ):
        differs = rng.normal(0, 3.2, values.shape)
        add(arterial, values, lined & ~second[points.stay], 0.96)
        add(art, values, second[points.stay], 0.9)
        add(cuff, np.clip(values + differs, 10, None), ~lined | (points.at % 6 == 0), 0.95)
    _temperature(rng, world, chart, points)
    _glucose(rng, world, chart, points)
    _rhythm(rng, world, chart, points)
    _size(rng, world, chart)
    _pressure_in_head(rng, world, chart, points)


def _temperature(rng: np.random.Generator, world: World, chart: Chart, points: Points) -> None:
    stays, count = world.cohort.stays, len(points)
    core: Array = rng.random(stays) < 0.12
    due = core[points.stay] | ((points.at + points.stay) % 4 == 0)
    due &= rng.random(count) < 0.93
    celsius = (rng.random(stays) < 0.22)[points.stay]
    values = world.body.temperature
    mine = points[due & celsius]
    chart.add(223762, mine, np.round(mine.of(values), 1))
    mine = points[due & ~celsius]
    chart.add(223761, mine, np.round(mine.of(values) * 1.8 + 32, 1))
    mine = points[due & (rng.random(count) < 0.6)]
    usual = np.where(core, 2, rng.choice(6, stays, p=[0.72, 0.1, 0.02, 0.08, 0.05, 0.03]))
    chart.add(224642, mine, words=_SITES, which=usual[mine.stay])


def _glucose(rng: np.random.Generator, world: World, chart: Chart, points: Points) -> None:
    high = world.cohort.shift("glucose") > 100
    every = np.where(high, 1, np.where(world.body.diabetic, 4, 8))
    due = ((points.at + points.stay) % every[points.stay] == 0) & (rng.random(len(points)) < 0.9)
    which = rng.choice(3, len(points), p=[0.8, 0.16, 0.04])
    for number, item in enumerate((225664, 220621, 226537)):
        mine = points[due & (which == number)]
        chart.add(item, mine, np.round(mine.of(world.body.glucose)))


def _rhythm(rng: np.random.Generator, world: World, chart: Chart, points: Points) -> None:
    cohort = world.cohort
    flutters = rng.random(cohort.stays) < 0.06 + 0.0022 * np.clip(cohort.age - 45, 0, None)
    flutters |= cohort.named("fast arrhythmia") & (rng.random(cohort.stays) < 0.8)
    paced = rng.random(cohort.stays) < 0.04
    blocked = cohort.named("bradycardia")
    due = ((points.at + points.stay) % 4 == 0) & (rng.random(len(points)) < 0.9)
    mine = points[due]
    who, rate, count = mine.stay, mine.of(world.body.heart_rate), len(mine)
    which = np.select(
        [
            flutters[who] & (rng.random(count) < 0.75),
            paced[who],
            blocked[who] & (rate < 55),
            rate >= 100,
            rate < 60,
        ],
        [np.where(rng.random(count) < 0.1, 8, 3), 4 + who % 2, 7, 1, 2],
        np.where(rng.random(count) < 0.03, 6, 0),
    )
    which = np.where(rng.random(count) < 0.002, 9, which)
    chart.add(220048, mine, words=RHYTHMS, which=which)
    beats = mine[rng.random(count) < 0.3]
    kinds = ("None", "PVCs", "PACs", "Nonsustained VT")
    which = rng.choice(4, len(beats), p=[0.3, 0.45, 0.22, 0.03])
    chart.add(224650, beats, words=kinds, which=which)
    some = beats[which > 0]
    rate_of = rng.choice(3, len(some), p=[0.5, 0.35, 0.15])
    chart.add(224651, some, words=_OFTEN, which=rate_of)
    twice = some[rng.random(len(some)) < 0.12]
    chart.add(226479, twice, words=("PACs", "PVCs"), which=rng.integers(0, 2, len(twice)))
    chart.add(226480, twice, words=_OFTEN, which=rng.integers(0, 3, len(twice)))


def _size(rng: np.random.Generator, world: World, chart: Chart) -> None:
    """Weight at admission and daily, height in cm or inches."""
    cohort, course = world.cohort, world.course
    soon = world.points(
        np.arange(cohort.stays), cohort.intime + rng.integers(5 * 60, 5 * HOUR, cohort.stays)
    )
    has = rng.random(cohort.stays) < 0.93
    chart.add(226512, soon[has], cohort.weight[has])
    pounds = has & (rng.random(cohort.stays) < 0.5)
    chart.add(226531, soon[pounds], np.round(cohort.weight[pounds] * 2.20462, 1))
    again = np.flatnonzero(has & (rng.random(cohort.stays) < 0.02) & (cohort.hours > 30))
    later = world.points(again, soon.time[again] + 26 * HOUR)
    chart.add(226512, later, np.round(cohort.weight[again] + 1.2, 1))
    # Daily at about five in the morning; fluid comes and goes.
    morning = world.hourly((course.times // HOUR) % 24 == 5, rng)
    morning = morning[rng.random(len(morning)) < 0.45]
    swing = 4.5 * np.clip(morning.at / 48, 0, 1) * morning.of(course.organ["shock"])
    swing = cohort.weight[morning.stay] + swing + rng.normal(0, 0.7, len(morning))
    chart.add(224639, morning, np.round(swing, 1))
    inches = np.round(cohort.height / 2.54)
    tall = rng.random(cohort.stays) < 0.6
    chart.add(226730, soon[tall], cohort.height[tall])
    chart.add(226707, soon[tall], inches[tall])
    only = rng.random(cohort.stays) < 0.04
    chart.add(226707, world.points(soon.stay[only], soon.time[only] + 7 * 60), inches[only])


def _pressure_in_head(rng: np.random.Generator, world: World, chart: Chart, points: Points) -> None:
    cohort = world.cohort
    bolt = cohort.named("head injury", "stroke") & (cohort.organs[:, 2] > 0.62)
    bolt &= rng.random(cohort.stays) < 0.5
    mine = points[bolt[points.stay]]
    value = 7 + 13 * mine.of(world.course.organ["brain"]) + rng.normal(0, 2.2, len(mine))
    chart.add(220765, mine, np.round(np.clip(value, 1, 60)))
    two = (bolt & (rng.random(cohort.stays) < 0.15))[mine.stay]
    second = value[two] + rng.normal(0, 2, int(two.sum()))
    chart.add(227989, mine[two], np.round(np.clip(second, 1, 60)))
