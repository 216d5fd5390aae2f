"""The diff screen: filters above, the table, the row and column panels beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QSplitter,
    QStackedLayout,
    QTabWidget,
    QWidget,
)

from engine.base.errors import M4Error
from engine.base.jobs import Job
from m4review.app.context import Context, Screen
from m4review.app.links import Place
from m4review.app.widgets import EmptyState, ErrorPanel, button, label, page_layout
from m4review.diff.filterbar import FilterBar
from m4review.diff.grid import WAIT, DiffGrid
from m4review.diff.layout import KeyStatus
from m4review.diff.loader import BlockLoader
from m4review.diff.panels import ColumnPanel, RowPanel
from m4review.diff.query import Pair
from m4review.diff.reader import View
from m4review.diff.table import DiffModel
from m4review.diff.viewmodel import DiffViewModel

if TYPE_CHECKING:
    from pathlib import Path

    from m4review.app.actions import Actions


_NARROWEST = 210
"""Width of the side panel at least."""


class DiffScreen(Screen):
    """Shows the diff of one run."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.run_id = ""
        self.model = DiffViewModel(context.runner, self)
        self.loader: BlockLoader | None = None
        self.grid: DiffGrid | None = None
        self.errors = ErrorPanel(context)
        self.filters = FilterBar(context, self.model)
        self.row_panel = RowPanel(context)
        self.column_panel = ColumnPanel(context)
        self.panels = QTabWidget()
        self.panels.addTab(self.row_panel, "Row")
        self.panels.addTab(self.column_panel, "Column")
        self.panels.setMinimumWidth(context.px(_NARROWEST))
        self.status = QLabel()
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        self.status.setAccessibleName("Where you are in the diff")
        self.note = label("", "muted")
        self.busy = QProgressBar()
        self.busy.setRange(0, 0)
        self.busy.setTextVisible(False)
        self.busy.setFixedWidth(context.px(90))
        self.stop = button(context, "Cancel", self.model.cancel)
        self.previous = button(
            context, "Previous", self._previous, icon="chevron-up", tip="Shift+F8 or P"
        )
        self.next = button(context, "Next mismatch", self._next, icon="chevron-down", tip="F8 or N")
        self.panel_button = button(
            context,
            "",
            self._toggle_panel,
            icon="panel-right",
            tip="Show or hide the row and column panel (Ctrl+I)",
        )
        self.panel_button.setAccessibleName("Row and column panel")
        self._panel_timer = QTimer(self)
        self._panel_timer.setSingleShot(True)
        self._panel_timer.setInterval(60)
        self._panel_timer.timeout.connect(self._show_row)
        self._busy_timer = QTimer(self)
        self._busy_timer.setSingleShot(True)
        self._busy_timer.setInterval(150)
        self._busy_timer.timeout.connect(self._show_busy)
        self._row_shown = -1
        self._wanted_row: int | None = None
        self._build()
        self._wire()
        self._busy_changed(False)

    def _build(self) -> None:
        context = self.context
        page = page_layout(self, context)
        page.addWidget(self.errors)
        page.addWidget(self.filters)
        for each in (self.previous, self.next, self.panel_button):
            self.filters.second_row.addWidget(each, 0, Qt.AlignmentFlag.AlignTop)
        self._table_place = QWidget()
        self._stack = QStackedLayout(self._table_place)
        self.empty = EmptyState(
            context, "git-compare-arrows", "Opening the diff…", "Large ones take a moment."
        )
        self._stack.addWidget(self.empty)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(self._table_place)
        self.splitter.addWidget(self.panels)
        self.splitter.setStretchFactor(0, 1)
        self.splitter.splitterMoved.connect(lambda *_: self._remember_panel())
        page.addWidget(self.splitter, 1)
        line = QHBoxLayout()
        line.addWidget(self.status)
        line.addSpacing(context.px(12))
        line.addWidget(self.note, 1)
        line.addWidget(self.busy)
        line.addWidget(self.stop)
        page.addLayout(line)
        self.panels.setVisible(context.settings.get("diff.panel"))

    def _wire(self) -> None:
        model = self.model
        model.opened.connect(self._opened)
        model.view_changed.connect(self._view_changed)
        model.busy_changed.connect(self._busy_changed)
        model.query_changed.connect(self._query_changed)
        model.row_asked.connect(self._go_to)
        model.statistics_changed.connect(self.column_panel.show_statistics)
        model.failed.connect(self._failed)
        model.told.connect(self._tell)
        model.copied.connect(self._copied)
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
        self.run_id = place.name
        self._close_file()
        self.errors.dismiss()
        self.empty.say("Opening the diff…", "Large ones take a moment.")
        self._stack.setCurrentWidget(self.empty)
        self._wanted_row = place.row
        workbench = self.context.workbench
        run_id = place.name

        def find(job: Job) -> Path | None:
            return workbench.diff_of(run_id, job=job)

        def found(path: Path | None) -> None:
            if self.run_id != run_id:
                return
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

    def bind(self, actions: Actions) -> None:
        handlers = {
            "diff.next": self._next,
            "diff.previous": self._previous,
            "diff.goto": self._ask_where,
            "diff.only": self.filters.only.toggle,
            "diff.columns": self._toggle_columns,
            "diff.clear": self.model.clear,
            "diff.undo": self.model.undo,
            "diff.copy": lambda: self.copy(headers=False),
            "diff.copy_headers": lambda: self.copy(headers=True),
            "diff.panel": self._toggle_panel,
            "app.find": self.filters.focus_text,
        }
        for name, handler in handlers.items():
            actions.bind(name, handler)
        if self.grid is not None:
            self.grid.setFocus()

    def leave(self, actions: Actions) -> None:
        for name in (
            "diff.next", "diff.previous", "diff.goto", "diff.only", "diff.columns", "diff.clear",
            "diff.undo", "diff.copy", "diff.copy_headers", "diff.panel", "app.find",
        ):  # fmt: skip
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
        self.row_panel.show_row(None)
        self.model.close()
        self._row_shown = -1
        self.status.setText("")

    # --- opening

    def _opened(self) -> None:
        file, view = self.model.file, self.model.view
        if file is None or view is None:
            return
        self.loader = BlockLoader(file)
        self.loader.failed.connect(self._failed)
        table = DiffModel(file.layout, self.loader, view)
        table.dataChanged.connect(self._rows_came)
        grid = DiffGrid(table, self.context.theme)
        table.setParent(grid)
        grid.default_widths(self.model.longest)
        self._restore_widths(grid)
        grid.sort_asked.connect(lambda field, add: self.model.toggle_sort(field, add=add))
        grid.current_changed.connect(self._current_changed)
        self.grid = grid
        self._stack.addWidget(grid)
        self._stack.setCurrentWidget(grid)
        self.filters.set_layout_of(file.layout)
        self.column_panel.set_layout_of(file.layout)
        self.model.statistics_column = None
        self._apply_columns()
        grid.setFocus()
        if file.layout.scored:
            worst = max(file.layout.scored, key=lambda c: file.layout.mismatches_of(c.index))
            self.column_panel.show_column(worst.index)
            self.model.show_statistics(worst.index)

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
        self.previous.setEnabled(len(view.departures) > 0)
        self.next.setEnabled(len(view.departures) > 0)
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
        if self.grid is not None:
            self.note.setText("")
            self.grid.go_to(position, self._column_to_show(position))
            self._current_changed(position)

    def _column_to_show(self, position: int) -> int | None:
        """The scored column to stand on: the chosen one, else the row's first mismatch."""
        grid = self.grid
        if grid is None or self.model.query.column is not None:
            return self.model.query.column
        grid.model.ensure(position, position, wait=WAIT)
        record = grid.model.record(position)
        if record is None or KeyStatus(record[1]) is not KeyStatus.MATCHED or not record[2]:
            return None
        bits = int(record[2])
        if grid.current_column >= 0:
            here = grid.model.columns[grid.current_column].scored
            if here is not None and bits >> here.index & 1:
                return here.index
        return (bits & -bits).bit_length() - 1

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
        self.status.setText(self.model.status_line(max(0, position)))

    def _rows_came(self) -> None:
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

    def _next(self) -> None:
        self.model.next_mismatch(self.grid.current if self.grid else -1, 1)

    def _previous(self) -> None:
        self.model.next_mismatch(self.grid.current if self.grid else 0, -1)

    def _ask_where(self) -> None:
        keys = ", ".join(key.name for key in self.model.layout.keys) if self.model.file else ""
        text = self.context.interaction.ask_text("Go to", f"A key ({keys}), or # and a row number:")
        if text:
            self.model.go_to(text)

    def _pair_chosen(self, pair: Pair) -> None:
        self.model.set_pair(pair)

    def _toggle_panel(self) -> None:
        on = not self.panels.isVisible()
        self.panels.setVisible(on)
        self.context.settings.set("diff.panel", on)
        if on:
            self._refresh_panel()

    def _remember_panel(self) -> None:
        width = round(self.panels.width() / self.context.zoom)
        self.context.settings.set("diff.panel_width", max(_NARROWEST, width))

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
        self._apply_columns()
        self._tell(
            "Only the columns with mismatches are shown." if on else "All columns are shown."
        )

    def _apply_columns(self) -> None:
        if self.grid is None:
            return
        layout = self.model.layout
        only = self.context.settings.get("diff.only_bad_columns")
        shown = {c.index for c in layout.scored if not only or layout.mismatches_of(c.index)}
        self.grid.show_columns(frozenset(shown or {c.index for c in layout.scored}))

    def copy(self, *, headers: bool) -> None:
        """Copy the selected cells that are shown."""
        if self.grid is not None:
            self.model.copy(self.grid.selected(), self.grid.model.columns, headers=headers)

    def _copied(self, text: str, cells: int) -> None:
        QGuiApplication.clipboard().setText(text)
        self._tell(f"{cells:,} cell{'s' if cells != 1 else ''} copied.")

    def _tell(self, text: str) -> None:
        self.note.setText(text)

    # --- look

    def _busy_changed(self, on: bool) -> None:
        if on:
            self._busy_timer.start()  # quick ones need no bar
        else:
            self._busy_timer.stop()
            self.busy.hide()
            self.stop.hide()

    def _show_busy(self) -> None:
        self.busy.show()
        self.stop.setVisible(self.model.busy)

    def _theme_changed(self) -> None:
        self.panels.setMinimumWidth(self.context.px(_NARROWEST))
        self._panel_room()
        if self.grid is not None:
            self.grid.set_look(self.context.theme, self.font())
            self.grid.default_widths(self.model.longest)
            self._restore_widths(self.grid)

    def _width_key(self, grid: DiffGrid) -> list[str]:
        return [f"{c.part}:{c.title}" for c in grid.model.columns]

    def _remember_widths(self) -> None:
        if self.grid is None:
            return
        widths = self.context.settings.get("diff.widths")
        for at, key in enumerate(self._width_key(self.grid)):
            if at not in self.grid.widened:
                continue
            widths[key] = round(self.grid.width_of(at) / self.context.zoom)
        self.context.settings.set("diff.widths", widths)

    def _restore_widths(self, grid: DiffGrid) -> None:
        widths = self.context.settings.get("diff.widths")
        for at, key in enumerate(self._width_key(grid)):
            width = widths.get(key)
            if isinstance(width, int) and width > 0:
                grid.set_width(at, self.context.px(width))
                grid.widened.add(at)
