"""A claim of a text, a check of it, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.preflight.finding import Kind as TextKind

ClaimKind = Literal[
    "item", "unit", "range", "band", "window", "missing", "code", "text", "formula", "grain",
    "count",
]  # fmt: skip
"""What a claim is about."""

Verdict = Literal["agrees", "disagrees", "cannot tell", "look"]
"""``look``: nothing is wrong by itself, and a clinician should see it."""

Against = Literal["source", "reference", "instruction", "operational-spec", "skill"]
"""What a claim was held against."""


@dataclass(frozen=True)
class Claim:
    """One thing that a text says, with its place."""

    text: TextKind
    """Which text says it."""
    kind: ClaimKind
    """What it is about."""
    line: int
    """Line of the file, counted from 1."""
    column: int
    """In characters, counted from 1."""
    shown: str
    """As it is written."""
    subject: str = ""
    """What it is said of: the label of an item, the first cell of a row, a heading."""
    facts: Mapping[str, Any] | None = None
    """What was read: numbers, units, sides; plain JSON values."""

    @property
    def id(self) -> str:
        """Unique within the texts of a task, and the same while the text is the same."""
        return f"{self.text}:{self.line}:{self.column}:{self.kind}"


@dataclass(frozen=True)
class Unread:
    """A number that stands in a rule and that nothing understood."""

    line: int
    """Line of the skill, counted from 1."""
    column: int
    """In characters, counted from 1."""
    shown: str
    """The number."""
    around: str
    """The words around it."""


@dataclass(frozen=True)
class Check:
    """One claim held against one thing."""

    name: str
    """Stable, e.g. ``item-label``."""
    verdict: Verdict
    """The outcome."""
    words: str
    """The outcome in a sentence."""
    against: Against
    """What it was held against."""
    text: TextKind
    """The text that the place is in."""
    line: int
    """Line of that text, counted from 1."""
    column: int
    """In characters, counted from 1."""
    claims: tuple[str, ...] = ()
    """Ids of the claims that were checked."""
    query: str = ""
    """The SQL that was asked of the source; empty where only texts were compared."""
    result: Mapping[str, Any] | None = None
    """What was found: plain JSON values; `exporting.py` knows which of them are counts."""
    skill: str = ""
    """Name of the skill, where the text is one."""
    shown: str = ""
    """What stands at that place and was checked, as it is written; empty where a place is all."""


@dataclass(frozen=True)
class Across:
    """A length of time or a threshold, and where it stands."""

    what: Literal["window", "threshold"]
    """Which."""
    shown: str
    """In words, the same for all texts."""
    reference: bool
    """Does the reference's SQL know it?"""
    places: Mapping[str, tuple[int, ...]]
    """Lines by text: ``instruction``, ``operational-spec``, ``skill/NAME``."""


@dataclass(frozen=True)
class Evidence:
    """Everything that was found out about the claims of one task's skills."""

    task: str
    """Name of the task."""
    source: str
    """Name of the source."""
    source_digest: str
    """Digest of the source's tables when it was asked."""
    sql_sha256: str
    """Of the reference's SQL with that of every derived table below it."""
    texts: Mapping[str, str]
    """SHA-256 of each text by its kind (a skill by ``skill/NAME``)."""
    made_at: str
    """When, ISO 8601, UTC."""
    claims: tuple[Claim, ...]
    """What the skills say, by place."""
    unread: tuple[Unread, ...]
    """Numbers of the skills that could not be read as a claim."""
    checks: tuple[Check, ...]
    """The outcomes, by place."""
    across: tuple[Across, ...] = ()
    """Windows and thresholds of all texts beside each other."""

    def of(self, verdict: Verdict) -> tuple[Check, ...]:
        """The checks with one outcome."""
        return tuple(check for check in self.checks if check.verdict == verdict)
