"""Reads everything that the timeline shows of one cell. Runs in jobs; knows no widget."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from engine.agents.traces import TraceStep
from engine.base.duck import connect, in_words, quote, quote_text
from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from engine.catalogue.task import Task, find_task
from engine.diagnosis.lineage import CellLineage, Value
from engine.references import open_reference
from engine.runs.folder import scripts_left
from m4review.app.links import Place
from m4review.diff.layout import CELL_WORDS, CellStatus, KeyStatus

if TYPE_CHECKING:
    from engine.workbench import Workbench

_DEPARTS = (CellStatus.DIFFERENT, CellStatus.REFERENCE_NULL, CellStatus.AGENT_NULL)
MOST_STATEMENTS = 40
"""Statements of the agent that are shown; how many are left out is said."""


@dataclass(frozen=True)
class Statement:
    """One SQL statement of the agent that names the column."""

    step: int
    """Step of the run's trace, from 1; 0 for a file that the agent left."""
    sql: str
    """As the agent wrote it."""
    file: str = ""
    """Name of the file that it stands in, where it is no step."""


@dataclass(frozen=True)
class Departure:
    """Another scored column of the same row in which the two differ."""

    column: str
    """Its name."""
    reference: Value
    """The reference's value."""
    agent: Value
    """The agent's value."""


@dataclass(frozen=True)
class AgentSide:
    """What a run says of the cell."""

    value: Value
    """The agent's value."""
    status: CellStatus
    """How it stands to the reference's."""
    key_status: KeyStatus
    """How the row's key stands."""
    statements: tuple[Statement, ...]
    """SQL that names the column, in the order of the trace."""
    left_out: int
    """Statements that are not shown because there are too many."""
    others: tuple[Departure, ...] = ()
    """The other columns of the row in which the two differ: a total is wrong by its parts."""

    @property
    def words(self) -> str:
        """The status in words."""
        if self.key_status is KeyStatus.MISSING:
            return "the agent's table lacks this row"
        if self.key_status is KeyStatus.DUPLICATE:
            return "a further row of this key: only the first one counts"
        return CELL_WORDS[self.status]


@dataclass(frozen=True)
class CellPage:
    """Everything about one cell."""

    place: Place
    """Its address."""
    task: Task
    """The task."""
    source: str
    """The source of the reference."""
    columns: tuple[str, ...]
    """Columns that one can look at."""
    lineage: CellLineage
    """Where the reference's value comes from."""
    agent: AgentSide | None
    """None where no run was asked about."""

    @property
    def offsets(self) -> bool:
        """Are times offsets from the unit admission (eICU), not clock times?"""
        return self.task.source_kind == "eicu"


@dataclass(frozen=True)
class CellForm:
    """What a cell of a task's reference can be chosen from."""

    task: Task
    """The task."""
    sources: tuple[str, ...]
    """Sources that it can be asked of."""
    keys: tuple[str, ...]
    """Key columns."""
    columns: tuple[str, ...]
    """Scored columns."""


def load_form(workbench: Workbench, name: str) -> CellForm:
    """What can be asked of a task.

    Raises:
        UsageError: there is no such task.
    """
    task = find_task(name)
    sources = tuple(s.name for s in workbench.sources_for(task) if s.state == "ready")
    ready = [s for s in sources if workbench.reference_state(task, s).state == "ready"]
    evaluation = task.evaluation
    order = (*ready, *(s for s in sources if s not in ready))
    return CellForm(task, order, evaluation.key_columns, evaluation.scored_columns)


def some_key(workbench: Workbench, task: Task, source: str) -> tuple[tuple[str, str], ...]:
    """The key of a row of the reference, by chance.

    Raises:
        UsageError: the reference has no row.
        BadInput: the reference is not there or does not hold.
    """
    names = task.evaluation.key_columns
    shown = ", ".join(f"CAST({quote(name)} AS VARCHAR)" for name in names)
    sql = f"SELECT {shown} FROM t USING SAMPLE 1"  # noqa: S608 - quoted
    rows = _of_reference(workbench, task, source, sql, [])
    if not rows:
        raise UsageError("The reference has no row.")
    return tuple(zip(names, map(str, rows[0]), strict=True))


def load_cell(workbench: Workbench, place: Place, job: Job) -> CellPage:
    """Everything about the cell at an address.

    Raises:
        UsageError: there is no such run, row, column or key.
        Busy, Cancelled, BadInput.
    """
    if place.row is None:
        task = find_task(place.name)
        key = _typed(workbench, task, place)
        lineage = workbench.trace_value(task, place.source, key, place.column, job=job)
        columns = task.evaluation.scored_columns
        return CellPage(place, task, place.source, columns, lineage, None)
    summary = workbench.run_record(place.name).summary
    task = find_task(summary.task)
    diff = workbench.diff_of(place.name, job=job)
    if diff is None:
        raise UsageError(
            "This run has no rows to look at: it left no output, or its reference is gone.",
            todo="The run page says why.",
        )
    key, value, status, key_status, others = _row(diff, place.row, place.column)
    if key_status is KeyStatus.EXTRA:
        raise UsageError(
            "The reference does not have this row, so there is nothing that its value came from.",
            todo="Choose a row that the reference has. Segments and signatures (What went wrong) "
            "tell what extra rows have in common.",
        )
    statements, left_out = _statements(workbench, place.name, place.column)
    agent = AgentSide(value, status, key_status, statements, left_out, others)
    lineage = workbench.trace_value(task, summary.source, key, place.column, job=job)
    columns = task.evaluation.scored_columns
    return CellPage(place, task, summary.source, columns, lineage, agent)


def _typed(workbench: Workbench, task: Task, place: Place) -> dict[str, Value]:
    """The key with the reference's own types."""
    names = task.evaluation.key_columns
    given = dict(place.key)
    if set(given) != set(names):
        raise UsageError(
            f"A row of {task.name} is named by {', '.join(names)}.", todo="Give each of them."
        )
    shown = ", ".join(map(quote, names))
    same = " AND ".join(f"CAST({quote(name)} AS VARCHAR) = ?" for name in names)
    sql = f"SELECT {shown} FROM t WHERE {same} LIMIT 1"  # noqa: S608 - quoted
    rows = _of_reference(workbench, task, place.source, sql, [given[name] for name in names])
    if not rows:
        raise UsageError(
            "The reference has no row with this key.",
            todo="Check the values; times are written like 2150-03-01 14:00:00.",
        )
    return dict(zip(names, rows[0], strict=True))


def _of_reference(
    workbench: Workbench, task: Task, source: str, sql: str, values: Sequence[str]
) -> list[tuple[Any, ...]]:
    path = open_reference(workbench.home, source, task.target)
    con = connect(scratch=workbench.home.scratch)
    try:
        source_sql = f"SELECT * FROM read_parquet({quote_text(str(path))})"  # noqa: S608 - quoted
        con.execute(f"CREATE VIEW t AS {source_sql}")
        return con.execute(sql, list(values)).fetchall()
    except duckdb.Error as error:
        raise in_words(error, "reading the reference") from error
    finally:
        con.close()


@contextlib.contextmanager
def _opened(diff: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    # Attached, since the diff screen may hold the same file open with other settings.
    con = connect()
    try:
        con.execute(f"ATTACH {quote_text(str(diff))} AS d (READ_ONLY)")
        yield con
    except duckdb.Error as error:
        raise in_words(error, "reading the diff") from error
    finally:
        con.close()


def _row(
    diff: Path, row: int, column: str
) -> tuple[dict[str, Value], Value, CellStatus, KeyStatus, tuple[Departure, ...]]:
    """Key, agent's value and the two statuses of a row, and what else differs in it."""
    with _opened(diff) as con:
        names = con.execute(
            "SELECT role, position, name FROM d.diff_columns ORDER BY position"
        ).fetchall()
        keys = [(at, name) for role, at, name in names if role == "key"]
        at = next((at for role, at, name in names if (role, name) == ("scored", column)), None)
        if at is None:
            raise UsageError(f"The run's diff has no scored column {column}.")
        shown = ", ".join([*(f"k{i}" for i, _ in keys), f"a{at}", f"s{at}", "key_status"])
        found = con.execute(f"SELECT {shown} FROM d.diff WHERE row = ?", [row]).fetchone()  # noqa: S608
        others = [(i, name) for role, i, name in names if role == "scored" and i != at]
        each = ", ".join(f"r{i}, a{i}, s{i}" for i, _ in others) or "NULL"
        beside = con.execute(f"SELECT {each} FROM d.diff WHERE row = ?", [row]).fetchone()  # noqa: S608
    if found is None or beside is None:
        raise UsageError(f"The diff has no row {row + 1:,}.")
    key = dict(zip((name for _, name in keys), found, strict=False))
    departing = tuple(
        Departure(name, *beside[3 * n : 3 * n + 2])
        for n, (_, name) in enumerate(others)
        if CellStatus(beside[3 * n + 2]) in _DEPARTS
    )
    return key, found[-3], CellStatus(found[-2]), KeyStatus(found[-1]), departing


def _statements(
    workbench: Workbench, run_id: str, column: str
) -> tuple[tuple[Statement, ...], int]:
    try:
        found = naming(workbench.run_trace(run_id).steps, column)
    except M4Error:
        found = ()
    if not found:
        found = _in_files(workbench.run_record(run_id).folder, column)
    return found[:MOST_STATEMENTS], max(0, len(found) - MOST_STATEMENTS)


def _in_files(folder: Path, column: str) -> tuple[Statement, ...]:
    """The scripts that a run kept and that name the column: an agent without steps is one."""
    return tuple(
        Statement(0, text, name)
        for name, text in scripts_left(folder)
        if column.casefold() in text.casefold()
    )


def naming(steps: Sequence[TraceStep], column: str) -> tuple[Statement, ...]:
    """SQL statements that name a column, each text once, where it was written last."""
    word = re.compile(rf"(?<![\w]){re.escape(column)}(?![\w])", re.IGNORECASE)
    last = {sql: step.number for step in steps for sql in step.sql if word.search(sql)}
    return tuple(Statement(step, sql) for sql, step in sorted(last.items(), key=lambda p: p[1]))
