"""What a ledger says: people, assignments, reviews. A pure function of its entries.

Verdicts are opened only when every assigned reviewer has committed, whatever keys lie around.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.base.errors import BadInput
from engine.base.text import neutralise
from engine.reviews import bodies
from engine.reviews.canonical import canonical
from engine.reviews.chains import Chains, chains_of
from engine.reviews.checklist import Checklist, find_checklist
from engine.reviews.entry import Entry
from engine.reviews.problem import Problem
from engine.reviews.sealing import key_of, unseal
from engine.reviews.verdicts import ANSWERS, Answer, Decision, Verdict, by_item, complete


@dataclass(frozen=True)
class Person:
    """Somebody who signs."""

    author: str
    """SHA-256 of the public key."""
    name: str
    """As given."""
    role: str
    """As given."""
    since: str
    """ISO 8601, by the own clock."""


@dataclass(frozen=True)
class Review:
    """One reviewer's first verdicts."""

    entry: Entry
    """The sealed entry."""
    body: bodies.Review
    """What it binds."""
    verdicts: Mapping[str, Verdict] | None
    """By item; None while sealed."""
    key: bytes | None
    """That opened it; None while sealed."""
    reveal: Entry | None
    """Where the key came from; None while sealed."""
    blind: bool
    """Written without having seen another's key."""


@dataclass(frozen=True)
class Adjudication:
    """The adjudicator's decisions."""

    entry: Entry
    """The entry."""
    decisions: Mapping[str, Decision]
    """By item."""
    named: bool
    """Were the reviewers' names shown?"""
    texts: Mapping[str, str]
    """Hash of each text that was judged."""


@dataclass(frozen=True)
class Assignment:
    """Who reviews what, and how far it is."""

    id: str
    """Hash of its entry."""
    entry: Entry
    """The entry."""
    body: bodies.Assign
    """Task, items, people."""
    checklist: Checklist
    """What is asked."""
    reviews: Mapping[str, Review]
    """By author, in the order in which they were assigned."""
    adjudication: Adjudication | None
    """Where there is one."""

    @property
    def committed(self) -> bool:
        """Has every assigned reviewer signed?"""
        return all(author in self.reviews for author in self.body.reviewers)

    @property
    def revealed(self) -> bool:
        """Can everybody's verdicts be read?"""
        return self.committed and all(r.verdicts is not None for r in self.reviews.values())

    @property
    def open_items(self) -> tuple[str, ...]:
        """Items for the adjudicator: not all say the same, or somebody doubts. Needs `revealed`."""
        return tuple(item for item in self.body.items if _open(self.answers(item)))

    def answers(self, item: str) -> list[Answer]:
        """What each reviewer said, in the order of assignment. Needs `revealed`."""
        return [
            review.verdicts[item].verdict
            for review in self.reviews.values()
            if review.verdicts is not None
        ]


@dataclass(frozen=True)
class State:
    """Everything that counts."""

    people: Mapping[str, Person]
    """By author."""
    assignments: Mapping[str, Assignment]
    """By id, oldest first (by clock, then by hash)."""
    chains: Chains
    """What it was made of."""
    problems: tuple[Problem, ...]
    """Of chains and acts, sorted."""

    def name(self, author: str) -> str:
        """A person's name, or the beginning of the fingerprint."""
        known = self.people.get(author)
        return neutralise(known.name) if known is not None else author[:8]


def state_of(entries: tuple[Entry, ...]) -> State:
    """What the entries say; the order does not matter."""
    chains = chains_of(entries)
    return _Reading(chains).state()


def bound(assignment: str, author: str, texts: Mapping[str, str]) -> bytes:
    """What a sealed review belongs to; it opens with nothing else."""
    return canonical({"assignment": assignment, "author": author, "texts": dict(texts)})


def _open(answers: list[Answer]) -> bool:
    return len(set(answers)) > 1 or answers[0] in (ANSWERS[1], ANSWERS[3])


class _Reading:
    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._problems = set(chains.problems)
        self._entries = chains.counted
        self._people: dict[str, Person] = {}

    def state(self) -> State:
        for author, chain in self._chains.chains.items():
            if chain:
                self._identity(author, chain[0])
        assigns = [e for e in self._entries.values() if e.kind == "assign"]
        found: dict[str, Assignment] = {}
        for entry in sorted(assigns, key=lambda each: (each.time, each.id)):
            assignment = self._assignment(entry)
            if assignment is not None:
                found[entry.id] = assignment
        self._strays(found)
        return State(self._people, found, self._chains, tuple(sorted(self._problems)))

    def _tell(self, what: str, entry: Entry, words: str) -> None:
        who = self._chains.name(entry.author)
        self._problems.add(Problem(what, f"{who}, entry {entry.sequence}: {words}"))  # type: ignore[arg-type]

    def _identity(self, author: str, entry: Entry) -> None:
        try:
            body = bodies.body_of(entry, bodies.Identity)
        except BadInput as error:
            self._tell("broken", entry, error.text)
            return
        self._people[author] = Person(author, body.name, body.role, entry.at)

    def _assignment(self, entry: Entry) -> Assignment | None:
        try:
            body = bodies.body_of(entry, bodies.Assign)
            checklist = find_checklist(dict(body.checklist))
            for item in body.items:
                checklist.item(item)
        except BadInput as error:
            self._tell("unknown", entry, error.text)
            return None
        people = [*body.reviewers, body.adjudicator]
        if len(set(people)) < len(people):
            self._tell("broken", entry, "reviewers and adjudicator are not different people")
            return None
        sealed = {a: r for a in body.reviewers if (r := self._sealed(entry, body, a)) is not None}
        keys = self._keys(sealed, everybody=len(sealed) == len(body.reviewers))
        reviews = {
            author: self._review(entry, body, checklist, author=author, sealed=sealed, keys=keys)
            for author in sealed
        }
        made = Assignment(entry.id, entry, body, checklist, reviews, None)
        decided = self._adjudication(made)
        return Assignment(entry.id, entry, body, checklist, reviews, decided)

    def _sealed(
        self, assign: Entry, body: bodies.Assign, author: str
    ) -> tuple[Entry, bodies.Review] | None:
        """The author's first review of an assignment; later ones are told and do not count."""
        first: tuple[Entry, bodies.Review] | None = None
        for entry in self._chains.chains.get(author, ()):
            if entry.kind != "review" or entry.body.get("assignment") != assign.id:
                continue
            try:
                review = bodies.body_of(entry, bodies.Review)
            except BadInput as error:
                self._tell("broken", entry, error.text)
                continue
            if review.checklist != body.checklist:
                self._tell("broken", entry, "answers another checklist than was assigned")
            elif first is not None:
                self._tell("ignored", entry, "a second review; the first verdicts stand")
            else:
                first = entry, review
        return first

    def _keys(
        self, sealed: Mapping[str, tuple[Entry, bodies.Review]], *, everybody: bool
    ) -> dict[str, tuple[Entry, str]]:
        """The reveal of each review, where there is one; early ones are told."""
        found: dict[str, tuple[Entry, str]] = {}
        for author, (review, _) in sealed.items():
            for entry in self._chains.chains[author]:
                if entry.kind != "reveal" or entry.body.get("review") != review.id:
                    continue
                try:
                    body = bodies.body_of(entry, bodies.Reveal)
                except BadInput as error:
                    self._tell("broken", entry, error.text)
                    continue
                found.setdefault(author, (entry, body.key))
                if not (everybody and all(entry.knew(other) for other, _ in sealed.values())):
                    words = "the key was given before every reviewer had signed"
                    self._tell("early", entry, words)
        return found

    def _review(
        self,
        assign: Entry,
        body: bodies.Assign,
        checklist: Checklist,
        *,
        author: str,
        sealed: Mapping[str, tuple[Entry, bodies.Review]],
        keys: Mapping[str, tuple[Entry, str]],
    ) -> Review:
        entry, review = sealed[author]
        blind = not any(entry.knew(reveal) for a, (reveal, _) in keys.items() if a != author)
        if not blind:
            self._tell("not-blind", entry, "was signed after another's verdicts could be read")
        closed = Review(entry, review, None, None, None, blind)
        if len(sealed) < len(body.reviewers) or author not in keys:
            return closed
        try:
            key = key_of(keys[author][1])
            verdicts = unseal(review.sealed, key, bound(assign.id, author, review.texts))
            given = by_item(verdicts)
            complete(checklist, body.items, given, strict=False)
        except BadInput as error:
            self._tell("sealed", entry, error.text)
            return closed
        return Review(entry, review, given, key, keys[author][0], blind)

    def _adjudication(self, assignment: Assignment) -> Adjudication | None:
        first: Adjudication | None = None
        for entry in self._chains.chains.get(assignment.body.adjudicator, ()):
            if entry.kind != "adjudicate" or entry.body.get("assignment") != assignment.id:
                continue
            try:
                body = bodies.body_of(entry, bodies.Adjudicate)
            except BadInput as error:
                self._tell("broken", entry, error.text)
                continue
            if not assignment.revealed:
                self._tell("missing", entry, "decides about reviews that cannot be read here yet")
                continue
            read = [r.reveal for r in assignment.reviews.values() if r.reveal is not None]
            if not all(entry.knew(each) for each in read):
                self._tell("broken", entry, "decides before the verdicts could be read")
                continue
            items = [decision.item for decision in body.decisions]
            reviews = sorted(review.entry.id for review in assignment.reviews.values())
            if body.reviews != reviews or items != list(assignment.open_items):
                self._tell("broken", entry, "decides about other reviews or items than are open")
            elif first is not None:
                self._tell("ignored", entry, "a second adjudication; the first stands")
            else:
                decisions = {decision.item: decision for decision in body.decisions}
                first = Adjudication(entry, decisions, body.named, body.texts)
        return first

    def _strays(self, found: Mapping[str, Assignment]) -> None:
        """Acts that belong to nothing, or to somebody who was not asked."""
        reviews = {r.entry.id for a in found.values() for r in a.reviews.values()}
        for entry in self._entries.values():
            if entry.kind in ("review", "adjudicate"):
                assignment = found.get(str(entry.body.get("assignment")))
                if assignment is None:
                    self._tell("missing", entry, "belongs to an assignment that is not here")
                    continue
                asked = (
                    assignment.body.reviewers
                    if entry.kind == "review"
                    else [assignment.body.adjudicator]
                )
                if entry.author not in asked:
                    self._tell("ignored", entry, f"{entry.kind}: this person was not asked")
            elif entry.kind == "reveal" and str(entry.body.get("review")) not in reviews:
                self._tell("ignored", entry, "a key for a review that does not count")
