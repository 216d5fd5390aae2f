"""Which stays get which awkward rows, and where those are put."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.sources.synth.chart import Chart
from engine.sources.synth.cohort import ENOUGH, HOUR
from engine.sources.synth.labs import Labs
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import Array
from engine.sources.synth.world import Points, World

SHARE = 0.0025
"""Share of stays that get a recipe."""
SURE = 2
"""Stays of the first chunk that get each recipe for certain."""


@dataclass(frozen=True)
class Tables:
    """Where rows of one chunk are collected."""

    chart: Chart
    labs: Labs
    inputs: Rows
    outputs: Rows
    procedures: Rows
    cultures: Rows
    orders: Rows


class Picks:
    """Chooses stays for recipes, each recipe others."""

    def __init__(self, world: World) -> None:
        cohort = world.cohort
        self.world = world
        self._rng = world.streams.of("awkward")
        plain = ~(cohort.blank | cohort.scripted | cohort.open) & (cohort.hours >= 14)
        self._usual = self._rng.permutation(np.flatnonzero(plain))
        on_minute = np.flatnonzero(plain & (cohort.intime % 60 == 0) & (cohort.hours >= 30))
        self._exact = self._rng.permutation(on_minute)
        self._next = 0
        self._specimens = 50_000

    def specimens(self, count: int) -> Array:
        """New specimen numbers for cultures, above those of `infection`."""
        self._specimens += count
        return np.arange(self._specimens - count, self._specimens)

    def take(self, *, exact: bool = False) -> Array:
        """Stays for one recipe; `exact` wants an ICU admission on the minute."""
        pool = self._exact if exact else self._usual
        has = self._rng.random(len(pool)) < (SHARE if not exact else SHARE * 4)
        sure = SURE if self.world.cohort.number == 0 and self.world.cohort.stays >= ENOUGH else 0
        chosen = pool[has]
        if sure and len(pool):
            turn = (self._next + np.arange(sure)) % len(pool)
            chosen = np.union1d(chosen, pool[turn])
            self._next += sure
        return np.sort(chosen)

    def at(self, stay: Array, hour: float, minute: float = 0) -> Points:
        """The moment some hours and minutes after the first whole hour of the stays."""
        time = self.world.course.first[stay] + int(hour * HOUR) + int(minute * 60)
        return self.world.points(stay, time)

    def since(self, stay: Array, seconds: int) -> Points:
        """The moment some seconds after ICU admission (before it when negative)."""
        return self.world.points(stay, self.world.cohort.intime[stay] + seconds)
