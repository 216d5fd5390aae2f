"""Tables about people and where they are: patients, admissions, icustays, services, transfers."""

from __future__ import annotations

import numpy as np

from engine.sources.synth.cohort import HOUR, Cohort
from engine.sources.synth.dictionaries import PROVIDERS
from engine.sources.synth.seeds import Array, Streams, choose
from engine.sources.synth.writer import NO_TIME, TableWriter

_UNITS = [
    "Medical Intensive Care Unit (MICU)",
    "Surgical Intensive Care Unit (SICU)",
    "Medical/Surgical Intensive Care Unit (MICU/SICU)",
    "Cardiac Vascular Intensive Care Unit (CVICU)",
    "Coronary Care Unit (CCU)",
    "Trauma SICU (TSICU)",
    "Neuro Surgical Intensive Care Unit (Neuro SICU)",
]
_EMERGENCY = ["EW EMER.", "URGENT", "OBSERVATION ADMIT", "DIRECT EMER.", "EU OBSERVATION"]
_RACES = ["WHITE", "BLACK/AFRICAN AMERICAN", "ASIAN", "HISPANIC/LATINO - PUERTO RICAN", "OTHER",
          "UNKNOWN", "WHITE - RUSSIAN", "UNABLE TO OBTAIN"]  # fmt: skip


def write_people(streams: Streams, cohort: Cohort, writer: TableWriter) -> None:
    """Append patients, admissions, icustays, services and transfers of a chunk."""
    rng = streams.of("people")
    groups = ["2008 - 2010", "2011 - 2013", "2014 - 2016", "2017 - 2019", "2020 - 2022"]
    listed = ~cohort.unlisted
    unknown = rng.random(len(listed)) < 0.002
    patients = {
        "subject_id": cohort.subject_id,
        "gender": cohort.gender,
        "anchor_age": np.where(unknown, NO_TIME, cohort.anchor_age),
        "anchor_year": cohort.anchor_year,
        "anchor_year_group": choose(rng, groups, [1, 1, 1, 1, 0.6], len(listed)),
        "dod": cohort.dod,
    }
    writer.write("patients", {name: values[listed] for name, values in patients.items()})
    _write_admissions(rng, cohort, writer)
    unit = choose(rng, _UNITS, [24, 14, 14, 15, 12, 11, 8], cohort.stays)
    moved = np.where(rng.random(cohort.stays) < 0.06, _UNITS[2], unit)
    writer.write(
        "icustays",
        {
            "subject_id": cohort.stay_subject,
            "hadm_id": cohort.stay_hadm,
            "stay_id": cohort.stay_id,
            "first_careunit": unit,
            "last_careunit": moved,
            "intime": cohort.intime,
            "outtime": np.where(cohort.open, NO_TIME, cohort.outtime),
            "los": np.where(cohort.open, np.nan, (cohort.outtime - cohort.intime) / (24.0 * HOUR)),
        },
    )
    _write_services(rng, cohort, writer)
    _write_transfers(cohort, unit, writer)


def _write_admissions(rng: np.random.Generator, cohort: Cohort, writer: TableWriter) -> None:
    count = len(cohort.hadm_id)
    elective, surgical = cohort.adm_elective, cohort.adm_surgical
    planned = np.where(
        surgical & (rng.random(count) < 0.35), "SURGICAL SAME DAY ADMISSION", "ELECTIVE"
    )
    kind = np.where(elective, planned, choose(rng, _EMERGENCY, [58, 22, 14, 4, 2], count)).astype(
        object
    )
    died = cohort.deathtime != NO_TIME
    home = choose(rng, ["HOME", "HOME HEALTH CARE", "SKILLED NURSING FACILITY", "REHAB",
                        "CHRONIC/LONG TERM ACUTE CARE", "HOSPICE"], [36, 26, 18, 10, 6, 3],
                        count)  # fmt: skip
    from_door = (kind == "EW EMER.") & (rng.random(count) < 0.9)
    door = cohort.admittime - rng.integers(HOUR, 9 * HOUR, count) // 60 * 60
    writer.write(
        "admissions",
        {
            "subject_id": cohort.subject_id[cohort.adm_patient],
            "hadm_id": cohort.hadm_id,
            "admittime": cohort.admittime,
            "dischtime": cohort.dischtime,
            "deathtime": cohort.deathtime,
            "admission_type": kind,
            "admit_provider_id": np.array(PROVIDERS, dtype=object)[
                rng.integers(0, len(PROVIDERS), count)
            ],
            "admission_location": np.where(
                from_door,
                "EMERGENCY ROOM",
                np.where(elective, "PHYSICIAN REFERRAL", "TRANSFER FROM HOSPITAL"),
            ).astype(object),
            "discharge_location": np.where(died, "DIED", home).astype(object),
            "insurance": choose(
                rng, ["Medicare", "Private", "Medicaid", "Other"], [46, 30, 18, 6], count
            ),
            "language": choose(
                rng, ["English", "Spanish", "Russian", "Chinese"], [90, 5, 3, 2], count
            ),
            "marital_status": choose(
                rng, ["MARRIED", "SINGLE", "WIDOWED", "DIVORCED"], [46, 32, 14, 8], count
            ),
            "race": choose(rng, _RACES, [64, 14, 5, 6, 5, 3, 2, 1], len(cohort.subject_id))[
                cohort.adm_patient
            ],
            "edregtime": np.where(from_door, door, NO_TIME),
            "edouttime": np.where(from_door, cohort.admittime + 30 * 60, NO_TIME),
            "hospital_expire_flag": died.astype(np.int64),
        },
    )


def _write_services(rng: np.random.Generator, cohort: Cohort, writer: TableWriter) -> None:
    count = len(cohort.hadm_id)
    cut = choose(rng, ["SURG", "CSURG", "NSURG", "TSURG", "VSURG", "ORTHO", "PSURG"],
                 [28, 30, 14, 10, 9, 8, 1], count)  # fmt: skip
    heart = cohort.admitted_for("cardiac surgery")
    cut = np.where(heart & cohort.adm_surgical, "CSURG", cut)
    medical = choose(rng, ["MED", "CMED", "NMED", "OMED", "TRAUM", "GU", "GYN", "ENT"],
                     [60, 18, 10, 6, 4, 1, 1, 0.6], count)  # fmt: skip
    first = np.where(cohort.adm_surgical, cut, medical).astype(object)
    time = cohort.admittime + rng.integers(-600, 3600, count)
    moves = np.flatnonzero(rng.random(count) < 0.14)
    span = np.maximum(cohort.dischtime - cohort.admittime, 2 * HOUR)[moves]
    later = time[moves] + 60 + (rng.random(len(moves)) ** 2 * span).astype(np.int64)
    second = np.where(rng.random(len(moves)) < 0.5, "SURG", "MED").astype(object)
    second = np.where(second == first[moves], "CMED", second)
    admission = np.concatenate([np.arange(count), moves])
    order = np.argsort(admission, kind="stable")
    writer.write(
        "services",
        {
            "subject_id": cohort.subject_id[cohort.adm_patient[admission]][order],
            "hadm_id": cohort.hadm_id[admission][order],
            "transfertime": np.concatenate([time, later])[order],
            "prev_service": np.concatenate([np.full(count, None, dtype=object), first[moves]])[
                order
            ],
            "curr_service": np.concatenate([first, second])[order],
        },
    )


def _write_transfers(cohort: Cohort, unit: Array, writer: TableWriter) -> None:
    """The ICU part of the patients' ways through the hospital, and each discharge."""
    stay = np.arange(cohort.stays)
    leaves = np.arange(len(cohort.hadm_id))
    nothing = np.full(len(leaves), NO_TIME)
    subject = np.concatenate([cohort.stay_subject, cohort.subject_id[cohort.adm_patient]])
    writer.write(
        "transfers",
        {
            "subject_id": subject,
            "hadm_id": np.concatenate([cohort.stay_hadm, cohort.hadm_id]),
            "transfer_id": np.concatenate(
                [cohort.stay_id[stay], 40_000_000 + cohort.hadm_id % 10_000_000]
            ),
            "eventtype": np.array(
                ["transfer"] * len(stay) + ["discharge"] * len(leaves), dtype=object
            ),
            "careunit": np.concatenate([unit, np.full(len(leaves), None, dtype=object)]),
            "intime": np.concatenate([cohort.intime, cohort.dischtime]),
            "outtime": np.concatenate([cohort.outtime, nothing]),
        },
    )
