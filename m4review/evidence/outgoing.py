"""Evidence on its way out: as the source's policy says, small counts left out, recorded first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from engine.base.errors import UsageError
from engine.base.files import write_json
from engine.base.jobs import Job
from engine.claims import Check, Evidence, attachment, evidence_document
from engine.sources import Decision
from m4review.app.context import Context
from m4review.evidence.viewmodel import EvidenceModel


class Outgoing(QObject):
    """Copies a check, exports all of the evidence."""

    told = Signal(str)
    failed = Signal(object)

    def __init__(self, context: Context, model: EvidenceModel) -> None:
        super().__init__(model)
        self._context, self._model = context, model

    def copy(self, evidence: Evidence, check: Check) -> None:
        """A check with its outcome as JSON on the clipboard."""

        def agreed() -> None:
            def work(_job: Job) -> str:
                self._context.workbench.note_copy(
                    evidence.source, kind="clipboard", of=f"evidence of {evidence.task}", rows=0
                )
                return json.dumps(attachment(evidence, check), indent=2, ensure_ascii=False)

            def done(text: str) -> None:
                QGuiApplication.clipboard().setText(text)
                self.told.emit("The check is on the clipboard; counts below 11 are left out.")

            self._model.read("Copy a check", work, done)

        self._permitted(evidence, "Copy this check", agreed)

    def export(self, evidence: Evidence) -> None:
        """All of the evidence as JSON in a file."""

        def agreed() -> None:
            name = f"evidence-{evidence.task}-{evidence.source}.json"
            path = self._context.interaction.choose_save(
                "Export the evidence", name, ("JSON (*.json)",)
            )
            if path is not None:
                self._write(evidence, path)

        self._permitted(evidence, "Export the evidence", agreed)

    def _write(self, evidence: Evidence, path: Path) -> None:
        path = path if path.suffix else path.with_suffix(".json")

        def work(_job: Job) -> None:
            self._context.workbench.note_copy(
                evidence.source,
                kind="file",
                of=f"evidence of {evidence.task}",
                rows=0,
                name=path.name,
            )
            write_json(path, evidence_document(evidence), "writing the evidence")

        def done(_: object) -> None:
            self.told.emit(f"Written to {path.name}; counts below 11 are left out.")

        self._model.read("Export the evidence", work, done)

    def _permitted(self, evidence: Evidence, title: str, then: Callable[[], object]) -> None:
        def ask(_job: Job) -> Decision:
            return self._context.workbench.may_export(evidence.source)

        def answered(decision: Decision) -> None:
            if not decision.allowed:
                self.failed.emit(UsageError("This may not be copied.", todo=decision.why))
            elif decision.confirm is None or self._context.interaction.confirm(
                title, decision.confirm, yes="Copy"
            ):
                then()
            else:
                self.told.emit("Nothing was copied.")

        self._model.read("Ask the source's policy", ask, answered)
