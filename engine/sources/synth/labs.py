"""When blood is drawn, and the laboratory's rows of it.

Panels of one draw share a specimen. Draws lie before, in and after the ICU stay, in admissions
without one, and outside any admission; the admission is missing on some rows, as in real data.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.analytes import Blood, Panel
from engine.sources.synth.chart import written_numbers
from engine.sources.synth.cohort import DAY, HOUR
from engine.sources.synth.dictionaries import lab_ranges, lab_units
from engine.sources.synth.renal import Kidneys
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import NOTHING, Array
from engine.sources.synth.ventilation import TUBE
from engine.sources.synth.world import Points, World
from engine.sources.synth.writer import NO_TIME, TableWriter

SPECIMENS: Final = ("ART.", "VEN.", "MIX.", "CENTRAL VENOUS.")
SPECIMEN_ITEM: Final = 52033


class Labs:
    """Laboratory rows of one chunk."""

    def __init__(self, world: World, kidneys: Kidneys) -> None:
        self.world = world
        self.rng = world.streams.of("labs")
        self.blood = Blood(world, kidneys, self.rng)
        self.rows = Rows(
            integers="patient admission specimen item time", numbers="number", texts="text"
        )
        """admission −1 is none; text None means the number as text."""
        self._specimens = 0

    def specimens(self, count: int) -> Array:
        """New specimen numbers, counted within the chunk."""
        self._specimens += count
        return np.arange(self._specimens - count, self._specimens)

    def add(self, points: Points, panel: Panel, specimen: Array, admission: Array) -> None:
        """Rows of a panel at moments of stays; results that are NaN are left out."""
        patient = self.world.cohort.stay_patient[points.stay]
        for item, values in panel.items():
            has = ~np.isnan(values)
            self.rows.add(
                patient=patient[has],
                admission=admission[has],
                specimen=specimen[has],
                item=item,
                time=points.time[has] // 60 * 60,
                number=values[has] + 0.0,
            )

    def admission_of(self, points: Points) -> Array:
        """The admission that a result is filed under: the stay's, unless drawn before or lost."""
        cohort = self.world.cohort
        admission = cohort.stay_adm[points.stay]
        inside = (points.time >= cohort.admittime[admission]) & (
            points.time <= cohort.dischtime[admission]
        )
        lost = self.rng.random(len(points)) < 0.03
        return np.where(inside & ~lost, admission, -1)

    def write(self, writer: TableWriter) -> None:
        """Append all rows to `labevents`, sorted by patient, time, specimen and item."""
        columns = self.rows.columns()
        if not self.rows.count:
            return
        subject = self.world.cohort.subject_id[columns["patient"]]
        order = np.lexsort((columns["item"], columns["specimen"], columns["time"], subject))
        nobody = np.zeros(len(self.world.cohort.subject_id), dtype=bool)
        nobody[self.world.cohort.stay_patient[self.world.cohort.blank]] = True
        order = order[~nobody[columns["patient"][order]]]
        item, number = columns["item"][order], columns["number"][order]
        admission, time = columns["admission"][order], columns["time"][order]
        text = columns["text"][order]
        plain = np.array([word is None for word in text])
        values = written_numbers(number).to_numpy(zero_copy_only=False)
        low, high = lab_ranges(item)
        off = (number < low) | (number > high)
        first = writer.rows["labevents"]
        writer.write(
            "labevents",
            {
                "labevent_id": first + 1 + np.arange(len(order)),
                "subject_id": subject[order],
                "hadm_id": np.where(
                    admission >= 0, self.world.cohort.hadm_id[np.maximum(admission, 0)], NO_TIME
                ),
                "specimen_id": self.world.streams.chunk * 1_000_000
                + columns["specimen"][order]
                + 1,
                "itemid": item,
                "charttime": time,
                "storetime": time + self.rng.integers(8, 160, len(order)) * 60,
                "value": np.where(plain, values, np.where(text == "", NOTHING, text)),
                "valuenum": number,
                "valueuom": lab_units(item),
                "ref_range_lower": low,
                "ref_range_upper": high,
                "flag": np.where(off, "abnormal", NOTHING),
                "priority": np.where(self.rng.random(len(order)) < 0.55, "STAT", "ROUTINE"),
            },
        )


def add_labs(world: World, labs: Labs) -> None:
    """All draws of a chunk."""
    draws = _draws(world, labs.rng)
    _add_panels(labs, draws, 1.0)
    _add_gases(world, labs)
    _add_elsewhere(world, labs)


def _draws(world: World, rng: np.random.Generator) -> Points:
    """Draws of stays: the week before, the door, every few hours inside, the ward after."""
    cohort = world.cohort
    times, stays = [], []

    def put(stay: Array, time: Array) -> None:
        stays.append(stay)
        times.append(time)

    # Not into another stay of the same admission: that one draws its own blood.
    same = np.append(cohort.stay_adm[1:] == cohort.stay_adm[:-1], False)
    free = cohort.admittime[cohort.stay_adm]
    free[1:] = np.where(same[:-1], cohort.outtime[:-1], free[1:])
    until = cohort.dischtime[cohort.stay_adm]
    until[:-1] = np.where(same[:-1], cohort.intime[1:], until[:-1])
    wait = cohort.intime - free
    for back in range(1, 11):
        has = np.flatnonzero((wait > back * DAY) & (rng.random(cohort.stays) < 0.85))
        put(has, cohort.intime[has] - back * DAY + rng.integers(-2 * HOUR, 2 * HOUR, len(has)))
    door = np.flatnonzero((rng.random(cohort.stays) < 0.88) & ~np.roll(same, 1))
    put(door, cohort.intime[door] - rng.integers(5 * 60, 9 * HOUR, len(door)))
    soon = np.flatnonzero(rng.random(cohort.stays) < 0.9)
    put(soon, cohort.intime[soon] + rng.integers(10 * 60, 4 * HOUR, len(soon)))
    severity = cohort.organs.mean(1)
    every = np.clip(np.round(24 - 26 * severity), 6, 24)[:, None]
    hour = np.arange(world.course.valid.shape[1])[None, :]
    inside = world.hourly((hour + 3) % every == 0, rng, odd=0.9)
    inside = inside[rng.random(len(inside)) < 0.95]
    put(inside.stay, inside.time)
    for day in range(1, 6):
        leave = cohort.outtime + day * DAY
        there = leave < until - 3 * HOUR
        has = np.flatnonzero(there & (rng.random(cohort.stays) < 0.8))
        put(has, leave[has] + rng.integers(-3 * HOUR, 3 * HOUR, len(has)))
    stay, time = np.concatenate(stays), np.concatenate(times)
    # One stay in a hundred has no laboratory at all.
    tested = (rng.random(cohort.stays) > 0.01)[stay]
    return world.points(stay[tested], time[tested])


def _add_panels(labs: Labs, draws: Points, share: float) -> None:
    rng, blood = labs.rng, labs.blood
    admission = labs.admission_of(draws)
    severity = labs.world.cohort.organs.mean(1)[draws.stay]
    liver = labs.world.cohort.organs[:, 4][draws.stay]
    cardiac = labs.world.cohort.named(
        "cardiogenic shock", "cardiac arrest", "heart failure", "fast arrhythmia", "observation"
    )[draws.stay]
    for panel, chance in (
        (blood.chemistry, 0.97),
        (blood.blood_count, 0.88),
        (blood.coagulation, 0.28 + 0.5 * severity),
        (blood.liver, 0.14 + 0.5 * liver + 0.3 * severity),
        (blood.proteins, 0.16),
        (blood.heart, np.where(cardiac, 0.4, 0.06)),
        (blood.inflammation, 0.035),
    ):
        has = rng.random(len(draws)) < np.asarray(chance) * share
        mine = draws[has]
        specimen = labs.specimens(len(mine))
        labs.add(mine, panel(mine), specimen, admission[has])
        if panel == blood.blood_count:
            told = rng.random(len(mine)) < 0.22
            labs.add(
                mine[told], blood.differential(mine[told]), specimen[told], admission[has][told]
            )


def _add_gases(world: World, labs: Labs) -> None:
    """Gases: often with a tube, sometimes without; typed mostly, arterial mostly."""
    rng, cohort = labs.rng, world.cohort
    severity = cohort.organs.mean(1)[:, None]
    tube = world.support.kind == TUBE
    breath = cohort.organs[:, 1:2]
    acid = (np.abs(cohort.shift("bicarbonate")) > 4)[:, None]
    chance = np.where(tube, 0.1 + 0.22 * severity, 0.008 + 0.03 * breath + 0.1 * acid)
    points = world.hourly(rng.random(tube.shape) < chance, rng, odd=0.95)
    early = np.flatnonzero(rng.random(cohort.stays) < 0.2)
    before = world.points(early, cohort.intime[early] - rng.integers(600, 8 * HOUR, len(early)))
    points = Points(
        *(np.append(getattr(points, n), getattr(before, n)) for n in ("stay", "at", "time"))
    )
    count = len(points)
    kind = rng.choice(4, count, p=[0.84, 0.12, 0.02, 0.02])
    admission = labs.admission_of(points)
    specimen = labs.specimens(count)
    labs.add(points, labs.blood.gas(points, kind == 0), specimen, admission)
    typed = rng.random(count) < 0.95
    names = np.array(SPECIMENS, dtype=object)[kind]
    labs.rows.add(
        patient=cohort.stay_patient[points.stay][typed],
        admission=admission[typed],
        specimen=specimen[typed],
        item=SPECIMEN_ITEM,
        time=points.time[typed] // 60 * 60,
        text=names[typed],
    )
    # Lactate alone.
    alone = world.hourly(rng.random(tube.shape) < 0.012 + 0.03 * severity, rng, odd=0.95)
    labs.add(
        alone,
        {50813: labs.blood.lactate(alone)},
        labs.specimens(len(alone)),
        labs.admission_of(alone),
    )


def _add_elsewhere(world: World, labs: Labs) -> None:
    """Admissions without an ICU stay, and outpatients: plain chemistry and counts."""
    rng, cohort = labs.rng, world.cohort
    other = np.arange(cohort.icu_admissions, len(cohort.hadm_id))
    other = np.repeat(other, rng.integers(0, 5, len(other)))
    span = cohort.dischtime[other] - cohort.admittime[other]
    time = cohort.admittime[other] + (rng.random(len(other)) * span).astype(np.int64)
    patient, admission = cohort.adm_patient[other], other
    visits = np.repeat(np.arange(len(cohort.subject_id)), rng.poisson(0.8, len(cohort.subject_id)))
    start = _some_time(cohort.anchor_year[visits], rng)
    patient = np.append(patient, visits)
    admission = np.append(admission, np.full(len(visits), -1))
    time = np.append(time, start) // 60 * 60
    count = len(patient)
    sick = cohort.frail[patient]
    values = {
        50912: np.round(np.exp(rng.normal(-0.12 + 0.35 * sick, 0.32)), 1),
        51006: np.round(np.clip(rng.normal(15 + 8 * sick, 5), 4, None)),
        50983: np.round(rng.normal(139, 2.6, count)),
        50971: np.round(rng.normal(4.2, 0.42, count), 1),
        50882: np.round(rng.normal(25, 2.6, count)),
        50868: np.round(rng.normal(13, 2.4, count)),
        50931: np.round(np.exp(rng.normal(4.75, 0.26, count))),
    }
    values[50902] = values[50983] - values[50882] - values[50868]
    counts = {
        51222: np.round(rng.normal(12.6 - 1.6 * sick, 1.5), 1),
        51265: np.round(np.exp(rng.normal(5.4, 0.32, count))),
        51301: np.round(np.exp(rng.normal(2.0, 0.32, count)), 1),
    }
    for panel, share in ((values, 0.8), (counts, 0.8)):
        has = rng.random(count) < share
        specimen = labs.specimens(count)
        for item, numbers in panel.items():
            labs.rows.add(
                patient=patient[has],
                admission=admission[has],
                specimen=specimen[has],
                item=item,
                time=time[has],
                number=numbers[has],
            )


def _some_time(year: Array, rng: np.random.Generator) -> Array:
    start = (year - 1970).astype("datetime64[Y]").astype("datetime64[s]").astype(np.int64)
    return start + rng.integers(0, 2 * 365 * DAY, len(year))
