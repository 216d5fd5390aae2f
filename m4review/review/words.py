"""How answers, standings and times are told: in words, with a sign, and in a colour by meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from engine.reviews.outcome import WORDS, Outcome
from engine.reviews.verdicts import Verdict

LANE = "reviews"
"""Jobs that read or write drafts and the ledger, one after the other."""


class Sign(NamedTuple):
    """How a state is shown beside its words."""

    icon: str
    """Name of an icon; each state has its own shape."""
    tone: str
    """Name of a theme colour."""
    tint: str
    """Name of the colour behind it."""


ANSWER_SIGNS: dict[str, Sign] = {
    "agree": Sign("circle-check", "good", "good_tint"),
    "concern": Sign("triangle-alert", "warn", "warn_tint"),
    "disagree": Sign("circle-x", "bad", "bad_tint"),
    "cannot judge": Sign("circle-help", "missing", "missing_tint"),
    "": Sign("minus", "muted", "hover"),
}
DECISIONS = {"agree": "the texts stand", "disagree": "must be changed"}
"""What an adjudicator says about the texts; both reviewers may have said something else."""
STANDING_SIGNS: dict[str, Sign] = {
    "unassigned": Sign("minus", "muted", "surface"),
    "waiting": Sign("pen-line", "missing", "missing_tint"),
    "sealed": Sign("lock", "extra", "extra_tint"),
    "open": Sign("circle-help", "warn", "warn_tint"),
    "agree": Sign("circle-check", "good", "good_tint"),
    "disagree": Sign("circle-x", "bad", "bad_tint"),
    "stale": Sign("history", "duplicate", "duplicate_tint"),
    "unequal": Sign("equal-not", "different", "different_tint"),
    "seen": Sign("triangle-alert", "bad", "bad_tint"),
}
STANDING_WORDS: dict[str, str] = {
    "unassigned": "nobody is asked",
    "waiting": "waiting for reviewers",
    "sealed": "waiting for a key",
    "open": "waiting for the adjudicator",
    "agree": "agreed",
    "disagree": "texts to be changed",
    "stale": "stale: text changed",
    "unequal": "unequal versions signed",
    "seen": "not blind, not counted",
}
WAIT_WORDS: dict[str, str] = {
    "review": "Review",
    "key": "Open your review",
    "adjudication": "Decide",
    "again": "Ask again",
}


def full_words(standing: str) -> str:
    """A standing in full."""
    known: dict[str, str] = {"unassigned": "nobody was asked to review this task"}
    known.update((str(name), words) for name, words in WORDS.items())
    return known[standing]


def said_when(at: str) -> str:
    """An ISO 8601 time of the ledger in local time, to the minute."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return at
    return then.astimezone().strftime("%Y-%m-%d %H:%M")


def ago(at: str, now: datetime | None = None) -> str:
    """How long ago, in a person's words."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return ""
    hours = ((now or datetime.now(UTC)) - then).total_seconds() / 3600
    if hours < 1:
        return "less than an hour"
    if hours < 48:  # noqa: PLR2004 - two days
        return f"{round(hours)} h"
    return f"{round(hours / 24)} days"


def counted(outcome: Outcome | None) -> dict[str, int]:
    """Items of a task by standing."""
    if outcome is None:
        return {}
    return dict(Counter(each.standing for each in outcome.items))


def brief(outcome: Outcome | None) -> str:
    """A task's items in a line of words."""
    if outcome is None:
        return STANDING_WORDS["unassigned"]
    counts = counted(outcome)
    if len(counts) == 1:
        return STANDING_WORDS[next(iter(counts))]
    return ", ".join(f"{number} {STANDING_WORDS[name]}" for name, number in counts.items())


def text_title(name: str) -> str:
    """The name of a text for people."""
    kind, _, rest = name.partition(":")
    fixed = {
        "instruction": "Instruction", "operational-spec": "Operational spec",
        "task.toml": "task.toml", "manifest": "Manifest",
    }  # fmt: skip
    if kind == "skill":
        return f"Skill: {rest}"
    if kind == "tier":
        return f"Skill: {rest}"
    if kind == "sql":
        return f"SQL: {rest}"
    return fixed.get(name, name)


def tally(verdicts: Iterable[str]) -> str:
    """Answers counted: "7 agree, 2 concern"."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[name]} {name}" for name in ANSWER_SIGNS if name and counts[name])


def lines_words(text: str, lines: str) -> str:
    """An anchor in words."""
    many = "lines" if "-" in lines else "line"
    return f"{text_title(text)}, {many} {lines.replace('-', '–')}"


def verdict_words(verdict: Verdict) -> str:
    """An answer with its severity."""
    return f"{verdict.verdict}, {verdict.severity}" if verdict.severity else verdict.verdict
