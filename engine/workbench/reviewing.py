"""The workbench's reviews: who says what about which text, sealed until everybody has said it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.base.errors import M4Error, UsageError
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.references import reference_state
from engine.reviews import Desk, State, acts, bundle, drafts, ledger, provenance, texts, worklist
from engine.reviews.agreement import Agreement, agreements, pairs_of
from engine.reviews.bundle import Exported, Merged, Preview
from engine.reviews.chains import ahead, cut
from engine.reviews.entry import now
from engine.reviews.forms import decisions_so_far, kept_answers
from engine.reviews.identity import keyring_trouble, my_author, my_signer, note_compared
from engine.reviews.outcome import outcome_of, unlike_reviewed
from engine.reviews.problem import Problem
from engine.reviews.state import state_of
from engine.reviews.verdicts import Verdict
from engine.sources import list_sources
from engine.workbench.review_reading import (
    asked_of,
    changed_since_round,
    items_of,
    ordered,
    people_of,
    stale_texts,
    standing_of,
    voices_of,
)
from engine.workbench.review_types import (
    Docket,
    ReviewOverview,
    ReviewPage,
    Sheet,
    Signed,
)


class Reviewing:
    """Part of `Workbench`. Every method may be called from any thread."""

    home: Home
    """The home folder."""
    content: Path | None
    """What is reviewed; None for the shipped tasks and skills."""

    @property
    def _desk(self) -> Desk:
        return Desk(self.home, texts.Content(self.content))

    # --- at a glance

    def reviews(self) -> ReviewOverview:
        """What waits for this workstation's person, and how far everything is."""
        desk = self._desk
        state = desk.state()
        acts.forget_signed(desk, state)
        found = worklist(desk, state)
        people = people_of(desk, state)
        outcomes = {outcome.task: outcome for outcome in found.outcomes}
        named = {name: task.family for name, task in texts.tasks_in(desk.content).items()}
        named |= {n: o.round.body.family for n, o in outcomes.items() if n not in named}
        standings = [standing_of(state, n, f, outcomes.get(n)) for n, f in named.items()]
        return ReviewOverview(
            me=next((each for each in people if each.me), None),
            no_keyring=keyring_trouble(),
            people=people,
            waits=found.waits,
            tasks=tuple(sorted(standings, key=lambda each: (each.family, each.task))),
            problems=(*self.review_problems(), *found.problems),
            unseen=found.unseen,
        )

    def review_problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong with the ledger: files, chains, seals, clocks."""
        place = self._desk.place
        found = ledger.read(place.ledger)
        state = state_of(found.entries)
        known = ledger.heads(place)
        late = ahead(state.chains, datetime.now(UTC))
        every = {*found.damaged, *state.problems, *cut(state.chains, known), *late}
        return tuple(sorted(every))

    # --- people

    def make_reviewer(self, name: str, role: str) -> None:
        """Make this workstation's key in the keyring, and its identity.

        Raises:
            UsageError: there is one already.
            BadInput: no name or role.
            MissingPrerequisite: no keyring, or it is locked.
        """
        acts.make_identity(self._desk, name=name, role=role)

    def export_reviewer(self, to: Path) -> Exported:
        """Write the own identity (name, role, public key) for colleagues, who import it.

        Raises:
            UsageError: there is none yet.
        """
        desk = self._desk
        return bundle.export_identity(desk, my_author(desk.place) or "", to)

    def compare_fingerprint(self, author: str, said: str) -> None:
        """Note that what a person read out is the fingerprint in the ledger.

        Raises:
            BadInput: it is another one.
        """
        note_compared(self._desk.place, author, said, now())

    def assign_review(
        self, task: str, *, reviewers: Sequence[str], adjudicator: str, again: bool = False
    ) -> int:
        """Ask people (by author) for their reviews; returns how many items are asked.

        Raises:
            UsageError: people who are not different, or a round that is still going on.
        """
        entry = acts.assign(
            self._desk, task, reviewers=reviewers, adjudicator=adjudicator, again=again
        )
        return len(entry.body["items"])

    # --- one review

    def review_page(self, task: str, *, source: str | None = None) -> ReviewPage:
        """A task's review, as far as this workstation's person may read it.

        Args:
            task: its name.
            source: the source that is looked at; its reference's manifest will be bound. That of
                the draft when None.

        Raises:
            UsageError: no such task.
            MissingPrerequisite: a draft is there, and the keyring does not give its key.
        """
        desk = self._desk
        found = desk.content.task(task)
        state, me = desk.state(), my_author(desk.place)
        outcome = outcome_of(state, found.name, desk.now([found.name]).get(found.name))
        now_texts = ordered(texts.texts_of(self.home, found, desk.content))
        newest = outcome.round if outcome is not None else None
        mine = newest.reviews.get(me or "") if newest is not None else None
        return ReviewPage(
            task=found.name,
            description=found.description,
            standing=standing_of(state, found.name, found.family, outcome),
            sheet=self._sheet(desk, state, found, source),
            signed=mine.entry.at if mine is not None else None,
            revealed=newest is not None and newest.revealed,
            to_decide=newest is not None
            and newest.body.adjudicator == me
            and acts.adjudicable(newest),
            items=tuple(items_of(desk, state, outcome, me)),
            changed=stale_texts(desk, outcome, now_texts),
            texts=now_texts,
        )

    def own_verdicts(self, task: str) -> tuple[Verdict, ...]:
        """What this workstation's person said about a task in the newest signed round, under seal.

        Raises:
            MissingPrerequisite: the keyring does not give the key.
        """
        desk = self._desk
        me = my_author(desk.place)
        for assignment in reversed(list(desk.state().assignments.values())):
            if assignment.body.task == task and me in assignment.reviews:
                return tuple((acts.own_verdicts(desk, assignment) or {}).values())
        return ()

    def changed_texts(
        self, task: str, hashes: Mapping[str, str], source: str | None = None
    ) -> tuple[texts.Change, ...]:
        """What of a task is no longer as it was when a review was opened."""
        desk = self._desk
        found = desk.content.task(task)
        now_texts = texts.texts_of(self.home, found, desk.content, source)
        return tuple(texts.compare(hashes, texts.hashes(now_texts)))

    def keep_review(self, draft: Mapping[str, Any]) -> None:
        """Keep a draft of a review or an adjudication, encrypted, on this machine.

        Raises:
            MissingPrerequisite: the keyring does not give the key.
            StorageFull: the one before is still there.
        """
        place = self._desk.place
        drafts.write_draft(place, my_signer(place), draft)

    def flag_row(self, task: str, item: str, address: str) -> bool:
        """Put the address of a row into the draft of the review that waits for this person.

        Returns:
            False where it stood there already.

        Raises:
            UsageError: no review of the task waits here, or the item is not asked.
        """
        desk = self._desk
        sheet = self._sheet(desk, desk.state(), desk.content.task(task), None)
        entries = {} if sheet is None else {e["item"]: e for e in sheet.draft["items"]}
        if sheet is None or item not in entries:
            raise UsageError(f"No review of {task} with that item waits for you.")
        if address in entries[item]["rows"]:
            return False
        entries[item]["rows"] = [*entries[item]["rows"], address]
        self.keep_review(sheet.draft)
        return True

    def open_review(self, task: str) -> tuple[tuple[str, str], ...]:
        """Items (id, title) of the review of a task that waits for this person; none without."""
        desk = self._desk
        asked = asked_of(desk.state(), my_author(desk.place), task)
        if asked is None:
            return ()
        titles = [asked.checklist.item(name) for name in asked.body.items]
        return tuple((item.id, item.title) for item in titles)

    def sign_review(self, draft: Mapping[str, Any]) -> Signed:
        """Sign and seal a review; the draft goes. First verdicts never change.

        Raises:
            BadInput: something is missing, or a text was changed since it was opened.
            UsageError: not asked, or signed already.
            MissingPrerequisite: the keyring does not give the key.
        """
        desk = self._desk
        entry = acts.sign(desk, draft)
        return Signed(entry.id, len(acts.reveal_due(desk)))

    def reveal_reviews(self) -> int:
        """Give the keys of own reviews that every reviewer has signed; how many."""
        desk = self._desk
        me = my_author(desk.place)
        state = desk.state()
        if me is None or not any(acts.due(state, a, me) for a in state.assignments.values()):
            return 0
        return len(acts.reveal_due(desk))

    def _sheet(self, desk: Desk, state: State, task: Task, source: str | None) -> Sheet | None:
        me = my_author(desk.place)
        asked = asked_of(state, me, task.name)
        if asked is None:
            return None
        signer = my_signer(desk.place)
        kept_draft = drafts.read_draft(desk.place, signer, asked.id)
        form = drafts.read_form_of(desk.place, task.name, asked.id)
        before = [each for each in (kept_draft, form) if each is not None]
        sources = tuple(
            info.name
            for info in (list_sources(self.home) if self.home.state.exists() else ())
            if info.kind == task.source_kind
            and info.state == "ready"
            and reference_state(self.home, info.name, task.target).state == "ready"
        )
        told = [str(each["source"]) for each in before if each.get("source")]
        chosen = source if source is not None else (told or [""])[-1]
        if chosen not in sources:
            chosen = ""
        now_texts = ordered(texts.texts_of(self.home, task, desk.content, chosen or None))
        hashes = texts.hashes(now_texts)
        kept = kept_answers(asked.checklist, asked.body.items, hashes, before)
        draft = {
            "assignment": asked.id,
            "task": task.name,
            "source": chosen or None,
            "texts": hashes,
            "items": [entry for _, entry, _ in kept],
        }
        if form is not None:  # written with an editor: it is not left lying there in plain
            drafts.write_draft(desk.place, signer, draft)
            drafts.forget_form(desk.place, task.name, asked.id)
        return Sheet(
            assignment=asked,
            task=task.name,
            items=tuple(item for item, _, _ in kept),
            texts=now_texts,
            hashes=hashes,
            draft=draft,
            again=tuple(item.id for item, _, again in kept if again),
            changed=changed_since_round(desk, state, asked, now_texts),
            sources=sources,
        )

    # --- adjudication

    def docket(self, task: str, *, names: bool = False) -> Docket:
        """What the adjudicator of a task has to decide.

        Args:
            task: its name.
            names: show who said what; it is told in the record.

        Raises:
            UsageError: nothing about it waits for this person.
        """
        desk = self._desk
        found = desk.content.task(task)
        state, me = desk.state(), my_author(desk.place)
        open_ = [
            each
            for each in state.assignments.values()
            if each.body.task == found.name
            and each.body.adjudicator == me
            and acts.adjudicable(each)
        ]
        if not open_:
            raise UsageError(
                f"Nothing about {found.name} waits for your decision.",
                todo="See the list of reviews.",
            )
        asked = open_[-1]
        now_texts = ordered(texts.texts_of(self.home, found, desk.content))
        kept_draft = drafts.read_draft(desk.place, my_signer(desk.place), asked.id)
        form = drafts.read_form_of(desk.place, found.name, asked.id)
        before = [each for each in (kept_draft, form) if each is not None]
        names = names or any(each.get("named") for each in before)
        said = voices_of(desk, state, asked, me=None if not names else me, names=names)
        entries = list(decisions_so_far(asked.open_items, before).values())
        hashes = texts.hashes(now_texts)
        unlike = {
            change.words
            for item in asked.open_items
            for change in unlike_reviewed(asked, hashes, asked.checklist.item(item))
        }
        return Docket(
            assignment=asked,
            task=found.name,
            items=tuple((asked.checklist.item(item), said[item]) for item in asked.open_items),
            texts=now_texts,
            draft={
                "assignment": asked.id,
                "task": found.name,
                "adjudication": True,
                "named": names,
                "items": entries,
            },
            unlike=tuple(sorted(unlike)),
        )

    def sign_decisions(self, draft: Mapping[str, Any]) -> Signed:
        """Sign decisions about the open items; the draft goes.

        Raises:
            BadInput: an item without decision or reason, or a text was changed.
            UsageError: not the adjudicator, too early, or done already.
        """
        entry = acts.decide(self._desk, draft, named=bool(draft.get("named")))
        return Signed(entry.id, 0)

    # --- bundles

    def bundle_preview(self) -> Preview:
        """What a bundle would hold.

        Raises:
            BadInput: the ledger holds damaged files.
        """
        return bundle.preview(self._desk)

    def export_reviews(self, to: Path, *, with_rows: bool = False) -> Exported:
        """Write the ledger as a file for other workstations.

        Args:
            to: the zip.
            with_rows: also rows of credentialed sources; the person was asked, and the audit log
                says so.

        Raises:
            BadInput: the ledger holds damaged files.
            StorageFull, MissingPrerequisite: it cannot be written.
        """
        return bundle.export(self._desk, to, with_rows=with_rows)

    def merge_reviews(self, paths: Sequence[Path]) -> tuple[Merged, int, str]:
        """Take bundles in any order; keys that are due are given at once.

        Returns:
            What they brought together, the number of keys given, and why a key that is due could
            not be given (or nothing).

        Raises:
            BadInput: something in one of them does not hold; nothing of that one was taken.
        """
        if not paths:
            raise UsageError("No file was named.")
        desk = self._desk
        done = [bundle.merge(desk, path) for path in paths]
        why, given = "", 0
        try:
            given = self.reveal_reviews()
        except M4Error as error:
            why = str(error)
        whole = Merged(
            entries=sum(each.entries for each in done),
            known=sum(each.known for each in done),
            texts=sum(each.texts for each in done),
            annexes=sum(each.annexes for each in done),
            problems=self.review_problems(),
            acts=tuple(act for each in done for act in each.acts),
        )
        return whole, given, why

    # --- what follows from it

    def review_agreement(self, task: str | None = None) -> tuple[tuple[str, Agreement], ...]:
        """How far first verdicts agree: of all together, then of each pair, with their names."""
        state = self._desk.state()
        found = agreements(pairs_of(state, task))
        return tuple(
            (" and ".join(map(state.name, each.reviewers)) or "All together", each)
            for each in found
        )

    def plan_provenance(self) -> tuple[provenance.Plan, ...]:
        """What would be written into PROVENANCE.yaml and skills, by family.

        Raises:
            BadInput: a PROVENANCE.yaml is not valid YAML; names the line.
        """
        desk = self._desk
        return provenance.plans(desk)

    def write_provenance(self, family: str) -> provenance.Provenance:
        """Write PROVENANCE.yaml and the tiers of skills of one family from the ledger.

        Raises:
            UsageError: there is no such family.
            BadInput: its PROVENANCE.yaml is not valid YAML.
        """
        return provenance.write_provenance(self._desk, family)
