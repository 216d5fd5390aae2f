"""Rows that may have been missed: of items much like those that are read, which nothing reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import duckdb

from engine.diagnosis.lineage.candidates import Spans, time_of, why_not
from engine.diagnosis.lineage.events import SHAPES, Part
from engine.diagnosis.lineage.leaves import Leaf
from engine.diagnosis.lineage.model import Value
from engine.diagnosis.lineage.scope import ROW

NOT_READ = "a similar item of the same {whose} that the reference does not read"
_ALIKE = 0.93
_WHOSE = {"patientunitstayid": "stay", "stay_id": "stay", "hadm_id": "admission"}


@dataclass(frozen=True)
class Read:
    """What a reference reads."""

    items: frozenset[int]
    """Item ids that it names anywhere."""
    texts: Mapping[str, Sequence[str]]
    """By table whose items are texts: conditions (SQL) that choose those that are read."""


def similar(
    con: duckdb.DuckDBPyConnection,
    leaves: Mapping[Leaf, Spans],
    known: Set[int],
    read: Read,
    key: Mapping[str, Value],
) -> dict[int, Part]:
    """The part of rows of similar items of the same stay or admission, in what is read's windows.

    Args:
        con: holds the base tables with addresses, and their dictionaries.
        leaves: what the cell rests on, with the spans of time of every way there.
        known: addresses that have a part already.
        read: what the reference reads for any of its values.
        key: the cell's row, and other identifiers of it.
    """
    parts: dict[int, Part] = {}
    for leaf, spans in leaves.items():
        where = _of_dictionary(leaf, read) or _of_texts(leaf, read)
        if not where:
            continue
        time = f"coalesce({', '.join(SHAPES[leaf.table].start)})"
        names = {str(row[0]) for row in con.execute(f"DESCRIBE {leaf.table}").fetchall()}
        own = next((n for n in _WHOSE if n in names and key.get(n) is not None), "")
        rows = con.execute(
            f"SELECT {ROW}[1], {time} FROM {leaf.table} "  # noqa: S608 - our own names
            f"WHERE {where} AND {f'{own} = ?' if own else 'TRUE'}",
            [key[own]] if own else [],
        ).fetchall()
        rule = NOT_READ.format(whose=_WHOSE.get(own, "patient"))
        for address, at in rows:
            if int(address) not in known and not why_not(time_of(at), spans):
                parts[int(address)] = Part("missed", rule, (f"{leaf.query}.{leaf.column}",))
    return parts


def _of_dictionary(leaf: Leaf, read: Read) -> str:
    """The condition for items whose labels in the dictionary are alike."""
    dictionary = _DICTIONARIES.get(leaf.table)
    items = " AND ".join(f"({c})" for c in leaf.identity if "itemid" in c)
    if dictionary is None or not items:
        return ""
    others = ", ".join(map(str, sorted(read.items))) or "NULL"
    return (
        f"itemid IN (SELECT other.itemid FROM {dictionary} AS other, "  # noqa: S608 - our own names
        f"(SELECT lower(label) AS label FROM {dictionary} WHERE {items}) AS mine "
        f"WHERE other.itemid NOT IN ({others}) "
        f"AND jaro_winkler_similarity(lower(other.label), mine.label) > {_ALIKE})"
    )


def _of_texts(leaf: Leaf, read: Read) -> str:
    """The condition for items that are alike themselves, where no dictionary names them."""
    text = _TEXTS.get(leaf.table)
    if text is None or not leaf.identity:
        return ""
    mine = " AND ".join(f"({c})" for c in leaf.identity)
    known = " OR ".join(f"({c})" for c in read.texts.get(leaf.table, ())) or "FALSE"
    return (
        f"NOT coalesce(({known}), FALSE) AND lower({text}) IN "  # noqa: S608 - our own names
        f"(SELECT other.label FROM (SELECT DISTINCT lower({text}) AS label FROM {leaf.table}) "
        f"AS other, (SELECT DISTINCT lower({text}) AS label FROM {leaf.table} WHERE {mine}) "
        f"AS mine WHERE jaro_winkler_similarity(other.label, mine.label) > {_ALIKE})"
    )


_DICTIONARIES = {
    "mimiciv_icu.chartevents": "mimiciv_icu.d_items",
    "mimiciv_icu.inputevents": "mimiciv_icu.d_items",
    "mimiciv_icu.outputevents": "mimiciv_icu.d_items",
    "mimiciv_icu.procedureevents": "mimiciv_icu.d_items",
    "mimiciv_hosp.labevents": "mimiciv_hosp.d_labitems",
}
_TEXTS = {
    "eicu_crd.nursecharting": (
        "concat_ws(' ', nursingchartcelltypevallabel, nursingchartcelltypevalname)"
    ),
    "eicu_crd.intakeoutput": "split_part(cellpath, '|', -1)",
}
