"""Whose rows a diff speaks of, and a small part of a source with a few patients in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
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


def choose_patients(
    con: duckdb.DuckDBPyConnection, patients: Sequence[str] | None
) -> Callable[[str, Set[str]], str]:
    """A way to say, for a table and its columns, which of its rows are those of `patients`.

    Returns:
        A function from table and columns to an SQL condition; ``true`` where all rows count, as
        in tables that know no patient.
    """
    con.execute("CREATE TABLE patients AS SELECT unnest(?::VARCHAR[]) AS patient", [patients or []])
    # Whole patients come along, whatever key the diff has.
    theirs = "{column}::VARCHAR IN (FROM patients)"
    stays = (
        f"{{column}} IN (SELECT patientunitstayid FROM {SOURCE}.eicu_crd.patient "  # noqa: S608 - our own names
        "WHERE uniquepid::VARCHAR IN (FROM patients))"
    )

    def condition(_table: str, columns: Set[str]) -> str:
        if patients is not None:
            for column, form in (
                ("subject_id", theirs),
                ("uniquepid", theirs),
                ("patientunitstayid", stays),
            ):
                if column in columns:
                    return form.format(column=column)
        return "true"

    return condition


def source_columns(con: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Tables of the attached source (``schema.table``) and their columns."""
    present: dict[str, set[str]] = {}
    for table, column in con.execute(
        "SELECT schema_name || '.' || table_name, column_name FROM duckdb_columns() "
        "WHERE database_name = ?",
        [SOURCE],
    ).fetchall():
        present.setdefault(str(table), set()).add(str(column))
    return present


def copy_part(
    con: duckdb.DuckDBPyConnection,
    tables: Mapping[str, set[str]],
    condition: Callable[[str, Set[str]], str],
    items: Iterable[int],
) -> None:
    """Copy the columns that are read of the rows that `condition` chooses.

    Of tables of events only `items` come along.
    """
    present = source_columns(con)
    listed = ", ".join(str(item) for item in sorted(set(items)))
    for table, columns in tables.items():
        schema, name = table.split(".")
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(schema)}")
        wanted = ", ".join(quote(c) for c in sorted(columns & present[table]))
        where = condition(table, present[table])
        if "itemid" in columns and listed:
            where += f" AND itemid IN ({listed})"
        con.execute(
            f"CREATE TABLE {quote(schema)}.{quote(name)} AS SELECT {wanted} "  # noqa: S608 - quoted
            f"FROM {SOURCE}.{quote(schema)}.{quote(name)} WHERE {where}"
        )
