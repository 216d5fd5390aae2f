"""The other tables of an eICU-shaped source: examination, urine, APACHE, airway, and small ones."""

from __future__ import annotations

from importlib import resources

import numpy as np

from engine.sources.synth.seeds import NOTHING, Array, choose
from engine.sources.synth.ventilation import NIV
from engine.sources.synth.world import World
from engine.sources.synth.writer import NO_TIME, TableWriter

URINE_PATH = "flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|"
COMA_PATH = "notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/"


def urine_labels() -> list[str]:
    """The texts that eICU hospitals write for urine, as found after the path's last bar."""
    text = resources.files(__package__).joinpath("urine_labels.txt").read_text(encoding="utf-8")
    return text.splitlines()


def write_others(world: World, unit_stay: Array, writer: TableWriter) -> None:
    """Append the chunk to every table but patient and nurseCharting."""
    rng, cohort = world.streams.of("other"), world.cohort
    _examination(rng, world, unit_stay, writer)
    _output(rng, world, unit_stay, writer)
    _apache(rng, world, unit_stay, writer)
    _airway(rng, world, unit_stay, writer)
    if cohort.number == 0:
        size = ["<100", "100 - 249", "250 - 499", ">= 500"]
        region = ["Midwest", "Northeast", "South", "West"]
        writer.write(
            "hospital",
            {
                "hospitalid": np.arange(58, 208),
                "numbedscategory": choose(rng, size, [3, 4, 3, 2], 150),
                "teachingstatus": choose(rng, ["f", "t"], [9, 1], 150),
                "region": choose(rng, region, [4, 1, 3, 2], 150),
            },
        )


def _examination(
    rng: np.random.Generator, world: World, unit_stay: Array, writer: TableWriter
) -> None:
    cohort, support, body = world.cohort, world.support, world.body
    stay = np.flatnonzero(rng.random(cohort.stays) < 0.75)
    stay = np.repeat(stay, rng.integers(1, 3, len(stay)))
    offset = rng.integers(5, 2200, len(stay))
    hour = np.clip(offset // 60, 0, cohort.hours[stay] - 1)
    total = (body.eyes + body.motor + np.where(support.tube, 1, body.verbal))[stay, hour].astype(
        np.int64
    )
    way = rng.random(len(stay))
    path = [
        f"{COMA_PATH}{score}"
        if kind < 0.7
        else f"{COMA_PATH}{'scored' if kind < 0.85 else 'unable to score due to medication'}"
        for score, kind in zip(total, way, strict=True)
    ]
    value = np.where(
        way < 0.7, total.astype(str), np.where(way < 0.85, "scored", "unable to score")
    ).astype(object)
    writer.write(
        "physicalExam",
        {
            "physicalexamid": writer.rows["physicalExam"] + 8_000_000 + np.arange(len(stay)),
            "patientunitstayid": unit_stay[stay],
            "physicalexamoffset": offset,
            "physicalexampath": path,
            "physicalexamvalue": value,
            "physicalexamtext": value,
        },
    )


def _output(rng: np.random.Generator, world: World, unit_stay: Array, writer: TableWriter) -> None:
    cohort, course = world.cohort, world.course
    has = rng.random(cohort.stays) < 0.86
    catheter = (
        cohort.organs[:, 0] + cohort.organs[:, 2] + rng.normal(0, 0.25, cohort.stays)
    ) > 0.45
    every = np.where(catheter, rng.choice([1, 2], cohort.stays, p=[0.6, 0.4]), 5)
    hour = np.arange(course.valid.shape[1])[None, :]
    due = (
        course.valid
        & has[:, None]
        & ((hour + 1) % every[:, None] == 0)
        & (rng.random(course.valid.shape) < 0.93)
    )
    stay, at = np.nonzero(due)
    kidney = course.organ["kidney"][stay, at]
    rate = np.exp(rng.normal(0.25, 0.45, cohort.stays))[stay] * np.clip(
        1.05 - 0.95 * kidney, 0.01, None
    )
    volume = (
        np.round(rate * cohort.weight[stay] * every[stay] * rng.gamma(6, 1 / 6, len(stay)) / 5) * 5
    )
    labels = urine_labels()
    usual = ["Urine", "Urine Output (mL)-Foley", "Foley cath", "Urinary Catheter Output: Indwelling",
             "Output-Urinary Catheter 16 Fr", "Urine Output-Foley", "Indwelling Foley"]  # fmt: skip
    voids = ["Urine", "urine (void)", "Urine, void:", "Urine Output (mL)-Void", "Incont. Urine"]
    rare = rng.random(cohort.stays) < 0.35
    own = np.array(
        [
            labels[draw % len(labels)]
            if odd
            else (usual[draw % len(usual)] if tube else voids[draw % len(voids)])
            for draw, odd, tube in zip(
                rng.integers(0, 10_000, cohort.stays), rare, catheter, strict=True
            )
        ],
        dtype=object,
    )
    if cohort.number == 0 and cohort.stays > len(labels):
        own[: len(labels)] = labels
    text = own[stay]
    # Other outputs and intakes beside.
    more = np.flatnonzero(rng.random(len(stay)) < 0.12)
    others = ["flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|Stool", "flowsheet|Flowsheet Cell Labels|I&O|Intake (ml)|P.O.",
              "flowsheet|Flowsheet Cell Labels|I&O|Intake (ml)|Crystalloids", "flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|Emesis",
              "flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|foley PACU"]  # fmt: skip
    path = np.concatenate([np.array([URINE_PATH + label for label in text], dtype=object),
                           choose(rng, others, [3, 4, 3, 1, 0.4], len(more))])  # fmt: skip
    who, when = np.append(stay, stay[more]), np.append(at, at[more])
    values = np.append(volume, np.round(rng.gamma(2, 90, len(more))))
    order = np.lexsort((when, who))
    who, when, values, path = who[order], when[order], values[order], path[order]
    offset = when * 60 + rng.integers(30, 60, len(who))
    writer.write(
        "intakeOutput",
        {
            "intakeoutputid": writer.rows["intakeOutput"] + 9_000_000 + np.arange(len(who)),
            "patientunitstayid": unit_stay[who],
            "intakeoutputoffset": offset,
            "intaketotal": np.zeros(len(who)),
            "outputtotal": values,
            "dialysistotal": np.zeros(len(who)),
            "nettotal": -values,
            "intakeoutputentryoffset": offset + 4,
            "cellpath": path,
            "celllabel": np.array([text.rsplit("|", 1)[1] for text in path], dtype=object),
            "cellvaluenumeric": values,
            "cellvaluetext": np.char.mod("%g", values).astype(object),
        },
    )


def _apache(rng: np.random.Generator, world: World, unit_stay: Array, writer: TableWriter) -> None:
    cohort, course, support, body = world.cohort, world.course, world.support, world.body
    day = np.arange(course.valid.shape[1])[None, :] < 24
    first = course.valid & day
    tube = (support.tube & first).any(1)
    vent = tube | ((support.kind == NIV) & first).any(1)
    kidney = cohort.organs[:, 3]
    urine = np.round(
        np.clip(1.05 - 0.95 * kidney, 0.02, None)
        * cohort.weight
        * 24
        * rng.gamma(5, 0.2, cohort.stays),
        2,
    )
    keep = np.flatnonzero(rng.random(cohort.stays) < 0.86)
    missing = rng.random(cohort.stays)

    def worst(values: Array, high: bool) -> Array:
        filled = np.where(first, values, -np.inf if high else np.inf)
        edge: Array = np.round(filled.max(1) if high else filled.min(1), 1)
        return edge

    eyes, verbal, motor = (
        np.where(first, values, 9).min(1).astype(np.int64)
        for values in (body.eyes, np.where(support.tube, 1, body.verbal), body.motor)
    )
    identifier = writer.rows["apacheApsVar"] + 90_000 + np.arange(len(keep))
    writer.write(
        "apacheApsVar",
        {
            "apacheapsvarid": identifier,
            "patientunitstayid": unit_stay[keep],
            "intubated": (tube & (missing < 0.9))[keep].astype(np.int64),
            "vent": vent[keep].astype(np.int64),
            "dialysis": cohort.named("dialysis patient")[keep].astype(np.int64),
            "eyes": eyes[keep],
            "motor": motor[keep],
            "verbal": verbal[keep],
            "meds": np.zeros(len(keep), dtype=np.int64),
            "urine": np.where(missing < 0.4, -1, urine)[keep],
            "wbc": np.full(len(keep), -1.0),
            "temperature": worst(body.temperature, high=True)[keep],
            "respiratoryrate": worst(body.breaths, high=True)[keep],
            "sodium": np.full(len(keep), -1.0),
            "heartrate": worst(body.heart_rate, high=True)[keep],
            "meanbp": worst(body.mean, high=False)[keep],
        },
    )
    elective = cohort.adm_elective[cohort.stay_adm].astype(np.int64)
    unknown = rng.random(cohort.stays) < 0.14
    writer.write(
        "apachePredVar",
        {
            "apachepredvarid": writer.rows["apachePredVar"] + 70_000 + np.arange(len(keep)),
            "patientunitstayid": unit_stay[keep],
            "gender": cohort.female[keep].astype(np.int64),
            "age": np.floor(cohort.age[keep]).astype(np.int64),
            "diedinhospital": cohort.dies[keep].astype(np.int64),
            "electivesurgery": np.where(unknown & (elective == 0), NO_TIME, elective)[keep],
            "ventday1": vent[keep].astype(np.int64),
            "oobventday1": vent[keep].astype(np.int64),
            "oobintubday1": (tube & (missing > 0.06))[keep].astype(np.int64),
            "diabetes": body.diabetic[keep].astype(np.int64),
            "visitnumber": np.ones(len(keep), dtype=np.int64),
        },
    )


def _airway(rng: np.random.Generator, world: World, unit_stay: Array, writer: TableWriter) -> None:
    cohort, course, support = world.cohort, world.course, world.support
    hour = np.arange(course.valid.shape[1])[None, :]
    due = course.valid & support.tube & ((hour + np.arange(cohort.stays)[:, None]) % 6 == 0)
    stay, at = np.nonzero(due & (rng.random(due.shape) < 0.8))
    offset = at * 60 + rng.integers(1, 50, len(stay))
    oral = choose(rng, ["Oral ETT", "Tracheostomy", "Nasal ETT"], [90, 8, 2], len(stay))
    size = choose(rng, ["7.5", "8.0", "7.0", "6.5"], [4, 4, 2, 1], len(stay))
    place = choose(rng, ["22 @ lip", "23 @ lip", "24 @ lip", "21 @ teeth"], [3, 4, 2, 1], len(stay))
    start = np.where(rng.random(len(stay)) < 0.1, NO_TIME, 5)
    writer.write(
        "respiratoryCare",
        {
            "respcareid": writer.rows["respiratoryCare"] + 3_000_000 + np.arange(len(stay)),
            "patientunitstayid": unit_stay[stay],
            "respcarestatusoffset": offset,
            "currenthistoryseqnum": np.ones(len(stay), dtype=np.int64),
            "airwaytype": oral,
            "airwaysize": size,
            "airwayposition": np.where(rng.random(len(stay)) < 0.5, NOTHING, place),
            "cuffpressure": np.where(
                rng.random(len(stay)) < 0.6, np.nan, np.round(rng.normal(25, 3, len(stay)))
            ),
            "ventstartoffset": start,
        },
    )
