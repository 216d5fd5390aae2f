"""How `m4bench review` tells tasks, items, problems and figures: for JSON and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.reviews.outcome import WORDS, ItemOutcome, Outcome
from engine.reviews.problem import Problem
from engine.reviews.state import State

if TYPE_CHECKING:
    from engine.reviews import agreement


def outcome_document(state: State, outcome: Outcome) -> dict[str, Any]:
    """One task, for JSON."""
    last = outcome.round
    return {
        "task": outcome.task,
        "assignment": last.id,
        "settled": outcome.settled,
        "standing": {each.item.id: each.standing for each in outcome.items},
        "changed": list(outcome.changed),
        "reviewers": [
            {"name": state.name(author), "author": author, "signed": author in last.reviews}
            for author in last.body.reviewers
        ],
        "adjudicator": state.name(last.body.adjudicator),
        "revealed": last.revealed,
    }


def item_document(state: State, outcome: ItemOutcome) -> dict[str, Any]:
    """One item, as far as it may be read, for JSON."""
    asked, name = outcome.assignment, outcome.item.id
    done = asked.adjudication.decisions.get(name) if asked.adjudication else None
    readable = asked.reviews.items() if asked.revealed else ()
    return {
        "item": name,
        "title": outcome.item.title,
        "standing": outcome.standing,
        "words": WORDS[outcome.standing],
        "changed": [change.words for change in outcome.changed],
        "verdicts": [
            {"by": state.name(author), **verdict.model_dump(exclude={"item"})}
            for author, review in readable
            if (verdict := (review.verdicts or {}).get(name)) is not None
        ],
        "decision": done.verdict if done else None,
        "reason": done.reason if done else None,
        "differs_from": [state.name(author) for author in outcome.differs],
    }


def brief_words(outcome: Outcome) -> str:
    """One task in a line."""
    counts: dict[str, int] = {}
    for each in outcome.items:
        counts[WORDS[each.standing]] = counts.get(WORDS[each.standing], 0) + 1
    told = "; ".join(
        f"{number} {'item' if number == 1 else 'items'}: {words}"
        for words, number in counts.items()
    )
    changed = f" (changed: {', '.join(outcome.changed)})" if outcome.changed else ""
    return f"{told}{changed}"


def problem_document(problem: Problem) -> dict[str, object]:
    """One problem, for JSON."""
    return {"what": problem.what, "words": problem.words, "serious": problem.serious}


def figure_words(figure: agreement.Figure) -> str:
    """A figure with its interval."""
    if figure.value is None:
        return "not defined"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.2f}"
    return f"{figure.value:.2f} ({figure.low:.2f} to {figure.high:.2f})"
