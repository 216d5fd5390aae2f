"""From a diff, a column page and a timeline to what went wrong in their run."""

from __future__ import annotations

from PySide6.QtCore import QObject

from m4review.diagnosis.view import DiagnosisScreen
from m4review.diagnosis.words import explained_words
from m4review.diff.view import DiffScreen


class WhyLink(QObject):
    """Tells a column page the best signature of its column, where it was found out already."""

    def __init__(self, diff: DiffScreen, diagnosis: DiagnosisScreen) -> None:
        super().__init__(diff)
        self._diff, self._model = diff, diagnosis.model
        diff.finding = self.of
        diagnosis.model.changed.connect(diff.tell_finding)

    def of(self, column: str) -> str:
        """The best signature of a column of the open diff; empty where none is known."""
        found = self._model.known(self._diff.run_id)
        columns = found.columns if found is not None else ()
        best = next((c.signatures[0] for c in columns if c.column == column and c.signatures), None)
        return "" if best is None else f"{best.words.rstrip('.')}; it {explained_words(best)}."
