"""The other tables of an eICU-shaped source: examination, urine, APACHE, airway, and small ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources

import numpy as np

from engine.sources.synth.analytes import Blood
from engine.sources.synth.eicu_labs import first_day
from engine.sources.synth.renal import Kidneys
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import NOTHING, Array, choose
from engine.sources.synth.ventilation import NIV
from engine.sources.synth.world import World
from engine.sources.synth.writer import NO_TIME, TableWriter

OUTPUT_PATH = "flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|"
INTAKE_PATH = "flowsheet|Flowsheet Cell Labels|I&O|Intake (ml)|"
COMA_PATH = "notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/"
_CATHETER = (
    "Urine",
    "Urine Output (mL)-Foley",
    "Foley cath",
    "Urinary Catheter Output: Indwelling",
    "Output-Urinary Catheter 16 Fr",
    "Output-External Urethral Catheter",
    "Urine Output-Foley",
    "Indwelling Foley",
)
_VOIDED = ("Urine", "urine (void)", "Urine, void:", "Urine Output (mL)-Void", "Incont. Urine")
_BESIDES = (
    OUTPUT_PATH + "Stool",
    INTAKE_PATH + "P.O.",
    INTAKE_PATH + "Crystalloids",
    OUTPUT_PATH + "Emesis",
    OUTPUT_PATH + "foley PACU",
)


@dataclass
class Flowsheets:
    """Rows of one chunk, by index of the stay and minute from unit admission."""

    output: Rows = field(
        default_factory=lambda: Rows(integers="stay offset", numbers="value", texts="path")
    )
    """Intake and output."""
    exam: Rows = field(default_factory=lambda: Rows(integers="stay offset", texts="path value"))
    """Physical examination."""
    airway: Rows = field(
        default_factory=lambda: Rows(
            integers="stay offset", numbers="cuff", texts="kind size position volume"
        )
    )
    """Respiratory care."""


def urine_labels() -> list[str]:
    """The texts that eICU hospitals write for urine, as found after the path's last bar."""
    text = resources.files(__package__).joinpath("urine_labels.txt").read_text(encoding="utf-8")
    return text.splitlines()


def add_flowsheets(world: World, kidneys: Kidneys, sheets: Flowsheets) -> None:
    """Examination, urine and airway of a chunk."""
    rng = world.streams.of("flowsheets")
    _add_exams(rng, world, sheets.exam)
    _add_output(rng, world, kidneys, sheets.output)
    _add_airway(rng, world, sheets.airway)


def _add_exams(rng: np.random.Generator, world: World, out: Rows) -> None:
    cohort, body = world.cohort, world.body
    stay = np.flatnonzero((rng.random(cohort.stays) < 0.75) & ~cohort.scripted)
    stay = np.repeat(stay, rng.integers(1, 3, len(stay)))
    offset = rng.integers(5, 2200, len(stay))
    hour = np.clip(offset // 60, 0, cohort.hours[stay] - 1)
    verbal = np.where(world.support.tube, 1, body.verbal)
    total = (body.eyes + body.motor + verbal)[stay, hour].astype(np.int64)
    way = rng.choice(3, len(stay), p=[0.7, 0.15, 0.15])
    ends = np.where(way == 0, total.astype(str), np.where(way == 1, "scored", "unable to score"))
    path = np.array([COMA_PATH + end for end in ends], dtype=object)
    out.add(stay=stay, offset=offset, path=path, value=ends.astype(object))


def _add_output(rng: np.random.Generator, world: World, kidneys: Kidneys, out: Rows) -> None:
    cohort, stays = world.cohort, world.cohort.stays
    has = (rng.random(stays) < 0.86) & ~cohort.scripted
    sick = cohort.organs[:, 0] + cohort.organs[:, 2] + rng.normal(0, 0.25, stays)
    catheter: Array = sick > 0.45
    every = np.where(catheter, rng.choice([1, 2], stays, p=[0.6, 0.4]), 5)
    hour = np.arange(world.course.valid.shape[1])[None, :]
    due = has[:, None] & ((hour + 1) % every[:, None] == 0)
    points = world.hourly(due & (rng.random(due.shape) < 0.93), rng, odd=0)
    own = np.exp(rng.normal(np.log(0.95), 0.4, stays))
    own = np.where(rng.random(stays) < 0.07, own * rng.uniform(2.4, 5.5, stays), own)
    injury = points.of(kidneys.injury)
    rate = own[points.stay] * np.clip(1.06 - injury, 0, None) ** 1.35
    volume = rate * (cohort.weight * every)[points.stay] * rng.gamma(6, 1 / 6, len(points))
    text = _urine_texts(rng, has, catheter)
    path = np.array([OUTPUT_PATH + label for label in text], dtype=object)
    since = (points.time - cohort.intime[points.stay]) // 60
    offset = since + rng.integers(0, 30, len(points))
    out.add(stay=points.stay, offset=offset, value=np.round(volume / 5) * 5, path=path[points.stay])
    more = points[rng.random(len(points)) < 0.12]
    out.add(
        stay=more.stay,
        offset=(more.time - cohort.intime[more.stay]) // 60,
        value=np.round(rng.gamma(2, 90, len(more))),
        path=choose(rng, list(_BESIDES), [3, 4, 3, 1, 0.4], len(more)),
    )


def _urine_texts(rng: np.random.Generator, has: Array, catheter: Array) -> Array:
    """How each stay's hospital writes urine; a third in one of the rare ways."""
    labels = urine_labels()
    rare = rng.random(len(catheter)) < 0.35
    draw = rng.integers(0, 10_000, len(catheter))
    texts = np.array(
        [
            (labels if odd else _CATHETER if tube else _VOIDED)[
                number % len(labels if odd else _CATHETER if tube else _VOIDED)
            ]
            for number, odd, tube in zip(draw, rare, catheter, strict=True)
        ],
        dtype=object,
    )
    # Each of the rare ways at least once where there are enough stays.
    some = np.flatnonzero(has)
    if len(some) > len(labels):
        texts[some[: len(labels)]] = labels
    return texts


def _add_airway(rng: np.random.Generator, world: World, out: Rows) -> None:
    cohort, tube = world.cohort, world.support.tube
    hour = np.arange(tube.shape[1])[None, :]
    due = tube & ((hour + np.arange(cohort.stays)[:, None]) % 6 == 0)
    points = world.hourly(due & (rng.random(due.shape) < 0.8), rng, odd=0)
    count = len(points)
    place = choose(rng, ["22 @ lip", "23 @ lip", "24 @ lip", "21 @ teeth"], [3, 4, 2, 1], count)
    out.add(
        stay=points.stay,
        offset=(points.time - cohort.intime[points.stay]) // 60 + 1,
        kind=choose(rng, ["Oral ETT", "Tracheostomy", "Nasal ETT"], [90, 8, 2], count),
        size=choose(rng, ["7.5", "8.0", "7.0", "6.5"], [4, 4, 2, 1], count),
        position=np.where(rng.random(count) < 0.5, NOTHING, place),
        cuff=np.where(rng.random(count) < 0.6, np.nan, np.round(rng.normal(25, 3, count))),
    )


def write_flowsheets(
    world: World, unit_stay: Array, sheets: Flowsheets, writer: TableWriter
) -> None:
    """Append physicalExam, intakeOutput and respiratoryCare, sorted by stay and minute."""
    blank = world.cohort.blank

    def ordered(rows: Rows) -> dict[str, Array]:
        columns = rows.columns()
        order = np.lexsort((columns["offset"], columns["stay"]))
        order = order[~blank[columns["stay"][order]]]
        return {name: values[order] for name, values in columns.items()}

    row = ordered(sheets.exam)
    count = len(row["stay"])
    writer.write(
        "physicalExam",
        {
            "physicalexamid": writer.rows["physicalExam"] + 8_000_000 + np.arange(count),
            "patientunitstayid": unit_stay[row["stay"]],
            "physicalexamoffset": row["offset"],
            "physicalexampath": row["path"],
            "physicalexamvalue": row["value"],
            "physicalexamtext": row["value"],
        },
    )
    row = ordered(sheets.output)
    value, path = row["value"], row["path"]
    outward = np.array([text.startswith(OUTPUT_PATH) for text in path], dtype=bool)
    writer.write(
        "intakeOutput",
        {
            "intakeoutputid": writer.rows["intakeOutput"] + 9_000_000 + np.arange(len(path)),
            "patientunitstayid": unit_stay[row["stay"]],
            "intakeoutputoffset": row["offset"],
            "intaketotal": np.where(outward, 0, value),
            "outputtotal": np.where(outward, value, 0),
            "dialysistotal": np.zeros(len(path)),
            "nettotal": np.where(outward, -value, value),
            "intakeoutputentryoffset": row["offset"] + 4,
            "cellpath": path,
            "celllabel": np.array([text.rsplit("|", 1)[1] for text in path], dtype=object),
            "cellvaluenumeric": value,
            "cellvaluetext": np.char.mod("%g", value).astype(object),
        },
    )
    row = ordered(sheets.airway)
    count = len(row["stay"])
    writer.write(
        "respiratoryCare",
        {
            "respcareid": writer.rows["respiratoryCare"] + 3_000_000 + np.arange(count),
            "patientunitstayid": unit_stay[row["stay"]],
            "respcarestatusoffset": row["offset"],
            "currenthistoryseqnum": np.ones(count, dtype=np.int64),
            "airwaytype": row["kind"],
            "airwaysize": row["size"],
            "airwayposition": row["position"],
            "cuffpressure": row["cuff"],
            "setapneatv": row["volume"],
        },
    )


def write_apache(world: World, blood: Blood, unit_stay: Array, writer: TableWriter) -> None:
    """Append apacheApsVar and apachePredVar: the worst of the first day, and the admission."""
    rng, cohort, body = world.streams.of("apache"), world.cohort, world.body
    first = world.course.valid & (np.arange(world.course.valid.shape[1])[None, :] < 24)
    tube: Array = np.asarray((world.support.tube & first).any(1))
    vent = (tube | ((world.support.kind == NIV) & first).any(1)).astype(np.int64)
    flow = np.clip(1.05 - 0.95 * cohort.organs[:, 3], 0.02, None) * cohort.weight * 24
    urine = np.round(flow * rng.gamma(5, 0.2, cohort.stays), 2)
    keep = np.flatnonzero((rng.random(cohort.stays) < 0.86) & ~cohort.blank)
    missing: Array = rng.random(cohort.stays)

    def worst(values: Array, high: bool) -> Array:
        filled = np.where(first, values, -np.inf if high else np.inf)
        edge: Array = np.round(filled.max(1) if high else filled.min(1), 1)
        return edge[keep]

    results = first_day(world, blood, keep)
    gassed = tube[keep] | (rng.random(len(keep)) < 0.15)

    def known(item: int, measured: Array | None = None) -> Array:
        """A result, -1 where it is missing, as eICU writes it."""
        seen = rng.random(len(keep)) < 0.92 if measured is None else measured
        return np.where(seen & ~np.isnan(results[item]), results[item], -1)

    verbal = np.where(world.support.tube, 1, body.verbal)
    writer.write(
        "apacheApsVar",
        {
            "apacheapsvarid": writer.rows["apacheApsVar"] + 90_000 + np.arange(len(keep)),
            "patientunitstayid": unit_stay[keep],
            "intubated": (tube & (missing < 0.9))[keep].astype(np.int64),
            "vent": vent[keep],
            "dialysis": cohort.named("dialysis patient")[keep].astype(np.int64),
            "eyes": worst(body.eyes, high=False),
            "motor": worst(body.motor, high=False),
            "verbal": worst(verbal, high=False),
            "meds": np.zeros(len(keep), dtype=np.int64),
            "urine": np.where(missing < 0.4, -1, urine)[keep],
            "wbc": known(51301),
            "temperature": worst(body.temperature, high=True),
            "respiratoryrate": worst(body.breaths, high=True),
            "sodium": known(50983),
            "heartrate": worst(body.heart_rate, high=True),
            "meanbp": worst(body.mean, high=False),
            "ph": known(50820, gassed),
            "hematocrit": known(51221),
            "creatinine": known(50912),
            "albumin": known(50862, rng.random(len(keep)) < 0.4),
            "pao2": known(50821, gassed),
            "pco2": known(50818, gassed),
            "bun": known(51006),
            "glucose": known(50931),
            "bilirubin": known(50885, rng.random(len(keep)) < 0.45),
            "fio2": known(50816, gassed),
        },
    )
    elective = cohort.adm_elective[cohort.stay_adm].astype(np.int64)
    unknown = (rng.random(cohort.stays) < 0.14) & (elective == 0)
    writer.write(
        "apachePredVar",
        {
            "apachepredvarid": writer.rows["apachePredVar"] + 70_000 + np.arange(len(keep)),
            "patientunitstayid": unit_stay[keep],
            "gender": cohort.female[keep].astype(np.int64),
            "age": np.floor(cohort.age[keep]).astype(np.int64),
            "diedinhospital": cohort.dies[keep].astype(np.int64),
            "electivesurgery": np.where(unknown, NO_TIME, elective)[keep],
            "ventday1": vent[keep],
            "oobventday1": vent[keep],
            "oobintubday1": (tube & (missing > 0.06))[keep].astype(np.int64),
            "diabetes": body.diabetic[keep].astype(np.int64),
            "visitnumber": np.ones(len(keep), dtype=np.int64),
        },
    )


def write_hospitals(rng: np.random.Generator, writer: TableWriter) -> None:
    """Write the table hospital, once."""
    sizes = ["<100", "100 - 249", "250 - 499", ">= 500"]
    writer.write(
        "hospital",
        {
            "hospitalid": np.arange(58, 208),
            "numbedscategory": choose(rng, sizes, [3, 4, 3, 2], 150),
            "teachingstatus": choose(rng, ["f", "t"], [9, 1], 150),
            "region": choose(rng, ["Midwest", "Northeast", "South", "West"], [4, 1, 3, 2], 150),
        },
    )
