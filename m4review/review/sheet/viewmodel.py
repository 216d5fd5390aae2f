"""One task's review without a widget: answers, what is missing, the draft, the signature.

What is written here lives in memory and in the encrypted draft, and is let go of when the page is
left. It is in no job's title or result, no message, no setting and no log.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.reviews.drafts import missing
from engine.reviews.texts import Change
from engine.reviews.verdicts import Verdict
from engine.workbench.review_types import ReviewPage, Sheet, Signed
from m4review.app.jobs import JobHandle, JobRunner
from m4review.review.words import LANE

if TYPE_CHECKING:
    from engine.workbench import Workbench

Kind = Literal["anchors", "evidence", "places", "rows"]
Saved = Literal["none", "changed", "saving", "saved", "failed"]
_SAVE_AFTER = 800
_LOOK_EVERY = 3000
_STEPS = 50


class ReviewViewModel(QObject):
    """Loads one review, keeps its draft, signs it."""

    loaded = Signal()
    """Another page, or the same one anew."""
    item_changed = Signal()
    """Another question is shown, or its answer is another."""
    saved_changed = Signal()
    """The draft's state."""
    texts_changed = Signal()
    """Texts are not what they were when the review was opened."""
    signed = Signal(object)
    """It was signed: `Signed`."""
    own_shown = Signal(object)
    """What was said under seal, for whoever said it."""
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.task = ""
        self.page: ReviewPage | None = None
        self.draft: dict[str, Any] | None = None
        self.current = ""
        self.missing: dict[str, tuple[str, ...]] = {}
        self.changes: tuple[Change, ...] = ()
        self.saved: Saved = "none"
        self.saved_at = ""
        self.signing = False
        self._undo: list[tuple[str, dict[str, Any]]] = []
        self._loading: JobHandle | None = None
        self._looking = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SAVE_AFTER)
        self._timer.timeout.connect(self.save)
        self._watch = QTimer(self)
        self._watch.setInterval(_LOOK_EVERY)
        self._watch.timeout.connect(self.look)

    # --- loading

    @property
    def sheet(self) -> Sheet | None:
        """What waits to be written; None where nothing does."""
        return self.page.sheet if self.page is not None else None

    def show(self, task: str, *, source: str | None = None) -> None:
        """Read a task's review; what was written before is kept first.

        Args:
            task: its name.
            source: bind the data of this source; "" binds none, None leaves it as it was.
        """
        self.save()
        if task != self.task:
            self._forget()
        self.task = task

        def work(_job: Job) -> ReviewPage:
            return self._workbench.review_page(task, source=source)

        handle = self._runner.start(
            "Read the review", work, on_failed=self.failed.emit, quiet=True, lane=LANE
        )
        self._loading = handle
        handle.done.connect(lambda page: self._done(handle, page))

    def _done(self, handle: JobHandle, page: ReviewPage) -> None:
        if handle is not self._loading:
            return
        self._loading = None
        self.page = page
        self.changes = ()
        sheet = page.sheet
        self.draft = copy.deepcopy(sheet.draft) if sheet is not None else None
        self._undo.clear()
        if sheet is not None:
            written = any(e["verdict"] or e["text"] or e["rows"] for e in sheet.draft["items"])
            self.saved = "saved" if written else "none"
            ids = [item.id for item in sheet.items]
            if self.current not in ids:
                self.current = ids[0]
            self._watch.start()
        else:
            self.current = ""
            self._watch.stop()
        self._check()
        self.loaded.emit()

    def leave(self) -> None:
        """Keep what was written, and let go of it."""
        self.save()
        self._watch.stop()
        self._forget()

    def close_down(self) -> None:
        """Keep what was written now: no job is begun any more.

        Raises:
            M4Error: it could not be kept.
        """
        self._watch.stop()
        if self._timer.isActive() and self.draft is not None:
            self._timer.stop()
            self._workbench.keep_review(self.draft)
        self._forget()

    def _forget(self) -> None:
        self._loading = None
        self.page = self.draft = None
        self.current, self.saved, self.saved_at = "", "none", ""
        self.missing, self.changes = {}, ()
        self._undo.clear()

    # --- the questions

    def choose(self, item: str) -> None:
        """Show a question."""
        if item != self.current and self._entry(item) is not None:
            self.current = item
            self.item_changed.emit()

    def step(self, direction: int, *, lacking: bool = False) -> None:
        """Show the next (1) or former (-1) question; only those that lack something, if asked."""
        sheet = self.sheet
        if sheet is None:
            return
        ids = [item.id for item in sheet.items]
        at = ids.index(self.current)
        order = [ids[(at + direction * n) % len(ids)] for n in range(1, len(ids) + 1)]
        found = next((each for each in order if not lacking or each in self.missing), None)
        if found is not None:
            self.choose(found)

    @property
    def entry(self) -> Mapping[str, Any] | None:
        """The answer of the question that is shown."""
        return self._entry(self.current)

    def entry_of(self, item: str) -> Mapping[str, Any]:
        """The answer of a question."""
        return self._entry(item) or {}

    def _entry(self, item: str) -> dict[str, Any] | None:
        entries = self.draft["items"] if self.draft is not None else []
        return next((each for each in entries if each["item"] == item), None)

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
        entry = self._entry(self.current)
        if entry is not None and entry["text"] != text and not self.signing:
            entry["text"] = text
            self._changed(quietly=True)

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

    def undo(self) -> None:
        """Take back the last answer, severity, reference or attachment."""
        if self._undo and self.draft is not None and not self.signing:
            self.current, before = self._undo.pop()
            said = {each["item"]: each["text"] for each in self.draft["items"]}
            self.draft = before
            for each in before["items"]:
                each["text"] = said.get(each["item"], each["text"])
            self._changed()

    @property
    def can_undo(self) -> bool:
        """Is there something to take back?"""
        return bool(self._undo)

    def _remember(self) -> None:
        self._undo.append((self.current, copy.deepcopy(self.draft or {})))
        del self._undo[:-_STEPS]

    def _changed(self, *, quietly: bool = False) -> None:
        self._check()
        self.saved = "changed"
        self._timer.start()
        self.saved_changed.emit()
        if not quietly:
            self.item_changed.emit()

    def _check(self) -> None:
        sheet = self.sheet
        self.missing = (
            missing(sheet.items, self.draft, sheet.texts)
            if sheet is not None and self.draft is not None
            else {}
        )

    # --- draft, texts, signature

    def save(self) -> None:
        """Keep the draft, if it was changed."""
        if not self._timer.isActive() and self.saved != "changed":
            return
        self._timer.stop()
        if self.draft is None:
            return
        kept = copy.deepcopy(self.draft)
        assignment = kept["assignment"]
        self.saved = "saving"
        self.saved_changed.emit()

        def done(_: object) -> None:
            if self.draft is None or self.draft["assignment"] != assignment:
                return
            if self.saved == "saving":
                self.saved = "saved"
            self.saved_at = datetime.now().astimezone().strftime("%H:%M:%S")
            self.saved_changed.emit()

        def failed(error: M4Error) -> None:
            self.saved = "failed"
            self.saved_changed.emit()
            self.failed.emit(error)

        self._runner.start(
            "Keep the draft",
            lambda _job: self._workbench.keep_review(kept),
            on_done=done,
            on_failed=failed,
            quiet=True,
            lane=LANE,
        )

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
        draft = self.draft
        if draft is None or self.missing or self.signing:
            return
        self._timer.stop()
        self.signing = True

        def done(signed: Signed) -> None:
            self.signing = False
            self._forget()
            self.signed.emit(signed)
            self.show(self.task)

        def failed(error: M4Error) -> None:
            self.signing = False
            self.saved = "changed"
            self.save()
            self.failed.emit(error)

        self._runner.start(
            "Sign the review",
            lambda _job: self._workbench.sign_review(draft),
            on_done=done,
            on_failed=failed,
            lane=LANE,
        )

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
