"""Where a task stands: per item the last answer that still holds, and what is left to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.reviews.checklist import Item
from engine.reviews.state import Assignment, State
from engine.reviews.texts import MANIFEST, Change, Now, compare, since

Standing = Literal[
    "waiting", "sealed", "seen", "unequal", "stale", "open", "agree", "disagree",
]  # fmt: skip
"""Of an item: reviewers still write; all signed, keys are missing; somebody was not blind; the
reviewers signed different versions; a text was changed since; the adjudicator has to decide; the
texts stand; they must be changed."""

WORDS: dict[Standing, str] = {
    "waiting": "not every reviewer has signed",
    "sealed": "all have signed; a key is missing",
    "seen": "a reviewer had seen the other's verdicts; does not count",
    "unequal": "the reviewers signed different versions",
    "stale": "a text was changed since it was signed",
    "open": "waits for the adjudicator",
    "agree": "settled: the texts stand",
    "disagree": "settled: the texts must be changed",
}
AGAIN: tuple[Standing, ...] = ("seen", "unequal", "stale", "disagree")
"""What another round asks."""


@dataclass(frozen=True)
class ItemOutcome:
    """Where one item stands."""

    item: Item
    """The question."""
    standing: Standing
    """See `Standing`."""
    assignment: Assignment
    """The round that it was last asked in."""
    changed: tuple[Change, ...] = ()
    """Stale: since the signature. Unequal: between two reviewers."""
    differs: tuple[str, ...] = ()
    """Authors whose first verdict was not the settled one."""


@dataclass(frozen=True)
class Outcome:
    """Where one task stands."""

    task: str
    """Its name."""
    round: Assignment
    """The newest."""
    items: tuple[ItemOutcome, ...]
    """In the checklist's order."""

    @property
    def settled(self) -> bool:
        """Every item was agreed upon, blind, and still holds."""
        return all(each.standing == "agree" for each in self.items)

    @property
    def rounds(self) -> tuple[Assignment, ...]:
        """The rounds that answers come from, newest first."""
        found = {each.assignment.id: each.assignment for each in self.items}
        return tuple(sorted(found.values(), key=lambda a: (a.entry.time, a.id), reverse=True))

    @property
    def people(self) -> tuple[str, ...]:
        """Authors whose signatures it rests on."""
        found: dict[str, None] = {}
        for each in self.rounds:
            found |= dict.fromkeys(each.body.reviewers)
            if each.adjudication is not None:
                found[each.body.adjudicator] = None
        return tuple(found)

    @property
    def changed(self) -> tuple[str, ...]:
        """Texts that make something stale."""
        return tuple(sorted({c.text for i in self.items for c in i.changed}))

    def count(self, standing: Standing) -> int:
        """How many items stand so."""
        return sum(each.standing == standing for each in self.items)


def newest_round(state: State, task: str) -> Assignment | None:
    """The last assignment of a task that no other follows."""
    mine = [a for a in state.assignments.values() if a.body.task == task]
    followed = {a.body.follows for a in mine}
    heads = [a for a in mine if a.id not in followed]
    return heads[-1] if heads else None


def outcome_of(state: State, task: str, now: Now | None) -> Outcome | None:
    """Where a task stands; None when it was never assigned.

    Args:
        state: what the ledger says.
        task: its name.
        now: its texts as they are; None where the task is not on this machine (nothing
            is stale then).
    """
    newest = newest_round(state, task)
    if newest is None:
        return None
    items = []
    for item in newest.checklist.items:
        asked = _asked(state, newest, item.id)
        if asked is not None:
            items.append(_outcome(asked, item, now))
    return Outcome(task, newest, tuple(items))


def _asked(state: State, newest: Assignment, item: str) -> Assignment | None:
    """The newest round of this checklist in which an item was asked."""
    at: Assignment | None = newest
    passed: set[str] = set()
    while at is not None and at.id not in passed:
        if item in at.body.items and at.checklist.sha256 == newest.checklist.sha256:
            return at
        passed.add(at.id)
        at = state.assignments.get(at.body.follows or "")
    return None


def _outcome(asked: Assignment, item: Item, now: Now | None) -> ItemOutcome:
    if not asked.committed:
        return ItemOutcome(item, "waiting", asked)
    if not asked.revealed:
        return ItemOutcome(item, "sealed", asked)
    reviews = list(asked.reviews.values())
    if not all(review.blind for review in reviews):
        return ItemOutcome(item, "seen", asked)
    first = reviews[0].body.texts
    for review in reviews[1:]:
        unlike = [c for c in compare(first, review.body.texts) if item.rests_on(c.text)]
        if unlike:
            return ItemOutcome(item, "unequal", asked, tuple(unlike))
    changed = since(first, now, item) if now is not None else []
    if changed:
        return ItemOutcome(item, "stale", asked, tuple(changed))
    return _answered(asked, item)


def _answered(asked: Assignment, item: Item) -> ItemOutcome:
    """Of a round whose verdicts can be read and hold."""
    answers = asked.answers(item.id)
    if item.id not in asked.open_items:
        return ItemOutcome(item, "agree" if answers[0] == "agree" else "disagree", asked)
    if asked.adjudication is None:
        return ItemOutcome(item, "open", asked)
    unlike = unlike_reviewed(asked, asked.adjudication.texts, item)
    if unlike:
        return ItemOutcome(item, "unequal", asked, tuple(unlike))
    settled = asked.adjudication.decisions[item.id].verdict
    differs = tuple(a for a, said in zip(asked.reviews, answers, strict=True) if said != settled)
    return ItemOutcome(item, settled, asked, (), differs)


def unlike_reviewed(asked: Assignment, now: Mapping[str, str], item: Item) -> list[Change]:
    """What an adjudicator would judge of an item that is not what the reviewers signed.

    The data are the reviewers' business: an adjudicator's signature binds no manifest.
    """
    first = next(iter(asked.reviews.values())).body.texts
    signed = {name: digest for name, digest in first.items() if name != MANIFEST}
    return [c for c in compare(signed, now) if item.rests_on(c.text)]
