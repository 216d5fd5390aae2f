"""From a row of the diff to the timeline: the key F7, and a button under the row panel."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget

from m4review.app.actions import Actions
from m4review.app.context import Context
from m4review.app.links import Place
from m4review.app.tips import as_written
from m4review.app.widgets import button
from m4review.diff.layout import KeyStatus
from m4review.diff.view import DiffScreen

NOWHERE = "Choose a row first."
NOT_OURS = "The reference does not have this row: nothing to follow."
_ABOUT = "The reference's source rows, window and arithmetic, beside the agent's SQL (F7)"


class ValueLink(QObject):
    """Asks where the value under the cursor of the diff comes from."""

    def __init__(
        self, context: Context, diff: DiffScreen, stack: QStackedWidget, actions: Actions
    ) -> None:
        super().__init__(diff)
        self._context, self._diff, self._stack, self._actions = context, diff, stack, actions
        self.button = button(context, "Where is it from?", self.ask, icon="history")
        rows = diff.row_panel.layout()
        if rows is not None:
            rows.addWidget(self.button)
        stack.currentChanged.connect(lambda _: self._bind())
        diff.row_panel.row_shown.connect(self._follow)
        diff.model.view_changed.connect(lambda _: self._follow())
        self._follow()

    def _bind(self) -> None:
        here = self._stack.currentWidget() is self._diff
        self._actions.bind("diff.value", self.ask if here else None)

    def _follow(self) -> None:
        """The button can be pressed where there is something to follow; else its tip says why."""
        hindrance = self._hindrance()
        self.button.setEnabled(not hindrance)
        self.button.setToolTip(as_written(hindrance or _ABOUT))

    def _hindrance(self) -> str:
        """Why nothing can be followed from here; empty where something can, or soon."""
        grid = self._diff.grid
        if grid is None or self._diff.model.view is None or grid.current < 0:
            return NOWHERE
        record = grid.model.record(grid.current)
        if record is not None and KeyStatus(record[1]) is KeyStatus.EXTRA:
            return NOT_OURS
        return ""

    def ask(self) -> None:
        """Go to the timeline of the cell that the cursor is on."""
        hindrance = self._hindrance()
        grid, view = self._diff.grid, self._diff.model.view
        if hindrance or grid is None or view is None:
            self._context.told.emit(hindrance)
            return
        record = grid.model.record(grid.current)
        if record is None:
            self._context.told.emit("The row is still being read; try again in a moment.")
            return
        column = self._column(int(record[2] or 0))
        self._context.go(
            Place("timeline", self._diff.run_id, view.row_at(grid.current), column=column)
        )

    def _column(self, mismatches: int) -> str:
        """The column under the cursor; on a key the filter's, else the first mismatch."""
        grid, model = self._diff.grid, self._diff.model
        scored = model.layout.scored
        here = None
        if grid is not None and 0 <= grid.current_column < len(grid.model.columns):
            here = grid.model.columns[grid.current_column].scored
        if here is not None:
            return here.name
        if model.query.column is not None:
            return scored[model.query.column].name
        first = (mismatches & -mismatches).bit_length() - 1
        return scored[first if 0 <= first < len(scored) else 0].name
