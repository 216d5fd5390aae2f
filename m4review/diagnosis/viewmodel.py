"""The diagnosis of a run without a widget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error
from engine.diagnosis.model import NO_ROWS, Diagnosis, Rows, Signature
from m4review.app.jobs import JobHandle, JobRunner
from m4review.diagnosis.jobs import LONGER, SECONDS, Known
from m4review.diagnosis.words import count_words

if TYPE_CHECKING:
    from engine.workbench import Workbench


@dataclass(frozen=True)
class Scope:
    """What a list of signatures is about."""

    title: str
    """For the choice."""
    signatures: tuple[Signature, ...]
    """Best first."""
    residual: Rows
    """Rows that none of them explains; no condition where only the count is known."""
    residual_words: str
    """The same in words."""
    column: str
    """The scored column; empty for the whole table and for keys."""


def scopes_of(diagnosis: Diagnosis) -> tuple[Scope, ...]:
    """The whole table, keys, and every column with mismatches."""
    left = diagnosis.unexplained
    whole = Scope(
        f"Whole table ({count_words(diagnosis.mismatches, 'mismatching cell')})",
        diagnosis.ranked,
        NO_ROWS,
        f"{count_words(left, 'mismatching cell')} explained by none of these",
        "",
    )
    scopes = [whole]
    keys = diagnosis.keys
    total = keys.missing + keys.extra + keys.duplicates
    if total:
        title = f"Keys ({keys.missing:,} missing, {keys.extra:,} extra, {keys.duplicates:,} again)"
        rest = f"{count_words(keys.residual.count, 'row')} explained by none of these"
        scopes.append(Scope(title, keys.signatures, keys.residual, rest, ""))
    for column in diagnosis.columns:
        title = f"{column.column} ({count_words(column.mismatches, 'mismatch', 'mismatches')})"
        rest = f"{count_words(column.residual.count, 'row')} explained by none of these"
        scopes.append(Scope(title, column.signatures, column.residual, rest, column.column))
    return tuple(scopes)


class DiagnosisViewModel(QObject):
    """Finds out what went wrong in a run."""

    changed = Signal()
    """Another diagnosis, or none yet."""
    busy_changed = Signal(bool)
    progressed = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    _found = Signal(object, object)
    """From the job's thread: which job, and what it knows so far."""

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._runner, self._known = runner, Known(workbench)
        self.run_id = ""
        self.diagnosis: Diagnosis | None = None
        self.scopes: tuple[Scope, ...] = ()
        self._working: JobHandle | None = None
        self._asked: object = None
        self._found.connect(self._so_far)

    @property
    def busy(self) -> bool:
        """Is it at work?"""
        return self._working is not None

    def known(self, run_id: str) -> Diagnosis | None:
        """What is known of a run; None where nobody has looked yet."""
        return self.diagnosis if run_id and run_id == self.run_id else self._known.of(run_id)

    def show(self, run_id: str, *, again: bool = False, longer: bool = False) -> None:
        """Diagnose a run in the background; what is known already comes at once.

        `again` finds it out anew, `longer` with more time for trying changes of the SQL.
        """
        if run_id == self.run_id and self.busy and not again:
            return
        self.cancel()
        if run_id != self.run_id or again:
            self.diagnosis, self.scopes = None, ()
            self.run_id = run_id
            self.changed.emit()

        asked = self._asked = object()

        def done(found: Diagnosis) -> None:
            if self._working is handle and found is not self.diagnosis:
                self.diagnosis, self.scopes = found, scopes_of(found)
                self.changed.emit()

        def failed(error: M4Error) -> None:
            if self._working is handle:
                self.failed.emit(error)

        handle = self._runner.start(
            "Find out what went wrong",
            self._known.diagnose(
                run_id,
                again=again,
                on_found=lambda found: self._found.emit(asked, found),
                seconds=LONGER if longer else SECONDS,
            ),
            on_done=done,
            on_failed=failed,
            lane="diagnosis",
        )
        self._working = handle
        handle.progressed.connect(self.progressed.emit)
        handle.over.connect(lambda: self._over(handle))
        self.busy_changed.emit(True)

    def _so_far(self, asked: object, found: Diagnosis) -> None:
        """Show what is known already; an earlier job's words come too late."""
        if asked is self._asked and self.busy and found.mismatches:
            self.diagnosis, self.scopes = found, scopes_of(found)
            self.changed.emit()

    def _over(self, handle: JobHandle) -> None:
        if self._working is handle:
            self._working = None
            self.busy_changed.emit(False)

    def cancel(self) -> None:
        """Stop; `cancelled` is told when something was going on."""
        handle, self._working = self._working, None
        if handle is not None:
            handle.cancel()
            self.busy_changed.emit(False)
            self.cancelled.emit()
