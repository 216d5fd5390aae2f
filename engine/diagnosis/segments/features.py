"""What is known of a stay, for asking where mismatches sit: who, when, and what data there is.

Each feature is one column of ``memory.features``, by row of the diff; its column ``person`` says
whose row it is. Tables that a source lacks make no feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb

from engine.diagnosis.recompute.patients import SOURCE
from engine.diagnosis.table import Table

Kind = Literal["category", "number", "flag"]


@dataclass(frozen=True)
class Feature:
    """One thing known of a stay (or admission, or patient)."""

    name: str
    """In words, e.g. ``length of stay (days)``."""
    kind: Kind
    sql: str
    """Over ``e``, the entity, whose columns are those of `_MIMIC` or `_EICU`."""
    needs: tuple[str, ...] = ()
    """Tables that it reads, as ``schema.table``."""
    data: bool = False
    """It says what data there is, rather than who or when."""
    of_row: bool = False
    """It is of the row, not of the stay: `sql` is over ``d``, the diff, and ``known``."""


_MIMIC = f"""
SELECT icu.stay_id, icu.hadm_id, icu.subject_id, icu.first_careunit, icu.intime, icu.outtime,
    icu.los, adm.admittime, adm.admission_type, adm.hospital_expire_flag, adm.race,
    pat.gender, pat.anchor_year_group,
    pat.anchor_age + year(coalesce(adm.admittime, icu.intime)) - pat.anchor_year AS age,
    row_number() OVER (PARTITION BY icu.subject_id ORDER BY icu.intime) AS number_of_patient,
    row_number() OVER (PARTITION BY icu.hadm_id ORDER BY icu.intime) AS number_of_admission
FROM {SOURCE}.mimiciv_icu.icustays icu
LEFT JOIN {SOURCE}.mimiciv_hosp.admissions adm ON icu.hadm_id = adm.hadm_id
LEFT JOIN {SOURCE}.mimiciv_hosp.patients pat ON icu.subject_id = pat.subject_id
"""  # noqa: S608 - our own names
_ADMISSION = f"""
SELECT NULL::BIGINT AS stay_id, adm.hadm_id, adm.subject_id, NULL::VARCHAR AS first_careunit,
    adm.admittime AS intime, adm.dischtime AS outtime,
    date_diff('hour', adm.admittime, adm.dischtime) / 24.0 AS los, adm.admittime,
    adm.admission_type, adm.hospital_expire_flag, adm.race, pat.gender, pat.anchor_year_group,
    pat.anchor_age + year(adm.admittime) - pat.anchor_year AS age,
    row_number() OVER (PARTITION BY adm.subject_id ORDER BY adm.admittime) AS number_of_patient,
    1 AS number_of_admission
FROM {SOURCE}.mimiciv_hosp.admissions adm
LEFT JOIN {SOURCE}.mimiciv_hosp.patients pat ON adm.subject_id = pat.subject_id
"""  # noqa: S608 - our own names
_EICU = f"""
SELECT patientunitstayid, uniquepid AS subject_id, patienthealthsystemstayid, unittype, gender,
    ethnicity, hospitaldischargeyear, unitadmitsource, unitvisitnumber, hospitaldischargestatus,
    CASE WHEN age = '> 89' THEN 90 ELSE try_cast(age AS INTEGER) END AS age,
    unitdischargeoffset / 1440.0 AS los, unitadmittime24, NULL::TIMESTAMP AS intime
FROM {SOURCE}.eicu_crd.patient
"""  # noqa: S608 - our own names


def _has(table: str, on: str, when: str, extra: str = "") -> str:
    """SQL: there is a row of `table` for the entity, from 6 hours before to 24 hours after."""
    window = (
        f"AND x.{when} >= e.intime - INTERVAL 6 HOURS AND x.{when} <= e.intime + INTERVAL 24 HOURS"
        if when
        else ""
    )
    return f"EXISTS (SELECT 1 FROM {SOURCE}.{table} x WHERE x.{on} = e.{on} {window} {extra})"  # noqa: S608 - our own names


def _count(table: str, on: str, when: str, extra: str = "") -> str:
    return (
        f"(SELECT count(*) FROM {SOURCE}.{table} x WHERE x.{on} = e.{on} "  # noqa: S608 - our own names
        f"AND x.{when} >= e.intime - INTERVAL 6 HOURS AND x.{when} <= e.intime + INTERVAL 24 HOURS "
        f"{extra})"
    )


_D = "mimiciv_derived"
_WHO = (
    Feature("unit", "category", "first_careunit"),
    Feature("year group", "category", "anchor_year_group"),
    Feature("sex", "category", "gender"),
    Feature("admission type", "category", "admission_type"),
    Feature("age (years)", "number", "age"),
    Feature("length of stay (days)", "number", "los"),
    Feature("hour of admission", "number", "hour(intime)"),
    Feature("hours in hospital before the unit", "number", "date_diff('hour', admittime, intime)"),
    Feature("died in hospital", "flag", "hospital_expire_flag = 1"),
    Feature("first stay of the patient", "flag", "number_of_patient = 1"),
    Feature("first stay of the admission", "flag", "number_of_admission = 1"),
)


def _concept(name: str, table: str, on: str, when: str, extra: str = "") -> Feature:
    return Feature(name, "flag", _has(f"{_D}.{table}", on, when, extra), (f"{_D}.{table}",), True)


_CULTURE_TIME = (
    "AND coalesce(x.charttime, x.chartdate + INTERVAL 12 HOURS) "
    "BETWEEN e.intime - INTERVAL 6 HOURS AND e.intime + INTERVAL 24 HOURS"
)
_WHAT = (
    _concept(
        "invasive ventilation",
        "ventilation",
        "stay_id",
        "",
        "AND x.ventilation_status = 'InvasiveVent'",
    ),
    _concept("arterial gas", "bg", "subject_id", "charttime", "AND x.specimen = 'ART.'"),
    _concept("vital signs", "vitalsign", "stay_id", "charttime"),
    _concept("coma scale", "gcs", "stay_id", "charttime"),
    _concept("chemistry results", "chemistry", "subject_id", "charttime"),
    _concept("blood count", "complete_blood_count", "subject_id", "charttime"),
    _concept("coagulation results", "coagulation", "subject_id", "charttime"),
    _concept("liver enzyme results", "enzyme", "subject_id", "charttime"),
    _concept("urine output", "urine_output", "stay_id", "charttime"),
    _concept(
        "creatinine result", "chemistry", "subject_id", "charttime", "AND x.creatinine IS NOT NULL"
    ),
    _concept(
        "bilirubin result", "enzyme", "subject_id", "charttime", "AND x.bilirubin_total IS NOT NULL"
    ),
    _concept("vasoactive drug", "vasoactive_agent", "stay_id", ""),
    _concept("renal replacement", "rrt", "stay_id", ""),
    _concept("antibiotic", "antibiotic", "subject_id", "starttime"),
    _concept("charted weight", "weight_durations", "stay_id", ""),
    Feature(
        "number of vital sign times",
        "number",
        _count(f"{_D}.vitalsign", "stay_id", "charttime"),
        (f"{_D}.vitalsign",),
        True,
    ),
    Feature(
        "number of laboratory results",
        "number",
        _count("mimiciv_hosp.labevents", "subject_id", "charttime"),
        ("mimiciv_hosp.labevents",),
        True,
    ),
    Feature(
        "culture",
        "flag",
        _has("mimiciv_hosp.microbiologyevents", "subject_id", "", _CULTURE_TIME),
        ("mimiciv_hosp.microbiologyevents",),
        True,
    ),
)
_OF_PATIENT = (
    *(f for f in _WHO if f.name in ("year group", "sex")),
    Feature(
        "culture at any time",
        "flag",
        _has("mimiciv_hosp.microbiologyevents", "subject_id", ""),
        ("mimiciv_hosp.microbiologyevents",),
        True,
    ),
)
"""Where a row names a patient and no stay or admission."""


def _unit_has(name: str, table: str, offset: str, extra: str = "") -> Feature:
    when = f"AND x.{offset} BETWEEN -360 AND 1440" if offset else ""
    return Feature(
        name,
        "flag",
        f"EXISTS (SELECT 1 FROM {SOURCE}.eicu_crd.{table} x "  # noqa: S608 - our own names
        f"WHERE x.patientunitstayid = e.patientunitstayid {when} {extra})",
        (f"eicu_crd.{table}",),
        True,
    )


_UNIT = (
    Feature("unit", "category", "unittype"),
    Feature("year", "category", "hospitaldischargeyear::VARCHAR"),
    Feature("sex", "category", "gender"),
    Feature("source of admission", "category", "unitadmitsource"),
    Feature("age (years)", "number", "age"),
    Feature("length of stay (days)", "number", "los"),
    Feature(
        "hour of admission", "number", "try_cast(left(unitadmittime24::VARCHAR, 2) AS INTEGER)"
    ),
    Feature("died in hospital", "flag", "hospitaldischargestatus = 'Expired'"),
    Feature("first stay of the hospital stay", "flag", "unitvisitnumber = 1"),
    _unit_has("nurse charting", "nursecharting", "nursingchartoffset"),
    _unit_has(
        "coma scale",
        "nursecharting",
        "nursingchartoffset",
        "AND x.nursingchartcelltypevallabel "
        "IN ('Glasgow coma score', 'Score (Glasgow Coma Scale)')",
    ),
    _unit_has("intake and output", "intakeoutput", "intakeoutputoffset"),
    _unit_has("respiratory care", "respiratorycare", "respcarestatusoffset"),
    _unit_has("physical exam", "physicalexam", "physicalexamoffset"),
    _unit_has("intubated (APACHE)", "apacheapsvar", "", "AND x.intubated = 1"),
    _unit_has("APACHE prediction", "apachepredvar", ""),
)


def make_features(table: Table, kind: str) -> tuple[Feature, ...]:
    """Write ``memory.features`` (row, person, f0, f1 …) of the attached source.

    Returns:
        What f0, f1 … are.

    Extra keys of the agent that the source does not know have no features.
    """
    con = table.con
    found = _entity(kind, table.keys)
    if found is None:
        return ()
    entity, key, offered = found
    present = {
        str(row[0])
        for row in con.execute(
            "SELECT DISTINCT schema_name || '.' || table_name FROM duckdb_columns() "
            "WHERE database_name = ?",
            [SOURCE],
        ).fetchall()
    }
    listed = [f for f in offered if all(need in present for need in f.needs)]
    if kind != "eicu" and (time := _time_of_row(table)) is not None and key != "subject_id":
        listed.append(time)
    made = _make(con, table, entity, key, listed)
    if made:
        return made
    # One of them does not fit this source: leave out those that fail.
    return _make(con, table, entity, key, [f for f in listed if _works(con, entity, f)])


def _make(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    entity: str,
    key: str,
    listed: Sequence[Feature],
) -> tuple[Feature, ...]:
    if not listed:
        return ()
    of_stay = "".join(f", ({f.sql}) AS f{n}" for n, f in enumerate(listed) if not f.of_row)
    of_row = "".join(f", ({f.sql}) AS f{n}" for n, f in enumerate(listed) if f.of_row)
    place = table.keys.index(key)
    try:
        con.execute(
            f"CREATE OR REPLACE TABLE memory.known AS SELECT e.{key} AS key_, "  # noqa: S608 - our own names
            f"e.subject_id AS person, e.intime AS begin_{of_stay} "
            f"FROM ({entity}) e WHERE e.{key} IS NOT NULL "
            f"QUALIFY row_number() OVER (PARTITION BY e.{key} ORDER BY e.intime) = 1"
        )
        con.execute(
            "CREATE OR REPLACE TABLE memory.features AS "  # noqa: S608 - our own names
            f"SELECT d.row, known.* EXCLUDE (key_, begin_){of_row} "
            f"FROM diff d JOIN memory.known ON d.k{place} = known.key_"
        )
    except duckdb.Error:
        return ()
    return tuple(listed)


def _time_of_row(table: Table) -> Feature | None:
    """Where in the stay the row is, if its key has a time."""
    times = [n for n, kind in enumerate(table.key_types) if kind.startswith("TIMESTAMP")]
    if not times:
        return None
    hours = f"date_diff('minute', known.begin_, d.k{times[0]}) / 60.0"
    return Feature("hours into the stay", "number", hours, of_row=True)


def _works(con: duckdb.DuckDBPyConnection, entity: str, feature: Feature) -> bool:
    if feature.of_row:
        return True
    try:
        con.execute(f"SELECT ({feature.sql}) FROM ({entity}) e LIMIT 1").fetchall()  # noqa: S608 - our own names
    except duckdb.Error:
        return False
    return True


def _entity(kind: str, keys: Sequence[str]) -> tuple[str, str, tuple[Feature, ...]] | None:
    if kind == "eicu":
        return (_EICU, "patientunitstayid", _UNIT) if "patientunitstayid" in keys else None
    if "stay_id" in keys:
        return _MIMIC, "stay_id", (*_WHO, *_WHAT)
    if "hadm_id" in keys:
        rest = tuple(f for f in _WHO if f.name not in ("unit", "first stay of the admission"))
        data = tuple(f for f in _WHAT if "x.stay_id" not in f.sql)
        return _ADMISSION, "hadm_id", (*rest, *data)
    return (_ADMISSION, "subject_id", _OF_PATIENT) if "subject_id" in keys else None
