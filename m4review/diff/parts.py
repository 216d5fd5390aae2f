"""The parts of the diff screen, and what can be done with columns, column page and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QProgressBar,
    QSizePolicy,
    QSplitter,
    QStackedLayout,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from m4review.app.context import Context, Screen
from m4review.app.links import Place
from m4review.app.widgets import (
    ColumnScroll,
    ElidedLabel,
    EmptyState,
    ErrorPanel,
    button,
    label,
    page_layout,
)
from m4review.diff.arrange import Arrangement
from m4review.diff.column_page import ColumnPage
from m4review.diff.column_viewmodel import ColumnViewModel
from m4review.diff.columns_panel import ColumnsPanel
from m4review.diff.filterbar import FilterBar
from m4review.diff.grid import DiffGrid
from m4review.diff.judged import JudgedLine
from m4review.diff.keeping import (
    arrangement_of,
    keep_arrangement,
    remember_widths,
    restore_widths,
)
from m4review.diff.loader import BlockLoader
from m4review.diff.outgoing import Outgoing, Scope
from m4review.diff.panels import ColumnPanel
from m4review.diff.row_panel import RowPanel
from m4review.diff.table import DiffModel
from m4review.diff.viewmodel import DiffViewModel
from m4review.diff.whatif import WhatIfBar

if TYPE_CHECKING:
    from collections.abc import Callable

NARROWEST = 210
"""Width of the side panel at least."""
_LOWEST = 200
"""Pixels at 100 % of the height of table and side panel, at least."""


class DiffParts(Screen):
    """Widgets of the screen; `DiffScreen` brings them to life."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.run_id = ""
        self.model = DiffViewModel(context.runner, self)
        self.loader: BlockLoader | None = None
        self.grid: DiffGrid | None = None
        self.errors = ErrorPanel(context)
        self.judged = JudgedLine()
        self.filters = FilterBar(context, self.model)
        self.row_panel = RowPanel(context)
        self.column_panel = ColumnPanel(context)
        self.panels = QTabWidget()
        self.panels.addTab(self.row_panel, "Row")
        self.panels.addTab(self.column_panel, "Column")
        self.columns_panel = ColumnsPanel(context)
        self.panels.addTab(self.columns_panel, "Columns")
        self.outgoing = Outgoing(context, self.model)
        self.columns = ColumnViewModel(self.model)
        self.what_if = WhatIfBar(context, self.model)
        self.what_if.hide()
        self.page: ColumnPage | None = None
        self.panels.setMinimumWidth(context.px(NARROWEST))
        self.status = ElidedLabel()
        self.status.setAccessibleName("Where you are in the diff")
        self.note = label("", "muted")
        self.busy = QProgressBar()
        self.busy.setRange(0, 0)
        self.busy.setFixedWidth(context.px(180))
        self.stop = button(context, "Cancel", self.model.cancel)
        self.previous = button(
            context, "", lambda: self.step(-1), icon="chevron-up",
            tip="Previous mismatch (Shift+F8 or P)",
        )  # fmt: skip
        self.previous.setAccessibleName("Previous mismatch")
        self.next = button(
            context, "Next mismatch", lambda: self.step(1), icon="chevron-down", tip="F8 or N"
        )
        self.page_button = button(
            context, "Column page", self.toggle_page, icon="columns-3",
            tip="Charts of one column (Ctrl+Shift+E)",
        )  # fmt: skip
        self.why_button = button(
            context, "Why?", self._why, icon="stethoscope",
            tip="What went wrong: what the mismatches have in common, and where they sit (Ctrl+E)",
        )  # fmt: skip
        self.why_button.setEnabled(False)
        self.finding: Callable[[str], str] = lambda _column: ""
        self.export_button = button(
            context, "Export…", self._export_menu, icon="external-link",
            tip="Write rows to a CSV or Parquet file (Ctrl+S)",
        )  # fmt: skip
        self.panel_button = button(
            context,
            "",
            self.toggle_panel,
            icon="panel-right",
            tip="Show or hide the row and column panel (Ctrl+I)",
        )
        self.panel_button.setAccessibleName("Row and column panel")
        self._panel_timer = QTimer(self)
        self._panel_timer.setSingleShot(True)
        self._panel_timer.setInterval(60)
        self._busy_timer = QTimer(self)
        self._busy_timer.setSingleShot(True)
        self._busy_timer.setInterval(300)
        self._row_shown = -1
        self._wanted_row: int | None = None
        self._pending: tuple[str, str, str] | None = None
        self._to_show: int | None = None
        self._build()

    def _build(self) -> None:
        context = self.context
        inner = QWidget()
        page = page_layout(inner, context)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ColumnScroll(inner))  # large letters in a small window: the page scrolls
        self.why_button.setAccessibleName("What went wrong")
        page.addWidget(self.errors)
        page.addWidget(self.judged)
        page.addWidget(self.filters)
        page.addWidget(self.what_if)
        for each in (self.previous, self.next, self.why_button):
            self.filters.second_row.addWidget(each)
        self.filters.set_tools((self.page_button, self.export_button, self.panel_button))
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
        policy = QSizePolicy.Policy  # as high as there is room, and never too low to read
        self.splitter.setSizePolicy(policy.Expanding, policy.Ignored)
        self._keep_room()
        context.theme_changed.connect(self._keep_room)
        page.addWidget(self.splitter, 1)
        line = QHBoxLayout()
        line.addWidget(self.status)
        line.addSpacing(context.px(12))
        line.addWidget(self.note, 1)
        line.addWidget(self.busy)
        line.addWidget(self.stop)
        page.addLayout(line)
        self.panels.setVisible(context.settings.get("diff.panel"))

    def _keep_room(self) -> None:
        self.splitter.setMinimumHeight(self.context.px(_LOWEST))

    # --- what the screen brings

    def step(self, direction: int) -> None:
        """Go to the next (1) or the former (-1) mismatch."""
        raise NotImplementedError

    def toggle_panel(self) -> None:
        """Show the side panel, or put it away."""
        raise NotImplementedError

    def watch(self, grid: DiffGrid) -> None:
        """Follow a new table."""
        raise NotImplementedError

    def column_to_show(self, position: int) -> int | None:
        """The scored column to stand on in a row of the view."""
        raise NotImplementedError

    # --- the table

    def open_arranged(self) -> None:
        """Make the table of an opened file, with its columns as they were left."""
        self.arrangement = arrangement_of(self.context, self.model.layout)
        self.make_grid()
        self._fill_columns()

    def make_grid(self) -> None:
        """A table over the present view, with the columns as they are arranged."""
        view, loader = self.model.view, self.loader
        if view is None or loader is None:
            return
        old = self.grid
        only = self.context.settings.get("diff.only_bad_columns")
        arranged = (
            self.arrangement.without_matching(self.model.layout) if only else (self.arrangement)
        )
        if old is not None:
            remember_widths(self.context, old)
            old.model.let_go()
        table = DiffModel(self.model.layout, loader, view, arrangement=arranged)
        grid = DiffGrid(table, self.context.theme)
        table.setParent(grid)
        grid.set_look(self.context.theme, self.font())
        grid.default_widths(self.model.longest)
        restore_widths(self.context, grid)
        grid.sort_asked.connect(lambda field, add: self.model.toggle_sort(field, add=add))
        self.watch(grid)
        grid.menu_asked.connect(self._column_menu)
        grid.set_sorts(self.model.query.sort)
        self.grid = grid
        self._stack.addWidget(grid)
        shown = old is None or self._stack.currentWidget() is old
        if shown:
            self._stack.setCurrentWidget(grid)
        if old is not None:
            position = old.current
            self._stack.removeWidget(old)
            old.hide()
            old.deleteLater()
            if position >= 0:
                grid.go_to(position, self.column_to_show(position))

    # --- columns

    def _rearrange(self, arrangement: Arrangement) -> None:
        self.arrangement = arrangement
        keep_arrangement(self.context, self.model.layout, arrangement)
        self.make_grid()
        self._fill_columns()

    def _fill_columns(self) -> None:
        self.columns_panel.set_arrangement(self.arrangement, self.model.layout)

    def _show_columns(self) -> None:
        self.panels.setCurrentWidget(self.columns_panel)
        if not self.panels.isVisible():
            self.toggle_panel()
        self.columns_panel.list.setFocus()

    def _column_menu(self, column: int, place: QPoint) -> None:
        """What can be done with a column, at its header."""
        arranged, name = self.arrangement, self.model.layout.scored[column].name
        menu = QMenu(self)
        at = arranged.order.index(column)
        frozen = column in arranged.frozen
        wishes: list[tuple[str, Callable[[], object]]] = [
            (f"Column page of {name}", lambda: self.show_page(column)),
            (f"Hide {name}", lambda: self._rearrange(arranged.hide(column, True))),
            (
                "Let it scroll" if frozen else "Keep beside the keys",
                lambda: self._rearrange(arranged.freeze(column, not frozen)),
            ),
            ("Move left", lambda: self._rearrange(arranged.move(column, at - 1))),
            ("Move right", lambda: self._rearrange(arranged.move(column, at + 1))),
            ("All columns…", self._show_columns),
        ]
        if self.model.layout.scored[column].compared_as != "text":
            wishes.insert(1, ("What if the tolerance were…", lambda: self._ask_what_if(column)))
        for text, handler in wishes:
            menu.addAction(text).triggered.connect(lambda _=False, do=handler: do())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    # --- column page and what-if

    @property
    def _column_here(self) -> int:
        """The scored column that the user looks at; else the worst one."""
        if self.model.query.column is not None:
            return self.model.query.column
        if self.grid is not None and self.grid.current_column >= 0:
            scored = self.grid.model.columns[self.grid.current_column].scored
            if scored is not None:
                return scored.index
        layout = self.model.layout
        return max(layout.scored, key=lambda c: layout.mismatches_of(c.index)).index

    def toggle_page(self) -> None:
        """The column page, or the table again."""
        if self.page is not None and self._stack.currentWidget() is self.page:
            self.show_table()
        elif self.model.file is not None and self.model.layout.scored:
            self.show_page(self._column_here)

    def show_page(self, column: int) -> None:
        """Show the page of a scored column."""
        if self.page is None:
            self.page = ColumnPage(self.context, self.model, self.columns)
            self.page.set_layout_of(self.model.layout)
            self.page.why.clicked.connect(lambda _=False: self._why())
            self._stack.addWidget(self.page)
        self._stack.setCurrentWidget(self.page)
        self.page_button.setText(" Rows")
        self.page.choose(column)
        self.tell_finding()
        self.page.choice.setFocus()

    def tell_finding(self) -> None:
        """Say on the column page what is known to be wrong with its column."""
        if self.page is not None:
            name = self.page.choice.currentText()
            self.page.show_finding(self.finding(name) if name else "", run=bool(self.run_id))

    def _why(self) -> None:
        if self.run_id:
            self.context.go(Place("diagnosis", self.run_id))

    def show_table(self) -> None:
        """Show the rows again."""
        if self.grid is not None:
            self._stack.setCurrentWidget(self.grid)
            self.page_button.setText(" Column page")
            self.grid.setFocus()

    def toggle_what_if(self) -> None:
        """Show the slider of tolerances, or put it and its what-if away."""
        if self.what_if.isVisible():
            self._close_what_if()
        elif self.model.file is not None and self.model.layout.scored:
            self._ask_what_if(self._column_here)

    def _ask_what_if(self, column: int) -> None:
        self.what_if.show()
        self.what_if.choose(column)
        self.what_if.slider.setFocus()

    def _close_what_if(self) -> None:
        self.model.drop_tolerances()
        self.what_if.hide()
        if self.grid is not None:
            self.grid.setFocus()

    # --- out of the program

    def export(self, scope: Scope) -> None:
        """Write rows to a file that is asked for."""
        if self.grid is not None:
            self.outgoing.export(
                scope,
                blocks=self.grid.selected(),
                columns=self.grid.model.columns,
                shown=self.grid.shown_columns,
            )

    def _export_menu(self) -> None:
        menu = QMenu(self)
        scopes: tuple[tuple[str, Scope], ...] = (
            ("Rows shown, in their order…", "shown"),
            ("Selected cells…", "selection"),
            ("All rows and columns…", "all"),
        )
        for text, scope in scopes:
            menu.addAction(text).triggered.connect(lambda _=False, what=scope: self.export(what))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.export_button.mapToGlobal(self.export_button.rect().bottomLeft()))
