"""Whose rows a diff speaks of, and a small part of a source with a few patients in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from engine.base.duck import quote, quote_text

PER_BLOCK = 25
"""Patients of one block: the unit in which changes are tried and kept."""

_PATIENT = {"mimic-iv": "subject_id", "eicu": "uniquepid"}
_OWNERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "mimic-iv": (
        ("stay_id", "mimiciv_icu.icustays"),
        ("hadm_id", "mimiciv_hosp.admissions"),
        ("subject_id", "mimiciv_hosp.patients"),
    ),
    "eicu": (("patientunitstayid", "eicu_crd.patient"),),
}
SOURCE = "source"
"""Under what name a source is attached."""


def attach(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach a source for reading."""
    con.execute(f"ATTACH {quote_text(str(path))} AS {SOURCE} (READ_ONLY)")


def owner(kind: str, keys: Sequence[str]) -> tuple[str, str] | None:
    """By which key column, and in which table, the patient of a row is found."""
    for name, table in _OWNERS[kind]:
        if name in keys:
            return name, table
    return None


def make_owners(con: duckdb.DuckDBPyConnection, kind: str, keys: Sequence[str]) -> int | None:
    """A table ``owners (key, block)`` of the attached source; blocks of patients by hash.

    Returns:
        The number of blocks; None where the keys name no patient.
    """
    found = owner(kind, keys)
    if found is None:
        return None
    name, table = found
    patient = _PATIENT[kind]
    row = con.execute(
        f"SELECT count(DISTINCT {patient}) FROM {SOURCE}.{table}"  # noqa: S608 - our own names
    ).fetchone()
    blocks = max(1, round(int(row[0]) / PER_BLOCK)) if row else 1
    con.execute(
        f"CREATE OR REPLACE TABLE memory.owners AS SELECT DISTINCT {name} AS key, "  # noqa: S608 - our own names
        f"{patient} AS patient, (hash({patient}::VARCHAR) % {blocks})::INTEGER AS block "
        f"FROM {SOURCE}.{table}"
    )
    return blocks


def copy_part(
    con: duckdb.DuckDBPyConnection,
    kind: str,
    tables: Mapping[str, set[str]],
    blocks: Sequence[int] | None,
) -> None:
    """Copy the rows of the patients of `blocks` (all when None) of the tables that are read.

    Only the columns that are read come along. Tables that know no patient come whole.
    """
    present: dict[str, set[str]] = {}
    for table, column in con.execute(
        "SELECT schema_name || '.' || table_name, column_name FROM duckdb_columns() "
        "WHERE database_name = ?",
        [SOURCE],
    ).fetchall():
        present.setdefault(str(table), set()).add(str(column))
    listed = "" if blocks is None else ", ".join(str(int(block)) for block in blocks)
    patients = f"(SELECT patient FROM owners WHERE block IN ({listed}))"  # noqa: S608 - numbers
    # Whole stays of the patients, whatever key the diff has.
    stays = (
        f"(SELECT patientunitstayid FROM {SOURCE}.eicu_crd.patient "  # noqa: S608 - our own names
        f"WHERE uniquepid IN {patients})"
    )
    for table, columns in tables.items():
        schema, name = table.split(".")
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(schema)}")
        wanted = ", ".join(quote(c) for c in sorted(columns & present[table]))
        where = ""
        if blocks is not None:
            for column, chosen in (
                ("subject_id", patients),
                ("patientunitstayid", stays),
                ("uniquepid", patients),
            ):
                if column in present[table]:
                    where = f" WHERE {column} IN {chosen}"
                    break
        con.execute(
            f"CREATE TABLE {quote(schema)}.{quote(name)} AS SELECT {wanted} "  # noqa: S608 - quoted
            f"FROM {SOURCE}.{quote(schema)}.{quote(name)}{where}"
        )
