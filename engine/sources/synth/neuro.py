"""Charted Glasgow Coma Scale: three components about every four hours, a tube in between."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.chart import Chart
from engine.sources.synth.ventilation import TUBE
from engine.sources.synth.world import World

EYES: Final = ("None", "To Pain", "To Speech", "Spontaneously")
VERBAL: Final = (
    "No Response",
    "Incomprehensible sounds",
    "Inappropriate Words",
    "Confused",
    "Oriented",
)
MOTOR: Final = (
    "No response",
    "Abnormal extension",
    "Abnormal Flexion",
    "Flex-withdraws",
    "Localizes Pain",
    "Obeys Commands",
)
TUBED: Final = "No Response-ETT"
"""The verbal text of a patient with a tube; its number is 1."""


def chart_consciousness(world: World, chart: Chart) -> None:
    """Add items 220739 (eyes), 223900 (verbal) and 223901 (motor)."""
    rng = world.streams.of("neuro")
    cohort, body = world.cohort, world.body
    often = np.where(cohort.named("stroke", "head injury"), 1, 4)[:, None]
    hour = np.arange(world.course.valid.shape[1])[None, :]
    due = (hour + np.arange(cohort.stays)[:, None] * 3) % often == 0
    due &= rng.random(due.shape) < 0.95
    # Nobody looks in a few short stays.
    due &= ((rng.random(cohort.stays) > 0.012) & ~cohort.scripted)[:, None]
    points = world.hourly(due, rng)
    for item, words, values in ((220739, EYES, body.eyes), (223901, MOTOR, body.motor)):
        mine = points[rng.random(len(points)) < 0.97]
        value = mine.of(values)
        chart.add(item, mine, value, words=words, which=value.astype(np.int64) - 1)
    mine = points[rng.random(len(points)) < 0.96]
    tube = mine.of(world.support.kind) == TUBE
    value = np.where(tube, 1, mine.of(body.verbal))
    named = tube & (rng.random(len(mine)) < 0.95)
    which = np.where(named, len(VERBAL), value - 1).astype(np.int64)
    chart.add(223900, mine, value, words=(*VERBAL, TUBED), which=which)
