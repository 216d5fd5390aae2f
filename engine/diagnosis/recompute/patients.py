"""Whose rows a diff speaks of, and a small part of a source with a few patients in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from engine.base.duck import quote, quote_text

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


def make_owners(con: duckdb.DuckDBPyConnection, kind: str, keys: Sequence[str]) -> bool:
    """A table ``memory.owners (key, patient)`` of the attached source; False without such a key.

    Patients are text, whatever their number's type is in the source.
    """
    found = owner(kind, keys)
    if found is None:
        return False
    name, table = found
    con.execute(
        f"CREATE OR REPLACE TABLE memory.owners AS SELECT DISTINCT {name} AS key, "  # noqa: S608 - our own names
        f"{_PATIENT[kind]}::VARCHAR AS patient FROM {SOURCE}.{table}"
    )
    return True


def copy_part(
    con: duckdb.DuckDBPyConnection,
    kind: str,
    tables: Mapping[str, set[str]],
    patients: Sequence[str] | None,
) -> None:
    """Copy the rows of `patients` (all when None) of the tables that are read.

    Only the columns that are read come along. Tables that know no patient come whole.
    """
    present: dict[str, set[str]] = {}
    for table, column in con.execute(
        "SELECT schema_name || '.' || table_name, column_name FROM duckdb_columns() "
        "WHERE database_name = ?",
        [SOURCE],
    ).fetchall():
        present.setdefault(str(table), set()).add(str(column))
    con.execute("CREATE TABLE patients AS SELECT unnest(?::VARCHAR[]) AS patient", [patients or []])
    # Whole patients come along, whatever key the diff has.
    theirs = "{column}::VARCHAR IN (FROM patients)"
    stays = (
        f"{{column}} IN (SELECT patientunitstayid FROM {SOURCE}.eicu_crd.patient "  # noqa: S608 - our own names
        "WHERE uniquepid::VARCHAR IN (FROM patients))"
    )
    for table, columns in tables.items():
        schema, name = table.split(".")
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(schema)}")
        wanted = ", ".join(quote(c) for c in sorted(columns & present[table]))
        where = ""
        if patients is not None:
            for column, chosen in (
                ("subject_id", theirs),
                ("uniquepid", theirs),
                ("patientunitstayid", stays),
            ):
                if column in present[table]:
                    where = f" WHERE {chosen.format(column=column)}"
                    break
        con.execute(
            f"CREATE TABLE {quote(schema)}.{quote(name)} AS SELECT {wanted} "  # noqa: S608 - quoted
            f"FROM {SOURCE}.{quote(schema)}.{quote(name)}{where}"
        )
