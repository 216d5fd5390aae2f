"""Diagnosis codes of admissions in both versions of the ICD.

Chronic conditions follow frailty and age; the picture gives the reason for admission. A patient's
conditions stay with him: each admission codes most of them again.
"""

from __future__ import annotations

import functools

import numpy as np

from engine.sources.synth.cohort import ENOUGH, Cohort
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


class _Codes:
    """Codes of the admissions of a chunk, as they come up."""

    def __init__(self, streams: Streams, cohort: Cohort) -> None:
        self.rng = streams.of("diagnoses")
        self.admissions = len(cohort.hadm_id)
        by_patient = np.where(self.rng.random(len(cohort.subject_id)) < 0.5, "9", "10")
        later = self.rng.random(self.admissions) < 0.08
        self.version = np.where(later, "10", by_patient[cohort.adm_patient])
        """Admissions: version of the ICD, as text."""
        self.bare = self.rng.random(self.admissions) < 0.02
        """Admissions: without any diagnosis."""
        self._found: list[tuple[Array, Array, Array]] = []

    def add(self, admission: Array, code: Array, rank: Array) -> None:
        """Codes of admissions; lower ranks are coded first."""
        self._found.append((admission, code.astype(object), rank))

    def draw(self, group: str, admission: Array) -> None:
        """One code of a group for each of the admissions, in its version."""
        for version in ("9", "10"):
            mine = admission[self.version[admission] == version]
            options = np.array(_codes(group, version), dtype=object)
            code = options[self.rng.integers(0, len(options), len(mine))]
            self.add(mine, code, 2 + self.rng.random(len(mine)) * 20)

    def all_once(self) -> None:
        """Each code of `icd.csv` in some admission."""
        for version in ("9", "10"):
            codes = [row["code"] for row in rows("icd.csv") if row["version"] == version]
            admission = np.flatnonzero((self.version == version) & ~self.bare)
            place = np.arange(len(codes)) * 7 % max(1, len(admission))
            mine = admission[place] if len(admission) else admission
            self.add(mine, np.array(codes[: len(mine)], dtype=object), np.full(len(mine), 30.0))

    def settled(self) -> tuple[Array, Array]:
        """Admission and code, each code once in an admission, in order of rank."""
        admission, code, rank = (np.concatenate(part) for part in zip(*self._found, strict=True))
        keep = ~self.bare[admission]
        admission, code, rank = admission[keep], code[keep], rank[keep]
        _, as_number = np.unique(code.astype(str), return_inverse=True)
        _, once = np.unique(admission * 100_000 + as_number, return_index=True)
        admission, code, rank = admission[once], code[once], rank[once]
        order = np.lexsort((rank, admission))
        return admission[order], code[order]


@functools.cache
def _codes(group: str, version: str) -> tuple[str, ...]:
    wanted = (group, version)
    return tuple(r["code"] for r in rows("icd.csv") if (r["group"], r["version"]) == wanted)


def write_diagnoses(streams: Streams, cohort: Cohort, writer: TableWriter) -> None:
    """Append the chunk's `diagnoses_icd`; about one admission in fifty has none."""
    codes = _Codes(streams, cohort)
    rng, count = codes.rng, codes.admissions
    in_icu = np.arange(count) < cohort.icu_admissions
    for index, picture in enumerate(PICTURES):
        for place, pair in enumerate(picture.codes):
            old, new = pair.split("/")
            has = in_icu & (cohort.adm_picture == index)
            has &= rng.random(count) < (1 if place == 0 else 0.6)
            admission = np.flatnonzero(has)
            code = np.where(codes.version[admission] == "9", old, new)
            codes.add(admission, code, np.full(len(admission), float(place)))
    for group, patients in conditions(streams, cohort).items():
        has = patients[cohort.adm_patient] & (rng.random(count) < 0.9)
        codes.draw(group, np.flatnonzero(has))
    for _ in range(4):
        codes.draw("other", np.flatnonzero(rng.random(count) < 0.62))
    if cohort.number == 0 and cohort.stays >= ENOUGH:
        codes.all_once()
    admission, code = codes.settled()
    start = np.searchsorted(admission, admission, side="left")
    writer.write(
        "diagnoses_icd",
        {
            "subject_id": cohort.subject_id[cohort.adm_patient[admission]],
            "hadm_id": cohort.hadm_id[admission],
            "seq_num": np.arange(len(admission)) - start + 1,
            "icd_code": code,
            "icd_version": codes.version[admission].astype(np.int64),
        },
    )
