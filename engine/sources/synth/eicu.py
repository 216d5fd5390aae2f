"""One chunk of an eICU-shaped source: the same hidden course, charted the eICU way.

Times are minutes from unit admission; numbers of the nurses' charts are texts.
"""

from __future__ import annotations

import numpy as np

from engine.sources.synth.body import make_body
from engine.sources.synth.cohort import CHUNK, Cohort, make_cohort
from engine.sources.synth.course import make_course
from engine.sources.synth.eicu_chart import NurseChart, chart_nurses
from engine.sources.synth.eicu_other import write_others
from engine.sources.synth.pictures import PICTURES
from engine.sources.synth.seeds import choose, stream
from engine.sources.synth.ventilation import make_support
from engine.sources.synth.writer import NO_TIME, TableWriter

_SOURCES = ["Emergency Department", "Floor", "Operating Room", "Direct Admit", "Recovery Room",
            "Other Hospital", "Step-Down Unit (SDU)", "Other ICU", "Acute Care/Floor"]  # fmt: skip
_UNITS = ["Med-Surg ICU", "MICU", "SICU", "CCU-CTICU", "Neuro ICU", "Cardiac ICU", "CSICU", "CTICU"]


def eicu_chunk(seed: int, number: int, stays: int, writer: TableWriter) -> None:
    """Append one chunk of unit stays to all tables."""
    kind = "eicu"
    cohort = make_cohort(kind, seed, number, stays)
    course = make_course(kind, seed, cohort)
    support = make_support(kind, seed, cohort, course)
    body = make_body(kind, seed, cohort, course, support)
    unit_stay = (
        141_168
        + number * CHUNK * 3
        + np.cumsum(stream(seed, kind, number, "ids").integers(1, 4, stays))
    )
    _write_patients(seed, cohort, unit_stay, writer)
    chart = NurseChart(unit_stay)
    chart_nurses(seed, cohort, course, support, body, chart)
    chart.write(writer)
    write_others(seed, cohort, course, support, body, unit_stay, writer)


def _write_patients(seed: int, cohort: Cohort, unit_stay: np.ndarray, writer: TableWriter) -> None:
    rng = stream(seed, "eicu", cohort.number, "patients")
    stays = cohort.stays
    age = np.floor(cohort.age).astype(np.int64)
    text = np.where(age > 89, "> 89", age.astype(str)).astype(object)
    text[rng.random(stays) < 0.004] = None
    admit = (cohort.admittime[cohort.stay_adm] - cohort.intime) // 60
    ends = (cohort.outtime - cohort.intime) // 60
    leaves = (cohort.dischtime[cohort.stay_adm] - cohort.intime) // 60
    surgical = cohort.adm_surgical[cohort.stay_adm]
    source = np.where(
        surgical & (rng.random(stays) < 0.85),
        choose(rng, ["Operating Room", "Recovery Room"], [3, 1], stays),
        choose(rng, _SOURCES, [50, 18, 0, 12, 0, 6, 7, 4, 3], stays),
    ).astype(object)
    source[rng.random(stays) < 0.005] = None
    hospital = 58 + (cohort.stay_patient * 7 + cohort.number * 13) % 150
    clock = _clock(cohort.intime)
    died = cohort.deathtime[cohort.stay_adm] != NO_TIME
    first = np.concatenate([[True], cohort.stay_adm[1:] != cohort.stay_adm[:-1]])
    visit = np.arange(stays) - np.maximum.accumulate(np.where(first, np.arange(stays), 0)) + 1
    reason = np.array([picture.name.capitalize() for picture in PICTURES], dtype=object)
    writer.write(
        "patient",
        {
            "patientunitstayid": unit_stay,
            "patienthealthsystemstayid": 128_900 + cohort.number * 4 * CHUNK + cohort.stay_adm * 3,
            "gender": np.where(cohort.female, "Female", "Male").astype(object),
            "age": text,
            "ethnicity": choose(rng, ["Caucasian", "African American", "Hispanic", "Asian", "Other/Unknown"],
                                [77, 11, 4, 2, 6], len(cohort.subject_id))[cohort.stay_patient],
            "hospitalid": hospital,
            "wardid": hospital * 4 + 1,
            "apacheadmissiondx": reason[cohort.picture],
            "admissionheight": cohort.height,
            "hospitaladmittime24": _clock(cohort.admittime[cohort.stay_adm]),
            "hospitaladmitoffset": admit,
            "hospitaladmitsource": source,
            "hospitaldischargeyear": 2014 + cohort.stay_patient % 2,
            "hospitaldischargetime24": _clock(cohort.dischtime[cohort.stay_adm]),
            "hospitaldischargeoffset": leaves,
            "hospitaldischargelocation": np.where(died, "Death", "Home").astype(object),
            "hospitaldischargestatus": np.where(died, "Expired", "Alive").astype(object),
            "unittype": choose(rng, _UNITS, [54, 9, 6, 8, 7, 7, 5, 4], stays),
            "unitadmittime24": clock,
            "unitadmitsource": source,
            "unitvisitnumber": visit,
            "unitstaytype": np.where(first, "admit", "readmit").astype(object),
            "admissionweight": cohort.weight,
            "dischargeweight": np.where(rng.random(stays) < 0.4, np.nan, np.round(cohort.weight - 1.1, 1)),
            "unitdischargetime24": _clock(cohort.outtime),
            "unitdischargeoffset": ends,
            "unitdischargelocation": np.where(cohort.dies, "Death", "Floor").astype(object),
            "unitdischargestatus": np.where(cohort.dies, "Expired", "Alive").astype(object),
            "uniquepid": np.array(
                [f"{2 + person % 9:03d}-{person}" for person in cohort.number * 4 * CHUNK + cohort.stay_patient],
                dtype=object,
            ),
        },
    )  # fmt: skip


def _clock(seconds: np.ndarray) -> np.ndarray:
    """Time of day as HH:MM:SS."""
    texts = np.datetime_as_string(seconds.astype("datetime64[s]"))
    return np.array([text[-8:] for text in texts], dtype=object)
