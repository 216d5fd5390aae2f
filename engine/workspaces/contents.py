"""Which tables a task's database holds."""

from __future__ import annotations

from engine.base.errors import UsageError
from engine.catalogue.task import Task
from engine.concepts.query import DERIVED
from engine.concepts.tables import META
from engine.sources import SourceInfo, facts

FORBIDDEN_SCHEMAS = (META,)
"""Never in an agent's database."""


def must_fit(task: Task, source: SourceInfo) -> None:
    """Refuse a source of the other kind.

    Raises:
        UsageError: says which kind the task needs.
    """
    if task.source_kind != source.kind:
        raise UsageError(
            f"The task {task.name} needs a source of kind {task.source_kind}; this one is "
            f"{source.kind}.",
            todo="See `m4bench source list`.",
        )


def needs_derived(task: Task) -> bool:
    """Does the task's database hold derived tables?"""
    return task.source_kind == "mimic-iv" and task.mode == "standard"


def lacks_derived(task: Task, name: str) -> bool:
    """Is the derived table `name` taken from the task's database?"""
    dropped = {table.lower() for table in task.drop_tables}
    return not needs_derived(task) or f"{DERIVED}.{name}" in dropped


def tables_of(task: Task, source: SourceInfo, derived: frozenset[str]) -> tuple[str, ...]:
    """The tables to copy, as ``schema.table``, sorted.

    Args:
        task: its mode and `drop_tables` decide.
        source: what it was imported with.
        derived: names of the derived tables that stand and hold.
    """
    known = {table.full_name for table in facts(source.kind).tables.values()}
    base = {table.name for table in source.tables} & known
    more = {f"{DERIVED}.{name}" for name in derived} if needs_derived(task) else set()
    dropped = {name.lower() for name in task.drop_tables}
    return tuple(sorted(name for name in base | more if name.lower() not in dropped))


def absent_names(task: Task) -> tuple[str, ...]:
    """Names that must not occur anywhere in the file's bytes.

    Only names that no clinical text holds by chance; the catalogue is checked for the others.
    """
    if task.source_kind == "mimic-iv" and task.mode == "raw":
        return (*FORBIDDEN_SCHEMAS, DERIVED)
    return FORBIDDEN_SCHEMAS
