"""What people do: make an identity, assign, sign, reveal, decide."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.base.disclosure import SMALL
from engine.base.errors import BadInput, UsageError
from engine.base.files import writing
from engine.base.paths import Home
from engine.claims import tells_small_counts
from engine.reviews import bodies, ledger, texts
from engine.reviews.canonical import sha256
from engine.reviews.checklist import newest
from engine.reviews.drafts import check_form_is_in, forget_drafts
from engine.reviews.entry import Entry
from engine.reviews.forms import decisions_in, verdicts_in
from engine.reviews.identity import Signer, my_author, my_signer, new_signer
from engine.reviews.outcome import AGAIN, newest_round, outcome_of, unlike_reviewed
from engine.reviews.place import Place, place_of
from engine.reviews.sealing import open_annex, seal, seal_annex, unseal
from engine.reviews.state import Assignment, Review, State, bound, state_of
from engine.reviews.verdicts import Verdict, by_item, complete
from engine.sources import find_source, source_policy

VOICE = "Reviewer"


@dataclass(frozen=True)
class Desk:
    """One workstation's reviews: whose, and about which content."""

    home: Home
    """Where everything is kept."""
    content: texts.Content
    """Tasks and skills."""

    @property
    def place(self) -> Place:
        """The folder of reviews."""
        return place_of(self.home)

    def state(self) -> State:
        """What the ledger says now."""
        return state_of(ledger.read(self.place.ledger).entries)

    def now(self, tasks: Iterable[str]) -> dict[str, texts.Now]:
        """The texts of those tasks as they are; without tasks that the content here lacks."""
        found = texts.tasks_in(self.content)
        return {
            name: texts.now_of(self.home, found[name], self.content)
            for name in tasks
            if name in found
        }


def make_identity(desk: Desk, *, name: str, role: str) -> Entry:
    """Make this workstation's key and its first entry.

    Raises:
        UsageError: there is one already.
        MissingPrerequisite: no keyring, or it is locked.
    """
    body = bodies.checked(
        {"name": " ".join(name.split()), "role": " ".join(role.split())}, bodies.Identity
    )
    place = desk.place
    with ledger.locked(place):
        if (author := my_author(place)) is not None and author not in desk.state().people:
            signer = my_signer(place)  # a crash came between key and entry
        else:
            signer = new_signer(place)
        return ledger.append(place, signer, "identity", body.model_dump())


def assign(
    desk: Desk, task: str, *, reviewers: Sequence[str], adjudicator: str, again: bool = False
) -> Entry:
    """Ask people (by author) for their reviews of a task.

    Args:
        desk: this workstation.
        task: its name.
        reviewers: two or more authors.
        adjudicator: another author.
        again: ask once more only what no longer holds of the last round.

    Raises:
        UsageError: people who are not different, a round that is still going on, or nothing to
            ask again.
    """
    found = desk.content.task(task)
    people = [*reviewers, adjudicator]
    if len(reviewers) < 2 or len(set(people)) < len(people):  # noqa: PLR2004 - "double" review
        raise UsageError("A review needs two or more reviewers and an adjudicator, all different.")
    checklist = newest(found.kind)
    items = [item.id for item in checklist.items]
    place, signer = desk.place, my_signer(desk.place)
    with ledger.locked(place):
        state = desk.state()
        last = newest_round(state, found.name)
        if last is not None and not again:
            raise UsageError(
                f"{found.name} has been assigned already.",
                todo="To ask again what no longer holds: m4bench review assign … --again",
            )
        if last is not None:
            outcome = outcome_of(state, found.name, desk.now([found.name]).get(found.name))
            if outcome is not None and last.checklist.sha256 == checklist.sha256:
                items = [i.item.id for i in outcome.items if i.standing in AGAIN]
        if not items:
            raise UsageError(
                f"Nothing of {found.name} has to be asked again.",
                todo="See m4bench review status.",
            )
        body = bodies.checked(
            {
                "task": found.name,
                "family": found.family,
                "checklist": checklist.named,
                "items": items,
                "reviewers": list(reviewers),
                "adjudicator": adjudicator,
                "follows": last.id if last is not None else None,
            },
            bodies.Assign,
        )
        return ledger.append(place, signer, "assign", body.model_dump())


def said(state: State, assignment: Assignment, *, names: bool) -> dict[str, list[dict[str, Any]]]:
    """What each reviewer said about each open item, in an order that names nobody."""
    order = nameless_order(assignment)
    called = {
        author: state.name(author) if names else f"{VOICE} {number}"
        for number, author in enumerate(order, start=1)
    }
    return {
        item: [
            {"by": called[author], **verdict.model_dump(exclude={"item"})}
            for author in order
            if (verdict := (assignment.reviews[author].verdicts or {}).get(item)) is not None
        ]
        for item in assignment.open_items
    }


def nameless_order(assignment: Assignment) -> list[str]:
    """The reviewers in an order that names nobody."""
    return sorted(assignment.reviews, key=lambda a: sha256(f"{assignment.id}{a}".encode()))


def sign(desk: Desk, data: Mapping[str, Any]) -> Entry:
    """Sign and seal the data of a form; what was written of it here is deleted.

    The first verdicts stand for ever.

    Raises:
        BadInput: an item is unanswered or incomplete, or a text was changed since the form was
            opened (both named).
        UsageError: not assigned, or submitted already.
    """
    place, signer = desk.place, my_signer(desk.place)
    with ledger.locked(place):
        state = desk.state()
        assignment = _assignment(state, data)
        if signer.author not in assignment.body.reviewers:
            raise UsageError("You were not asked to review this.")
        if signer.author in assignment.reviews:
            raise UsageError(
                "You have signed this review already; first verdicts never change.",
                todo="What you think now belongs into the next round (m4bench review assign … "
                "--again) or to the adjudicator.",
            )
        task = desk.content.task(assignment.body.task)
        source = data.get("source")
        now = texts.texts_of(desk.home, task, desk.content, str(source) if source else None)
        _unchanged(data, now)
        given, rows = verdicts_in(data, now)
        _no_small_counts(desk, given)
        verdicts = complete(assignment.checklist, assignment.body.items, given)
        check_form_is_in(place, assignment.body.task, assignment.id, data)
        binds = texts.hashes(now)
        sealed, key = seal(signer, verdicts, bound(assignment.id, signer.author, binds))
        body = {
            "assignment": assignment.id,
            "checklist": dict(assignment.body.checklist),
            "texts": binds,
            "source": _source(desk, str(source)) if source else None,
            "sealed": sealed.model_dump(),
            "annex": _annex(place, key, rows),
        }
        texts.keep(place, now)
        bodies.checked(body, bodies.Review)
        entry = ledger.append(place, signer, "review", body)
    forget_drafts(place, assignment.body.task, assignment.id)
    return entry


def forget_signed(desk: Desk, state: State) -> None:
    """Delete drafts of what is signed: a crash may have come between signing and deleting.

    Raises:
        MissingPrerequisite: one cannot be deleted.
    """
    place, author = desk.place, my_author(desk.place)
    if not place.drafts.is_dir() or not any(place.drafts.iterdir()):
        return
    for assignment in state.assignments.values():
        is_decided = assignment.adjudication is not None and author == assignment.body.adjudicator
        if author in assignment.reviews or is_decided:
            forget_drafts(place, assignment.body.task, assignment.id)


def reveal_due(desk: Desk, signer: Signer | None = None) -> list[Entry]:
    """Give the keys of own reviews whose every co-reviewer has signed."""
    place = desk.place
    signer = signer or my_signer(place)
    made = []
    with ledger.locked(place):
        state = desk.state()
        forget_signed(desk, state)
        for assignment in state.assignments.values():
            if due(state, assignment, signer.author):
                review = assignment.reviews[signer.author]
                key = signer.sealing_key(bytes.fromhex(review.body.sealed.salt))
                body = {"review": review.entry.id, "key": base64.b64encode(key).decode()}
                made.append(ledger.append(place, signer, "reveal", body))
    return made


def due(state: State, assignment: Assignment, author: str) -> bool:
    """Must the author give the key now?"""
    review = assignment.reviews.get(author)
    return (
        assignment.committed
        and review is not None
        and not any(
            e.kind == "reveal" and e.body.get("review") == review.entry.id
            for e in state.chains.chains[author]
        )
    )


def decide(desk: Desk, data: Mapping[str, Any], *, named: bool = False) -> Entry:
    """Sign the decisions in the data of a form; what was written of it here is deleted.

    Raises:
        BadInput: an item without decision or reason.
        UsageError: not the adjudicator, too early, or done already.
    """
    place, signer = desk.place, my_signer(desk.place)
    with ledger.locked(place):
        assignment = _assignment(desk.state(), data)
        if signer.author != assignment.body.adjudicator:
            raise UsageError("You were not asked to adjudicate this.")
        if assignment.adjudication is not None:
            raise UsageError("This is adjudicated already.")
        if not assignment.revealed:
            raise UsageError(
                "Not every reviewer's verdicts can be read yet.", todo="See m4bench review status."
            )
        if not assignment.open_items:
            raise UsageError("The reviewers agree on everything; there is nothing to decide.")
        decisions = decisions_in(data, assignment.open_items)
        check_form_is_in(place, assignment.body.task, assignment.id, data)
        task = desk.content.task(assignment.body.task)
        now = texts.texts_of(desk.home, task, desk.content)
        _as_reviewed(assignment, texts.hashes(now))
        texts.keep(place, now)
        body = bodies.checked(
            {
                "assignment": assignment.id,
                "reviews": sorted(r.entry.id for r in assignment.reviews.values()),
                "texts": texts.hashes(now),
                "decisions": [each.model_dump() for each in decisions],
                "named": named,
            },
            bodies.Adjudicate,
        )
        entry = ledger.append(place, signer, "adjudicate", body.model_dump())
    forget_drafts(place, assignment.body.task, assignment.id)
    return entry


def own_verdicts(desk: Desk, assignment: Assignment) -> dict[str, Verdict] | None:
    """What this workstation's person said, also while it is sealed; None before it is signed."""
    signer = my_signer(desk.place)
    review = assignment.reviews.get(signer.author)
    if review is None:
        return None
    key = signer.sealing_key(bytes.fromhex(review.body.sealed.salt))
    binds = bound(assignment.id, signer.author, review.body.texts)
    return by_item(unseal(review.body.sealed, key, binds))


def rows_of(desk: Desk, review: Review) -> dict[str, list[str]] | None:
    """Addresses of rows by item; None while sealed, or where they are not on this machine.

    Raises:
        BadInput: the file was touched.
    """
    if review.body.annex is None:
        return {}
    path = desk.place.annexes / f"{review.body.annex.sha256}.sealed"
    if review.key is None or not path.is_file():
        return None
    data = path.read_bytes()
    if sha256(data) != review.body.annex.sha256:
        raise BadInput("The rows of this review were changed on the disk.")
    return open_annex(review.key, data)


def adjudicable(assignment: Assignment) -> bool:
    """Does it wait for the adjudicator?"""
    return assignment.revealed and bool(assignment.open_items) and assignment.adjudication is None


def _assignment(state: State, form: Mapping[str, Any]) -> Assignment:
    found = state.assignments.get(str(form.get("assignment")))
    if found is None:
        raise BadInput(
            "The form belongs to an assignment that is not in this ledger.",
            todo="Merge the bundle that holds it, or open the form anew.",
        )
    return found


def _unchanged(form: Mapping[str, Any], now: Mapping[str, str]) -> None:
    signed = form.get("texts")
    opened = {str(k): str(v) for k, v in signed.items()} if isinstance(signed, Mapping) else {}
    changed = texts.compare(opened, texts.hashes(now))
    if changed:
        raise BadInput(
            f"Since you opened the form: {'; '.join(each.words for each in changed)}.",
            todo="Open it again (m4bench review open TASK, with the same --out): answers that "
            "rest on unchanged texts are kept.",
        )


def _no_small_counts(desk: Desk, given: Mapping[str, Verdict]) -> None:
    """Evidence leaves the machine with the review, so it tells no count that may not leave."""
    for name, verdict in given.items():
        for piece in filter(tells_small_counts, verdict.evidence):
            source = str(piece.get("source"))
            if not _is_free(desk.home, source, piece.get("source_sha256")):
                raise BadInput(
                    f"{name}: a piece of evidence tells a count below {SMALL} of {source}, which "
                    "may not leave this machine.",
                    todo="Take it away and attach the check again from the evidence panel, which "
                    "leaves such counts out (as does m4bench evidence-check without --local).",
                )


def _is_free(home: Home, source: str, digest: object) -> bool:
    """May everything of a source leave, and is it still the data that were asked?"""
    try:
        return find_source(home, source).digest == digest and source_policy(home, source).free
    except UsageError:
        return False  # it is gone, and nobody can say what it was


def _as_reviewed(assignment: Assignment, now: Mapping[str, str]) -> None:
    unlike = {
        change.words
        for item in assignment.open_items
        for change in unlike_reviewed(assignment, now, assignment.checklist.item(item))
    }
    if unlike:
        raise BadInput(
            f"Since the reviewers signed: {'; '.join(sorted(unlike))}.",
            todo="Ask them again: m4bench review assign TASK --again",
        )


def _source(desk: Desk, name: str) -> dict[str, str]:
    info = find_source(desk.home, name)
    access = "credentialed" if info.touched else info.access
    return {"access": access, "digest": info.digest or ""}


def _annex(place: Place, key: bytes, rows: dict[str, list[str]]) -> dict[str, Any] | None:
    if not rows:
        return None
    data = seal_annex(key, rows)
    digest = sha256(data)
    with writing(place.annexes / f"{digest}.sealed", "keeping the rows of a review") as part:
        part.write_bytes(data)
    return {"sha256": digest, "bytes": len(data)}
