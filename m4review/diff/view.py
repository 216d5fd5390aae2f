"""The diff screen: filters above, the table, the row and column panels beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QWidget,
)

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.diagnosis import Judged, unmet
from m4review.app.context import Context
from m4review.app.jobs import Progress
from m4review.app.links import Place
from m4review.diff.grid import DiffGrid
from m4review.diff.halves import WAIT
from m4review.diff.keeping import (
    remember_widths,
    restore_widths,
)
from m4review.diff.layout import KeyStatus
from m4review.diff.loader import BlockLoader
from m4review.diff.parts import NARROWEST, DiffParts
from m4review.diff.query import Pair
from m4review.diff.reader import View

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from m4review.app.actions import Actions


class DiffScreen(DiffParts):
    """Shows the diff of one run."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._wire()
        self._busy_changed(False)

    def _wire(self) -> None:
        model = self.model
        self._panel_timer.timeout.connect(self._show_row)
        self._busy_timer.timeout.connect(self._show_busy)
        self.splitter.splitterMoved.connect(lambda *_: self._remember_panel())
        model.opened.connect(self._opened)
        model.view_changed.connect(self._view_changed)
        model.busy_changed.connect(self._busy_changed)
        model.query_changed.connect(self._query_changed)
        model.row_asked.connect(self._go_to)
        model.statistics_changed.connect(self.column_panel.show_statistics)
        model.failed.connect(self._failed)
        model.told.connect(self._tell)
        model.progressed.connect(self._progressed)
        self.outgoing.copied.connect(self._copied)
        self.row_panel.copy_asked.connect(self.outgoing.copy_text)
        self.outgoing.told.connect(self._tell)
        self.outgoing.failed.connect(self._failed)
        self.columns_panel.changed.connect(self._rearrange)
        self.columns.points_found.connect(self.what_if.set_points)
        self.columns.left.connect(self.show_table)
        self.columns.study_changed.connect(lambda _: self.tell_finding())
        self.what_if.column_wanted.connect(self.columns.find_points)
        self.what_if.closed.connect(self._close_what_if)
        self.column_panel.column_chosen.connect(model.show_statistics)
        self.column_panel.pair_chosen.connect(self._pair_chosen)
        self.panels.currentChanged.connect(lambda _: self._refresh_panel())
        self.context.theme_changed.connect(self._theme_changed)

    # --- the screen

    @property
    def title(self) -> str:
        return "Diff"

    def place(self) -> Place | None:
        row = None
        if self.grid is not None and self.model.view is not None and self.grid.current >= 0:
            row = self.model.view.row_at(self.grid.current)
        return Place("diff", self.run_id, row)

    def show_place(self, place: Place) -> None:
        if place.name == self.run_id and self.model.file is not None:
            if place.row is not None:
                self.model.go_to_row(place.row)
            return
        self.run_id = self.outgoing.run_id = place.name
        self._close_file()
        self.errors.dismiss()
        self.judged.tell(())
        self.empty.say("Opening the diff…", "Large ones take a moment.")
        self._stack.setCurrentWidget(self.empty)
        self._wanted_row = place.row
        workbench = self.context.workbench
        run_id = place.name

        def find(job: Job) -> tuple[Path | None, tuple[Judged, ...]]:
            path = workbench.diff_of(run_id, job=job)
            results = workbench.run_record(run_id).test_results
            return path, unmet(results.diagnostics) if results is not None else ()

        def found(both: tuple[Path | None, tuple[Judged, ...]]) -> None:
            if self.run_id != run_id:
                return
            path, judged = both
            self.judged.tell(judged)
            if path is None:
                self.empty.say(
                    "There is no diff of this run",
                    "The run left no table, or its reference is gone. The run page says why.",
                )
                self._busy_changed(False)
            else:
                self.open_file(path, row=self._wanted_row)

        self._busy_changed(True)
        self.context.runner.start("Make the diff", find, on_done=found, on_failed=self._open_failed)

    def open_file(self, path: Path, *, row: int | None = None) -> None:
        """Show a diff file."""
        self._close_file()
        self.model.open(path, scratch=self.context.workbench.home.scratch, row=row)

    def show_rows_of(self, run_id: str, condition: str, words: str, column: str = "") -> None:
        """Show rows of a run's diff that the engine chose; opens the diff where it must.

        Args:
            run_id: whose diff.
            condition: SQL over the table ``diff`` (`Rows.condition`).
            words: what the rows are.
            column: name of the scored column that they speak of, if any.
        """
        self._pending = (condition, words, column)
        if run_id == self.run_id and self.grid is not None:
            self._show_pending()
        elif run_id != self.run_id:
            self.show_place(Place("diff", run_id))

    def _show_pending(self) -> None:
        if self._pending is None:
            return
        (condition, words, column), self._pending = self._pending, None
        at = next((c.index for c in self.model.layout.scored if c.name == column), None)
        self.show_table()
        self.model.show_rows(condition, words, column=at)

    def bind(self, actions: Actions) -> None:
        handlers = self._handlers
        for name, handler in handlers.items():
            actions.bind(name, handler)
        if self.grid is not None:
            self.grid.setFocus()

    @property
    def _handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "diff.next": lambda: self.step(1),
            "diff.previous": lambda: self.step(-1),
            "diff.goto": self._ask_where,
            "diff.only": self.filters.only.toggle,
            "diff.columns": self._toggle_columns,
            "diff.clear": self.model.clear,
            "diff.undo": self.model.undo,
            "diff.copy": lambda: self.copy(headers=False),
            "diff.copy_headers": lambda: self.copy(headers=True),
            "diff.panel": self.toggle_panel,
            "app.find": self.filters.focus_text,
            "diff.export": lambda: self.export("shown"),
            "diff.export_selection": lambda: self.export("selection"),
            "diff.export_all": lambda: self.export("all"),
            "diff.sql": self.filters.toggle_sql,
            "diff.whatif": self.toggle_what_if,
            "diff.column_page": self.toggle_page,
            "diff.arrange": self._show_columns,
            "run.diagnosis": self._why,
        }

    def leave(self, actions: Actions) -> None:
        for name in self._handlers:
            actions.bind(name, None)
        self._remember_widths()

    def close_down(self) -> None:
        self._remember_widths()
        self._close_file()

    def _close_file(self) -> None:
        if self.loader is not None:
            self.loader.close()
            self.loader = None
        if self.grid is not None:
            self.grid.hide()
            self._stack.removeWidget(self.grid)
            self.grid.deleteLater()
            self.grid = None
        self.why_button.setEnabled(False)
        self.row_panel.show_row(None)
        self.columns.forget()
        self.model.close()
        self.filters.forget()
        self._row_shown = -1
        self.status.setText("")

    # --- opening

    def _opened(self) -> None:
        file, view = self.model.file, self.model.view
        if file is None or view is None:
            return
        self.loader = BlockLoader(file)
        self.loader.failed.connect(self._failed)
        self.open_arranged()
        self.filters.set_layout_of(file.layout)
        self.column_panel.set_layout_of(file.layout)
        self.what_if.set_layout_of(file.layout)
        if self.page is not None:
            self.page.set_layout_of(file.layout)
        self.why_button.setEnabled(bool(self.run_id))
        self.model.statistics_column = None
        if self.grid is not None:
            self.grid.setFocus()
        QTimer.singleShot(0, self._show_pending)

    def _open_failed(self, error: M4Error) -> None:
        self._busy_changed(False)
        self.empty.say("The diff cannot be shown", "What happened stands above.")
        self.errors.show_error(error)

    def _failed(self, error: M4Error) -> None:
        if self.grid is None:
            self._open_failed(error)
        else:
            self.errors.show_error(error)

    # --- view and position

    def _view_changed(self, view: View) -> None:
        if self.grid is None:
            return
        if self.grid.model.view is not view:
            self.grid.set_view(view)
        self._row_shown = -1
        self._update_status()
        if view.sought and self.model.statistics_column is None and self.model.layout.scored:
            layout = self.model.layout  # not sooner: it would compete with the first rows
            worst = max(layout.scored, key=lambda c: layout.mismatches_of(c.index)).index
            self.column_panel.show_column(worst)
            self.model.show_statistics(worst)
        for each in (self.previous, self.next):
            each.setEnabled(not view.sought or len(view.departures) > 0)
        if view.count == 0:
            self.row_panel.show_row(None)
        if view.count > self.grid.model.rowCount():
            self._tell(
                f"Only the first {self.grid.model.rowCount():,} rows can be scrolled to; "
                "filter to see the others."
            )

    def _query_changed(self) -> None:
        if self.grid is not None:
            self.grid.set_sorts(self.model.query.sort)
            column = self.model.query.column
            if column is not None:
                self.column_panel.show_column(column)

    def _go_to(self, position: int) -> None:
        grid = self.grid
        if grid is None:
            return
        self.note.setText("")
        grid.model.ensure(position, position, wait=WAIT)
        # Where the row is not there yet, its mismatch is shown as soon as it comes.
        self._to_show = None if grid.model.record(position) is not None else position
        grid.go_to(position, self.column_to_show(position))
        self._current_changed(position)

    def column_to_show(self, position: int) -> int | None:
        """The scored column to stand on: the chosen one, else the row's first mismatch."""
        grid = self.grid
        if grid is None:
            return None
        order = [c.scored.index for c in grid.model.columns if c.part == "agent" and c.scored]
        if self.model.query.column in order:
            return self.model.query.column
        record = grid.model.record(position)
        if record is None or KeyStatus(record[1]) is not KeyStatus.MATCHED or not record[2]:
            return None
        bits = int(record[2])
        if grid.current_column >= 0:
            here = grid.model.columns[grid.current_column].scored
            if here is not None and bits >> here.index & 1:
                return here.index
        return next((index for index in order if bits >> index & 1), None)

    def _current_changed(self, position: int) -> None:
        if position >= 0:
            self.model.remember_position(position)
        self._update_status()
        self._panel_timer.start()
        grid = self.grid
        if grid is not None and grid.current_column >= 0:
            scored = grid.model.columns[grid.current_column].scored
            if scored is not None and self.panels.currentWidget() is self.column_panel:
                self.column_panel.show_column(scored.index)

    def _update_status(self) -> None:
        position = self.grid.current if self.grid is not None else 0
        self.status.setText(self.model.status_line(max(0, position)) + self._hidden_order())

    def _hidden_order(self) -> str:
        """What the rows are sorted by where no header shows it."""
        if self.grid is None:
            return ""
        seen = {column.sort_field for column in self.grid.model.columns}
        hidden = [sort.field for sort in self.model.query.sort if sort.field not in seen]
        if not hidden:
            return ""
        names = [column.name for column in self.model.layout.scored
                 if {column.reference, column.agent, column.status} & set(hidden)]  # fmt: skip
        return f" · sorted by {' and '.join(names)}, which is hidden" if names else ""

    def _rows_came(self) -> None:
        position, grid = self._to_show, self.grid
        if position is not None and grid is not None and grid.model.record(position) is not None:
            self._to_show = None
            if grid.current == position:
                grid.go_to(position, self.column_to_show(position))
        if self.grid is not None and self._row_shown != self.grid.current:
            self._panel_timer.start()

    def _refresh_panel(self) -> None:
        self._row_shown = -1
        self._show_row()

    def _show_row(self) -> None:
        grid = self.grid
        if grid is None or not self.panels.isVisible():
            return
        if self.panels.currentWidget() is not self.row_panel or self._row_shown == grid.current:
            return
        record = grid.model.record(grid.current) if grid.current >= 0 else None
        if record is not None:
            self._row_shown = grid.current
            self.row_panel.show_row(self.model.detail(record))

    # --- commands

    def step(self, direction: int) -> None:
        here = self.grid.current if self.grid else -1
        self.model.next_mismatch(here, direction)

    def watch(self, grid: DiffGrid) -> None:
        grid.model.dataChanged.connect(self._rows_came)
        grid.current_changed.connect(self._current_changed)

    def _ask_where(self) -> None:
        keys = ", ".join(key.name for key in self.model.layout.keys) if self.model.file else ""
        text = self.context.interaction.ask_text("Go to", f"A key ({keys}), or # and a row number:")
        if text:
            self.model.go_to(text)

    def _pair_chosen(self, pair: Pair) -> None:
        self.model.set_pair(pair)

    def toggle_panel(self) -> None:
        on = not self.panels.isVisible()
        self.panels.setVisible(on)
        self.context.settings.set("diff.panel", on)
        if on:
            self._refresh_panel()

    def _remember_panel(self) -> None:
        width = round(self.panels.width() / self.context.zoom)
        self.context.settings.set("diff.panel_width", max(NARROWEST, width))

    def _panel_room(self) -> None:
        """Give the side panel the width that it had, and the table the rest."""
        width = self.context.px(self.context.settings.get("diff.panel_width"))
        self.splitter.setSizes([max(1, self.splitter.width() - width), width])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._panel_room()

    def _toggle_columns(self) -> None:
        on = not self.context.settings.get("diff.only_bad_columns")
        self.context.settings.set("diff.only_bad_columns", on)
        self.make_grid()
        self._tell(
            "Only the columns with mismatches are shown." if on else "All columns are shown."
        )

    def copy(self, *, headers: bool) -> None:
        """Copy the selected cells that are shown."""
        if self.grid is not None and self._stack.currentWidget() is not self.grid:
            self._tell("Cells are copied from the rows; a click on a figure leads to its rows.")
        elif self.grid is not None:
            self.outgoing.copy(self.grid.selected(), self.grid.model.columns, headers=headers)

    def _copied(self, text: str, cells: int) -> None:
        QGuiApplication.clipboard().setText(text)
        what = f"{cells:,} cell{'s' if cells != 1 else ''}" if cells else "The text was"
        self._tell(f"{what} copied.")

    def _tell(self, text: str) -> None:
        self.note.setText(text)

    # --- look

    def _busy_changed(self, on: bool) -> None:
        if on:
            self.busy.setRange(0, 0)
            self._busy_timer.start()  # quick ones need no bar
        else:
            self._busy_timer.stop()
            self.busy.hide()
            self.stop.hide()

    def _progressed(self, progress: Progress) -> None:
        self.busy.setRange(0, int(progress.total))
        self.busy.setValue(int(progress.done))
        self.busy.setFormat(f"{progress.text}…")

    def _show_busy(self) -> None:
        self.busy.show()
        self.stop.setVisible(self.model.busy)

    def _theme_changed(self) -> None:
        self.panels.setMinimumWidth(self.context.px(NARROWEST))
        self._panel_room()
        if self.grid is not None:
            self.grid.set_look(self.context.theme, self.font())
            self.grid.default_widths(self.model.longest)
            restore_widths(self.context, self.grid)

    def _remember_widths(self) -> None:
        if self.grid is not None:
            remember_widths(self.context, self.grid)
