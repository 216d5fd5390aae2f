"""An adjudication without a widget."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from engine.base.errors import M4Error
from engine.workbench.review_types import Docket, Signed
from m4review.app.jobs import JobHandle, JobRunner
from m4review.review.words import LANE

if TYPE_CHECKING:
    from engine.workbench import Workbench

_SAVE_AFTER = 800


class DecideViewModel(QObject):
    """Loads what has to be decided, keeps the draft, signs it."""

    loaded = Signal()
    item_changed = Signal()
    saved_changed = Signal()
    signed = Signal(object)
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.task = ""
        self.docket: Docket | None = None
        self.draft: dict[str, Any] | None = None
        self.current = ""
        self.saved = True
        self.signing = False
        self._loading: JobHandle | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SAVE_AFTER)
        self._timer.timeout.connect(self.save)

    def show(self, task: str, *, names: bool = False) -> None:
        """Read what has to be decided about a task."""
        self.save()
        if task != self.task:
            self._forget()
        self.task = task
        handle = self._runner.start(
            "Read the adjudication",
            lambda _job: self._workbench.docket(task, names=names),
            on_failed=self.failed.emit,
            quiet=True,
            lane=LANE,
        )
        self._loading = handle
        handle.done.connect(lambda docket: self._done(handle, docket))

    def _done(self, handle: JobHandle, docket: Docket) -> None:
        if handle is not self._loading:
            return
        self._loading = None
        was = bool(self.draft and self.draft["named"])
        self.docket, self.draft = docket, copy.deepcopy(docket.draft)
        ids = [item.id for item, _ in docket.items]
        if self.current not in ids:
            self.current = ids[0]
        if docket.draft["named"] and not was:
            self._changed()  # that names were shown stays in the record
        self.loaded.emit()

    def leave(self) -> None:
        """Keep what was written, and let go of it."""
        self.save()
        self._forget()

    def close_down(self) -> None:
        """Keep what was written now.

        Raises:
            M4Error: it could not be kept.
        """
        if self._timer.isActive() and self.draft is not None:
            self._timer.stop()
            self._workbench.keep_review(self.draft)
        self._forget()

    def _forget(self) -> None:
        self._loading = None
        self.docket = self.draft = None
        self.current, self.saved = "", True

    def choose(self, item: str) -> None:
        """Show an item."""
        if self.docket is not None and item != self.current:
            self.current = item
            self.item_changed.emit()

    def step(self, direction: int) -> None:
        """Show the next (1) or former (-1) item."""
        if self.docket is not None:
            ids = [item.id for item, _ in self.docket.items]
            self.choose(ids[(ids.index(self.current) + direction) % len(ids)])

    def entry_of(self, item: str) -> dict[str, Any]:
        """The decision about an item."""
        entries = self.draft["items"] if self.draft is not None else []
        return next((each for each in entries if each["item"] == item), {})

    def decide(self, verdict: str) -> None:
        """Decide the item that is shown; the same again takes it back."""
        entry = self.entry_of(self.current)
        if entry and not self.signing:
            entry["decision"] = None if entry["decision"] == verdict else verdict
            self._changed()
            self.item_changed.emit()

    def set_reason(self, text: str) -> None:
        """Why."""
        entry = self.entry_of(self.current)
        if entry and entry["reason"] != text and not self.signing:
            entry["reason"] = text
            self._changed()

    @property
    def missing(self) -> dict[str, str]:
        """What each item lacks, in words."""
        found = {}
        for item, _ in self.docket.items if self.docket is not None else ():
            entry = self.entry_of(item.id)
            if not entry.get("decision"):
                found[item.id] = "is not decided"
            elif not str(entry.get("reason") or "").strip():
                found[item.id] = "needs a reason"
        return found

    def _changed(self) -> None:
        self.saved = False
        self._timer.start()
        self.saved_changed.emit()

    def save(self) -> None:
        """Keep the draft, if it was changed."""
        if self.saved or self.draft is None:
            return
        self._timer.stop()
        kept = copy.deepcopy(self.draft)
        self.saved = True

        def failed(error: M4Error) -> None:
            self.saved = False
            self.failed.emit(error)

        self._runner.start(
            "Keep the draft",
            lambda _job: self._workbench.keep_review(kept),
            on_done=lambda _: self.saved_changed.emit(),
            on_failed=failed,
            quiet=True,
            lane=LANE,
        )

    def sign(self) -> None:
        """Sign what was decided."""
        draft = self.draft
        if draft is None or self.missing or self.signing:
            return
        self._timer.stop()
        self.signing = True

        def done(signed: Signed) -> None:
            self.signing = False
            self._forget()
            self.signed.emit(signed)

        def failed(error: M4Error) -> None:
            self.signing = False
            self.saved = False
            self.save()
            self.failed.emit(error)

        self._runner.start(
            "Sign the adjudication",
            lambda _job: self._workbench.sign_decisions(draft),
            on_done=done,
            on_failed=failed,
            lane=LANE,
        )
