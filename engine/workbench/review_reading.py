"""A ledger's state as the window shows it: people, tasks, items, changed texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.base.errors import M4Error
from engine.base.text import neutralise
from engine.reviews import Desk, State, acts, texts
from engine.reviews.identity import Fingerprint, compared, my_author
from engine.reviews.outcome import Outcome
from engine.reviews.state import Assignment
from engine.workbench.review_types import ChangedText, ItemPage, Member, TaskStanding, Voice

_ORDER = ("instruction", "skill", "operational-spec", "task.toml", "sql")


def people_of(desk: Desk, state: State) -> tuple[Member, ...]:
    """Everybody whom the ledger knows, this workstation's person first."""
    me, checked = my_author(desk.place), compared(desk.place)
    found = [
        Member(
            author=author,
            name=neutralise(person.name),
            role=neutralise(person.role),
            since=person.since,
            groups=Fingerprint(author).groups,
            words=Fingerprint(author).words,
            me=author == me,
            compared=checked.get(author),
        )
        for author, person in state.people.items()
    ]
    return tuple(sorted(found, key=lambda each: (not each.me, each.name.casefold(), each.author)))


def standing_of(state: State, task: str, family: str, outcome: Outcome | None) -> TaskStanding:
    """How far the review of one task is."""
    if outcome is None:
        return TaskStanding(task, family, None, (), "")
    body, reviews = outcome.round.body, outcome.round.reviews
    signed = tuple((state.name(author), author in reviews) for author in body.reviewers)
    return TaskStanding(task, family, outcome, signed, state.name(body.adjudicator))


def asked_of(state: State, me: str | None, task: str) -> Assignment | None:
    """The newest round that waits for a review of this person."""
    for assignment in reversed(list(state.assignments.values())):
        body = assignment.body
        if body.task == task and me in body.reviewers and me not in assignment.reviews:
            return assignment
    return None


def ordered(named: Mapping[str, str]) -> dict[str, str]:
    """Texts in the order in which people read them."""

    def key(name: str) -> int:
        kind = name.partition(":")[0]
        return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)

    return {name: named[name] for name in sorted(named, key=key)}


def voices_of(
    desk: Desk, state: State, asked: Assignment, *, me: str | None, names: bool
) -> dict[str, tuple[Voice, ...]]:
    """What was said about each item of a round that can be read; in an order that names nobody."""
    order = list(asked.reviews)
    if not names:
        order = acts.nameless_order(asked)
    called = {
        author: state.name(author) if names else f"{acts.VOICE} {number}"
        for number, author in enumerate(order, start=1)
    }
    rows: dict[str, dict[str, list[str]] | None] = {}
    for author in order:
        try:
            rows[author] = acts.rows_of(desk, asked.reviews[author])
        except M4Error:
            rows[author] = None  # the file was touched: as if it were not here
    found: dict[str, tuple[Voice, ...]] = {}
    for item in asked.body.items:
        voices = []
        for author in order:
            verdict = (asked.reviews[author].verdicts or {}).get(item)
            if verdict is not None:
                here = rows[author]
                places = None if here is None else tuple(here.get(item, ()))
                voices.append(Voice(called[author], author == me, verdict, places))
        found[item] = tuple(voices)
    return found


def items_of(desk: Desk, state: State, outcome: Outcome | None, me: str | None) -> list[ItemPage]:
    """Each item of a task, as far as it may be read."""
    if outcome is None:
        return []
    said = {
        asked.id: voices_of(desk, state, asked, me=me, names=True)
        for asked in outcome.rounds
        if asked.revealed
    }
    found = []
    for each in outcome.items:
        name, done = each.item.id, each.assignment.adjudication
        found.append(
            ItemPage(
                outcome=each,
                voices=said.get(each.assignment.id, {}).get(name, ()),
                decision=done.decisions.get(name) if done is not None else None,
                differs=tuple(map(state.name, each.differs)),
            )
        )
    return found


def _changed(
    desk: Desk, signed: Mapping[str, str], changes: Sequence[texts.Change], now_: Mapping[str, str]
) -> list[ChangedText]:
    return [
        ChangedText(
            name=change.text,
            what=change.what,
            before=texts.kept(desk.place, signed[change.text]) if change.text in signed else None,
            after=now_.get(change.text),
        )
        for change in changes
    ]


def stale_texts(
    desk: Desk, outcome: Outcome | None, now_texts: Mapping[str, str]
) -> tuple[ChangedText, ...]:
    """Texts that make something stale, as they were signed and as they are."""
    found: dict[str, ChangedText] = {}
    for item in outcome.items if outcome is not None else ():
        if item.standing == "stale":
            signed = next(iter(item.assignment.reviews.values())).body.texts
            for each in _changed(desk, signed, item.changed, now_texts):
                found.setdefault(each.name, each)
    return tuple(found[name] for name in ordered(dict.fromkeys(found, "")))


def changed_since_round(
    desk: Desk, state: State, asked: Assignment, now_texts: Mapping[str, str]
) -> tuple[ChangedText, ...]:
    """What was changed since the round before was signed."""
    before = state.assignments.get(asked.body.follows or "")
    if before is None or not before.reviews:
        return ()
    me = my_author(desk.place) or ""
    review = before.reviews.get(me) or next(iter(before.reviews.values()))
    signed = {n: h for n, h in review.body.texts.items() if n != texts.MANIFEST}
    here = {n: t for n, t in now_texts.items() if n != texts.MANIFEST}
    return tuple(_changed(desk, signed, texts.compare(signed, texts.hashes(here)), here))
