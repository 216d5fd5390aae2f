"""The list of reviews without a widget: who I am, what waits, how far everything is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.reviews.agreement import Agreement
from engine.reviews.bundle import Exported, Merged, Preview
from engine.reviews.provenance import Plan
from engine.workbench.review_types import ReviewOverview, TaskStanding
from m4review.app.jobs import JobHandle, JobRunner
from m4review.review.words import LANE

if TYPE_CHECKING:
    from engine.workbench import Workbench


class ReviewsViewModel(QObject):
    """Reads the ledger at a glance, and does what is done about people and bundles."""

    changed = Signal()
    """The overview is there."""
    agreement_changed = Signal()
    provenance_changed = Signal()
    previewed = Signal(object)
    """What a bundle would hold: `Preview`."""
    exported = Signal(object, str)
    """What was written, and the file's name."""
    merged = Signal(object, int, str)
    """What bundles brought, keys that were given, and why one could not be given."""
    done = Signal(str)
    """Something else was done: in words."""
    ledger_changed = Signal()
    """Other screens should look again."""
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.overview: ReviewOverview | None = None
        self.agreement: tuple[tuple[str, Agreement], ...] = ()
        self.plans: tuple[Plan, ...] = ()
        self._loading: JobHandle | None = None

    def reload(self) -> None:
        """Read the ledger."""
        handle = self._start("Read the reviews", self._workbench.reviews, None)
        self._loading = handle
        handle.done.connect(lambda overview: self._done(handle, overview))

    def _done(self, handle: JobHandle, overview: ReviewOverview) -> None:
        if handle is self._loading:
            self._loading = None
            self.overview = overview
            self.changed.emit()

    def task(self, name: str) -> TaskStanding | None:
        """How far a task is."""
        tasks = self.overview.tasks if self.overview is not None else ()
        return next((each for each in tasks if each.task == name), None)

    def _start(
        self,
        title: str,
        work: Callable[[], Any],
        then: Callable[[Any], object] | None,
        *,
        quiet: bool = True,
    ) -> JobHandle:
        def run(_job: Job) -> Any:
            return work()

        return self._runner.start(
            title, run, on_done=then, on_failed=self.failed.emit, quiet=quiet, lane=LANE
        )

    def _told(self, words: str) -> None:
        self.done.emit(words)
        self.ledger_changed.emit()
        self.reload()

    # --- people

    def make_reviewer(self, name: str, role: str) -> None:
        """Make the key in the keyring, and the identity."""
        self._start(
            "Make the key",
            lambda: self._workbench.make_reviewer(name, role),
            lambda _: self._told("Your key is in the keyring. Give your identity to the others."),
        )

    def export_reviewer(self, to: Path) -> None:
        """Write the own identity."""
        self._start(
            "Write the identity",
            lambda: self._workbench.export_reviewer(to),
            lambda _: self.done.emit(f"Your identity is in {to.name}; others import it."),
        )

    def compare(self, author: str, said: str) -> None:
        """Hold what a person read out against the ledger."""
        self._start(
            "Compare the fingerprint",
            lambda: self._workbench.compare_fingerprint(author, said),
            lambda _: self._told("It is the same fingerprint: noted on this machine."),
        )

    def assign(self, task: str, reviewers: Sequence[str], adjudicator: str, *, again: bool) -> None:
        """Ask people for their reviews."""
        self._start(
            "Ask for reviews",
            lambda: self._workbench.assign_review(
                task, reviewers=reviewers, adjudicator=adjudicator, again=again
            ),
            lambda items: self._told(f"{task}: {items} questions are asked. Export a bundle."),
        )

    def assign_all(self, tasks: Sequence[str], reviewers: Sequence[str], adjudicator: str) -> None:
        """Ask the same people for their first reviews of several tasks."""

        def work() -> tuple[int, int, M4Error | None]:
            asked = 0
            for number, task in enumerate(tasks):
                try:
                    asked += self._workbench.assign_review(
                        task, reviewers=reviewers, adjudicator=adjudicator
                    )
                except M4Error as error:  # those before it are asked all the same
                    return number, asked, error
            return len(tasks), asked, None

        def then(result: tuple[int, int, M4Error | None]) -> None:
            number, asked, error = result
            if number:
                self._told(f"{number} tasks: {asked} questions are asked. Export a bundle.")
            if error is not None:
                self.failed.emit(error)

        self._start("Ask for reviews", work, then)

    def give_key(self) -> None:
        """Open the own reviews that every reviewer has signed."""
        self._start(
            "Open the reviews",
            self._workbench.reveal_reviews,
            lambda n: self._told(
                f"{n} of your reviews can be read now. Export a bundle with the key."
                if n
                else "No key is due."
            ),
        )

    # --- bundles

    def preview(self) -> None:
        """Find out what a bundle would hold."""
        self._start("Look at the ledger", self._workbench.bundle_preview, self._previewed)

    def _previewed(self, preview: Preview) -> None:
        self.previewed.emit(preview)

    def export(self, to: Path, *, with_rows: bool) -> None:
        """Write a bundle."""

        def done(exported: Exported) -> None:
            self.exported.emit(exported, to.name)

        self._start(
            "Write the bundle",
            lambda: self._workbench.export_reviews(to, with_rows=with_rows),
            done,
            quiet=False,
        )

    def merge(self, paths: Sequence[Path]) -> None:
        """Take bundles."""

        def done(result: tuple[Merged, int, str]) -> None:
            self.merged.emit(*result)
            self.ledger_changed.emit()
            self.reload()

        self._start(
            "Import bundles", lambda: self._workbench.merge_reviews(paths), done, quiet=False
        )

    # --- what follows

    def load_agreement(self) -> None:
        """Reckon how far first verdicts agree."""

        def done(found: tuple[tuple[str, Agreement], ...]) -> None:
            self.agreement = found
            self.agreement_changed.emit()

        self._start("Reckon the agreement", self._workbench.review_agreement, done)

    def load_provenance(self) -> None:
        """Find out what would be written into PROVENANCE.yaml and skills."""

        def done(plans: tuple[Plan, ...]) -> None:
            self.plans = plans
            self.provenance_changed.emit()

        self._start("Look at the provenance", self._workbench.plan_provenance, done)

    def write_provenance(self, families: Sequence[str]) -> None:
        """Write PROVENANCE.yaml and tiers of families."""

        def work() -> None:
            for family in families:
                self._workbench.write_provenance(family)

        def done(_: object) -> None:
            self.done.emit(f"Written: {', '.join(families)}.")
            self.load_provenance()

        self._start("Write the provenance", work, done, quiet=False)
