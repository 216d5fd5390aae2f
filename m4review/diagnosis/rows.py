"""From a finding to its rows: opens a run's diff and shows the rows that a condition chooses."""

from __future__ import annotations

from PySide6.QtCore import QObject

from engine.diagnosis.model import Rows
from m4review.app.context import Context
from m4review.app.links import Place
from m4review.diff.view import DiffScreen


class RowsLink(QObject):
    """Waits for the diff to be open where it is not yet."""

    def __init__(self, context: Context, diff: DiffScreen) -> None:
        super().__init__(diff)
        self._context, self._diff = context, diff
        self._wanted: tuple[str, Rows, str, str] | None = None
        context.rows_asked.connect(self.ask)
        diff.model.opened.connect(self._opened)

    def ask(self, run_id: str, rows: Rows, words: str, column: str) -> None:
        """Show rows of a run's diff."""
        self._wanted = (run_id, rows, words, column)
        self._context.go(Place("diff", run_id))
        if self._diff.run_id == run_id and self._diff.model.file is not None:
            self._opened()

    def _opened(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is None or wanted[0] != self._diff.run_id:
            return
        _, rows, words, name = wanted
        scored = self._diff.model.layout.scored
        column = next((each.index for each in scored if each.name == name), None)
        self._diff.model.show_rows(rows.condition, words, column=column)
