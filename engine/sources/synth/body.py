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
    stays, length = cohort.stays, course.valid.shape[1]

    def each(mean: float, spread: float) -> Array:
        return rng.normal(mean, spread, (stays, 1))

    shock, lung, brain = (course.organ[name] for name in ("shock", "lung", "brain"))
    infection = course.organ["infection"]
    ease = np.exp(-np.arange(length) / 22)[None, :]
    own = slow(rng, stays, length, 0.72)
    beat = slow(rng, stays, length, 0.8)

    # Temperature: fever with infection, warming after cold.
    temperature = (
        each(36.75, 0.22)
        + 1.15 * infection * (0.55 + 0.45 * course.noise)
        + 0.16 * course.day
        + cohort.shift("temperature")[:, None] * ease
        + 0.14 * slow(rng, stays, length, 0.85)
    )
    temperature = np.clip(temperature, 27.5, 42.2)

    # Circulation.
    own_map = each(84, 8) + cohort.shift("map")[:, None] * (0.35 + 0.65 * ease)
    natural = own_map - 42 * np.clip(shock - 0.12, 0, None) + 3.6 * own + 2.2 * course.day
    aim = each(67.5, 1.8)
    treated = (shock > 0.42) & (natural < aim)
    lacking = np.where(treated, aim - natural, 0)
    pressor = np.minimum(lacking, np.clip(46 - 12 * np.clip(shock - 0.95, 0, None) * 3, 12, None))
    mean = np.clip(natural + pressor + 2.4 * rng.standard_normal(natural.shape), 22, 175)
    pulse_pressure = np.clip(
        each(52, 9) + (cohort.age[:, None] - 62) * 0.28 - 21 * shock + 0.25 * (mean - 80) + 3 * own,
        14,
        120,
    )
    diastolic = mean - pulse_pressure / 3
    systolic = diastolic + pulse_pressure
    slowed = rng.random((stays, 1)) < 0.3
    heart_rate = (
        each(77, 9)
        - 9 * slowed
        + cohort.shift("heart_rate")[:, None] * (0.45 + 0.55 * ease)
        + 36 * shock * np.where(slowed, 0.6, 1)
        + 8.5 * (temperature - 36.9)
        + 9 * lung
        - 0.10 * (cohort.age[:, None] - 62)
        + 4.6 * beat
        + 1.8 * course.day
    )
    heart_rate = np.clip(heart_rate, 26, 205)

    # Breathing: fast with bad lungs, infection and acidosis; the machine sets it with a tube.
    tube = support.tube
    sour = -cohort.shift("bicarbonate")[:, None] / 13 * ease
    breaths = (
        15.5 + 9.5 * lung + 3.2 * infection + 8 * np.clip(sour, 0, 1.2) + 2.3 * own + each(0, 1.6)
    )
    machine = np.clip(np.round(12.5 + 13 * lung), 8, 34) + np.abs(1.4 * own)
    depressed = cohort.named("overdose")[:, None] & ~tube
    breaths = np.where(tube, machine, breaths) - 9 * brain * depressed
    breaths = np.clip(breaths, 4, 62)

    # Saturation: what the lungs lack after the oxygen given.
    need = 100 * np.clip(lung - 0.1, 0, None) - (support.fio2 - 21) * 1.05
    chronic = cohort.named("chronic lung disease")[:, None]
    saturation = (
        97.6 - 0.09 * np.clip(need, 0, None) - 4 * chronic - 2.2 * np.clip(lung, 0, 1) * 0.6
    )
    saturation = np.clip(saturation + 0.9 * course.noise + 0.5 * own, 62, 100)
    saturation = np.where(support.kind == NIV, np.minimum(saturation, 99), saturation)

    ill = conditions(streams, cohort)
    diabetic = ill["diabetes_without_cc"] | ill["diabetes_with_cc"]
    diabetic = diabetic[cohort.stay_patient] | (cohort.shift("glucose") > 100)
    glucose = (
        np.where(diabetic, 152, 118)[:, None]
        + cohort.shift("glucose")[:, None] * np.exp(-np.arange(length) / 14)[None, :]
        + 38 * shock
        + np.where(diabetic, 34, 16)[:, None] * slow(rng, stays, length, 0.8)
        - 40 * np.clip(course.organ["liver"] - 0.55, 0, None)
    )
    glucose = np.clip(glucose, 24, 1150)

    # Consciousness: brain and sedation; components fall together.
    sedation = np.where(tube, 0.42 * (0.35 + np.clip(lung, 0, 1)), 0)
    dull = np.clip(brain - 0.1 + sedation + 0.05 * course.noise, 0, 1.3)
    wobble = 0.4 * slow(rng, stays, length, 0.9)
    eyes = np.clip(np.round(4.35 - 3.6 * dull + wobble), 1, 4)
    motor = np.clip(np.round(6.6 - 5.4 * np.clip(dull - 0.12, 0, None) + 0.7 * wobble), 1, 6)
    verbal = np.clip(np.round(5.4 - 5.4 * dull + wobble), 1, 5)
    return Body(
        heart_rate=heart_rate, systolic=systolic, diastolic=diastolic, mean=mean, pressor=pressor,
        breaths=breaths, temperature=temperature, saturation=saturation, glucose=glucose,
        eyes=eyes, verbal=verbal, motor=motor, diabetic=diabetic,
    )  # fmt: skip
