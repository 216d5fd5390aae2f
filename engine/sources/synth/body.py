"""What the body shows each hour: circulation, breathing, temperature, consciousness.

Derived from the hidden course. Blood pressure falls with shock, vasopressors hold it near a target
as far as they can; pulse, breathing and temperature answer together; a tube takes the voice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.sources.synth.cohort import Cohort
from engine.sources.synth.comorbidity import conditions
from engine.sources.synth.course import Course, slow
from engine.sources.synth.seeds import Array, Streams
from engine.sources.synth.spells import add_spells
from engine.sources.synth.ventilation import NIV, Support


@dataclass(frozen=True)
class Body:
    """Stays by hours unless said otherwise."""

    heart_rate: Array
    """Beats per minute."""
    systolic: Array
    """mmHg."""
    diastolic: Array
    """mmHg."""
    mean: Array
    """mmHg."""
    pressor: Array
    """Vasopressor support in mmHg held up; 0 without."""
    breaths: Array
    """Breaths per minute."""
    temperature: Array
    """Degrees Celsius."""
    saturation: Array
    """Percent."""
    glucose: Array
    """mg/dL."""
    eyes: Array
    """Glasgow Coma Scale, eye opening 1 to 4."""
    verbal: Array
    """Verbal response 1 to 5; meaningless with a tube."""
    motor: Array
    """Motor response 1 to 6."""
    diabetic: Array
    """Stays."""


def make_body(streams: Streams, cohort: Cohort, course: Course, support: Support) -> Body:
    """The visible signs of every hour."""
    rng = streams.of("body")
    ease = np.exp(-np.arange(course.valid.shape[1]) / 22)[None, :]
    signs = {"temperature": _temperature(rng, cohort, course)}
    signs |= _circulation(rng, cohort, course, ease)
    signs["heart_rate"] = _pulse(rng, cohort, course, ease, signs["temperature"])
    signs["breaths"] = _breathing(rng, cohort, course, ease, support)
    signs["saturation"] = _saturation(rng, cohort, course, support)
    ill = conditions(streams, cohort)
    diabetic = (ill["diabetes_without_cc"] | ill["diabetes_with_cc"])[cohort.stay_patient]
    diabetic |= cohort.shift("glucose") > 100
    signs["glucose"] = _glucose(rng, cohort, course, diabetic)
    signs |= _consciousness(rng, cohort, course, support)
    add_spells(streams.of("spells"), cohort, support, signs)
    pulse_pressure = np.clip(signs.pop("pulse_pressure"), 6, 190)
    mean = np.clip(signs.pop("mean"), 8, 190)
    return Body(
        mean=mean,
        diastolic=np.clip(mean - pulse_pressure / 3, 5, 170),
        systolic=mean + pulse_pressure * 2 / 3,
        pressor=signs.pop("pressor"),
        heart_rate=np.clip(signs.pop("heart_rate"), 18, 215),
        breaths=np.clip(signs.pop("breaths"), 1, 64),
        temperature=np.clip(signs.pop("temperature"), 27.5, 42.2),
        saturation=np.clip(signs.pop("saturation"), 42, 100),
        glucose=np.clip(signs.pop("glucose"), 20, 1150),
        eyes=signs.pop("eyes"),
        verbal=signs.pop("verbal"),
        motor=signs.pop("motor"),
        diabetic=diabetic,
    )


def _each(rng: np.random.Generator, cohort: Cohort, mean: float, spread: float) -> Array:
    """A lasting trait of every stay, as a column."""
    return rng.normal(mean, spread, (cohort.stays, 1))


def _wander(rng: np.random.Generator, course: Course, memory: float) -> Array:
    rows, length = course.valid.shape
    return slow(rng, rows, length, memory)


def _temperature(rng: np.random.Generator, cohort: Cohort, course: Course) -> Array:
    """Fever with infection, warming after cold."""
    fever = 1.15 * course.organ["infection"] * (0.55 + 0.45 * course.noise)
    # Some are warmed within hours, others over days.
    pace = rng.uniform(4, 34, (cohort.stays, 1))
    hour = np.arange(course.valid.shape[1])[None, :]
    start = cohort.shift("temperature")[:, None] * np.exp(-hour / pace)
    own = _each(rng, cohort, 36.75, 0.24) + 0.16 * course.day + 0.17 * _wander(rng, course, 0.8)
    total: Array = own + fever + start
    return total


def _circulation(
    rng: np.random.Generator, cohort: Cohort, course: Course, ease: Array
) -> dict[str, Array]:
    """Mean and pulse pressure; vasopressors hold the mean near a target as far as they can."""
    shock, own = course.organ["shock"], _wander(rng, course, 0.72)
    usual = _each(rng, cohort, 84, 8.5) + cohort.shift("map")[:, None] * (0.35 + 0.65 * ease)
    natural = usual - 42 * np.clip(shock - 0.12, 0, None) + 2.2 * course.day
    # The drug follows the trend of some hours, not every reading.
    trend = _trailing(natural, 5)
    aim = _each(rng, cohort, 68, 1.8)
    treated = (_trailing(shock, 5) > 0.4) & (trend < aim + 3)
    reach = np.clip(46 - 36 * np.clip(shock - 0.95, 0, None), 12, None)
    pressor = np.where(treated, np.clip(aim - trend, 3, reach), 0)
    mean = natural + pressor + 5.2 * own + 4.2 * rng.standard_normal(natural.shape)
    pulse = _each(rng, cohort, 52, 9) + (cohort.age[:, None] - 62) * 0.28 - 21 * shock
    pulse = pulse + 0.3 * (mean - 80) + 4.5 * own + 3.5 * rng.standard_normal(natural.shape)
    return {"mean": mean, "pulse_pressure": np.clip(pulse, 12, 130), "pressor": pressor}


def _trailing(values: Array, hours: int) -> Array:
    """Mean of the last hours, fewer at the begin."""
    total = np.cumsum(values, axis=1)
    total[:, hours:] = total[:, hours:] - total[:, :-hours]
    count = np.minimum(np.arange(values.shape[1]) + 1, hours)
    mean: Array = total / count
    return mean


def _pulse(
    rng: np.random.Generator, cohort: Cohort, course: Course, ease: Array, temperature: Array
) -> Array:
    """Fast with shock, fever and bad lungs; slower in the old and with beta blockers."""
    slowed = rng.random((cohort.stays, 1)) < 0.3
    rate = _each(rng, cohort, 77, 9.5) - 9 * slowed - 0.10 * (cohort.age[:, None] - 62)
    rate = rate + cohort.shift("heart_rate")[:, None] * (0.45 + 0.55 * ease)
    rate = rate + 36 * course.organ["shock"] * np.where(slowed, 0.6, 1)
    rate = rate + 8.5 * (temperature - 36.9) + 9 * course.organ["lung"] + 1.8 * course.day
    beat = 6.5 * _wander(rng, course, 0.8)
    total: Array = rate + beat + 2.6 * rng.standard_normal(beat.shape)
    return total


def _breathing(
    rng: np.random.Generator, cohort: Cohort, course: Course, ease: Array, support: Support
) -> Array:
    """Fast with bad lungs, infection and acidosis; the machine sets it with a tube."""
    lung, own = course.organ["lung"], _wander(rng, course, 0.6)
    sour = -cohort.shift("bicarbonate")[:, None] / 13 * ease
    free = 15.8 + 9.8 * lung + 3.4 * course.organ["infection"] + 8 * np.clip(sour, 0, 1.2)
    free = free + 3.4 * own + _each(rng, cohort, 0, 1.8)
    drugged = cohort.named("overdose")[:, None]
    free = np.where(drugged, free - 9 * course.organ["brain"], free)
    machine = np.clip(np.round(12.5 + 13 * lung), 8, 34) + np.abs(2.2 * own)
    return np.clip(np.where(support.tube, machine, free), 4.5, 48)


def _saturation(
    rng: np.random.Generator, cohort: Cohort, course: Course, support: Support
) -> Array:
    """What the lungs lack after the oxygen given."""
    lung = course.organ["lung"]
    need = np.clip(100 * np.clip(lung - 0.1, 0, None) - (support.fio2 - 21) * 1.05, 0, None)
    chronic = cohort.named("chronic lung disease")[:, None]
    value = 97.6 - 0.09 * need - 4 * chronic - 1.3 * np.clip(lung, 0, 1)
    value = value + 0.9 * course.noise + 0.9 * _wander(rng, course, 0.5)
    total: Array = np.where(support.kind == NIV, np.minimum(value, 99), value)
    return total


def _glucose(rng: np.random.Generator, cohort: Cohort, course: Course, diabetic: Array) -> Array:
    """Higher in diabetes and stress, lower when the liver fails."""
    start = cohort.shift("glucose")[:, None] * np.exp(-np.arange(course.valid.shape[1]) / 14)
    usual = np.where(diabetic, 152, 118)[:, None] + 38 * course.organ["shock"]
    swing = np.where(diabetic, 38, 18)[:, None] * _wander(rng, course, 0.8)
    low = 40 * np.clip(course.organ["liver"] - 0.55, 0, None)
    total: Array = usual + start + swing - low
    return total


def _consciousness(
    rng: np.random.Generator, cohort: Cohort, course: Course, support: Support
) -> dict[str, Array]:
    """Brain and sedation; the components fall together."""
    lung = np.clip(course.organ["lung"], 0, 1)
    sedation = np.where(support.tube, 0.42 * (0.35 + lung), 0)
    dull = course.organ["brain"] - 0.1 + sedation + 0.05 * course.noise
    dull = np.clip(dull + 0.04 * (cohort.age[:, None] > 82), 0, 1.3)
    wobble = 0.4 * _wander(rng, course, 0.9)
    return {
        "eyes": np.clip(np.round(4.35 - 3.6 * dull + wobble), 1, 4),
        "motor": np.clip(np.round(6.6 - 5.4 * np.clip(dull - 0.12, 0, None) + 0.7 * wobble), 1, 6),
        "verbal": np.clip(np.round(5.4 - 5.4 * dull + wobble), 1, 5),
    }
