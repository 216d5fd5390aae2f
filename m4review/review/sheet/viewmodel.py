"""One task's review without a widget: answers, what is missing, the texts, the signature."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from engine.base.errors import M4Error
from engine.reviews.drafts import missing
from engine.reviews.texts import Change
from engine.reviews.verdicts import Verdict
from engine.workbench.review_types import ReviewPage, Sheet
from m4review.app.jobs import JobRunner
from m4review.review.drafting import DraftModel, Saved
from m4review.review.words import LANE

if TYPE_CHECKING:
    from engine.workbench import Workbench

Kind = Literal["anchors", "evidence", "places", "rows"]
_WRITTEN = ("verdict", "text", "anchors", "evidence", "places", "rows")
_LOOK_EVERY = 3000


class ReviewViewModel(DraftModel):
    """Loads one review, keeps its draft, signs it."""

    texts_changed = Signal()
    """Texts are not what they were when the review was opened."""
    own_shown = Signal(object)
    """What was said under seal, for whoever said it."""

    words_field = "text"

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(workbench, runner, parent)
        self.page: ReviewPage | None = None
        self.changes: tuple[Change, ...] = ()
        self._missing: dict[str, tuple[str, ...]] = {}
        self._looking = False
        self._watch = QTimer(self)
        self._watch.setInterval(_LOOK_EVERY)
        self._watch.timeout.connect(self.look)

    # --- loading

    @property
    def sheet(self) -> Sheet | None:
        """What waits to be written; None where nothing does."""
        return self.page.sheet if self.page is not None else None

    @property
    def saved(self) -> Saved:
        """The draft's state."""
        return self.saving

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """What each question lacks before it can be signed."""
        return self._missing

    def show(self, task: str, *, source: str | None = None) -> None:
        """Read a task's review; what was written before is kept first.

        Args:
            task: its name.
            source: bind the data of this source; "" binds none, None leaves it as it was.
        """
        self._read(
            task,
            "Read the review",
            lambda _job: self._workbench.review_page(task, source=source),
        )

    def _take(self, page: ReviewPage) -> None:
        self.page = page
        self.changes = ()
        sheet = page.sheet
        self.draft = copy.deepcopy(sheet.draft) if sheet is not None else None
        if sheet is not None:
            written = any(e[part] for e in sheet.draft["items"] for part in _WRITTEN)
            self.saving = "saved" if written else "none"
            self._start_at([item.id for item in sheet.items])
            self._watch.start()
        else:
            self.current = ""
            self._watch.stop()
        self._check()

    def close_down(self) -> None:
        self._watch.stop()
        super().close_down()

    def _forget(self) -> None:
        super()._forget()
        self._watch.stop()
        self.page = None
        self._missing, self.changes = {}, ()

    # --- the questions

    @property
    def entry(self) -> Mapping[str, Any] | None:
        """The answer of the question that is shown."""
        return self._entry(self.current)

    def answer(self, verdict: str) -> None:
        """Answer the question that is shown; the same answer again takes it back."""
        entry = self._entry(self.current)
        if entry is None or self.signing:
            return
        self._remember()
        entry["verdict"] = None if entry["verdict"] == verdict else verdict
        if entry["verdict"] not in ("concern", "disagree"):
            entry["severity"] = None
        self._changed()

    def set_severity(self, severity: str) -> None:
        """How bad it is; the same again takes it back."""
        entry = self._entry(self.current)
        if entry is not None and entry["verdict"] in ("concern", "disagree") and not self.signing:
            self._remember()
            entry["severity"] = None if entry["severity"] == severity else severity
            self._changed()

    def set_words(self, text: str) -> None:
        """What is said in words (the text field has its own undo)."""
        self._set_words(text)

    def refer(self, text: str, first: int, last: int) -> None:
        """Refer to lines of a text."""
        lines = f"{first}-{last}" if last > first else str(first)
        self.attach("anchors", {"text": text, "lines": lines})

    def attach(self, kind: Kind, value: Any, item: str | None = None) -> bool:
        """Attach lines, evidence, a place or a row; False where it is there already."""
        entry = self._entry(item or self.current)
        if entry is None or value in entry[kind] or self.signing:
            return False
        self._remember()
        entry[kind] = [*entry[kind], value]
        self._changed()
        return True

    def detach(self, kind: Kind, number: int) -> None:
        """Take an attachment away."""
        entry = self._entry(self.current)
        if entry is not None and 0 <= number < len(entry[kind]) and not self.signing:
            self._remember()
            entry[kind] = [each for at, each in enumerate(entry[kind]) if at != number]
            self._changed()

    def _check(self) -> None:
        sheet = self.sheet
        self._missing = (
            missing(sheet.items, self.draft, sheet.texts)
            if sheet is not None and self.draft is not None
            else {}
        )

    # --- texts, signature

    def look(self) -> None:
        """Has a text been changed since the review was opened?"""
        sheet = self.sheet
        if sheet is None or self._looking or self.signing:
            return
        self._looking = True
        hashes, source = dict(sheet.hashes), sheet.draft["source"]

        def done(changes: tuple[Change, ...]) -> None:
            self._looking = False
            if self.sheet is sheet and changes != self.changes:
                self.changes = changes
                self.texts_changed.emit()

        def failed(_error: M4Error) -> None:
            self._looking = False  # a file that is just being written; the next look tells

        self._runner.start(
            "Look after the texts",
            lambda _job: self._workbench.changed_texts(sheet.task, hashes, source),
            on_done=done,
            on_failed=failed,
            on_cancelled=lambda: setattr(self, "_looking", False),
            quiet=True,
        )

    def sign(self) -> None:
        """Sign and seal what was written."""
        self._sign("Sign the review", self._workbench.sign_review, lambda: self.show(self.task))

    def show_own(self) -> None:
        """Read what was said under seal."""

        def done(verdicts: tuple[Verdict, ...]) -> None:
            if self.page is not None:
                self.own_shown.emit(verdicts)

        self._runner.start(
            "Open the own review",
            lambda _job: self._workbench.own_verdicts(self.task),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
            lane=LANE,
        )
