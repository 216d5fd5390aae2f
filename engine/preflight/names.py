"""Names that give a database's structure away."""

from __future__ import annotations

import functools
import re

from engine.catalogue.task import Task
from engine.concepts import concept_graph
from engine.concepts.query import DERIVED
from engine.sources import KINDS, facts

_PLAIN = frozenset(
    {
        # Tables whose names are words that a clinical text needs.
        "admissions", "allergy", "caregiver", "diagnosis", "hospital", "lab", "medication", "note",
        "patient", "patients", "pharmacy", "prescriptions", "provider", "services", "transfers",
        "treatment",
    }
)  # fmt: skip
SCHEMA = re.compile(rf"\b(?:{DERIVED}|mimiciv_\w+|mimic_(?:hosp|icu|derived)|eicu_crd)\b")
SQL = re.compile(
    r"```\s*(?i:sql)\b|\bSELECT\b[^.;|]{1,400}?\bFROM\b|\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW)\b"
    r"|\b(?:LEFT|INNER|RIGHT|CROSS)\s+JOIN\b|\b(?:GROUP|ORDER|PARTITION)\s+BY\b|\bWITH\s+\w+\s+AS\s*\("
    r"|\bselect\s[^.;|]{1,200}?\sfrom\s+\w+[._]\w+|\bROW_NUMBER\s*\(|\bCOALESCE\s*\(",
    re.DOTALL,
)
LONG_NUMBER = re.compile(r"\d{5,}")
REFERENCE_CODE = re.compile(
    r"\b(?:mimic[-_]code|eicu[-_]code|MIT-LCP|\w+\.sql|references?/\w+|ground[_ ]truth)\b",
    re.IGNORECASE,
)


@functools.cache
def base_tables() -> frozenset[str]:
    """Names of source tables that are no words of the language."""
    tables = {t.name for kind in KINDS for t in facts(kind).tables.values()}
    return frozenset(tables - _PLAIN)


def derived_tables(task: Task) -> frozenset[str]:
    """Names of derived tables that are no words: with an underscore, and no column of the task."""
    columns = {*task.evaluation.required, *task.evaluation.scored_columns}
    return frozenset(n for n in concept_graph().concepts if "_" in n and n not in columns)


def dropped_tables(task: Task) -> frozenset[str]:
    """Names of tables that the task takes away, without their schema."""
    return frozenset(name.rpartition(".")[2] for name in task.drop_tables)


def words(names: frozenset[str]) -> re.Pattern[str]:
    """Finds any of the names as a whole word."""
    longest = sorted(names, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b" if longest else r"(?!)")
