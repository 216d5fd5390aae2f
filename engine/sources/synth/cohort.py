"""Who is in the source: patients, their hospital admissions and ICU stays, in time.

All of a chunk of stays at once. Patients come back (a second stay of an admission, a later
admission), so that rules by patient and rules by stay differ, as they do in real data.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from engine.sources.synth.pictures import ORGANS, PICTURES
from engine.sources.synth.seeds import Array, Streams, scattered
from engine.sources.synth.writer import NO_TIME

HOUR = 3600
DAY = 24 * HOUR
YEAR = 365.242 * DAY
CHUNK = 1000
"""Stays made at once; part of the definition of the data, like the seed."""
LONGEST = 240
"""Longest ICU stay in hours."""
_PATIENTS_PER_CHUNK = 4 * CHUNK


@dataclass(frozen=True)
class Cohort:
    """One chunk. Times are whole seconds since 1970 as 64-bit integers; `NO_TIME` is null."""

    number: int
    """Running number of the chunk."""
    subject_id: Array
    """Patients; the last few have no ICU stay, the very last no admission either."""
    gender: Array
    """Patients: text F or M."""
    anchor_age: Array
    """Patients: years, 91 stands for 90 and older."""
    anchor_year: Array
    """Patients: shifted calendar year."""
    dod: Array
    """Patients: death as days since 1970, or `NO_TIME`."""
    frail: Array
    """Patients: 0 to 1, likelihood of chronic disease."""
    hadm_id: Array
    """Admissions, those of ICU stays first."""
    adm_patient: Array
    """Admissions: index into patients."""
    admittime: Array
    """Admissions."""
    dischtime: Array
    """Admissions."""
    deathtime: Array
    """Admissions: death in hospital."""
    adm_picture: Array
    """Admissions: index into `PICTURES`."""
    adm_elective: Array
    """Admissions: planned."""
    adm_surgical: Array
    """Admissions: under a surgical service."""
    icu_admissions: int
    """How many admissions, counted from the first, have an ICU stay."""
    stay_id: Array
    """ICU stays."""
    stay_adm: Array
    """Stays: index into admissions."""
    stay_patient: Array
    """Stays: index into patients."""
    picture: Array
    """Stays: index into `PICTURES`."""
    organs: Array
    """Stays by `ORGANS`: start values."""
    intime: Array
    """Stays."""
    outtime: Array
    """Stays."""
    hours: Array
    """Stays: charted whole hours, 1 to `LONGEST`."""
    dies: Array
    """Stays: ends with death in the ICU."""
    age: Array
    """Stays: years at ICU admission, not rounded."""
    female: Array
    """Stays."""
    height: Array
    """Stays: cm."""
    weight: Array
    """Stays: kg."""
    unlisted: Array
    """Patients: without a row in `patients` (one such patient, in the first chunk)."""
    open: Array
    """Stays: written without `outtime`."""
    blank: Array
    """Stays: nothing at all was charted or measured."""
    scripted: Array
    """Stays: coma scale, breathing support and urine come from `awkward` alone."""

    @property
    def stays(self) -> int:
        """How many stays there are."""
        return len(self.stay_id)

    @property
    def stay_subject(self) -> Array:
        """Stays: subject_id."""
        return self.subject_id[self.stay_patient]

    @property
    def stay_hadm(self) -> Array:
        """Stays: hadm_id."""
        return self.hadm_id[self.stay_adm]

    def named(self, *names: str) -> Array:
        """Stays whose picture has one of the names, as booleans."""
        return np.isin(self.picture, _places(names))

    def admitted_for(self, *names: str) -> Array:
        """Admissions whose picture has one of the names, as booleans."""
        return np.isin(self.adm_picture, _places(names))

    def shift(self, quantity: str) -> Array:
        """Stays: the picture's offset of a set point."""
        return np.array([picture.shifts.get(quantity, 0.0) for picture in PICTURES])[self.picture]


def _places(names: tuple[str, ...]) -> list[int]:
    known = [picture.name for picture in PICTURES]
    return [known.index(name) for name in names]


def by_picture(attribute: str) -> Array:
    """An attribute of all pictures as an array."""
    return np.array([getattr(picture, attribute) for picture in PICTURES])


def make_cohort(streams: Streams, stays: int) -> Cohort:
    """One chunk of the cohort.

    Args:
        streams: of the chunk; its identifiers do not meet those of another chunk.
        stays: how many ICU stays.
    """
    rng = streams.of("cohort")
    picture = _draw_pictures(rng, streams.chunk, stays)
    draw = rng.random(stays)
    new_patient = draw < 0.72
    new_patient[0] = True
    new_adm = new_patient | (draw < 0.86)
    patient, adm = np.cumsum(new_patient) - 1, np.cumsum(new_adm) - 1
    # Who comes back within the admission mostly does so for the same reason.
    back = np.flatnonzero(~new_adm & (rng.random(stays) < 0.65))
    back = back[back > len(PICTURES)]
    picture[back] = picture[back - 1]
    organs = np.array([item.organs for item in PICTURES])[picture]
    mild = rng.beta(5, 2.2, (stays, 1)) * 1.35
    organs = np.clip(organs * mild + rng.normal(0, 0.09, (stays, len(ORGANS))), 0, 1.25)
    last = np.append(new_patient[1:], True)
    dies_there = last & (
        rng.random(stays) < by_picture("death")[picture] * (0.35 + organs.mean(1) * 1.9)
    )
    dies = dies_there & (rng.random(stays) < 0.72)
    elective = rng.random(stays) < by_picture("elective")[picture]
    surgical = rng.random(stays) < by_picture("surgical")[picture] + 0.06
    people = _people(rng, picture[np.flatnonzero(new_patient)])

    # Stays in time: each after the one before it of the same patient.
    length = by_picture("hours")[picture] * np.exp(rng.normal(0, 0.62, stays))
    length = np.clip(length * np.where(dies, 0.8, 1.0), 5, LONGEST - 1.0)
    los = (length * HOUR).astype(np.int64) + rng.integers(0, 60, stays)
    before = _before_icu(rng, elective)
    ward = np.where(dies, 0, rng.gamma(1.6, 2.6 * DAY, stays)).astype(np.int64)
    between = np.clip(np.exp(rng.normal(np.log(90), 1.5, stays)), 0.4, 700)
    bounce = rng.gamma(1.3, 1.8 * DAY, stays).astype(np.int64) + 2 * HOUR
    step = np.where(new_adm, np.roll(ward, 1) + (between * DAY).astype(np.int64) + before, bounce)
    run = np.cumsum(np.where(new_patient, 0, step + np.roll(los, 1)))
    run -= run[new_patient][patient]
    start = people.year_start + (rng.uniform(-0.9, 1.9, people.count) * 365 * DAY).astype(np.int64)
    intime = start[patient] + run
    # Some arrive on the minute, so that windows can be hit exactly.
    intime = np.where(rng.random(stays) < 0.12, intime // 60 * 60, intime)
    outtime = intime + los
    age = people.age[patient] + run / YEAR

    first = np.flatnonzero(new_adm)
    final = np.append(first[1:], stays) - 1
    admissions = _Admissions(
        patient=patient[first],
        admittime=intime[first] - before[first],
        dischtime=outtime[final] + ward[final],
        died=dies_there[final],
        picture=picture[first],
        elective=elective[first],
        surgical=surgical[first],
    )
    people.settle_anchor(start)
    gone = admissions.died
    people.dod[admissions.patient[gone]] = admissions.dischtime[gone] // DAY
    later = np.flatnonzero((rng.random(people.count) < 0.12) & (people.dod == NO_TIME))
    people.dod[later] = outtime[last][later] // DAY + rng.integers(30, 360, len(later))
    more = _add_outside(rng, people, intime[new_patient])
    everything = _joined(admissions, more)
    offset = streams.chunk * _PATIENTS_PER_CHUNK
    seed = streams.seed
    return Cohort(
        number=streams.chunk,
        subject_id=scattered(offset, len(people.dod), 10_000_000, seed),
        gender=np.where(people.female, "F", "M").astype(object),
        anchor_age=people.anchor_age,
        anchor_year=people.anchor_year,
        dod=people.dod,
        frail=people.frail,
        hadm_id=scattered(offset, len(everything.patient), 20_000_000, seed),
        adm_patient=everything.patient,
        admittime=everything.admittime // 60 * 60,
        dischtime=everything.dischtime // 60 * 60,
        deathtime=np.where(everything.died, everything.dischtime // 60 * 60, NO_TIME),
        adm_picture=everything.picture,
        adm_elective=everything.elective,
        adm_surgical=everything.surgical,
        icu_admissions=len(first),
        stay_id=scattered(streams.chunk * CHUNK, stays, 30_000_000, seed),
        stay_adm=adm,
        stay_patient=patient,
        picture=picture,
        organs=organs,
        intime=intime,
        outtime=outtime,
        hours=np.maximum(1, los // HOUR),
        dies=dies,
        age=age,
        female=people.female[patient],
        height=people.height[patient],
        weight=people.weight[patient],
        **_oddities(rng, streams.chunk, patient, los, len(people.dod)),
    )


ENOUGH = 200
"""Stays from which on a source has every awkward row of the specifications."""


def _oddities(
    rng: np.random.Generator, chunk: int, patient: Array, los: Array, patients: int
) -> dict[str, Array]:
    """Stays that are odd as a whole; in the first chunk some are sure to be there."""
    stays = len(patient)
    odd: dict[str, Array] = {
        name: rng.random(stays) < share
        for name, share in (("open", 0.004), ("blank", 0.003), ("scripted", 0.004))
    }
    unlisted = np.zeros(patients, dtype=bool)
    if chunk == 0 and stays >= ENOUGH:
        many = np.bincount(patient)[patient]
        alone = np.flatnonzero((many == 1) & (los > 30 * HOUR) & (np.arange(stays) > len(PICTURES)))
        odd["open"][alone[0:2]] = True
        odd["blank"][alone[2:4]] = True
        odd["scripted"][alone[4:20]] = True
        unlisted[patient[alone[20]]] = True
    return odd | {"unlisted": unlisted}


@dataclass
class _People:
    """Patients with an ICU stay, then those without."""

    female: Array
    age: Array
    """Years at the first ICU admission."""
    frail: Array
    height: Array
    weight: Array
    anchor_year: Array
    dod: Array
    anchor_age: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def count(self) -> int:
        return len(self.age)

    @property
    def year_start(self) -> Array:
        return _new_year(self.anchor_year)

    def settle_anchor(self, start: Array) -> None:
        """Age in the anchor year, from the time of the first ICU admission."""
        years = np.floor(self.age - (start - self.year_start) / YEAR + 1e-9).astype(np.int64)
        self.anchor_age = np.where(years >= 90, 91, np.clip(years, 18, 89))


@dataclass(frozen=True)
class _Admissions:
    patient: Array
    admittime: Array
    dischtime: Array
    died: Array
    picture: Array
    elective: Array
    surgical: Array


def _joined(one: _Admissions, two: _Admissions) -> _Admissions:
    names = [item.name for item in fields(_Admissions)]
    return _Admissions(**{n: np.concatenate([getattr(one, n), getattr(two, n)]) for n in names})


def _new_year(year: Array) -> Array:
    days = (year - 1970).astype("datetime64[Y]").astype("datetime64[s]")
    return days.astype(np.int64)


def _draw_pictures(rng: np.random.Generator, chunk: int, stays: int) -> Array:
    share = by_picture("share")
    picture = rng.choice(len(PICTURES), stays, p=share / share.sum())
    if chunk == 0:
        # The first stays go once through all pictures, so that small sources have each.
        first = min(stays, len(PICTURES))
        picture[:first] = np.argsort(-share, kind="stable")[:first]
    return picture


def _people(rng: np.random.Generator, picture: Array) -> _People:
    count = len(picture)
    female = rng.random(count) < 0.44
    mean, spread = by_picture("age")[picture].T
    age = np.clip(rng.normal(mean, spread), 18.05, 97)
    height = np.clip(rng.normal(np.where(female, 162.5, 176.0), 7.2), 138, 208)
    body_mass = np.exp(rng.normal(np.log(27.8), 0.22, count))
    return _People(
        female=female,
        age=age,
        frail=np.clip(rng.beta(1.6, 2.6, count) + (age - 60) / 110, 0.02, 0.98),
        height=np.round(height),
        weight=np.round(np.clip(body_mass * (height / 100) ** 2, 34, 240), 1),
        anchor_year=rng.integers(2112, 2192, count),
        dod=np.full(count, NO_TIME),
    )


def _add_outside(rng: np.random.Generator, people: _People, first_intime: Array) -> _Admissions:
    """Admissions without an ICU stay, and patients who never had one, or no admission at all.

    Args:
        rng: of the cohort.
        people: gets the further patients.
        first_intime: first ICU admission by patient; the earlier admissions end before it.
    """
    known = people.count
    earlier = np.flatnonzero(rng.random(known) < 0.38)
    gap = (np.exp(rng.normal(np.log(70), 1.2, len(earlier))) * DAY).astype(np.int64) + 40 * DAY
    outside, lone = int(known * 0.07) + 1, int(known * 0.05) + 1
    more = outside + lone
    years = rng.integers(2112, 2192, more)
    people.anchor_year = np.append(people.anchor_year, years)
    people.anchor_age = np.append(people.anchor_age, rng.integers(18, 89, more))
    people.frail = np.append(people.frail, rng.beta(1.6, 2.6, more))
    people.female = np.append(people.female, rng.random(more) < 0.5)
    people.dod = np.append(people.dod, np.full(more, NO_TIME))
    there = _new_year(years[:outside]) + rng.integers(0, 365 * DAY, outside)
    admit = np.append(first_intime[earlier] - gap, there)
    length = np.clip(rng.gamma(1.4, 2.6 * DAY, len(admit)), 3 * HOUR, 40 * DAY).astype(np.int64)
    latest = np.append(first_intime[earlier] - 31 * DAY, np.full(outside, np.iinfo(np.int64).max))
    count = len(admit)
    return _Admissions(
        patient=np.append(earlier, np.arange(known, known + outside)),
        admittime=admit,
        dischtime=np.minimum(admit + length, np.maximum(latest, admit + HOUR)),
        died=np.zeros(count, dtype=bool),
        picture=np.zeros(count, dtype=np.int64),
        elective=rng.random(count) < 0.1,
        surgical=rng.random(count) < 0.25,
    )


def _before_icu(rng: np.random.Generator, elective: Array) -> Array:
    """Seconds from hospital to ICU admission: straight in, from the emergency room, from a ward."""
    count = len(elective)
    way = np.searchsorted([0.16, 0.58, 0.82, 0.955, 0.99], rng.random(count))
    way = np.where(elective & (way == 0), 2, way)
    spans = np.stack(
        [
            rng.uniform(0, 11 * 60, count),
            rng.uniform(11 * 60, 297 * 60, count),
            rng.uniform(297 * 60, DAY, count),
            rng.uniform(DAY, 12.9 * DAY, count),
            rng.uniform(13 * DAY, 24 * DAY, count),
            rng.uniform(-3 * HOUR, 0, count),
        ]
    )
    return spans[way, np.arange(count)].astype(np.int64)
