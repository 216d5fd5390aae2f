"""What is written and not signed, without a widget: entries that are kept, taken back and signed.

It lives in memory and in the encrypted draft, and is let go of when the page is left. It is in no
job's title or result, no message, no setting and no log.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.workbench.review_types import Signed
from m4review.app.jobs import JobHandle, JobRunner
from m4review.review.words import LANE

if TYPE_CHECKING:
    from engine.workbench import Workbench

Saved = Literal["none", "changed", "saving", "saved", "failed"]
_SAVE_AFTER = 800
_STEPS = 50


class DraftModel(QObject):
    """Loads something to be written, keeps its draft, signs it."""

    loaded = Signal()
    """Another page, or the same one anew."""
    item_changed = Signal()
    """Another question is shown, or its answer is another."""
    saved_changed = Signal()
    """The draft's state."""
    signed = Signal(object)
    """It was signed: `Signed`."""
    failed = Signal(object)

    words_field: ClassVar[str]
    """Of an entry: what is written in words; the text field has an undo of its own."""

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.task = ""
        self.draft: dict[str, Any] | None = None
        self.current = ""
        self.saving: Saved = "none"
        self.saved_at = ""
        self.signing = False
        self._undo: list[tuple[str, dict[str, Any]]] = []
        self._loading: JobHandle | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SAVE_AFTER)
        self._timer.timeout.connect(self.save)

    # --- loading

    def _read(self, task: str, title: str, work: Callable[[Job], Any]) -> None:
        """Read something of a task; what was written before is kept first."""
        self.save()
        if task != self.task:
            self._forget()
        self.task = task
        handle = self._runner.start(title, work, on_failed=self.failed.emit, quiet=True, lane=LANE)
        self._loading = handle

        def done(found: Any) -> None:
            if handle is self._loading:
                self._loading = None
                self._undo.clear()
                self._take(found)
                self.loaded.emit()

        handle.done.connect(done)

    def _take(self, found: Any) -> None:
        """Take what was read."""
        raise NotImplementedError

    def _start_at(self, ids: list[str]) -> None:
        if self.current not in ids:
            self.current = ids[0]

    def leave(self) -> None:
        """Keep what was written, and let go of it."""
        self.save()
        self._forget()

    def close_down(self) -> None:
        """Keep what was written now: no job is begun any more.

        Raises:
            M4Error: it could not be kept.
        """
        if self._timer.isActive() and self.draft is not None:
            self._timer.stop()
            self._workbench.keep_review(self.draft)
        self._forget()

    def _forget(self) -> None:
        self._loading = None
        self.draft = None
        self.current, self.saving, self.saved_at = "", "none", ""
        self._undo.clear()

    # --- the questions

    @property
    def ids(self) -> list[str]:
        """The questions, in their order."""
        return [str(entry["item"]) for entry in self.draft["items"]] if self.draft else []

    def choose(self, item: str) -> None:
        """Show a question."""
        if item != self.current and self._entry(item) is not None:
            self.current = item
            self.item_changed.emit()

    def step(self, direction: int, *, lacking: bool = False) -> None:
        """Show the next (1) or former (-1) question; only those that lack something, if asked."""
        ids = self.ids
        if not ids:
            return
        at = ids.index(self.current)
        order = [ids[(at + direction * n) % len(ids)] for n in range(1, len(ids) + 1)]
        found = next((each for each in order if not lacking or each in self.missing), None)
        if found is not None:
            self.choose(found)

    @property
    def missing(self) -> Mapping[str, object]:
        """What each question lacks, in words; those that lack nothing are not in it."""
        raise NotImplementedError

    def entry_of(self, item: str) -> Mapping[str, Any]:
        """What was written about a question."""
        return self._entry(item) or {}

    def _entry(self, item: str) -> dict[str, Any] | None:
        entries = self.draft["items"] if self.draft is not None else []
        return next((each for each in entries if each["item"] == item), None)

    def _set_words(self, text: str) -> bool:
        """Change the words of the question that is shown; False where they are the same."""
        entry = self._entry(self.current)
        if entry is None or entry[self.words_field] == text or self.signing:
            return False
        entry[self.words_field] = text
        self._changed(quietly=True)
        return True

    # --- taking back

    def undo(self) -> None:
        """Take back the last step; words stay."""
        if self._undo and self.draft is not None and not self.signing:
            self.current, before = self._undo.pop()
            said = {each["item"]: each[self.words_field] for each in self.draft["items"]}
            self.draft = before
            for each in before["items"]:
                each[self.words_field] = said.get(each["item"], each[self.words_field])
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
        self.saving = "changed"
        self._timer.start()
        self.saved_changed.emit()
        if not quietly:
            self.item_changed.emit()

    def _check(self) -> None:
        """Look again at what is missing, where that is kept."""

    # --- draft and signature

    def save(self) -> None:
        """Keep the draft, if it was changed."""
        if not self._timer.isActive() and self.saving != "changed":
            return
        self._timer.stop()
        if self.draft is None:
            return
        kept = copy.deepcopy(self.draft)
        assignment = kept["assignment"]
        self.saving = "saving"
        self.saved_changed.emit()

        def done(_: object) -> None:
            if self.draft is None or self.draft["assignment"] != assignment:
                return
            if self.saving == "saving":
                self.saving = "saved"
            self.saved_at = datetime.now().astimezone().strftime("%H:%M:%S")
            self.saved_changed.emit()

        def failed(error: M4Error) -> None:
            self.saving = "failed"
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

    def _sign(
        self, title: str, work: Callable[[dict[str, Any]], Signed], then: Callable[[], object]
    ) -> None:
        draft = self.draft
        if draft is None or self.missing or self.signing:
            return
        self._timer.stop()
        self.signing = True

        def done(signed: Signed) -> None:
            self.signing = False
            self._forget()
            self.signed.emit(signed)
            then()

        def failed(error: M4Error) -> None:
            self.signing = False
            self.saving = "changed"
            self.save()
            self.failed.emit(error)

        self._runner.start(
            title, lambda _job: work(draft), on_done=done, on_failed=failed, lane=LANE
        )
