"""Infusions: vasopressors and inotropes after need, sedation with a tube, blockers, fluids.

A rate holds until it is changed; each stretch is a row, and the rows of one infusion share the
first order.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.cohort import HOUR
from engine.sources.synth.course import slow
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import Array
from engine.sources.synth.ventilation import TUBE
from engine.sources.synth.world import World

NOREPINEPHRINE: Final = 221906
EPINEPHRINE: Final = 221289
PHENYLEPHRINE: Final = 221749
DOPAMINE: Final = 221662
DOBUTAMINE: Final = 221653
MILRINONE: Final = 221986
VASOPRESSIN: Final = 222315
VECURONIUM: Final = 222062
CISATRACURIUM: Final = 221555

INPUT_ROWS: Final = {
    "integers": "stay item start stop order link category",
    "numbers": "amount rate weight",
    "texts": "amountuom rateuom status",
}
"""Columns that areas give for `inputevents`; weight NaN means the patient's own."""


def _changes(rng: np.random.Generator, rate: Array, every: float) -> Array:
    """Hold a rate (stays by hours) until it is changed, on average after `every` hours."""
    anew = rng.random(rate.shape) < 1 / every
    anew[:, 1:] |= (rate[:, 1:] > 0) != (rate[:, :-1] > 0)
    anew[:, 0] = True
    hour = np.broadcast_to(np.arange(rate.shape[1]), rate.shape)
    last = np.maximum.accumulate(np.where(anew, hour, 0), axis=1)
    held: Array = np.take_along_axis(rate, last, axis=1)
    return held


class _Pumps:
    """Adds drugs to the rows of `inputevents`.

    Args:
        world: the chunk.
        rng: of the drugs.
        out: the rows.
    """

    def __init__(self, world: World, rng: np.random.Generator, out: Rows) -> None:
        self.world, self.rng, self.out = world, rng, out

    def give(
        self,
        item: int,
        rate: Array,
        *,
        uom: str = "mcg/kg/min",
        amountuom: str = "mg",
        every: float = 2.5,
        digits: int = 4,
    ) -> None:
        """Add one drug: a row per stretch of a held rate.

        Args:
            item: the drug.
            rate: stays by hours, in `uom`; 0 is not running.
            uom: unit of the rate.
            amountuom: unit of the amount.
            every: hours until the rate is changed, on average.
            digits: decimals of a rate.
        """
        world, rng = self.world, self.rng
        held = np.where(world.course.valid, _changes(rng, np.round(rate, digits), every), 0)
        edge = np.zeros(held.shape, dtype=bool)
        edge[:, 1:] = held[:, 1:] != held[:, :-1]
        # A minute of change for each hour: one stretch ends where the next starts.
        minute = np.where(rng.random(held.shape) < 0.75, rng.integers(0, 60, held.shape), 0) * 60
        minute = np.concatenate([minute, np.zeros((len(held), 1), dtype=np.int64)], axis=1)
        stay, begin, end = _stretches(held, edge)
        clock = world.course.first[stay]
        start = clock + begin * HOUR + minute[stay, begin]
        stop = clock + end * HOUR + minute[stay, end]
        value = held[stay, begin]
        weight = world.cohort.weight[stay]
        hours = (stop - start) / HOUR
        per_hour = value * np.where("kg" in uom, weight, 1) * np.where("min" in uom, 60, 1)
        amount = np.round(per_hour * hours / (1000 if "mcg" in uom else 1), 4)
        self.out.add(
            stay=stay,
            item=item,
            start=start,
            stop=np.maximum(stop, start + 60),
            amount=amount,
            rate=value,
            category=1,
            amountuom=amountuom,
            rateuom=uom,
            status="ChangeDose/Rate",
            link=self.out.count + _chains(stay, begin, end),
        )


def _stretches(held: Array, edge: Array) -> tuple[Array, Array, Array]:
    """Stretches of one positive rate: stay, first hour, hour after the last."""
    on = held > 0
    begins = on & (edge | ~np.pad(on, ((0, 0), (1, 0)))[:, :-1])
    ends = on & (np.pad(edge, ((0, 0), (0, 1)))[:, 1:] | ~np.pad(on, ((0, 0), (0, 1)))[:, 1:])
    stay, begin = np.nonzero(begins)
    return stay, begin, np.nonzero(ends)[1] + 1


def _chains(stay: Array, begin: Array, end: Array) -> Array:
    """Position of the first row of each chain of touching rows."""
    count = len(stay)
    fresh = np.ones(count, dtype=bool)
    fresh[1:] = (stay[1:] != stay[:-1]) | (begin[1:] != end[:-1])
    return np.maximum.accumulate(np.where(fresh, np.arange(count), 0))


def add_vasoactives(world: World, out: Rows) -> None:
    """Vasopressors after the pressure that has to be held up, inotropes after the picture."""
    rng = world.streams.of("vasoactives")
    give = _Pumps(world, rng, out).give
    cohort, need = world.cohort, world.body.pressor
    stays = cohort.stays
    surgical = cohort.named("planned surgery", "trauma")
    other = surgical & (rng.random(stays) < 0.75)
    other |= rng.random(stays) < 0.12
    slowly = cohort.named("bradycardia", "cardiogenic shock") & (rng.random(stays) < 0.5)
    slowly |= rng.random(stays) < 0.03
    own = np.exp(rng.normal(0, 0.35, (stays, 1)))
    main = own * (0.0042 * need + 0.00034 * need**2) * (need > 0.5)
    nor = np.where((other | slowly)[:, None] & (need < 20), 0, main)
    give(NOREPINEPHRINE, np.clip(nor, 0, 3))
    phenyl = np.where(other[:, None] & (need < 20), 9.5 * main, 0)
    give(PHENYLEPHRINE, np.clip(phenyl, 0, 9), digits=2)
    dopamine = np.where(slowly[:, None], np.clip(3 + 0.55 * need, 0, 22) * (need > 0.5), 0)
    give(DOPAMINE, dopamine * (need < 26), digits=2, every=4)
    more = (rng.random(stays) < 0.8)[:, None]
    unit = rng.random(stays) < 0.06
    for share, units, dose in ((~unit, "units/hour", 2.4), (unit, "units/min", 0.04)):
        second = (need > 15) & more & share[:, None]
        give(VASOPRESSIN, np.where(second, dose, 0.0), uom=units, amountuom="units", every=9)
    third = np.where((need > 25) & (rng.random((stays, 1)) < 0.5), 0.0045 * (need - 12) * own, 0)
    weak = cohort.named("cardiac surgery") & (rng.random(stays) < 0.18)
    third = np.where(weak[:, None] & (world.course.organ["shock"] > 0.3), 0.03 * own, third)
    give(EPINEPHRINE, np.clip(third, 0, 1.5))
    pump = cohort.named("cardiogenic shock", "heart failure", "cardiac surgery")
    pump &= rng.random(stays) < np.where(cohort.named("cardiogenic shock"), 0.7, 0.12)
    half = rng.random(stays) < 0.55
    failing = world.course.organ["shock"] > 0.25
    strength: Array = np.round(rng.uniform(2, 12, (stays, 1)) * 2) / 2
    give(DOBUTAMINE, np.where((pump & half)[:, None] & failing, strength, 0), every=10)
    strength = rng.choice([0.125, 0.25, 0.375, 0.5], (stays, 1))
    give(MILRINONE, np.where((pump & ~half)[:, None] & failing, strength, 0), every=12)
    _boluses(world, rng, out)


def _boluses(world: World, rng: np.random.Generator, out: Rows) -> None:
    """Single doses without a rate at induction and in crises."""
    low = world.hourly(
        (world.body.pressor > 8) & (rng.random(world.body.pressor.shape) < 0.02), rng
    )
    item = rng.choice([PHENYLEPHRINE, NOREPINEPHRINE, EPINEPHRINE], len(low), p=[0.6, 0.25, 0.15])
    time = low.time // 60 * 60
    out.add(
        stay=low.stay,
        item=item,
        start=time,
        stop=time + 60,
        amount=np.round(rng.uniform(0.05, 0.3, len(low)), 2),
        category=0,
        amountuom="mg",
        status="FinishedRunning",
    )


def add_others(world: World, out: Rows) -> None:
    """Sedation, muscle relaxation, insulin, heparin, fluids."""
    rng = world.streams.of("other drugs")
    give = _Pumps(world, rng, out).give
    stays = world.cohort.stays
    tube = world.support.kind == TUBE
    lung = world.course.organ["lung"]
    deep = 12 + 38 * np.clip(lung, 0, 1) + 6 * slow(rng, stays, lung.shape[1], 0.9)
    sleepy = (rng.random(stays) < 0.7)[:, None]
    give(222168, np.where(tube & sleepy, np.clip(np.round(deep / 5) * 5, 5, 80), 0), every=4)
    give(
        221744,
        np.where(tube, np.clip(np.round(25 + 130 * lung, -1), 25, 300), 0),
        uom="mcg/hour",
        every=5,
        amountuom="mg",
    )
    give(
        221668,
        np.where(tube & ~sleepy & (rng.random((stays, 1)) < 0.5), np.round(1 + 5 * lung), 0),
        uom="mg/hour",
        every=6,
    )
    still = tube & (lung > 0.75) & (rng.random((stays, 1)) < 0.35)
    kind = rng.random((stays, 1)) < 0.8
    give(
        CISATRACURIUM,
        np.where(still & kind, np.round(0.08 + 0.1 * lung, 3), 0),
        uom="mg/kg/hour",
        every=5,
    )
    give(
        VECURONIUM,
        np.where(still & ~kind, np.round(0.03 + 0.04 * lung, 3), 0),
        uom="mg/kg/hour",
        every=6,
    )
    sugar = (world.body.glucose > 190) & (world.body.diabetic & (rng.random(stays) < 0.4))[:, None]
    units = np.clip(np.round((world.body.glucose - 100) / 35), 1, 20)
    give(223258, np.where(sugar, units, 0), uom="units/hour", amountuom="units", every=1.6)
    thin = (rng.random(stays) < 0.1)[:, None] & (world.course.organ["clotting"] < 0.4)
    give(225152, np.where(thin, 900.0, 0), uom="units/hour", amountuom="units", every=8)
    # Fluids: boluses with shock, a slow drip for many.
    dry = world.hourly(
        rng.random(lung.shape) < 0.012 + 0.05 * np.clip(world.course.organ["shock"] - 0.3, 0, 1),
        rng,
    )
    time = dry.time // 60 * 60
    out.add(
        stay=dry.stay,
        item=np.where(dry.stay % 3 == 0, 225828, 225158),
        start=time,
        stop=time + 30 * 60,
        amount=rng.choice([250.0, 500.0, 1000.0], len(dry)),
        category=2,
        amountuom="ml",
        status="FinishedRunning",
    )
    slowly = np.where((rng.random(stays) < 0.4)[:, None], 75.0, 0.0)
    give(225158, slowly * (rng.random(lung.shape) < 0.97), uom="mL/hour", amountuom="ml", every=12)
