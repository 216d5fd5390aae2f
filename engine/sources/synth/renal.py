"""Kidneys: creatinine kinetics, renal replacement, urine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.sources.synth.chart import Chart
from engine.sources.synth.cohort import HOUR
from engine.sources.synth.comorbidity import conditions
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import Array
from engine.sources.synth.world import Points, World

BEFORE = 72
"""Hours before the stay for which creatinine is followed."""
_PRODUCED = 0.05
"""Creatinine made per hour, as a share of the patient's usual level."""


@dataclass(frozen=True)
class Kidneys:
    """Stays by hours unless said otherwise."""

    usual: Array
    """Stays: creatinine when well, mg/dL."""
    creatinine: Array
    """mg/dL; the first `BEFORE` columns lie before the first hour of the course."""
    continuous: Array
    """Booleans: continuous renal replacement runs."""
    session: Array
    """Booleans: intermittent haemodialysis runs."""
    peritoneal: Array
    """Stays: on peritoneal dialysis."""
    injury: Array
    """0 (well) to 1 (no function)."""

    def at(self, stay: Array, hour: Array) -> Array:
        """Creatinine in mg/dL of pairs of stay and hour, negative hours included."""
        column = np.clip(hour + BEFORE, 0, self.creatinine.shape[1] - 1)
        return np.where(hour < -BEFORE, self.usual[stay], self.creatinine[stay, column])


def make_kidneys(world: World) -> Kidneys:
    """Renal function and replacement of every stay."""
    rng = world.streams.of("kidneys")
    cohort, course, stays = world.cohort, world.course, world.cohort.stays
    valid = course.valid
    length = valid.shape[1]
    usual = np.exp(rng.normal(np.log(np.where(cohort.female, 0.70, 0.90)), 0.24))
    chronic = conditions(world.streams, cohort)["renal_disease"][cohort.stay_patient]
    usual = np.where(chronic, usual * (1.2 + rng.gamma(1.6, 0.45, stays)), usual)
    lasting = cohort.named("dialysis patient")
    usual = np.where(lasting, rng.uniform(3.6, 9.5, stays), usual)
    injury = np.clip(course.organ["kidney"] - 0.18, 0, 1) / 0.86

    hour = np.arange(length)[None, :]
    late = injury >= 0.62
    begin = np.where(late.any(1), late.argmax(1), length) + rng.integers(0, 20, stays)
    chance = np.where(cohort.named("renal failure"), 0.75, 0.3)
    chance = np.where(lasting, 0.08, chance)
    started = (rng.random(stays) < chance) & (begin < cohort.hours - 4)
    span = rng.integers(20, 150, stays)
    inside = (hour >= begin[:, None]) & (hour < (begin + span)[:, None])
    continuous = started[:, None] & inside & valid
    # The filter clots now and then: a few hours without.
    stops = rng.integers(14, 60, (stays, 1))
    continuous &= (hour - begin[:, None]) % stops >= rng.integers(0, 4, (stays, 1))
    peritoneal = lasting & (rng.random(stays) < 0.18)
    regular = lasting & ~peritoneal
    first = rng.integers(2, 44, (stays, 1))
    session = regular[:, None] & ((hour - first) % 48 < 4) & (hour >= first) & valid & ~continuous

    shape = np.concatenate([np.zeros((stays, BEFORE)), injury], axis=1)
    # Before the stay the injury comes up from nothing.
    ramp = np.linspace(-BEFORE, -1, BEFORE)[None, :] / rng.uniform(6, 26, (stays, 1))
    shape[:, :BEFORE] = injury[:, :1] * np.exp(ramp)
    shape[lasting] = 0
    cleared = np.clip(1 - 0.97 * shape, 0.03, 1)
    cleared[:, BEFORE:] += np.where(continuous, 0.55, 0) + np.where(session, 5.0, 0)
    level = usual.copy()
    creatinine = np.empty_like(cleared)
    for column in range(cleared.shape[1]):
        level = level + _PRODUCED * (usual - level * cleared[:, column])
        creatinine[:, column] = level
    return Kidneys(
        usual=usual,
        creatinine=np.clip(creatinine, 0.2, 18),
        continuous=continuous,
        session=session,
        peritoneal=peritoneal,
        injury=np.where(lasting[:, None], 0.97, injury),
    )


URINE = (226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567, 226557, 226558)
"""Items of urine by the way it comes: catheter, voided, condom catheter and rarer ones."""


def add_urine(world: World, kidneys: Kidneys, out: Rows) -> None:
    """Urine and other output of a chunk for `outputevents`."""
    rng = world.streams.of("urine")
    cohort, stays = world.cohort, world.cohort.stays
    sick = cohort.organs[:, 0] + 0.6 * cohort.organs[:, 2] + 0.5 * cohort.organs[:, 3]
    catheter: Array = sick + rng.normal(0, 0.25, stays) > 0.5
    way = np.where(catheter, 0, rng.choice(10, stays, p=[0, 0.8, 0.08, 0.025, 0.025, 0.01, 0.01,
                                                         0.03, 0.01, 0.01]))  # fmt: skip
    own = np.exp(rng.normal(np.log(0.98), 0.34, stays))
    flood = rng.random(stays) < 0.07
    own = np.where(flood, own * rng.uniform(2.2, 5.0, stays), own)
    rate = own[:, None] * np.clip(1.06 - kidneys.injury, 0.0, None) ** 1.35
    rate *= np.exp(0.24 * world.course.noise) * np.where(kidneys.continuous, 0.35, 1)
    rate *= np.clip(1.12 - 0.35 * world.course.organ["shock"], 0.3, None)
    volume = np.cumsum(np.where(world.course.valid, rate * cohort.weight[:, None], 0), axis=1)
    every = np.where(catheter, rng.choice([1, 2], stays, p=[0.72, 0.28]), 0)
    hour = np.arange(rate.shape[1])[None, :]
    due = np.where(
        catheter[:, None],
        (hour + 1) % np.maximum(every, 1)[:, None] == 0,
        rng.random(rate.shape) < 0.17,
    )
    due &= rng.random(rate.shape) < 0.95
    due &= ((rng.random(stays) > 0.025) & ~cohort.scripted)[:, None]
    points = world.hourly(due, rng, odd=0.04)
    drained = _since_last(points, volume)
    drained = np.maximum(np.round(drained / 5) * 5, 0)
    item = np.array(URINE)[way[points.stay]]
    _put(out, points, item, drained)
    both = rng.random(len(points)) < np.where(np.isin(way, [5, 6]), 0.9, 0)[points.stay]
    side = np.where(item[both] == 226564, 226565, 226564)
    _put(out, points[both], side, np.round(drained[both] * 0.6))
    # Bladder irrigation: much in, much and the urine out.
    rinsed = (rng.random(stays) < 0.012) & catheter
    mine = rinsed[points.stay]
    fluid = np.round(rng.gamma(3, 160, int(mine.sum())) / 50) * 50
    _put(out, points[mine], np.full(int(mine.sum()), 227488), fluid)
    _put(out, points[mine], np.full(int(mine.sum()), 227489), fluid + drained[mine])
    # Urine of the operating and recovery room, charted on arrival; other drains.
    operated = np.flatnonzero(cohort.adm_surgical[cohort.stay_adm] & (rng.random(stays) < 0.5))
    arrival = world.points(operated, cohort.intime[operated] + 20 * 60)
    for room in (226627, 226631):
        some = arrival[rng.random(len(arrival)) < 0.7]
        _put(out, some, np.full(len(some), room), np.round(rng.gamma(3, 110, len(some))))
    drains = points[rng.random(len(points)) < 0.04]
    kinds = rng.choice([226588, 226599, 226589, 226571], len(drains))
    _put(out, drains, kinds, np.round(rng.gamma(1.5, 40, len(drains))))


def _since_last(points: Points, running: Array) -> Array:
    """Volume since the previous point of the stay (or its begin), from running totals."""
    total = points.of(running)
    first = np.ones(len(points), dtype=bool)
    first[1:] = points.stay[1:] != points.stay[:-1]
    return np.where(first, total, total - np.concatenate([[0.0], total[:-1]]))


def _put(out: Rows, points: Points, item: Array, value: Array) -> None:
    out.add(stay=points.stay, time=points.time // 60 * 60, item=item, value=value)


_MODES = ("CVVHDF", "CVVHD", "CVVH", "SCUF")
_INTEGRITY = ("Active", "No Clot Present", "Clots Present", "Clots Increasing", "Clotted",
              "Recirculating", "New Filter", "Initiated", "Reinitiated", "Discontinued",
              "Clot Increasing", "Line pressure inconsistent")  # fmt: skip


def chart_replacement(world: World, kidneys: Kidneys, chart: Chart) -> None:
    """Charted settings of continuous replacement, dialysis access and peritoneal dialysis."""
    rng = world.streams.of("replacement")
    stays = world.cohort.stays
    running = world.hourly(kidneys.continuous & (rng.random(kidneys.continuous.shape) < 0.9), rng)
    count = len(running)
    mode = rng.choice(4, stays, p=[0.78, 0.13, 0.06, 0.03])
    named = running[(running.at % 4 == 0) | (rng.random(count) < 0.1)]
    chart.add(227290, named, words=_MODES, which=mode[named.stay])

    def add(item: int, centre: float, spread: float, share: float, step: float = 1) -> None:
        own = rng.normal(centre, spread, stays)
        mine = running[rng.random(count) < share]
        value = own[mine.stay] + rng.normal(0, 0.12 * spread, len(mine))
        chart.add(item, mine, np.round(value / step) * step)

    add(224144, 190, 28, 0.9, 10)  # blood flow
    add(224149, -74, 20, 0.9)  # access pressure
    add(224150, 128, 26, 0.9)  # filter pressure
    add(224151, 40, 26, 0.9)  # effluent pressure
    add(224152, 78, 17, 0.9)  # return pressure
    add(224154, 1150, 260, 0.7, 50)  # dialysate rate
    add(224153, 1000, 230, 0.5, 50)  # replacement rate
    add(228004, 170, 22, 0.6, 5)  # citrate
    add(228005, 1150, 170, 0.6, 50)  # prefilter
    add(228006, 320, 90, 0.6, 50)  # postfilter
    add(226457, 205, 75, 0.95)  # ultrafiltrate
    add(224191, 70, 40, 0.6, 5)  # hourly removal
    add(225183, 60, 45, 0.4, 10)  # goal
    often = [0.38, 0.3, 0.1, 0.03, 0.01, 0.03, 0.05, 0.03, 0.02, 0.02, 0.01, 0.02]
    which = rng.choice(len(_INTEGRITY), count, p=often)
    told = rng.random(count) < 0.8
    chart.add(224146, running[told], words=_INTEGRITY, which=which[told])
    fluids = running[rng.random(count) < 0.15]
    bags = ("Prismasate K2", "Prismasate K4", "Prismasate K0")
    chart.add(225977, fluids, words=bags, which=rng.integers(0, 3, len(fluids)))
    chart.add(225976, fluids, words=bags, which=rng.integers(0, 3, len(fluids)))
    heparin = running[(rng.random(stays) < 0.15)[running.stay] & (rng.random(count) < 0.5)]
    chart.add(224145, heparin, 500.0)
    chart.add(225958, heparin, words=("1000", "500"), which=heparin.stay % 2)
    _chart_access(rng, world, kidneys, chart)


def _chart_access(rng: np.random.Generator, world: World, kidneys: Kidneys, chart: Chart) -> None:
    catheter = kidneys.continuous.any(1) | (
        kidneys.session.any(1) & (rng.random(world.cohort.stays) < 0.5)
    )
    hour = np.arange(kidneys.session.shape[1])[None, :]
    points = world.hourly(catheter[:, None] & (hour % 8 == 0), rng)
    some = points[rng.random(len(points)) < 0.7]
    chart.add(227124, some, words=("Tunneled (Hickman)", "Non-tunneled"), which=some.stay % 2)
    chart.add(225776, some, words=("Transparent", "Gauze"), which=some.stay % 2)
    chart.add(227357, some, 1.0)
    chart.add(225323, some, text="WNL")
    ends = world.hourly(kidneys.session & ~np.roll(kidneys.session, -1, axis=1), rng)
    chart.add(226499, ends, np.round(rng.normal(2200, 600, len(ends)).clip(300) / 100) * 100)
    chart.add(225954, ends, text="AV Fistula")
    bags = world.hourly(kidneys.peritoneal[:, None] & (hour % 6 == 1), rng)
    chart.add(225965, bags, words=("In use", "Capped"), which=rng.integers(0, 2, len(bags)))
    chart.add(225806, bags, 2000.0)
    chart.add(225807, bags, np.round(rng.normal(2150, 160, len(bags))))
    chart.add(225810, bags, 4.0)
    chart.add(225951, bags, text="Clear")
    chart.add(225953, bags, text="Dianeal 2.5%")
    chart.add(225963, bags, text="Tenckhoff")


def runs(on: Array) -> tuple[Array, Array, Array]:
    """Unbroken stretches of booleans (stays by hours): stay, first hour, hour after the last."""
    padded = np.pad(on, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(padded, axis=1)
    stay, begin = np.nonzero(change == 1)
    return stay, begin, np.nonzero(change == -1)[1]


def add_replacement(world: World, kidneys: Kidneys, procedures: Rows, inputs: Rows) -> None:
    """Dialysis procedures, and potassium and calcium given with continuous replacement."""
    rng = world.streams.of("replacement events")
    clock = world.course.first
    stay, begin, end = runs(kidneys.continuous)
    item = np.where(rng.random(len(stay)) < 0.75, 225802, np.where(stay % 3 == 0, 225803, 225809))
    item = np.where(rng.random(len(stay)) < 0.03, 225955, item)
    minute = rng.integers(0, 60, len(stay)) * 60
    start, stop = clock[stay] + begin * HOUR + minute, clock[stay] + end * HOUR + minute

    def add(which: Array, kind: Array, first: Array, last: Array) -> None:
        length = (last - first) / 60.0
        procedures.add(stay=which, item=kind, start=first, stop=last, value=length)

    add(stay, item, start, stop)
    change = np.flatnonzero(rng.random(len(stay)) < 0.5)
    add(stay[change], np.full(len(change), 225436), stop[change], stop[change] + 60)
    for salt, amount in ((227536, 20.0), (227525, 8.0)):
        some = np.flatnonzero(rng.random(len(stay)) < 0.7)
        inputs.add(
            stay=stay[some],
            item=salt,
            start=start[some],
            stop=np.minimum(stop, start + 6 * HOUR)[some],
            amount=np.full(len(some), amount),
            rate=np.full(len(some), amount / 6),
            category=1,
            amountuom="grams" if salt == 227525 else "mEq",
            rateuom="grams/hour" if salt == 227525 else "mEq/hour",
        )
    stay, begin, end = runs(kidneys.session)
    minute = rng.integers(0, 60, len(stay)) * 60
    add(
        stay,
        np.full(len(stay), 225441),
        clock[stay] + begin * HOUR + minute,
        clock[stay] + end * HOUR + minute,
    )
    stay = np.flatnonzero(kidneys.peritoneal)
    add(
        stay,
        np.full(len(stay), 225805),
        clock[stay] + HOUR,
        clock[stay] + world.cohort.hours[stay] * HOUR,
    )
