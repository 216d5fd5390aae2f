"""The hidden course of each stay: how far each organ is off, hour by hour.

One slow process per organ (autoregressive, with a common part, so that organs fail together),
drifting to recovery in survivors and to failure before death. Vital signs, laboratory
results, ventilation, drugs and urine all read it; nothing else links them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.sources.synth.cohort import HOUR, Cohort
from engine.sources.synth.pictures import ORGANS
from engine.sources.synth.seeds import Array, Streams


@dataclass(frozen=True)
class Course:
    """Stays by hours; hour 0 starts at the first whole clock hour after ICU admission."""

    first: Array
    """Stays: that first whole clock hour, in seconds since 1970."""
    valid: Array
    """Booleans: the hour lies in the stay."""
    organ: dict[str, Array]
    """By name of `ORGANS`: about 0 (well) to 1.3 (failed)."""
    noise: Array
    """A further slow process, mean 0 and spread 1, for what wanders on its own."""
    day: Array
    """Daily rhythm, -1 at night to 1 in the afternoon."""

    @property
    def times(self) -> Array:
        """Stays by hours: the clock hours in seconds since 1970."""
        clock: Array = self.first[:, None] + HOUR * np.arange(self.valid.shape[1])
        return clock


def slow(rng: np.random.Generator, rows: int, length: int, memory: float) -> Array:
    """Rows of a stationary first-order autoregressive process, mean 0 and spread 1."""
    shocks = rng.standard_normal((rows, length)) * np.sqrt(1 - memory**2)
    out = np.empty((rows, length))
    state = rng.standard_normal(rows)
    for column in range(length):
        state = memory * state + shocks[:, column]
        out[:, column] = state
    return out


def make_course(streams: Streams, cohort: Cohort) -> Course:
    """The course of every stay of a chunk."""
    rng = streams.of("course")
    stays, length = cohort.stays, int(cohort.hours.max())
    hour = np.arange(length)
    valid = hour[None, :] < cohort.hours[:, None]
    share = hour[None, :] / np.maximum(cohort.hours[:, None], 12)
    pace = rng.uniform(0.5, 1.6, (stays, 1))
    better = np.exp(-2.1 * pace * share)
    worse = 1 + 0.75 * np.clip((share - 0.35) / 0.65, 0, None) ** 1.5
    trend = np.where(cohort.dies[:, None], worse, 0.16 + 0.84 * better)
    common = slow(rng, stays, length, 0.97)
    # A late turn for the worse in some survivors: a second hit after the first days.
    hit = (rng.random((stays, 1)) < 0.16) & (cohort.hours[:, None] > 40)
    at = rng.uniform(0.3, 0.8, (stays, 1))
    second = np.where(hit, 0.45 * np.exp(-(((share - at) / 0.12) ** 2)), 0)
    organ = {}
    for index, name in enumerate(ORGANS):
        start = cohort.organs[:, index : index + 1]
        own = slow(rng, stays, length, 0.95)
        spread = 0.03 + 0.10 * np.minimum(start, 0.8)
        wander = spread * (0.5 * common + 0.8 * own)
        if name == "kidney":
            path, wander = start * injury_shape(rng, cohort, hour), 0.5 * wander
        elif name == "liver":
            path = start * (0.75 + 0.25 * trend)
        else:
            path = start * trend
        organ[name] = np.clip(path + second * (0.3 + start) + wander, 0, 1.35)
    clock = (-(-cohort.intime // HOUR)) * HOUR
    of_day = (clock[:, None] // HOUR + hour[None, :]) % 24
    return Course(
        first=clock,
        valid=valid,
        organ=organ,
        noise=slow(rng, stays, length, 0.9),
        day=np.sin((of_day - 9) / 24 * 2 * np.pi),
    )


def injury_shape(rng: np.random.Generator, cohort: Cohort, hour: Array) -> Array:
    """Stays by hours: share of the kidney injury that is there.

    It sets in before or soon after ICU admission, within half a day; most survivors recover.
    A chronic one is there all the time.
    """
    onset = rng.normal(-4, 20, (cohort.stays, 1))
    recovers = (rng.random((cohort.stays, 1)) < 0.65) & ~cohort.dies[:, None]
    span = rng.uniform(20, 80, (cohort.stays, 1))
    rise = 1 / (1 + np.exp(-(hour[None, :] - onset) / 5))
    fall = np.exp(-np.clip(hour[None, :] - onset - 26, 0, None) / span)
    shape = rise * np.where(recovers, 0.15 + 0.85 * fall, 1)
    return np.where(cohort.named("dialysis patient")[:, None], 1.0, shape)
