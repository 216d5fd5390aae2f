"""From one cell of a reference to the source rows behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import duckdb

from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.concepts.graph import concept_graph
from engine.concepts.query import Query
from engine.diagnosis.lineage.annotate import Mode
from engine.diagnosis.lineage.blocks import blocks_of
from engine.diagnosis.lineage.candidates import ELSEWHERE, Looked, candidates
from engine.diagnosis.lineage.events import Part, events
from engine.diagnosis.lineage.extract import Extract, extract
from engine.diagnosis.lineage.knockout import KEEPS_OUT, Trials
from engine.diagnosis.lineage.leaves import FRAME, leaves
from engine.diagnosis.lineage.lookups import PERSON
from engine.diagnosis.lineage.lost import lost
from engine.diagnosis.lineage.model import EPOCH, CellLineage, Value, Window
from engine.diagnosis.lineage.scope import NOTHING, ROW, Relation, hidden, joined
from engine.diagnosis.lineage.similar import Read, similar
from engine.diagnosis.lineage.steps import steps
from engine.diagnosis.lineage.unmet import of_another, unmet_on_the_way
from engine.diagnosis.lineage.ways import Ways
from engine.diagnosis.lineage.windows import pictured, windows
from engine.references import find_target
from engine.references.targets import kind_of
from engine.sources import SourceInfo, find_source, open_source


def trace_cell(
    home: Home, source: str, target: str, key: Mapping[str, Value], column: str, *, job: Job
) -> CellLineage:
    """Everything about where a value of a reference comes from.

    Args:
        home: where the source is.
        source: its name.
        target: key of the target, e.g. ``sofa-24h``.
        key: the row: key column to value.
        column: a column of the target.
        job: progress and cancel.

    Raises:
        UsageError: unknown source, target, column or row, or a source of the other kind.
        Busy, Cancelled, BadInput.
    """
    info, query = find_source(home, source), find_target(target)
    if kind_of(query) != info.kind:
        raise UsageError(f"The target {target} is not made from {info.kind} data.")
    key = {name: key[name] for name in query.key if name in key}
    if set(key) != set(query.key):
        raise UsageError("The row is not named whole.", todo=f"Its key is {', '.join(query.key)}.")
    job.progress("lineage", 0, 4, "Reading the patient's rows")
    patient = person(info, key)
    part = extract(info, query, (patient,), job=job)
    others = part.of_others(patient)
    cell = _Cell(home, part, key, column, job)
    with part.database(home) as con:
        job.progress("lineage", 1, 4, "Following the value through the concepts")
        decisive, value = cell.addresses(con, "decisive")
        entered, _ = cell.addresses(con, "all")
        job.progress("lineage", 2, 4, "Looking at the rows that did not enter")
        block = blocks_of(query, part.columns)[0]
        trails = leaves(block, column, part.columns)
        whose = _identifiers(con, key)
        spans = {leaf: [windows(con, t, whose) for t in each] for leaf, each in trails.items()}
        ways = Ways(con, part, job)
        unmet = unmet_on_the_way(ways, trails, whose)
        looked = candidates(con, spans, unmet, admission=whose.get("hadm_id"), others=others)
        beside = cell.beside(con)
        job.progress("lineage", 3, 4, "Computing it again from the rows found")
        before = set(entered)
        foreign = set[int]().union(*(of_another(ways, t, whose) for t in part.recorded)) - others
        decisive, entered, verified = cell.fewest(
            decisive, entered, looked, value, others=others, foreign=foreign
        )
        parts = looked.placed(decisive, entered, beside)
        unknown = frozenset(a for a, p in parts.items() if p.rule == ELSEWHERE)
        for address, rule in lost(ways, block, column, part.columns, key, rows=unknown).items():
            parts[address] = replace(parts[address], rule=rule)
        parts |= {address: Part("decisive") for address in decisive - set(parts)}
        parts |= {address: Part("entered") for address in entered - before - set(parts)}
        shown = {a for a, p in parts.items() if p.role in ("decisive", "entered")}
        trials = Trials(home, part, others, key, column, value, job)
        for address in trials.needed(set(part.addresses()) - shown - others):
            told = parts.get(address, Part("outside"))
            rule = f"{KEEPS_OUT}: itself {told.rule}" if told.rule else KEEPS_OUT
            parts[address] = replace(told, role="entered", rule=rule)
        parts |= similar(con, spans, set(parts), _read(query, part), whose)
        lineage = CellLineage(
            target=target,
            key=key,
            column=column,
            value=value,
            stay=_stay(con, part, key),
            windows=_in_order(
                window
                for each in trails.values()
                for trail in each
                for window in pictured(con, trail, whose)
            ),
            steps=steps(con, block, column, key, part.columns, job=job),
            events=events(con, part, parts, others),
            verified=verified,
            notes=() if verified else (_NOT_VERIFIED,),
        )
    job.progress("lineage", 4, 4, "Done")
    return lineage


def _in_order(windows: Iterable[Window]) -> tuple[Window, ...]:
    """Each once, by start, end and rule: the same order each time."""
    return tuple(
        sorted(
            set(windows),
            key=lambda w: (w.start or datetime.min, w.end or datetime.max, w.rule, w.without),  # noqa: DTZ901
        )
    )


@dataclass(frozen=True)
class _Cell:
    home: Home
    part: Extract
    key: Mapping[str, Value]
    column: str
    job: Job

    def addresses(self, con: duckdb.DuckDBPyConnection, mode: Mode) -> tuple[set[int], Value]:
        """The cell's rows and its value; leaves the annotated concepts in the database."""
        relation = self.part.build(con, mode=mode, job=self.job)
        if self.column not in relation.columns:
            raise UsageError(
                f"The target has no column {self.column}.",
                todo=f"It has {', '.join(relation.columns)}.",
            )
        what = f"{self.column}, {used(relation, self.part.target, self.column)}"
        rows = of_row(con, self.key, what)
        if not rows:
            raise UsageError("The reference has no such row.", todo="Check the row's key.")
        return set(rows[0][1]), rows[0][0]

    def beside(self, con: duckdb.DuckDBPyConnection) -> set[int]:
        """What the column's other rows rest on; the database holds the target with all rows."""
        columns = [str(row[0]) for row in con.execute("DESCRIBE main.target").fetchall()]
        lists = [name for name in (hidden(self.column), ROW) if name in columns][:1]
        if not lists:
            return set()
        where = " AND ".join(f"{name} IS NOT DISTINCT FROM ?" for name in self.key)
        rows = con.execute(
            f"SELECT DISTINCT unnest({lists[0]}) FROM main.target "  # noqa: S608 - our own names
            f"WHERE NOT ({where})",
            list(self.key.values()),
        ).fetchall()
        return {int(address) for (address,) in rows}

    def fewest(
        self,
        decisive: set[int],
        entered: set[int],
        looked: Looked,
        value: Value,
        *,
        others: Set[int],
        foreign: Set[int],
    ) -> tuple[set[int], set[int], bool]:
        """The fewest rows, of some choices, that give the value again.

        A specimen's or a time's other measurements stand only for its being there: mostly the
        cell's own items say that too. So do rows that something on every way refuses: they only
        show that a code or a score is there at all, and rows of other patients (`others`), stays or
        admissions (`foreign`). Where a row that is left out would change its neighbours (the
        culture that an earlier antibiotic belongs to), the patient's other rows of that table have
        to be there as well: then they count as entered.

        Returns:
            Decisive rows, entered rows, and whether they give the value.
        """
        frame = {a for a in decisive if self.part.unpack(a)[0] in FRAME}
        core = (decisive & looked.free) | frame
        witnesses = {a for a in core - frame if _only_says_when(looked.parts[a])}
        doubtful = decisive - core | witnesses | decisive & (foreign | others)
        own = decisive - others
        for enough in (core, own - foreign, own, decisive):
            if self.again(enough) == [value]:
                # What is of one item lies together, to be left out together.
                order = sorted(doubtful & enough, key=lambda a: (looked.columns_of(a), a))
                kept = self._without(enough, order, value)
                return kept, entered | (decisive & looked.free) - kept, True
        wider = decisive | entered
        by_table: dict[str, set[int]] = {}
        for address in self.part.addresses():
            by_table.setdefault(self.part.unpack(address)[0], set()).add(address)
        for more in (set[int](), *sorted(by_table.values(), key=len)):
            wider |= more
            if self.again(wider) == [value]:
                return decisive, wider - decisive, True
        return decisive, entered, False

    def _without(self, enough: set[int], doubtful: list[int], value: Value) -> set[int]:
        """`enough` without what the value does not need of the doubtful, tried by halves."""
        waiting = [doubtful] if doubtful else []
        for _ in range(_TRIED):
            if not waiting:
                break
            part = waiting.pop(0)
            if self.again(enough.difference(part)) == [value]:
                enough = enough.difference(part)
            elif len(part) > 1:
                middle = len(part) // 2
                waiting += [part[:middle], part[middle:]]
        return enough

    def again(self, addresses: Iterable[int]) -> list[Value]:
        """The cell by the plain SQL from these rows alone; empty when its row is not there."""
        with self.part.database(self.home, only=addresses) as con:
            self.part.build(con, mode=None, job=self.job)
            return [row[0] for row in of_row(con, self.key, self.column)]


def _only_says_when(part: Part) -> bool:
    """Did the row go into times and identifiers alone?"""
    names = [column.rpartition(".")[2] for column in part.columns]
    return all(name in PERSON or "time" in name for name in names)


_TRIED = 16
"""Times that the value is computed again without some of the doubtful rows."""
_NOT_VERIFIED = (
    "Computed again from the rows shown as decisive, the value comes out different: a row that is "
    "not shown takes part."
)


def used(relation: Relation, query: Query, column: str) -> str:
    """SQL for the list of a cell's rows, over the target's annotated table."""
    parts = [name for name in (column, *query.key) if name in relation.own]
    lists = [hidden(name) for name in parts]
    if column not in relation.own and relation.row:
        lists.append(ROW)
    return joined(lists) if lists else NOTHING


def person(info: SourceInfo, key: Mapping[str, Value]) -> int:
    """The patient that a row is about: ``subject_id``, in eICU the unit stay.

    Raises:
        UsageError: the source does not have that row's patient.
    """
    for name in ("patientunitstayid", "subject_id"):
        if name in key:
            return int(str(key[name]))
    table, name = next(
        (table, name)
        for name, table in (
            ("stay_id", "mimiciv_icu.icustays"),
            ("hadm_id", "mimiciv_hosp.admissions"),
        )
        if name in key
    )
    con = open_source(info)
    try:
        row = con.execute(
            f"SELECT subject_id FROM {table} WHERE {name} = ?",  # noqa: S608 - our own names
            [key[name]],
        ).fetchone()
    finally:
        con.close()
    if row is None:
        raise UsageError("The source has no such stay.", todo="Check the row's key.")
    return int(row[0])


def _read(query: Query, part: Extract) -> Read:
    """What the target reads for any of its columns."""
    queries = concept_graph().order(query.concepts) if query.concepts else ()
    numbers = (re.findall(r"\b\d{5,6}\b", q.sql) for q in (*queries, query))
    texts: dict[str, dict[str, None]] = {}
    if part.info.kind == "eicu":
        block = blocks_of(query, part.columns)[0]
        for column in block.outputs:
            for leaf in leaves(block, column, part.columns):
                items = " AND ".join(f"({c})" for c in leaf.identity) or "TRUE"
                texts.setdefault(leaf.table, {})[items] = None
    return Read(
        frozenset(int(number) for each in numbers for number in each),
        {table: tuple(each) for table, each in texts.items()},
    )


def of_row(
    con: duckdb.DuckDBPyConnection, key: Mapping[str, Value], what: str
) -> list[tuple[Any, ...]]:
    """Columns of the row of `key` in the built target."""
    where = " AND ".join(f"{name} IS NOT DISTINCT FROM ?" for name in key)
    return con.execute(
        f"SELECT {what} FROM main.target WHERE {where}",  # noqa: S608 - our own names
        list(key.values()),
    ).fetchall()


def _stay(
    con: duckdb.DuckDBPyConnection, part: Extract, key: Mapping[str, Value]
) -> tuple[datetime | None, datetime | None]:
    """The unit stay of the row, or its hospital stay where it is of no unit stay."""
    if part.info.kind == "eicu":
        row = con.execute(
            "SELECT unitdischargeoffset FROM eicu_crd.patient WHERE patientunitstayid = ?",
            [key.get("patientunitstayid")],
        ).fetchone()
        minutes = None if row is None else row[0]
        return EPOCH, None if minutes is None else EPOCH + timedelta(minutes=float(minutes))
    for name, table, begin, end in _STAYS:
        if table not in part.tables:
            continue
        at = key.get(name) or _of_target(con, key, name)
        if at is None:
            continue
        row = con.execute(
            f"SELECT {begin}, {end} FROM {table} WHERE {name} = ?",  # noqa: S608 - our own names
            [at],
        ).fetchone()
        if row is not None:
            return row[0], row[1]
    return None, None


_STAYS = (
    ("stay_id", "mimiciv_icu.icustays", "intime", "outtime"),
    ("hadm_id", "mimiciv_hosp.admissions", "admittime", "dischtime"),
)


def _identifiers(con: duckdb.DuckDBPyConnection, key: Mapping[str, Value]) -> dict[str, Value]:
    """The key, and the patient and admission of the row as far as they are known."""
    found = dict(key)
    for name in ("hadm_id", "subject_id"):
        if name not in found and (value := _of_target(con, key, name)) is not None:
            found[name] = value
    if "hadm_id" not in found and key.get("stay_id") is not None:
        row = con.execute(
            "SELECT hadm_id FROM mimiciv_icu.icustays WHERE stay_id = ?", [key["stay_id"]]
        ).fetchone()
        if row is not None and row[0] is not None:
            found["hadm_id"] = row[0]
    return found


def _of_target(con: duckdb.DuckDBPyConnection, key: Mapping[str, Value], name: str) -> Value:
    """An identifier that the row of the target has beside its key."""
    columns = {str(row[0]) for row in con.execute("DESCRIBE main.target").fetchall()}
    rows = of_row(con, key, name) if name in columns else []
    return rows[0][0] if rows else None
