"""Diagnosis codes of admissions in both versions of the ICD.

Chronic conditions follow frailty and age; the picture gives the reason for admission. A patient's
conditions stay with him: each admission codes most of them again.
"""

from __future__ import annotations

import numpy as np

from engine.sources.synth.cohort import Cohort
from engine.sources.synth.dictionaries import rows
from engine.sources.synth.pictures import PICTURES
from engine.sources.synth.seeds import Array, Streams
from engine.sources.synth.writer import TableWriter

_CONDITIONS = {
    "myocardial_infarct": 0.16,
    "congestive_heart_failure": 0.28,
    "peripheral_vascular_disease": 0.13,
    "cerebrovascular_disease": 0.13,
    "dementia": 0.05,
    "chronic_pulmonary_disease": 0.25,
    "rheumatic_disease": 0.04,
    "peptic_ulcer_disease": 0.03,
    "mild_liver_disease": 0.11,
    "diabetes_without_cc": 0.24,
    "diabetes_with_cc": 0.11,
    "paraplegia": 0.06,
    "renal_disease": 0.21,
    "malignant_cancer": 0.14,
    "severe_liver_disease": 0.045,
    "metastatic_solid_tumor": 0.055,
    "aids": 0.009,
    "awkward": 0.05,
}
"""Share of admissions to intensive care that carry the condition, by group of `icd.csv`."""


def conditions(streams: Streams, cohort: Cohort) -> dict[str, Array]:
    """Patients: who has which chronic condition, by group of `icd.csv`."""
    rng = streams.of("conditions")
    count = len(cohort.subject_id)
    return {
        group: rng.random(count) < share * (0.35 + 1.6 * cohort.frail)
        for group, share in _CONDITIONS.items()
    }


def write_diagnoses(streams: Streams, cohort: Cohort, writer: TableWriter) -> None:
    """Append the chunk's `diagnoses_icd`; about one admission in fifty has none."""
    rng = streams.of("diagnoses")
    codes: dict[tuple[str, str], list[str]] = {}
    for row in rows("icd.csv"):
        codes.setdefault((row["group"], row["version"]), []).append(row["code"])
    admissions = len(cohort.hadm_id)
    version = np.where(rng.random(len(cohort.subject_id)) < 0.5, "9", "10")[cohort.adm_patient]
    version = np.where(rng.random(admissions) < 0.08, "10", version)
    bare = rng.random(admissions) < 0.02
    found_adm: list[Array] = []
    found_code: list[Array] = []
    found_rank: list[Array] = []

    def add(admission: Array, code: Array, rank: Array) -> None:
        found_adm.append(admission)
        found_code.append(code)
        found_rank.append(rank)

    for index, picture in enumerate(PICTURES):
        for place, pair in enumerate(picture.codes):
            old, new = pair.split("/")
            has = (cohort.adm_picture == index) & (
                np.arange(admissions) < cohort.icu_admissions
                if place == 0
                else rng.random(admissions) < 0.6
            )
            admission = np.flatnonzero(has)
            code = np.where(version[admission] == "9", old, new).astype(object)
            add(admission, code, np.full(len(admission), place, dtype=np.float64))
    for group, patients in conditions(streams, cohort).items():
        has = patients[cohort.adm_patient] & (rng.random(admissions) < 0.9)
        _draw_codes(rng, codes, group, np.flatnonzero(has), version, add)
    for _ in range(4):
        _draw_codes(
            rng, codes, "other", np.flatnonzero(rng.random(admissions) < 0.62), version, add
        )

    admission, code = np.concatenate(found_adm), np.concatenate(found_code)
    rank = np.concatenate(found_rank)
    keep = ~bare[admission]
    admission, code, rank = admission[keep], code[keep], rank[keep]
    # A code appears once in an admission.
    _, codes_as_int = np.unique(code.astype(str), return_inverse=True)
    _, once = np.unique(admission * 100_000 + codes_as_int, return_index=True)
    admission, code, rank = admission[once], code[once], rank[once]
    order = np.lexsort((rank, admission))
    admission, code = admission[order], code[order]
    start = np.searchsorted(admission, admission, side="left")
    writer.write(
        "diagnoses_icd",
        {
            "subject_id": cohort.subject_id[cohort.adm_patient[admission]],
            "hadm_id": cohort.hadm_id[admission],
            "seq_num": np.arange(len(admission)) - start + 1,
            "icd_code": code,
            "icd_version": version[admission].astype(np.int64),
        },
    )


def _draw_codes(rng, codes, group, admission, version, add) -> None:  # type: ignore[no-untyped-def]
    for edition in ("9", "10"):
        chosen = admission[version[admission] == edition]
        options = np.array(codes[group, edition], dtype=object)
        code = options[rng.integers(0, len(options), len(chosen))]
        add(chosen, code, 2 + rng.random(len(chosen)) * 20)
