"""Short spells on top of the slow course: arrest, fast and slow rhythm, rigor, gasping, low sugar.

They give the extremes that severity scores ask for, and the look of a real chart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.sources.synth.cohort import ENOUGH, Cohort
from engine.sources.synth.seeds import Array
from engine.sources.synth.ventilation import Support

LEAST = 3
"""Stays of the first chunk that have each spell for certain, if it is large enough."""


@dataclass(frozen=True)
class Spell:
    """One kind of spell."""

    name: str
    """For reading only."""
    share: float
    """Probability in a stay."""
    hours: float
    """Length; an hour is a single bad reading."""
    to: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Quantities that go to a value between the two at the height of it."""
    by: dict[str, float] = field(default_factory=dict)
    """Quantities that change by an amount."""
    free: bool = False
    """Only in patients who breathe without a tube."""


SPELLS = (
    Spell("arrest", 0.006, 1,
          to={"heart_rate": (20, 30), "mean": (11, 19), "pulse_pressure": (8, 20), "breaths": (2,
          5),
              "saturation": (45, 70), "eyes": (1, 1), "verbal": (1, 1), "motor": (1, 1)}),
    Spell("fast rhythm", 0.02, 2, to={"heart_rate": (160, 195)}, by={"mean": -14}),
    Spell("slow rhythm", 0.02, 1, to={"heart_rate": (30, 41)}, by={"mean": -12}),
    Spell("pressure surge", 0.014, 2, to={"mean": (146, 172), "pulse_pressure": (110, 160)}),
    Spell("pressure drop", 0.03, 1, to={"mean": (30, 48), "pulse_pressure": (15, 28)},
          by={"heart_rate": 14}),
    Spell("crash", 0.008, 1, to={"mean": (21, 29), "pulse_pressure": (9, 16)},
          by={"heart_rate": 22}),
    Spell("no breath", 0.012, 1, to={"breaths": (2, 5), "saturation": (68, 84)}, free=True),
    Spell("gasping", 0.022, 2, to={"breaths": (36, 58)}, by={"heart_rate": 22, "saturation": -6}),
    Spell("rigor", 0.03, 8, to={"temperature": (39.2, 40.9)}, by={"heart_rate": 26, "breaths": 8}),
    Spell("low sugar", 0.016, 1, to={"glucose": (24, 54)}, by={"heart_rate": 10}),
    Spell("drowsy", 0.03, 4, to={"eyes": (1, 3), "verbal": (1, 4), "motor": (3, 6)}),
)  # fmt: skip


def add_spells(
    rng: np.random.Generator, cohort: Cohort, support: Support, signs: dict[str, Array]
) -> None:
    """Put the spells into the signs (stays by hours), in place."""
    hour = np.arange(support.kind.shape[1])
    for number, spell in enumerate(SPELLS):
        has = rng.random(cohort.stays) < spell.share
        if spell.name == "arrest":
            has |= cohort.dies & (rng.random(cohort.stays) < 0.25)
        allowed = ~support.tube[:, 0] if spell.free else np.ones(cohort.stays, dtype=bool)
        if cohort.number == 0 and cohort.stays >= ENOUGH:
            # Calm, long enough stays first, so that the spell is what the day's extreme shows.
            calm = np.argsort(cohort.organs.sum(1) + (cohort.hours < 24) * 9 + ~allowed * 9)
            has[calm[number * LEAST : (number + 1) * LEAST]] = True
        stay = np.flatnonzero(has & allowed)
        last = np.minimum(cohort.hours[stay], np.where(rng.random(len(stay)) < 0.75, 22, 240)) - 1
        peak = np.floor(rng.random(len(stay)) * np.maximum(last - spell.hours, 1)) + 1
        shape = np.clip(1.5 - np.abs(hour[None, :] - peak[:, None]) / (spell.hours / 2 + 0.1), 0, 1)
        if spell.hours <= 1:
            shape = (hour[None, :] == peak[:, None]).astype(float)
        for name, (low, high) in spell.to.items():
            goal = rng.uniform(low, high, (len(stay), 1))
            values = signs[name][stay]
            values = values + shape * (goal - values)
            signs[name][stay] = np.round(values) if name in {"eyes", "verbal", "motor"} else values
        for name, change in spell.by.items():
            signs[name][stay] += shape * change
