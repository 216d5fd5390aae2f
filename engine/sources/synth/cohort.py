"""Who is in the source: patients, their hospital admissions and ICU stays, in time.

All of a chunk of stays at once. Patients come back (a second stay of an admission, a later
admission), so that rules by patient and rules by stay differ, as they do in real data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.sources.synth.pictures import ORGANS, PICTURES, Picture
from engine.sources.synth.seeds import scattered, stream
from engine.sources.synth.writer import NO_TIME

HOUR = 3600
DAY = 24 * HOUR
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
    subject_id: np.ndarray
    """Patients; the last few have no ICU stay, the very last no admission either."""
    gender: np.ndarray
    """Patients: text F or M."""
    anchor_age: np.ndarray
    """Patients: years, 91 stands for 90 and older."""
    anchor_year: np.ndarray
    """Patients: shifted calendar year."""
    dod: np.ndarray
    """Patients: death as days since 1970, or `NO_TIME`."""
    frail: np.ndarray
    """Patients: 0 to 1, likelihood of chronic disease."""
    hadm_id: np.ndarray
    """Admissions, those of ICU stays first."""
    adm_patient: np.ndarray
    """Admissions: index into patients."""
    admittime: np.ndarray
    """Admissions."""
    dischtime: np.ndarray
    """Admissions."""
    deathtime: np.ndarray
    """Admissions: death in hospital."""
    adm_picture: np.ndarray
    """Admissions: index into `PICTURES`."""
    adm_elective: np.ndarray
    """Admissions: planned."""
    adm_surgical: np.ndarray
    """Admissions: under a surgical service."""
    icu_admissions: int
    """How many admissions, counted from the first, have an ICU stay."""
    stay_id: np.ndarray
    """ICU stays."""
    stay_adm: np.ndarray
    """Stays: index into admissions."""
    stay_patient: np.ndarray
    """Stays: index into patients."""
    picture: np.ndarray
    """Stays: index into `PICTURES`."""
    organs: np.ndarray
    """Stays × `ORGANS`: start values."""
    intime: np.ndarray
    """Stays."""
    outtime: np.ndarray
    """Stays."""
    hours: np.ndarray
    """Stays: charted whole hours, 1 to `LONGEST`."""
    dies: np.ndarray
    """Stays: ends with death in the ICU."""
    age: np.ndarray
    """Stays: years at ICU admission, not rounded."""
    female: np.ndarray
    """Stays."""
    height: np.ndarray
    """Stays: cm."""
    weight: np.ndarray
    """Stays: kg."""

    @property
    def stays(self) -> int:
        """How many stays there are."""
        return len(self.stay_id)

    @property
    def stay_subject(self) -> np.ndarray:
        """Stays: subject_id."""
        return self.subject_id[self.stay_patient]

    @property
    def stay_hadm(self) -> np.ndarray:
        """Stays: hadm_id."""
        return self.hadm_id[self.stay_adm]

    def named(self, *names: str) -> np.ndarray:
        """Stays whose picture has one of the names, as booleans."""
        wanted = [index for index, picture in enumerate(PICTURES) if picture.name in names]
        return np.isin(self.picture, wanted)

    def shift(self, quantity: str) -> np.ndarray:
        """Stays: the picture's offset of a set point."""
        return np.array([picture.shifts.get(quantity, 0.0) for picture in PICTURES])[self.picture]


def pictures_of(stays: np.ndarray) -> list[Picture]:
    """The pictures of stays given by picture index."""
    return [PICTURES[index] for index in stays]


def by_picture(attribute: str) -> np.ndarray:
    """An attribute of all pictures as an array."""
    return np.array([getattr(picture, attribute) for picture in PICTURES])


def make_cohort(kind: str, seed: int, number: int, stays: int) -> Cohort:
    """One chunk of the cohort.

    Args:
        kind: source kind, only for the random stream.
        seed: of the source.
        number: of the chunk; its identifiers do not meet those of another chunk.
        stays: how many ICU stays.
    """
    rng = stream(seed, kind, number, "cohort")
    share = by_picture("share")
    picture = rng.choice(len(PICTURES), stays, p=share / share.sum())
    if number == 0:
        # The first stays go once through all pictures, so that small sources have each.
        first = min(stays, len(PICTURES))
        picture[:first] = np.argsort(-share, kind="stable")[:first]
    draw = rng.random(stays)
    new_patient = draw < 0.72
    new_patient[0] = True
    new_adm = new_patient | (draw < 0.86)
    patient = np.cumsum(new_patient) - 1
    adm = np.cumsum(new_adm) - 1
    patients, adms = int(patient[-1]) + 1, int(adm[-1]) + 1
    first_stay = np.flatnonzero(new_patient)
    first_of_adm = np.flatnonzero(new_adm)

    organs = np.array([item.organs for item in PICTURES])[picture]
    mild = rng.beta(5, 2.2, (stays, 1)) * 1.35
    organs = np.clip(organs * mild + rng.normal(0, 0.09, (stays, len(ORGANS))), 0, 1.25)

    # People.
    female_p = rng.random(patients) < 0.44
    age_mean, age_spread = by_picture("age")[picture[first_stay]].T
    age_p = np.clip(rng.normal(age_mean, age_spread), 18.05, 97)
    frail = np.clip(rng.beta(1.6, 2.6, patients) + (age_p - 60) / 110, 0.02, 0.98)
    height_p = np.clip(rng.normal(np.where(female_p, 162.5, 176.0), 7.2), 138, 208)
    bmi = np.exp(rng.normal(np.log(27.8), 0.22, patients))
    weight_p = np.round(np.clip(bmi * (height_p / 100) ** 2, 34, 240), 1)

    # Stays in time: each after the one before it of the same patient.
    dies_adm = rng.random(stays) < by_picture("death")[picture] * (0.35 + organs.mean(1) * 1.9)
    last = np.append(new_patient[1:], True)
    dies_adm &= last
    dies = dies_adm & (rng.random(stays) < 0.72)
    length = by_picture("hours")[picture] * np.exp(rng.normal(0, 0.62, stays))
    length = np.clip(length * np.where(dies, 0.8, 1.0), 5, LONGEST - 1.0)
    los = (length * HOUR).astype(np.int64) + rng.integers(0, 60, stays)
    elective = rng.random(stays) < by_picture("elective")[picture]
    surgical = rng.random(stays) < by_picture("surgical")[picture] + 0.06
    before = _before_icu(rng, elective)
    ward = np.where(dies, 0, rng.gamma(1.6, 2.6 * DAY, stays)).astype(np.int64)
    between = np.exp(rng.normal(np.log(90), 1.5, stays))
    between = (np.clip(between, 0.4, 700) * DAY).astype(np.int64)
    bounce = (rng.gamma(1.3, 1.8 * DAY, stays)).astype(np.int64) + 2 * HOUR
    step = np.where(new_adm, ward[np.arange(stays) - 1] + between + before, bounce)
    step = np.where(new_patient, 0, step + los[np.arange(stays) - 1])
    run = np.cumsum(step)
    run -= run[first_stay][patient]
    anchor_year = rng.integers(2112, 2192, patients)
    year_start = (
        (anchor_year - 1970).astype("datetime64[Y]").astype("datetime64[s]").astype(np.int64)
    )
    start = year_start + (rng.uniform(-0.9, 1.9, patients) * 365 * DAY).astype(np.int64)
    intime = start[patient] + run
    outtime = intime + los
    years = (intime - year_start[patient]) / (365.242 * DAY)
    age = age_p[patient] + (intime - intime[first_stay][patient]) / (365.242 * DAY)
    anchor = np.floor(age[first_stay] - years[first_stay] + 1e-9).astype(np.int64)
    anchor = np.where(anchor >= 90, 91, np.clip(anchor, 17, 89))

    # Admissions.
    final = np.append(first_of_adm[1:], stays) - 1
    admittime = intime[first_of_adm] - before[first_of_adm]
    dischtime = outtime[final] + ward[final]
    died = dies_adm[final]
    deathtime = np.where(died, dischtime, NO_TIME)
    extra = _elsewhere(rng, patients, intime[first_stay], outtime[np.flatnonzero(last)])
    outside = int(patients * 0.07) + 1
    lone = int(patients * 0.05) + 1
    lone_admit = year_extra = None
    total = patients + outside + lone
    anchor_year = np.append(anchor_year, rng.integers(2112, 2192, outside + lone))
    lone_admit = (anchor_year[patients : patients + outside] - 1970).astype("datetime64[Y]").astype(
        "datetime64[s]"
    ).astype(np.int64) + rng.integers(0, 365 * DAY, outside)
    del year_extra
    extra_patient = np.concatenate([extra[0], np.arange(patients, patients + outside)])
    extra_admit = np.concatenate([extra[1], lone_admit])
    extra_stay = np.clip(rng.gamma(1.4, 2.6 * DAY, len(extra_admit)), 3 * HOUR, 40 * DAY)
    extra_disch = extra_admit + extra_stay.astype(np.int64)
    room = np.concatenate([extra[2], np.full(outside, np.iinfo(np.int64).max)])
    extra_disch = np.minimum(extra_disch, np.maximum(room, extra_admit + HOUR))
    more = len(extra_admit)
    gender = np.where(np.append(female_p, rng.random(outside + lone) < 0.5), "F", "M")
    anchor = np.append(anchor, rng.integers(18, 89, outside + lone))
    frail = np.append(frail, rng.beta(1.6, 2.6, outside + lone))
    dod = np.full(total, NO_TIME)
    dead = patient[final][died]
    dod[dead] = dischtime[died] // DAY
    later = np.flatnonzero((rng.random(patients) < 0.12) & (dod[:patients] == NO_TIME))
    dod[later] = outtime[np.flatnonzero(last)][later] // DAY + rng.integers(30, 360, len(later))

    offset = number * _PATIENTS_PER_CHUNK
    return Cohort(
        number=number,
        subject_id=scattered(offset, total, 10_000_000, seed),
        gender=gender.astype(object),
        anchor_age=anchor,
        anchor_year=anchor_year,
        dod=dod,
        frail=frail,
        hadm_id=scattered(offset, adms + more, 20_000_000, seed),
        adm_patient=np.append(patient[first_of_adm], extra_patient),
        admittime=np.append(admittime, extra_admit) // 60 * 60,
        dischtime=np.append(dischtime, extra_disch) // 60 * 60,
        deathtime=np.append(np.where(died, deathtime // 60 * 60, NO_TIME), np.full(more, NO_TIME)),
        adm_picture=np.append(picture[first_of_adm], np.zeros(more, dtype=np.int64)),
        adm_elective=np.append(elective[first_of_adm], rng.random(more) < 0.1),
        adm_surgical=np.append(surgical[first_of_adm], rng.random(more) < 0.25),
        icu_admissions=adms,
        stay_id=scattered(number * CHUNK, stays, 30_000_000, seed),
        stay_adm=adm,
        stay_patient=patient,
        picture=picture,
        organs=organs,
        intime=intime,
        outtime=outtime,
        hours=np.maximum(1, (outtime - intime) // HOUR),
        dies=dies,
        age=age,
        female=female_p[patient],
        height=np.round(height_p[patient], 0),
        weight=weight_p[patient],
    )


def _before_icu(rng: np.random.Generator, elective: np.ndarray) -> np.ndarray:
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


def _elsewhere(
    rng: np.random.Generator, patients: int, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Admissions without an ICU stay: patient, admission time, latest possible discharge."""
    earlier = np.flatnonzero(rng.random(patients) < 0.38)
    gap = (np.exp(rng.normal(np.log(70), 1.2, len(earlier))) * DAY).astype(np.int64) + 40 * DAY
    return earlier, first[earlier] - gap, first[earlier] - 31 * DAY
