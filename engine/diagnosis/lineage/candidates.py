"""The rows of a cell's items that did not enter it, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta

import duckdb

from engine.diagnosis.lineage.events import SHAPES, Part
from engine.diagnosis.lineage.leaves import Leaf
from engine.diagnosis.lineage.model import EPOCH, Window
from engine.diagnosis.lineage.scope import ROW

ELSEWHERE = (
    "took no part: it is of another time, specimen or episode, makes no value, or another row goes "
    "before it"
)
NOT_READ = "a similar item of the same stay that the reference does not read"
_MOST = 20_000
_ALIKE = 0.93


def candidates(
    con: duckdb.DuckDBPyConnection,
    leaves: Mapping[Leaf, Sequence[Window]],
    unmet: Mapping[Leaf, Mapping[int, str]],
    *,
    decisive: Set[int],
    entered: Set[int],
) -> dict[int, Part]:
    """The part of every row that the leaves are about.

    Args:
        con: holds the base tables with addresses.
        leaves: the ways from the cell to tables, each with its spans of time.
        unmet: by leaf, conditions further up that rows do not meet (`unmet_on_the_way`).
        decisive: addresses that decide the value.
        entered: addresses that took part.

    Returns:
        Address to part; at most 20,000.
    """
    parts: dict[int, Part] = {}
    for leaf, windows in leaves.items():
        for address, time, failed in _rows(con, leaf):
            if len(parts) >= _MOST:
                return parts
            column = f"{leaf.query}.{leaf.column}"
            known = parts.get(address)
            columns = tuple(dict.fromkeys((*(known.columns if known else ()), column)))
            if address in decisive:
                parts[address] = Part("decisive", "", columns)
            elif address in entered:
                parts[address] = Part("entered", "", columns)
            else:
                why = failed or _why(time, windows) or unmet[leaf].get(address, ELSEWHERE)
                part = Part("rejected" if failed else "outside", why, columns)
                if known is not None and _says_more(known, part):
                    part = Part(known.role, known.rule, columns)
                parts[address] = part
    return parts


def _says_more(one: Part, other: Part) -> bool:
    """Of two ways that a row did not go: the reason of the first tells more."""
    return _tells(one) >= _tells(other)


def _tells(part: Part) -> int:
    """A rule that refuses a value says less than a window, and more than that nothing is known."""
    if part.role == "rejected":
        return 1
    return 0 if part.rule == ELSEWHERE else 2


def similar(
    con: duckdb.DuckDBPyConnection,
    leaves: Mapping[Leaf, Sequence[Window]],
    known: Set[int],
    read: Set[int],
) -> dict[int, Part]:
    """Rows of items whose labels are much like those that are read, and which nothing reads.

    Args:
        con: holds the base tables with addresses, and their dictionaries.
        leaves: as in `candidates`.
        known: addresses that have a part already.
        read: items that the reference names anywhere.
    """
    others = ", ".join(map(str, sorted(read))) or "NULL"
    parts: dict[int, Part] = {}
    for leaf, windows in leaves.items():
        dictionary = _DICTIONARIES.get(leaf.table)
        items = [c for c in leaf.identity if "itemid" in c]
        if dictionary is None or not items:
            continue
        time = f"coalesce({', '.join(SHAPES[leaf.table].start)})"
        rows = con.execute(
            "WITH mine AS (SELECT itemid, lower(label) AS label "  # noqa: S608 - our own names
            f"FROM {dictionary} WHERE {' AND '.join(f'({c})' for c in items)}), "
            "alike AS (SELECT DISTINCT other.itemid "
            f"FROM {dictionary} AS other, mine WHERE other.itemid NOT IN ({others}) "
            f"AND jaro_winkler_similarity(lower(other.label), mine.label) > {_ALIKE}) "
            f"SELECT {ROW}[1], {time} FROM {leaf.table} "
            "WHERE itemid IN (SELECT itemid FROM alike)"
        ).fetchall()
        for address, at in rows:
            if int(address) not in known and not _why(_time(at), windows):
                parts[int(address)] = Part("missed", NOT_READ, (f"{leaf.query}.{leaf.column}",))
    return parts


_DICTIONARIES = {
    "mimiciv_icu.chartevents": "mimiciv_icu.d_items",
    "mimiciv_icu.inputevents": "mimiciv_icu.d_items",
    "mimiciv_icu.outputevents": "mimiciv_icu.d_items",
    "mimiciv_icu.procedureevents": "mimiciv_icu.d_items",
    "mimiciv_hosp.labevents": "mimiciv_hosp.d_labitems",
}


def _rows(con: duckdb.DuckDBPyConnection, leaf: Leaf) -> list[tuple[int, datetime | None, str]]:
    """Address, time and the first rule that a row fails ("" if none)."""
    shape = SHAPES[leaf.table]
    time = f"coalesce({', '.join(shape.start)})" if shape.start else "NULL"
    tests = " ".join(
        f"WHEN ({guard}) AND NOT coalesce(({rule}), FALSE) THEN {number}"
        for number, (guard, rule) in enumerate(leaf.rules)
    )
    failed = f"CASE {tests} ELSE -1 END" if tests else "-1"
    where = " AND ".join(f"({c})" for c in leaf.identity) or "TRUE"
    rows = con.execute(
        f"SELECT {ROW}[1], {time}, {failed} FROM {leaf.table} WHERE {where}"  # noqa: S608
    ).fetchall()
    return [
        (int(address), _time(at), leaf.rules[number][1] if number >= 0 else "")
        for address, at, number in rows
    ]


def _time(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, (int, float)):
        return EPOCH + timedelta(minutes=float(value))
    return None


def _why(time: datetime | None, windows: Sequence[Window]) -> str:
    """The window that the row is not in, if it is not in one of them; else empty."""
    if time is None:
        return ""
    for window in windows:
        if window.start is not None and time < window.start:
            return f"before the window: {window.rule}"
        if window.end is not None and time > window.end:
            return f"after the window: {window.rule}"
        bounds = zip((window.start, window.end), window.without, strict=True)
        if any(strict and time == at for at, strict in bounds):
            return f"on the window's bound, which does not count: {window.rule}"
    return ""
