"""What the workbench tells that no part below has a type for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.runs.published import Unusable
from engine.runs.records import RunSummary


@dataclass(frozen=True)
class ReferenceState:
    """Does a task's reference exist for a source, and does it still hold?"""

    state: Literal["ready", "stale", "absent"]
    """Stale: built from other data or another definition; it is not used."""
    rows: int | None
    """Rows of the reference; None when absent."""
    built_at: str | None
    """ISO 8601 in UTC; None when absent."""
    why: str
    """What is stale or absent, in words; empty when ready."""


@dataclass(frozen=True)
class BackendInfo:
    """One way to isolate an agent, and whether it works here."""

    name: str
    """``docker`` or ``bubblewrap``."""
    works: bool
    """Can runs be started with it on this machine?"""
    publishable: bool
    """May figures of its runs be published?"""
    detail: str
    """Version, or what is missing."""
    todo: str | None
    """The way to get it, where it does not work."""


@dataclass(frozen=True)
class SqlPart:
    """One query of those that a reference is made by."""

    title: str
    """What it makes: ``reference ventilation``, or a derived table's ``schema.table``."""
    purpose: str
    """One sentence."""
    deviations: str
    """Where it departs from the public code, or "none"."""
    text: str
    """The whole file, header included."""


@dataclass(frozen=True)
class ImportReport:
    """What became of the run folders of an import."""

    imported: tuple[RunSummary, ...]
    """Runs that are new in the list."""
    already: tuple[str, ...]
    """Names of runs that were there, the same."""
    problems: tuple[Unusable, ...]
    """Run folders that were not taken, and why."""
    not_scored: tuple[Unusable, ...]
    """Runs that were taken but could not be scored again, and why."""
