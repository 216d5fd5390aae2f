"""Charted Glasgow Coma Scale: three components about every four hours, a tube in between."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.body import Body
from engine.sources.synth.chart import Chart
from engine.sources.synth.cohort import HOUR, Cohort
from engine.sources.synth.course import Course
from engine.sources.synth.seeds import stream
from engine.sources.synth.ventilation import TUBE, Support

EYES: Final = ("None", "To Pain", "To Speech", "Spontaneously")
VERBAL: Final = (
    "No Response",
    "Incomprehensible sounds",
    "Inappropriate Words",
    "Confused",
    "Oriented",
)
MOTOR: Final = ("No response", "Abnormal extension", "Abnormal Flexion", "Flex-withdraws", "Localizes Pain",
                "Obeys Commands")  # fmt: skip
TUBED: Final = "No Response-ETT"
"""The verbal text of a patient with a tube; its number is 1."""


def chart_consciousness(
    kind: str, seed: int, cohort: Cohort, course: Course, support: Support, body: Body, chart: Chart
) -> None:
    """Add items 220739 (eyes), 223900 (verbal) and 223901 (motor)."""
    rng = stream(seed, kind, cohort.number, "neuro")
    often = np.where(cohort.named("stroke", "head injury"), 1, 4)
    hour = np.arange(course.valid.shape[1])[None, :]
    due = course.valid & ((hour + np.arange(cohort.stays)[:, None] * 3) % often[:, None] == 0)
    due &= rng.random(due.shape) < 0.95
    # Nobody looks in a few short stays.
    due &= (rng.random(cohort.stays) > 0.012)[:, None]
    stay, at = np.nonzero(due)
    time = course.first[stay] + at * HOUR
    tube = support.kind[stay, at] == TUBE
    for item, words, values in ((220739, EYES, body.eyes), (223901, MOTOR, body.motor)):
        mine = np.flatnonzero(rng.random(len(stay)) < 0.97)
        value = values[stay[mine], at[mine]].astype(np.int64)
        chart.add_words(item, stay[mine], time[mine], list(words), value - 1, value.astype(float))
    mine = np.flatnonzero(rng.random(len(stay)) < 0.96)
    value = body.verbal[stay[mine], at[mine]].astype(np.int64)
    named = tube[mine] & (rng.random(len(mine)) < 0.95)
    value = np.where(tube[mine], 1, value)
    chart.add_words(
        223900,
        stay[mine],
        time[mine],
        [*VERBAL, TUBED],
        np.where(named, 5, value - 1),
        value.astype(float),
    )
