"""What the workbench tells of reviews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.reviews.checklist import Checklist, Item
from engine.reviews.outcome import ItemOutcome, Outcome
from engine.reviews.problem import Problem
from engine.reviews.state import Assignment
from engine.reviews.verdicts import Decision, Verdict
from engine.reviews.worklist import Wait


@dataclass(frozen=True)
class Member:
    """Somebody whom the ledger knows."""

    author: str
    """SHA-256 of the public key."""
    name: str
    """As given, made harmless."""
    role: str
    """As given, made harmless."""
    since: str
    """ISO 8601, by the own clock."""
    groups: str
    """Fingerprint as hex digits in groups."""
    words: str
    """Fingerprint as words."""
    me: bool
    """This workstation's person?"""
    compared: str | None
    """When the fingerprint was compared here (ISO 8601)."""


@dataclass(frozen=True)
class TaskStanding:
    """How far the review of one task is."""

    task: str
    """Its name."""
    family: str
    """Its family."""
    outcome: Outcome | None
    """Where each item stands; None where nobody was asked."""
    signed: tuple[tuple[str, bool], ...]
    """Reviewers of the newest round, by name: has each signed?"""
    adjudicator: str
    """By name; empty where nobody was asked."""


@dataclass(frozen=True)
class ReviewOverview:
    """Everything at a glance."""

    me: Member | None
    """This workstation's person."""
    no_keyring: str
    """Why nobody can sign here, with what to do; empty where all is well."""
    people: tuple[Member, ...]
    """Everybody, by name."""
    waits: tuple[Wait, ...]
    """For this workstation's person, longest first."""
    tasks: tuple[TaskStanding, ...]
    """Every task of the content here, by family and name."""
    problems: tuple[Problem, ...]
    """Of the ledger, and of tasks whose texts cannot be read."""
    unseen: int
    """Last entries of this person that no colleague's entry shows to have arrived."""


@dataclass(frozen=True)
class ChangedText:
    """A text that is not what was signed."""

    name: str
    """Its name."""
    what: Literal["changed", "added", "removed"]
    """Since it was signed."""
    before: str | None
    """As it was signed; None where it was not there, or is not on this machine."""
    after: str | None
    """As it is; None where it is gone."""


@dataclass(frozen=True)
class Sheet:
    """A review that waits to be written."""

    assignment: Assignment
    """The round."""
    task: str
    """Its name."""
    items: tuple[Item, ...]
    """What is asked."""
    texts: Mapping[str, str]
    """The texts as they are, normalised, by name; what will be signed."""
    hashes: Mapping[str, str]
    """Hash of each."""
    draft: dict[str, Any]
    """Answers so far: the data of a form."""
    again: tuple[str, ...]
    """Items whose answer was taken back since a text that it rests on was changed."""
    changed: tuple[ChangedText, ...]
    """Since the round that this one follows was signed."""
    sources: tuple[str, ...]
    """Sources here that have a reference of the task: one may be bound."""

    @property
    def checklist(self) -> Checklist:
        """What the questions are from."""
        return self.assignment.checklist


@dataclass(frozen=True)
class Voice:
    """What one reviewer said about one item."""

    by: str
    """Name, or "Reviewer 1"."""
    mine: bool
    """This workstation's person? False where names are not shown."""
    verdict: Verdict
    """The first verdict."""
    rows: tuple[str, ...] | None
    """Addresses of rows; None where they are not on this machine."""


@dataclass(frozen=True)
class ItemPage:
    """One item of a task's review, as far as it may be read."""

    outcome: ItemOutcome
    """Where it stands."""
    voices: tuple[Voice, ...]
    """Empty while anything is under seal."""
    decision: Decision | None
    """The adjudicator's."""
    differs: tuple[str, ...]
    """Names of those whose first verdict was not the settled one."""


@dataclass(frozen=True)
class ReviewPage:
    """One task's review."""

    task: str
    """Its name."""
    description: str
    """What it asks, in a line; may be empty."""
    standing: TaskStanding
    """How far it is."""
    sheet: Sheet | None
    """What waits to be written here."""
    signed: str | None
    """When this workstation's person signed the newest round (ISO 8601)."""
    revealed: bool
    """Can the newest round's verdicts be read?"""
    to_decide: bool
    """Does it wait for this workstation's person as adjudicator?"""
    items: tuple[ItemPage, ...]
    """In the checklist's order; empty where nobody was asked."""
    changed: tuple[ChangedText, ...]
    """Texts that make something stale, as they were signed and as they are."""
    texts: Mapping[str, str]
    """The texts as they are."""


@dataclass(frozen=True)
class Docket:
    """An adjudication that waits to be written."""

    assignment: Assignment
    """The round."""
    task: str
    """Its name."""
    items: tuple[tuple[Item, tuple[Voice, ...]], ...]
    """Open items, with what was said about each."""
    texts: Mapping[str, str]
    """The texts as they are, normalised, by name."""
    draft: dict[str, Any]
    """Decisions so far: the data of a form, and ``named``."""
    unlike: tuple[str, ...]
    """Texts that are not what the reviewers signed, in words: nothing can be signed then."""


@dataclass(frozen=True)
class Signed:
    """What became of a signature."""

    entry: str
    """Hash of the entry."""
    revealed: int
    """Keys that were given at once, since every reviewer has signed."""
