"""An adjudication without a widget."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from engine.workbench.review_types import Docket
from m4review.app.jobs import JobRunner
from m4review.review.drafting import DraftModel

if TYPE_CHECKING:
    from engine.workbench import Workbench


class DecideViewModel(DraftModel):
    """Loads what has to be decided, keeps the draft, signs it."""

    words_field = "reason"

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(workbench, runner, parent)
        self.docket: Docket | None = None

    def show(self, task: str, *, names: bool = False) -> None:
        """Read what has to be decided about a task."""
        self._read(
            task,
            "Read the adjudication",
            lambda _job: self._workbench.docket(task, names=names),
        )

    def _take(self, docket: Docket) -> None:
        was = bool(self.draft and self.draft["named"])
        self.docket, self.draft = docket, copy.deepcopy(docket.draft)
        self._start_at([item.id for item, _ in docket.items])
        if docket.draft["named"] and not was:
            self._changed(quietly=True)  # that names were shown stays in the record

    def _forget(self) -> None:
        super()._forget()
        self.docket = None

    @property
    def saved(self) -> bool:
        """Is everything kept, or being kept?"""
        return self.saving not in ("changed", "failed")

    def decide(self, verdict: str) -> None:
        """Decide the item that is shown; the same again takes it back."""
        entry = self._entry(self.current)
        if entry is not None and not self.signing:
            self._remember()
            entry["decision"] = None if entry["decision"] == verdict else verdict
            self._changed()

    def set_reason(self, text: str) -> None:
        """Why."""
        self._set_words(text)

    @property
    def missing(self) -> dict[str, str]:
        """What each item lacks, in words."""
        found = {}
        for item in self.ids:
            entry = self.entry_of(item)
            if not entry.get("decision"):
                found[item] = "is not decided"
            elif not str(entry.get("reason") or "").strip():
                found[item] = "needs a reason"
        return found

    def sign(self) -> None:
        """Sign what was decided."""
        self._sign("Sign the adjudication", self._workbench.sign_decisions, lambda: None)
