"""Rows of source tables as events: when, what, how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

import duckdb

from engine.diagnosis.lineage.extract import Extract
from engine.diagnosis.lineage.model import EPOCH, Event, Role, Value
from engine.diagnosis.lineage.scope import ROW


@dataclass(frozen=True)
class Shape:
    """Which columns of a table say what."""

    start: tuple[str, ...] = ("charttime",)
    """Begin; the first column that is there and not null."""
    end: tuple[str, ...] = ()
    """End of what lasts."""
    item: tuple[str, ...] = ("itemid",)
    """What it is; several are joined."""
    value: tuple[str, ...] = ("valuenum", "value")
    """The value: the first that is not null."""
    unit: tuple[str, ...] = ("valueuom",)
    """Its unit."""
    kind: str = ""
    """What a row of the table is, where the item alone does not tell."""
    measure: str = ""
    """Unit of a value whose table has no column for it."""
    wide: bool = False
    """The row states several things: its value is a text of all of `value`, each with its name."""


_ORDER = "(seq_num)"
SHAPES: Mapping[str, Shape] = {
    "mimiciv_icu.chartevents": Shape(),
    "mimiciv_hosp.labevents": Shape(),
    "mimiciv_icu.datetimeevents": Shape(),
    "mimiciv_icu.outputevents": Shape(value=("value",)),
    "mimiciv_icu.inputevents": Shape(
        start=("starttime",), end=("endtime",), value=("rate", "amount"),
        unit=("rateuom", "amountuom"),
    ),
    "mimiciv_icu.procedureevents": Shape(start=("starttime",), end=("endtime",), value=("value",)),
    "mimiciv_icu.icustays": Shape(
        start=("intime",), end=("outtime",), item=("first_careunit",), value=("los",), unit=(),
        kind="ICU stay", measure="days",
    ),
    "mimiciv_hosp.admissions": Shape(
        start=("admittime",), end=("dischtime",), item=("admission_type",),
        value=("discharge_location",), unit=(), kind="Admission",
        measure="(discharged to)",
    ),
    "mimiciv_hosp.patients": Shape(
        start=(), item=(), value=("anchor_age",), unit=(), kind="Patient, age in the anchor year",
        measure="years",
    ),
    "mimiciv_hosp.transfers": Shape(
        start=("intime",), end=("outtime",), item=("careunit",), value=("eventtype",), unit=(),
        kind="Transfer",
    ),
    "mimiciv_hosp.services": Shape(
        start=("transfertime",), item=("curr_service",), value=("prev_service",), unit=(),
        kind="Service",
    ),
    "mimiciv_hosp.prescriptions": Shape(
        start=("starttime",), end=("stoptime",), item=("drug", "route"), value=("dose_val_rx",),
        unit=("dose_unit_rx",),
    ),
    "mimiciv_hosp.microbiologyevents": Shape(
        start=("charttime", "chartdate"), item=("spec_type_desc",), value=("org_name",), unit=(),
        kind="Culture",
    ),
    "mimiciv_hosp.diagnoses_icd": Shape(
        start=(), item=("icd_version", "icd_code"), value=("seq_num",), unit=(),
        kind="Diagnosis, ICD", measure=_ORDER,
    ),
    "mimiciv_hosp.procedures_icd": Shape(
        start=("chartdate",), item=("icd_version", "icd_code"), value=("seq_num",), unit=(),
        kind="Procedure, ICD", measure=_ORDER,
    ),
    "eicu_crd.nursecharting": Shape(
        start=("nursingchartoffset",),
        item=("nursingchartcelltypevallabel", "nursingchartcelltypevalname"),
        value=("nursingchartvalue",), unit=(),
    ),
    "eicu_crd.physicalexam": Shape(
        start=("physicalexamoffset",), item=("physicalexampath",), value=("physicalexamvalue",),
        unit=(),
    ),
    "eicu_crd.intakeoutput": Shape(
        start=("intakeoutputoffset",), item=("cellpath",), value=("cellvaluenumeric",), unit=()
    ),
    "eicu_crd.respiratorycare": Shape(
        start=("respcarestatusoffset",), item=("airwaytype",), value=("airwayposition",), unit=()
    ),
    "eicu_crd.patient": Shape(
        start=(), item=("unittype",), value=("age",), unit=(), kind="Stay in",
        measure="years",
    ),
    "eicu_crd.apacheapsvar": Shape(
        start=(), item=(), value=("intubated", "urine"), unit=(), kind="APACHE variables", wide=True
    ),
    "eicu_crd.apachepredvar": Shape(
        start=(), item=(), value=("oobintubday1", "electivesurgery"), unit=(),
        kind="APACHE prediction", wide=True,
    ),
}  # fmt: skip
"""Every table that a target rests on; a test holds this to the targets."""


@dataclass(frozen=True)
class Part:
    """What is known of a row's part in a cell."""

    role: Role
    """Its part."""
    rule: str = ""
    """Why it did not enter."""
    columns: tuple[str, ...] = ()
    """What it went into or was meant for."""


def events(
    con: duckdb.DuckDBPyConnection,
    extract: Extract,
    parts: Mapping[int, Part],
    others: Set[int] = frozenset(),
) -> tuple[Event, ...]:
    """The rows of these addresses as events, in order of time, those without one first.

    Args:
        con: holds the base tables with addresses (`Extract.database`).
        extract: where the addresses are from.
        parts: address to part.
        others: addresses of other patients' rows, which only say what counts: they are told so,
            and stand at no time.
    """
    labels = _labels(con, extract)
    by_table: dict[str, list[int]] = {}
    for address in parts:
        by_table.setdefault(extract.unpack(address)[0], []).append(address)
    found: list[Event] = []
    for table, addresses in by_table.items():
        cursor = con.execute(
            f"SELECT * FROM {table} WHERE list_contains(?, {ROW}[1])",  # noqa: S608 - our own names
            [addresses],
        )
        names = [d[0] for d in cursor.description or ()]
        for values in cursor.fetchall():
            row = dict(zip(names, values, strict=True))
            address = int(row[ROW][0])
            event = _event(table, extract.unpack(address)[1], row, parts[address], labels)
            if address in others:
                event = replace(
                    event, start=None, end=None, item=f"{event.item} (of another patient)"
                )
            found.append(event)
    found.sort(key=lambda e: (e.start is not None, e.start or EPOCH, e.table, e.row))
    return tuple(found)


def _event(
    table: str,
    number: int,
    row: Mapping[str, object],
    part: Part,
    labels: Mapping[str, str],
) -> Event:
    shape = SHAPES[table]
    where = next((n for n in shape.value if row.get(n) is not None), None)
    value: Value = None
    if shape.wide:
        stated = [f"{n} {row[n]}" for n in shape.value if row.get(n) is not None]
        value = ", ".join(stated) or None
    elif where is not None:
        value = _plain(row[where])
    unit = shape.measure if value is not None else ""
    if shape.unit and where is not None:
        position = min(shape.value.index(where), len(shape.unit) - 1)
        unit = str(row.get(shape.unit[position]) or "")
    code = " ".join(str(row[n]) for n in shape.item if row.get(n) is not None)
    return Event(
        table=table,
        row=number,
        role=part.role,
        start=_time(row, shape.start),
        end=_time(row, shape.end),
        item=_named(shape, labels.get(code, code), table),
        item_id=code if code in labels or "icd_code" in shape.item else "",
        value=value,
        unit=unit,
        rule=part.rule,
        columns=part.columns,
    )


def _named(shape: Shape, code: str, table: str) -> str:
    words = " ".join(part for part in (shape.kind, code) if part)
    return words or table.partition(".")[2]


def _plain(value: object) -> Value:
    if value is None or isinstance(value, (str, int, float, bool, datetime)):
        return value
    try:
        return float(str(value))  # decimals
    except ValueError:
        return str(value)


def _time(row: Mapping[str, object], names: Iterable[str]) -> datetime | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, datetime):
            return value
        if isinstance(value, (int, float)) and "offset" in name:
            return EPOCH + timedelta(minutes=float(value))
        if isinstance(value, date):
            return datetime.combine(value, time.min)
    return None


def _labels(con: duckdb.DuckDBPyConnection, extract: Extract) -> dict[str, str]:
    labels: dict[str, str] = {}
    for table in extract.tables:
        if table.partition(".")[2] in ("d_items", "d_labitems"):
            rows = con.execute(f"SELECT itemid, label FROM {table}").fetchall()  # noqa: S608
            labels.update({str(itemid): str(label or itemid) for itemid, label in rows})
        if table == "mimiciv_hosp.d_icd_diagnoses":
            rows = con.execute(
                f"SELECT concat(icd_version, ' ', icd_code), long_title FROM {table}"  # noqa: S608
            ).fetchall()
            labels.update({code: f"{code}: {title}" for code, title in rows if title})
    return labels
