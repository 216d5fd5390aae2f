"""What waits for whom, why and since when; and how far the benchmark is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.base.errors import M4Error
from engine.reviews import texts
from engine.reviews.acts import Desk, due
from engine.reviews.identity import my_author
from engine.reviews.outcome import AGAIN, Outcome, outcome_of
from engine.reviews.problem import Problem
from engine.reviews.state import Assignment, State


@dataclass(frozen=True)
class Wait:
    """One thing that waits for this workstation's person."""

    task: str
    """Its name."""
    what: Literal["review", "key", "adjudication", "again"]
    """Review it; give the key of the own review; decide; ask again what no longer holds."""
    why: str
    """In one sentence."""
    since: str
    """ISO 8601."""
    assignment: str
    """The round."""


@dataclass(frozen=True)
class Worklist:
    """Everything at a glance."""

    me: str | None
    """This workstation's author."""
    waits: tuple[Wait, ...]
    """For that person, longest first."""
    outcomes: tuple[Outcome, ...]
    """Of every task that was ever assigned, by name."""
    unassigned: tuple[str, ...]
    """Tasks here that nobody was asked to review."""
    problems: tuple[Problem, ...]
    """Tasks whose texts cannot be read: nothing of theirs is told to be stale."""
    unseen: int
    """Last entries of this person that no colleague's entry here shows to have arrived."""


def worklist(desk: Desk, state: State | None = None) -> Worklist:
    """What waits, from the ledger and the texts as they are."""
    state = state or desk.state()
    me = my_author(desk.place)
    names = sorted({a.body.task for a in state.assignments.values()})
    now, problems = _as_they_are(desk, names)
    outcomes = [o for n in names if (o := outcome_of(state, n, now.get(n))) is not None]
    waits: list[Wait] = []
    if me is not None:
        for assignment in state.assignments.values():
            waits += _mine(state, assignment, me)
        waits += [_again(o) for o in outcomes if o.round.entry.author == me and _settleable(o)]
    known = {name for name in _task_names(desk) if name not in names}
    ordered = sorted(waits, key=lambda each: (each.since, each.task, each.what))
    return Worklist(
        me, tuple(ordered), tuple(outcomes), tuple(sorted(known)), problems, _unseen(state, me)
    )


def _as_they_are(desk: Desk, names: list[str]) -> tuple[dict[str, texts.Now], tuple[Problem, ...]]:
    """The texts of each task; one that cannot be read does not take the others with it."""
    found, problems = {}, []
    here = texts.tasks_in(desk.content)
    for name in names:
        if name not in here:
            continue
        try:
            found[name] = texts.now_of(desk.home, here[name], desk.content)
        except M4Error as error:
            problems.append(Problem("unreadable", f"{name}: {error.text.rstrip('.')}"))
    return found, tuple(problems)


def _unseen(state: State, me: str | None) -> int:
    """What was given to others is in no ledger; what they knew when they signed is."""
    chains = state.chains.chains
    known = (
        entry.seen[me].sequence
        for author, chain in chains.items()
        if me is not None and author != me
        for entry in chain
        if me in entry.seen
    )
    return max(0, len(chains.get(me or "", ())) - max(known, default=0))


def _mine(state: State, assignment: Assignment, me: str) -> list[Wait]:
    body = assignment.body
    task, at = body.task, assignment.entry.at
    if me in body.reviewers and me not in assignment.reviews:
        asked = f"{_questions(len(body.items))}, asked by {state.name(assignment.entry.author)}"
        words = f"Only what no longer holds: {asked}." if body.follows else f"{asked}."
        return [Wait(task, "review", words, at, assignment.id)]
    found = []
    if due(state, assignment, me):
        last = max(review.entry.at for review in assignment.reviews.values())
        words = "Every reviewer has signed; your verdicts can be opened now."
        found.append(Wait(task, "key", words, last, assignment.id))
    if me == body.adjudicator and assignment.revealed and assignment.adjudication is None:
        items = assignment.open_items
        if items:
            last = max(review.entry.at for review in assignment.reviews.values())
            titles = ", ".join(assignment.checklist.item(each).title for each in items)
            words = f"The reviewers differ or doubt in {_questions(len(items))}: {titles}."
            found.append(Wait(task, "adjudication", words, last, assignment.id))
    return found


def _settleable(outcome: Outcome) -> bool:
    """Is nobody at work, and something has to be asked again?"""
    busy = ("waiting", "sealed", "open")
    standings = [each.standing for each in outcome.items]
    return not any(s in busy for s in standings) and any(s in AGAIN for s in standings)


def _again(outcome: Outcome) -> Wait:
    changed = ", ".join(outcome.changed)
    count = sum(each.standing in AGAIN for each in outcome.items)
    holds = "no longer holds" if count == 1 else "no longer hold"
    words = f"{_questions(count)} {holds} or must be changed"
    words += f" (changed since: {changed})." if changed else "."
    return Wait(outcome.task, "again", words, outcome.round.entry.at, outcome.round.id)


def _questions(number: int) -> str:
    return f"{number} question{'' if number == 1 else 's'}"


def _task_names(desk: Desk) -> list[str]:
    return [path.parent.name for path in desk.content.tasks.glob("*/*/task.toml")]
