"""What no target reads but any eICU has: laboratory, infusions and diagnoses."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.analytes import Blood
from engine.sources.synth.chart import written_numbers
from engine.sources.synth.cohort import HOUR
from engine.sources.synth.pictures import PICTURES
from engine.sources.synth.seeds import Array
from engine.sources.synth.world import World
from engine.sources.synth.writer import TableWriter

NAMES: Final[dict[int, tuple[str, str, int]]] = {
    50983: ("sodium", "mmol/L", 1),
    50971: ("potassium", "mmol/L", 1),
    50902: ("chloride", "mmol/L", 1),
    50882: ("bicarbonate", "mmol/L", 1),
    50868: ("anion gap", "mmol/L", 1),
    51006: ("BUN", "mg/dL", 1),
    50912: ("creatinine", "mg/dL", 1),
    50931: ("glucose", "mg/dL", 1),
    50893: ("calcium", "mg/dL", 1),
    51221: ("Hct", "%", 3),
    51222: ("Hgb", "g/dL", 3),
    51265: ("platelets x 1000", "K/mcL", 3),
    51301: ("WBC x 1000", "K/mcL", 3),
    50862: ("albumin", "g/dL", 1),
    50885: ("total bilirubin", "mg/dL", 1),
    50861: ("ALT (SGPT)", "Units/L", 1),
    50878: ("AST (SGOT)", "Units/L", 1),
    51237: ("PT - INR", "ratio", 3),
    50820: ("pH", "", 7),
    50821: ("paO2", "mm Hg", 7),
    50818: ("paCO2", "mm Hg", 7),
    50816: ("FiO2", "%", 7),
}
"""Laboratory item of `analytes`: eICU's name, unit and type of laboratory."""


def write_unread(world: World, blood: Blood, unit_stay: Array, writer: TableWriter) -> None:
    """Append lab, infusionDrug and diagnosis."""
    rng = world.streams.of("unread")
    _write_labs(rng, world, blood, unit_stay, writer)
    _write_infusions(world, unit_stay, writer)
    _write_diagnoses(rng, world, unit_stay, writer)


def first_day(world: World, blood: Blood, stay: Array) -> dict[int, Array]:
    """One draw of each stay about eight hours after admission, by laboratory item."""
    points = world.points(stay, world.cohort.intime[stay] + 8 * HOUR)
    everything = blood.chemistry(points) | blood.blood_count(points) | blood.proteins(points)
    return everything | blood.liver(points) | blood.gas(points, np.ones(len(stay), dtype=bool))


def _write_labs(
    rng: np.random.Generator, world: World, blood: Blood, unit_stay: Array, writer: TableWriter
) -> None:
    cohort = world.cohort
    every = np.clip(np.round(24 - 22 * cohort.organs.mean(1)), 8, 24)[:, None]
    hour = np.arange(world.course.valid.shape[1])[None, :]
    draws = world.hourly(((hour + 2) % every == 0) & ~cohort.blank[:, None], rng, odd=0.9)
    tube = draws.of(world.support.tube)
    parts: list[tuple[Array, Array, Array, Array]] = []
    for panel, share in (
        (blood.chemistry, 0.95),
        (blood.blood_count, 0.85),
        (blood.proteins, 0.2),
        (blood.liver, 0.25),
        (blood.coagulation, 0.35),
        (
            lambda points: blood.gas(points, np.ones(len(points), dtype=bool)),
            np.where(tube, 0.8, 0.1),
        ),
    ):
        mine = draws[rng.random(len(draws)) < share]
        offset = (mine.time - cohort.intime[mine.stay]) // 60
        for code, values in panel(mine).items():
            if code in NAMES:
                has = ~np.isnan(values)
                count = int(has.sum())
                parts.append((mine.stay[has], offset[has], np.full(count, code), values[has]))
    stay, offset, item, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((item, offset, stay))
    stay, offset, item, value = (part[order] for part in (stay, offset, item, value))
    known, place = np.unique(item, return_inverse=True)

    def told(part: int) -> Array:
        return np.array([NAMES[int(one)][part] for one in known], dtype=object)[place]

    writer.write(
        "lab",
        {
            "labid": writer.rows["lab"] + 50_000_000 + np.arange(len(stay)),
            "patientunitstayid": unit_stay[stay],
            "labresultoffset": offset,
            "labtypeid": told(2).astype(np.int64),
            "labname": told(0),
            "labresult": value,
            "labresulttext": written_numbers(value),
            "labmeasurenamesystem": told(1),
            "labmeasurenameinterface": told(1),
            "labresultrevisedoffset": offset + 30,
        },
    )


def _write_infusions(world: World, unit_stay: Array, writer: TableWriter) -> None:
    cohort, need = world.cohort, world.body.pressor
    points = world.hourly((need > 0.5) & ~cohort.blank[:, None], world.streams.of("pumps"), odd=0)
    strength = points.of(need)
    per_minute = (0.0042 * strength + 0.00034 * strength**2) * cohort.weight[points.stay]
    rate = np.round(per_minute)
    writer.write(
        "infusionDrug",
        {
            "infusiondrugid": writer.rows["infusionDrug"] + 2_000_000 + np.arange(len(points)),
            "patientunitstayid": unit_stay[points.stay],
            "infusionoffset": (points.time - cohort.intime[points.stay]) // 60,
            "drugname": np.full(len(points), "Norepinephrine (mcg/min)", dtype=object),
            "drugrate": written_numbers(np.maximum(rate, 1)),
            "infusionrate": np.round(np.maximum(rate, 1) * 60 / 32, 1),
            "drugamount": np.full(len(points), 8.0),
            "volumeoffluid": np.full(len(points), 250.0),
            "patientweight": cohort.weight[points.stay],
        },
    )


def _write_diagnoses(
    rng: np.random.Generator, world: World, unit_stay: Array, writer: TableWriter
) -> None:
    cohort = world.cohort
    stay = np.flatnonzero((rng.random(cohort.stays) < 0.9) & ~cohort.blank)
    picture = [PICTURES[index] for index in cohort.picture[stay]]
    writer.write(
        "diagnosis",
        {
            "diagnosisid": writer.rows["diagnosis"] + 3_700_000 + np.arange(len(stay)),
            "patientunitstayid": unit_stay[stay],
            "activeupondischarge": np.full(len(stay), "True", dtype=object),
            "diagnosisoffset": rng.integers(5, 600, len(stay)),
            "diagnosisstring": [item.name for item in picture],
            "icd9code": [item.codes[0].replace("/", ", ") for item in picture],
            "diagnosispriority": np.full(len(stay), "Primary", dtype=object),
        },
    )
