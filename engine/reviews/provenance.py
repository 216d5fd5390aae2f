"""PROVENANCE.yaml and the tiers of skills, written from the ledger.

What a person wrote stays as it is, comments and quotes included. Reviews of the ledger bear its
hash (`ledger`); those without one are somebody's own and are not touched.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from engine.base.errors import HarnessFault, UsageError, bad_file
from engine.base.files import write_text
from engine.catalogue.skill import load_skill
from engine.catalogue.task import Task
from engine.reviews.acts import Desk
from engine.reviews.identity import Fingerprint, compared, my_author
from engine.reviews.outcome import WORDS, Outcome, Standing, outcome_of
from engine.reviews.state import Assignment, Review, State
from engine.reviews.texts import tasks_in
from engine.reviews.verdicts import ANSWERS

_TIER = re.compile(r"^(tier:[ \t]*)(\S+)([ \t]*)$", re.MULTILINE)


@dataclass(frozen=True)
class Tier:
    """The tier of one skill."""

    skill: str
    """Its name."""
    before: str
    """As its front matter said."""
    after: str
    """As it says now."""
    why: tuple[str, ...]
    """What it lacks of ``validated``; empty when nothing."""


@dataclass(frozen=True)
class Provenance:
    """What was written for one family."""

    family: str
    """Folder of the tasks."""
    path: Path
    """Its PROVENANCE.yaml."""
    reviews: int
    """Entries from the ledger that it holds now."""
    changed: bool
    """Was it written, or as it should be already?"""
    tiers: tuple[Tier, ...]
    """Of the skills of its tasks."""


@dataclass(frozen=True)
class Plan:
    """What would be written for one family."""

    provenance: Provenance
    """As `write_provenance` gives it back; nothing is written yet."""
    before: str
    """PROVENANCE.yaml as it is."""
    after: str
    """As it would be."""
    fronts: dict[Path, str]
    """SKILL.md files whose tier would change, and their whole text then."""


def write_provenance(desk: Desk, family: str) -> Provenance:
    """Bring PROVENANCE.yaml and tiers of one family up to date.

    Raises:
        UsageError: there is no such family.
        BadInput: PROVENANCE.yaml is not valid YAML; names the line.
    """
    plan = plan_provenance(desk, family)
    if plan.provenance.changed:
        write_text(plan.provenance.path, plan.after, "writing PROVENANCE.yaml")
    for path, text in plan.fronts.items():
        write_text(path, text, "writing the tier of a skill")
    return plan.provenance


def plan_provenance(desk: Desk, family: str) -> Plan:
    """What `write_provenance` would write.

    Raises:
        UsageError: there is no such family.
        BadInput: PROVENANCE.yaml is not valid YAML; names the line.
    """
    found = [plan for plan in plans(desk, family) if plan.provenance.family == family]
    tasks = tasks_in(desk.content)
    if not found:
        raise UsageError(
            f"There is no family of tasks called {family}.",
            todo=f"There are {', '.join(sorted({t.family for t in tasks.values()}))}.",
        )
    return found[0]


def plans(desk: Desk, family: str | None = None) -> tuple[Plan, ...]:
    """What would be written for every family (or one), by name.

    Raises:
        BadInput: a PROVENANCE.yaml is not valid YAML; names the line.
    """
    tasks = tasks_in(desk.content)
    state = desk.state()
    now = desk.now({a.body.task for a in state.assignments.values()})
    outcomes = {n: o for n in tasks if (o := outcome_of(state, n, now.get(n))) is not None}
    return tuple(
        _plan(desk, state, each, tasks, outcomes)
        for each in families(desk)
        if family in (None, each)
    )


def _plan(
    desk: Desk, state: State, family: str, tasks: dict[str, Task], outcomes: dict[str, Outcome]
) -> Plan:
    mine = {name: task for name, task in tasks.items() if task.family == family}
    path = next(iter(mine.values())).folder.parent / "PROVENANCE.yaml"
    dated = [
        each
        for assignment in state.assignments.values()
        if assignment.body.task in mine
        for each in _entries(state, assignment, outcomes.get(assignment.body.task))
    ]
    entries = [said for _, said in sorted(dated, key=lambda d: (d[0], d[1]["ledger"]))]
    before, after = _written(path, entries)
    tiers = []
    fronts = {}
    for skill in _skills(desk, mine.values()):
        tier, text = _tier(desk, state, skill, tasks, outcomes)
        tiers.append(tier)
        if text is not None:
            fronts[skill] = text
    done = Provenance(family, path, len(entries), before != after, tuple(tiers))
    return Plan(done, before, after, fronts)


def families(desk: Desk) -> tuple[str, ...]:
    """All families, by name."""
    return tuple(sorted({task.family for task in tasks_in(desk.content).values()}))


def lacking(desk: Desk, state: State, task: str, outcome: Outcome | None) -> list[str]:
    """What a task lacks so that its skills are validated, in words; none when nothing."""
    if outcome is None:
        return [f"{task}: nobody was asked to review it"]
    found = []
    for standing, number in Counter(each.standing for each in outcome.items).items():
        if standing != "agree":
            items = [each.item.id for each in outcome.items if each.standing == standing]
            why = f" ({', '.join(outcome.changed)})" if standing in ("stale", "unequal") else ""
            some = f"{number} items" if number > 1 else "1 item"
            found.append(f"{task}: {some}: {_said(standing)}{why}: {', '.join(items)}")
    known = {*compared(desk.place), my_author(desk.place)}  # nobody reads out to oneself
    mine = state.chains.chains
    strangers = [a for a in outcome.people if a not in known and a in mine]
    if not found and strangers:
        names = ", ".join(state.name(author) for author in strangers)
        found.append(f"{task}: the fingerprints of {names} were not compared on this machine")
    return found


def _said(standing: Standing) -> str:
    return WORDS[standing]


def _entries(
    state: State, assignment: Assignment, outcome: Outcome | None
) -> Iterable[tuple[str, dict[str, Any]]]:
    """What PROVENANCE.yaml says of one round, and when; nothing while anything is sealed."""
    if not assignment.revealed:
        return
    checklist = f"{assignment.checklist.kind} {assignment.checklist.version}"
    scope = f"{assignment.body.task}: checklist {checklist}, {len(assignment.body.items)} items"
    for author, review in assignment.reviews.items():
        yield (
            review.entry.at,
            {
                **_who(state, author, review.entry.at),
                "scope": scope,
                "notes": _notes(review),
                "standing": _standing(assignment, outcome),
                "ledger": review.entry.id,
            },
        )
    done = assignment.adjudication
    if done is not None:
        decided = ", ".join(f"{item} {d.verdict}" for item, d in done.decisions.items())
        yield (
            done.entry.at,
            {
                **_who(state, assignment.body.adjudicator, done.entry.at),
                "scope": f"{assignment.body.task}: adjudication of {len(done.decisions)} items",
                "notes": f"Decided: {decided}.",
                "standing": _standing(assignment, outcome),
                "ledger": done.entry.id,
            },
        )


def _who(state: State, author: str, at: str) -> dict[str, Any]:
    person = state.people.get(author)
    return {
        "by": person.name if person else author[:8],
        "role": person.role if person else "unknown",
        "key": Fingerprint(author).groups,
        "date": date.fromisoformat(at[:10]),
    }


def _notes(review: Review) -> str:
    counted = Counter(v.verdict for v in (review.verdicts or {}).values())
    told = ", ".join(f"{counted[answer]} {answer}" for answer in ANSWERS if counted[answer])
    return told if review.blind else f"{told}; not blind, does not count"


def _standing(assignment: Assignment, outcome: Outcome | None) -> str:
    """How far the round still holds."""
    items = [i for i in outcome.items if i.assignment.id == assignment.id] if outcome else []
    if outcome is None or not items:
        return "replaced by a later round"
    counted = Counter(each.standing for each in items)
    return "; ".join(f"{number} {_said(standing)}" for standing, number in counted.items())


def _skills(desk: Desk, tasks: Iterable[Task]) -> list[Path]:
    return sorted({path for task in tasks for path in desk.content.skill_files(task)})


def _tier(
    desk: Desk,
    state: State,
    path: Path,
    tasks: dict[str, Task],
    outcomes: dict[str, Outcome],
) -> tuple[Tier, str | None]:
    """A skill's tier, and its text with it where it is another than the text says.

    It is validated only when every task that uses it is settled.
    """
    skill = load_skill(path.parent)
    users = [n for n, task in tasks.items() if path in desk.content.skill_files(task)]
    why = [words for n in users for words in lacking(desk, state, n, outcomes.get(n))]
    after = skill.tier
    if not why:
        after = "validated"
    elif skill.tier == "validated":
        after = "community"
    tier = Tier(skill.name, skill.tier, after, tuple(why))
    if after == skill.tier:
        return tier, None
    text = path.read_bytes().decode("utf-8")
    head = len(text) - len(skill.body)
    front = _TIER.sub(lambda m: f"{m.group(1)}{after}{m.group(3)}", text[:head], count=1)
    if front == text[:head] or len(front) - head != len(after) - len(skill.tier):
        raise HarnessFault("The tier of the skill cannot be written as it should be.")
    return tier, front + text[head:]


def _written(path: Path, entries: list[dict[str, Any]]) -> tuple[str, str]:
    """The file as it is, and with the ledger's reviews in it."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1 << 16
    yaml.indent(mapping=2, sequence=4, offset=2)
    try:
        text = path.read_text(encoding="utf-8")
        data = yaml.load(text)
    except FileNotFoundError as error:
        raise bad_file(path, "There is no PROVENANCE.yaml.") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise bad_file(path, "This is not valid YAML; nothing was written.", line=line) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise bad_file(path, "This is not valid YAML; nothing was written.") from error
    if not isinstance(data, CommentedMap) or not isinstance(data.get("reviews") or [], list):
        raise bad_file(path, "This is no list of `name: value` with a list of reviews.")
    there = data.get("reviews") or []
    own = [e for e in there if not (isinstance(e, dict) and e.get("ledger"))]
    ours = [e for e in there if isinstance(e, dict) and e.get("ledger")]
    if [dict(each) for each in ours] == entries and there[: len(own)] == own:
        return text, text
    if isinstance(data.get("reviews"), CommentedSeq) and own:
        reviews = data["reviews"]  # keeps its comments
        for at in reversed(range(len(reviews))):
            if isinstance(reviews[at], dict) and reviews[at].get("ledger"):
                del reviews[at]
    else:
        reviews = CommentedSeq()
    reviews.extend(CommentedMap(entry) for entry in entries)
    reviews.fa.set_block_style()
    data["reviews"] = reviews
    out = io.StringIO()
    yaml.dump(data, out)
    again = YAML(typ="safe", pure=True).load(out.getvalue())
    if [dict(each) for each in again["reviews"]][len(own) :] != entries:
        raise HarnessFault("PROVENANCE.yaml was not written: it would not read as it should.")
    return text, out.getvalue()
