"""One chunk of an eICU-shaped source: the same hidden course, charted the eICU way.

Times are minutes from unit admission; numbers of the nurses' charts are texts.
"""

from __future__ import annotations

import numpy as np

from engine.base.jobs import Job
from engine.sources.synth.analytes import Blood
from engine.sources.synth.cohort import CHUNK
from engine.sources.synth.eicu_awkward import add_awkward_charts, odd_patients
from engine.sources.synth.eicu_chart import NurseChart, chart_nurses
from engine.sources.synth.eicu_labs import write_unread
from engine.sources.synth.eicu_other import (
    Flowsheets,
    add_flowsheets,
    write_apache,
    write_flowsheets,
    write_hospitals,
)
from engine.sources.synth.picks import Picks
from engine.sources.synth.pictures import PICTURES
from engine.sources.synth.renal import make_kidneys
from engine.sources.synth.seeds import Array, Streams, choose
from engine.sources.synth.world import World, make_world
from engine.sources.synth.writer import NO_TIME, TableWriter

_SOURCES = ["Emergency Department", "Floor", "Operating Room", "Direct Admit", "Recovery Room",
            "Other Hospital", "Step-Down Unit (SDU)", "Other ICU", "Acute Care/Floor"]  # fmt: skip
_UNITS = ["Med-Surg ICU", "MICU", "SICU", "CCU-CTICU", "Neuro ICU", "Cardiac ICU", "CSICU", "CTICU"]


def eicu_chunk(streams: Streams, stays: int, writer: TableWriter, job: Job) -> None:
    """Append one chunk of unit stays to all tables."""
    world = make_world(streams, stays)
    steps = streams.of("ids").integers(1, 4, stays)
    unit_stay = 141_168 + streams.chunk * CHUNK * 3 + np.cumsum(steps)
    _write_patients(world, unit_stay, writer)
    chart, sheets = NurseChart(unit_stay), Flowsheets()
    job.check()
    chart_nurses(world, chart)
    job.check()
    kidneys = make_kidneys(world)
    blood = Blood(world, kidneys, streams.of("blood"))
    add_flowsheets(world, kidneys, sheets)
    add_awkward_charts(Picks(world), chart, sheets)
    job.check()
    chart.write(writer)
    job.check()
    write_flowsheets(world, unit_stay, sheets, writer)
    write_apache(world, blood, unit_stay, writer)
    job.check()
    write_unread(world, blood, unit_stay, writer)
    if streams.chunk == 0:
        write_hospitals(streams.of("hospitals"), writer)


def _write_patients(world: World, unit_stay: Array, writer: TableWriter) -> None:
    rng, cohort = world.streams.of("patients"), world.cohort
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
    odd_patients(cohort, admit, text, source)
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
            "ethnicity": choose(
                rng,
                ["Caucasian", "African American", "Hispanic", "Asian", "Other/Unknown"],
                [77, 11, 4, 2, 6],
                len(cohort.subject_id),
            )[cohort.stay_patient],
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
            "dischargeweight": np.where(
                rng.random(stays) < 0.4, np.nan, np.round(cohort.weight - 1.1, 1)
            ),
            "unitdischargetime24": _clock(cohort.outtime),
            "unitdischargeoffset": ends,
            "unitdischargelocation": np.where(cohort.dies, "Death", "Floor").astype(object),
            "unitdischargestatus": np.where(cohort.dies, "Expired", "Alive").astype(object),
            "uniquepid": np.array(
                [
                    f"{2 + person % 9:03d}-{person}"
                    for person in cohort.number * 4 * CHUNK + cohort.stay_patient
                ],
                dtype=object,
            ),
        },
    )


def _clock(seconds: Array) -> Array:
    """Time of day as HH:MM:SS."""
    texts = np.datetime_as_string(seconds.astype("datetime64[s]"))
    return np.array([text[-8:] for text in texts], dtype=object)
