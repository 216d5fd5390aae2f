"""Outputs that are right except for one thing, over all targets, and what that thing is.

Each error is written by hand: either a SELECT over the reference (``reference``) and the source's
own tables, or a piece of a definition's SQL replaced by another piece. None is made with the
program's own way of changing SQL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from engine.base.paths import Home
from engine.catalogue.task import find_task
from engine.concepts import concept_graph
from engine.references import find_target, open_reference
from engine.sources import find_source

REFERENCE = "="
"""The target's own SQL, among `Planted.changes`."""


@dataclass(frozen=True)
class Planted:
    """One planted error."""

    name: str
    task: str
    ids: frozenset[str]
    """Signatures that name the thing."""
    names: tuple[str, ...]
    """One of these must be named with it: the column, the concept, the figure."""
    sql: str = ""
    """A SELECT of the whole output; else `changes`."""
    changes: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Concept (or `REFERENCE`) to pieces of its SQL and what stands there instead."""

    @property
    def source(self) -> str:
        return "eicu-demo" if self.task.startswith("eicu") else "mimic-demo"

    @property
    def target(self) -> str:
        return find_task(self.task).target


def wrap(name: str, task: str, ids: str, names: str, sql: str) -> Planted:
    """An error made on the finished table."""
    return Planted(name, task, frozenset(ids.split()), tuple(names.split("|")), sql=sql)


def edit(name: str, task: str, ids: str, names: str, **changes: tuple[str, str]) -> Planted:
    """An error in a definition; ``reference`` is the target's own SQL."""
    found = {
        (REFERENCE if query == "reference" else query): (pair,) for query, pair in changes.items()
    }
    return Planted(name, task, frozenset(ids.split()), tuple(names.split("|")), changes=found)


PLANTED = (
    # --- APACHE III
    edit("gas_lowest_po2", "mimic-apsiii-24h-raw", "min-max first-last", "po2",
         reference=("max(po2) FILTER", "min(po2) FILTER")),
    wrap("swapped_labs", "mimic-apsiii-24h-raw", "swapped-columns", "bun_score|sodium_score",
         "SELECT * REPLACE (sodium_score AS bun_score, bun_score AS sodium_score) FROM reference"),
    wrap("zero_left_null", "mimic-apsiii-24h", "null-versus-zero", "albumin_score",
         "SELECT * REPLACE (nullif(albumin_score, 0) AS albumin_score) FROM reference"),
    # --- Charlson
    wrap("copied_liver", "mimic-charlson-raw", "copied-column", "severe_liver_disease",
         "SELECT * REPLACE (mild_liver_disease AS severe_liver_disease) FROM reference"),
    wrap("first_admission_only", "mimic-charlson-raw", "filtered-cohort", "first stay",
         "SELECT reference.* FROM reference JOIN mimiciv_hosp.admissions a USING (hadm_id) "
         "QUALIFY row_number() OVER (PARTITION BY a.subject_id ORDER BY a.admittime) = 1"),
    # --- baseline creatinine
    wrap("micromoles", "mimic-creatinine-baseline-raw", "unit-factor", "88.4",
         "SELECT * REPLACE (scr_min * 88.4 AS scr_min) FROM reference"),
    edit("baseline_strict", "mimic-creatinine-baseline", "threshold-edge", "1.1",
         creatinine_baseline=("scr_min <= 1.1", "scr_min < 1.1")),
    edit("highest_creatinine", "mimic-creatinine-baseline-raw", "min-max", "creatinine",
         creatinine_baseline=("min(creatinine)", "max(creatinine)")),
    wrap("whole_years", "mimic-creatinine-baseline", "rounding", "age",
         "SELECT * REPLACE (floor(age) AS age) FROM reference"),
    # --- eICU coma scale
    edit("no_hours_before", "eicu-gcs", "window", "-360|start|begin",
         reference=("BETWEEN -360 AND 1440", "BETWEEN 0 AND 1440")),
    edit("motor_left_null", "eicu-gcs", "missing-left-null null-versus-normal", "motor",
         reference=("coalesce(lowest.motor, 6)", "lowest.motor")),
    edit("highest_total", "eicu-gcs", "min-max", "total",
         reference=("ORDER BY total ASC", "ORDER BY total DESC")),
    wrap("swapped_components", "eicu-gcs", "swapped-columns", "gcs_verbal|gcs_eyes",
         "SELECT * REPLACE (gcs_eyes AS gcs_verbal, gcs_verbal AS gcs_eyes) FROM reference"),
    # --- eICU OASIS
    edit("twelve_hours", "eicu-oasis", "window", "nursingchartoffset|720",
         reference=("nursingchartoffset > 0\n        AND nursingchartoffset <= 1440",
                    "nursingchartoffset > 0\n        AND nursingchartoffset <= 720")),
    edit("only_with_prediction", "eicu-oasis", "inner-join", "pred|APACHE",
         reference=("LEFT JOIN eicu_crd.apachepredvar", "INNER JOIN eicu_crd.apachepredvar")),
    edit("elective_unknown", "eicu-oasis", "rule-dropped missing-as-value condition-dropped",
         "electivesurgery", reference=("WHEN electivesurgery IS NULL THEN 6\n", "\n")),
    # --- coma scale
    edit("first_coma", "mimic-gcs-24h-raw", "first-last", "charttime",
         reference=("gcs.gcs ASC NULLS FIRST, gcs.charttime,", "gcs.charttime,")),
    edit("last_of_ties", "mimic-gcs-24h-raw", "tie-break first-last", "charttime",
         reference=("NULLS FIRST, gcs.charttime,", "NULLS FIRST, gcs.charttime DESC,")),
    edit("tube_counted", "mimic-gcs-24h-raw", "rule-dropped condition-dropped", "ETT|gcs",
         gcs=("max(if(value = 'No Response-ETT', 0, valuenum))", "max(valuenum)")),
    edit("from_admission", "mimic-gcs-24h-raw", "window", "6 hour|INTERVAL '6' HOURS",
         reference=("stay.intime - INTERVAL 6 HOURS", "stay.intime")),
    # --- KDIGO
    edit("one_day", "mimic-kdigo-48h-raw", "window", "24",
         reference=("INTERVAL 48 HOURS", "INTERVAL 24 HOURS")),
    edit("rise_strict", "mimic-kdigo-48h", "threshold-edge", "0.3",
         kdigo_stages=("creat >= creat_low_past_48hr + 0.3", "creat > creat_low_past_48hr + 0.3")),
    edit("crrt_left_null", "mimic-kdigo-48h", "missing-left-null null-versus-zero",
         "aki_stage_crrt",
         reference=("coalesce(max(kdigo.aki_stage_crrt), 0)", "max(kdigo.aki_stage_crrt)")),
    # --- MELD
    edit("sodium_unbounded", "mimic-meld-24h-raw", "rule-dropped", "sodium_min",
         meld=("WHEN lab.sodium_min > 137 THEN 0\n", "\n")),
    edit("lowest_inr", "mimic-meld-24h", "min-max", "inr", first_day_lab=("max(lab.inr) AS inr_max",
                                                              "min(lab.inr) AS inr_max")),
    edit("creatinine_uncapped", "mimic-meld-24h", "rule-dropped", "creatinine_max",
         meld=("rrt.dialysis_present = 1 OR lab.creatinine_max > 4.0",
               "rrt.dialysis_present = 1")),
    # --- OASIS
    edit("mean_heart_rate", "mimic-oasis-24h-raw", "mean-worst", "heart_rate",
         first_day_vitalsign=("max(vital.heart_rate)", "avg(vital.heart_rate)")),
    edit("hours_for_minutes", "mimic-oasis-24h-raw", "unit-conversion unit-factor threshold",
         "preiculos|60000000", oasis=("/ 60000000", "/ 1")),
    edit("coma_of_the_day", "mimic-oasis-24h", "window", "hour",
         first_day_gcs=("stay.intime - INTERVAL 6 HOURS", "stay.intime")),
    # --- SAPS II
    wrap("total_without_type", "mimic-sapsii-24h-raw", "sum-of-parts", "admissiontype_score",
         "SELECT * REPLACE (sapsii - admissiontype_score AS sapsii) FROM reference"),
    edit("highest_ratio", "mimic-sapsii-24h", "min-max", "pao2fio2ratio",
         sapsii=("min(bg.pao2fio2ratio)", "max(bg.pao2fio2ratio)")),
    wrap("one_row_per_day", "mimic-sapsii-24h-raw", "grain", "stay_id|several rows",
         "SELECT stay_id, subject_id, hadm_id, * EXCLUDE (stay_id, subject_id, hadm_id) REPLACE ("
         + ", ".join(f"({c} * d) % 7 AS {c}" for c in
                     ("sapsii", "age_score", "hr_score", "sysbp_score", "temp_score", "uo_score",
                      "bun_score", "wbc_score", "gcs_score", "comorbidity_score",
                      "admissiontype_score", "sodium_score"))
         + ") FROM reference, range(1, 4) days(d) ORDER BY stay_id, d"),
    wrap("rows_doubled", "mimic-sapsii-24h", "one-to-many-join", "repeated|join",
         "SELECT reference.* FROM reference, range(1 + (stay_id % 3 = 0)::INTEGER) twice"),
    # --- sepsis
    wrap("other_zone", "mimic-sepsis3-raw", "off-by-hour", "time",
         "SELECT * REPLACE (suspected_infection_time - INTERVAL 5 HOURS AS "
         "suspected_infection_time,"
         " antibiotic_time - INTERVAL 5 HOURS AS antibiotic_time,"
         " culture_time - INTERVAL 5 HOURS AS culture_time,"
         " sofa_time - INTERVAL 5 HOURS AS sofa_time) FROM reference"),
    wrap("dates_alone", "mimic-sepsis3-raw", "date-only", "suspected_infection_time",
         "SELECT * REPLACE (suspected_infection_time::DATE AS suspected_infection_time) "
         "FROM reference"),
    edit("more_than_two", "mimic-sepsis3-raw", "threshold-edge threshold", "sofa_24hours",
         sepsis3=("WHERE sofa.sofa_24hours >= 2", "WHERE sofa.sofa_24hours > 2")),
    # --- SIRS
    edit("ninety_counts", "mimic-sirs-24h-raw", "threshold-edge", "heart_rate",
         sirs=("vital.heart_rate_max > 90.0", "vital.heart_rate_max >= 90.0")),
    edit("any_gas", "mimic-sofa-24h-raw", "condition-dropped item-set", "specimen",
         reference=("bg.specimen = 'ART.'", "bg.specimen IS NOT NULL")),
    edit("bands_forgotten", "mimic-sirs-24h-raw", "rule-dropped item-set", "bands",
         sirs=(" OR lab.bands_max > 10", "")),
    wrap("only_with_gas", "mimic-sirs-24h-raw", "inner-join", "gas|bg",
         "SELECT r.* FROM reference r JOIN mimiciv_icu.icustays i USING (stay_id) WHERE EXISTS ("
         "SELECT 1 FROM mimiciv_derived.bg b WHERE b.subject_id = i.subject_id AND "
         "b.specimen = 'ART.' AND b.charttime BETWEEN i.intime - INTERVAL 6 HOURS AND "
         "i.intime + INTERVAL 24 HOURS)"),
    # --- SOFA
    edit("no_norepinephrine", "mimic-sofa-24h-raw", "rule-dropped source-dropped item-set",
         "norepinephrine",
         reference=(" OR rate.norepinephrine > 0.1 THEN 4", " THEN 4")),
    edit("calendar_day", "mimic-sofa-24h", "window", "calendar|midnight",
         reference=("intime - INTERVAL 6 HOURS AS starttime,\n        intime + INTERVAL 24 HOURS",
                    ("date_trunc('day', intime) - INTERVAL 6 HOURS AS starttime,\n        "
                     "date_trunc('day', intime) + INTERVAL 24 HOURS"))),
    edit("pressure_inclusive", "mimic-sofa-24h-raw", "threshold-edge threshold", "70",
         reference=("vital.mbp_min < 70", "vital.mbp_min <= 70")),
    # --- suspicion of infection
    edit("three_days_short", "mimic-suspicion-infection-raw", "window", "72|24",
         reference=("culture.charttime + INTERVAL 72 HOURS", ("culture.charttime + "
                    "INTERVAL 24 HOURS"))),
    wrap("small_letters", "mimic-suspicion-infection", "label-spelling", "specimen",
         "SELECT * REPLACE (lower(specimen) AS specimen) FROM reference"),
    wrap("numbered_from_zero", "mimic-suspicion-infection-raw", "shifted-keys", "ab_id",
         "SELECT * REPLACE (ab_id - 1 AS ab_id) FROM reference"),
    wrap("culture_unknown_zero", "mimic-suspicion-infection", "null-versus-zero",
         "positive_culture",
         "SELECT * REPLACE (coalesce(positive_culture, 0) AS positive_culture) FROM reference"),
    # --- urine
    edit("six_hours_back", "mimic-urine-output-rate-raw", "window", "5|6",
         urine_output_rate=("INTERVAL 5 HOURS PRECEDING", "INTERVAL 6 HOURS PRECEDING")),
    edit("no_foley", "mimic-urine-output-rate", "item-set", "226559",
         urine_output=("        226559, 226560,", "        226560,")),
    wrap("pounds", "mimic-urine-output-rate-raw", "unit-factor", "2.20",
         "SELECT * REPLACE (weight * 2.2046226218 AS weight) FROM reference"),
    wrap("two_decimals", "mimic-urine-output-rate", "rounding", "uo_mlkghr_6hr",
         "SELECT * REPLACE (round(uo_mlkghr_6hr, 1) AS uo_mlkghr_6hr) FROM reference"),
    wrap("volume_of_before", "mimic-urine-output-rate-raw", "neighbouring-row", "uo|before",
         "SELECT * REPLACE (lag(uo) OVER (PARTITION BY stay_id ORDER BY charttime) AS uo) "
         "FROM reference"),
    # --- vasopressors
    edit("phenylephrine_whole", "mimic-vasopressor-equivalents-raw", "unit-conversion",
         "phenylephrine", norepinephrine_equivalent_dose=("phenylephrine / 10", "phenylephrine")),
    wrap("per_hour", "mimic-vasopressor-equivalents", "unit-factor", "60",
         "SELECT * REPLACE (norepinephrine_equivalent_dose * 60 AS "
         "norepinephrine_equivalent_dose) FROM reference"),
    wrap("ends_early", "mimic-vasopressor-equivalents-raw", "off-by-hour interval-end", "endtime",
         "SELECT * REPLACE (endtime - INTERVAL 1 HOUR AS endtime) FROM reference"),
    edit("no_dopamine", "mimic-vasopressor-equivalents",
         "sum-of-parts source-dropped missing-left-null", "dopamine",
         norepinephrine_equivalent_dose=("        + coalesce(dopamine / 100, 0)\n", "\n")),
    # --- ventilation
    edit("gap_of_a_day", "mimic-ventilation-raw", "window interval-merged", "24|merged",
         ventilation=("INTERVAL 14 HOUR", "INTERVAL 24 HOUR")),
    wrap("renamed", "mimic-ventilation", "label-renamed", "ventilation_status|label",
         "SELECT * REPLACE (if(ventilation_status = 'InvasiveVent', 'mechanical', "
         "ventilation_status) AS ventilation_status) FROM reference"),
    wrap("cut_off", "mimic-ventilation-raw", "truncated-output", "cut",
         "SELECT * FROM reference ORDER BY stay_id, ventilation_seq LIMIT 200"),
    edit("single_times_kept", "mimic-ventilation-raw", "condition-dropped window rule-dropped",
         "min(charttime)|HAVING", ventilation=("HAVING min(charttime) < max(charttime)", "")),
)  # fmt: skip


def write_output(home: Home, planted: Planted, to: Path) -> None:
    """Compute the output of an error and write it as the agent would."""
    target = find_target(planted.target)
    with duckdb.connect(config={"threads": 2}) as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute(f"ATTACH '{find_source(home, planted.source).path}' AS own (READ_ONLY)")
        con.execute("USE own")
        reference = open_reference(home, planted.source, planted.target)
        con.execute(f"CREATE TEMP VIEW reference AS FROM '{reference}'")
        sql = planted.sql or _changed(con, planted)
        con.execute(f"COPY ({sql}) TO '{to}' (HEADER)")
    assert target.key


def _changed(con: duckdb.DuckDBPyConnection, planted: Planted) -> str:
    """The target's SQL after rebuilding what the changes touch."""
    target = find_target(planted.target)
    rebuilt: set[str] = set()
    wrong = set(planted.changes) - {REFERENCE}
    for query in concept_graph().order(target.concepts):
        if query.name in wrong or rebuilt.intersection(query.concepts):
            sql = _edited(query.sql, planted.changes.get(query.name, ()))
            con.execute(f"CREATE TEMP TABLE new_{query.name} AS {_pointed(sql, rebuilt)}")
            rebuilt.add(query.name)
            wrong.discard(query.name)
    assert not wrong, wrong
    return _pointed(_edited(target.sql, planted.changes.get(REFERENCE, ())), rebuilt)


def _edited(sql: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for before, after in pairs:
        assert before in sql, before
        sql = sql.replace(before, after)
    return sql


def _pointed(sql: str, rebuilt: set[str]) -> str:
    for name in rebuilt:
        sql = re.sub(rf"\bmimiciv_derived\.{name}\b", f"temp.new_{name}", sql)
    return sql
