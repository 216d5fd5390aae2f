"""The diff: the table, what is beside and above it, and what stands there when there is none."""

from __future__ import annotations

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint
from PySide6.QtWidgets import QApplication

from m4review.app.links import Place
from m4review.diff.query import Kind
from pictures.registry import scene
from pictures.stage import Stage

ALL = "everything"


@scene("diff-top", "Every kind of status in one table, from its first row on", ALL)
def top(stage: Stage) -> None:
    stage.open_diff(ALL)
    stage.grid().go_to(0)
    stage.shot()


@scene("diff-mismatch", "As it opens: on the first mismatch; then a few further on", ALL)
def mismatch(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    stage.shot("first")
    for _ in range(5):
        diff.step(1)
        stage.rest()
    stage.shot("sixth")


@scene("diff-end", "The last rows and the last columns", ALL)
def end(stage: Stage) -> None:
    stage.open_diff(ALL)
    grid = stage.grid()
    grid.go_to(grid.model.rowCount() - 1)
    bar = grid.values.horizontalScrollBar()
    bar.setValue(bar.maximum())
    stage.shot()


@scene("diff-only", "Only mismatches; only those of one column", ALL)
def only(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    diff.filters.only.click()
    stage.shot("any")
    diff.model.set_column(stage.column("uo"))
    stage.shot("column")


@scene("diff-kind", "One kind of mismatch at a time, with its first row in full beside it", ALL)
def kinds(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    for kind in Kind:
        diff.model.clear()
        diff.model.toggle_kind(kind, True)
        stage.rest()
        stage.grid().go_to(0)
        stage.shot(kind.value)


@scene("diff-whatif", "Tolerances tried: as scored, half way, and the largest", ALL, alone=True)
def what_if(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    diff.model.set_column(stage.column("uo_mlkghr_6hr"))
    stage.rest()
    diff.toggle_what_if()
    stage.shot("scored")
    slider = diff.what_if.slider
    assert slider.maximum() > 0
    slider.setValue(slider.maximum() // 2)
    stage.pause(0.2)
    stage.shot("half")
    slider.setValue(slider.maximum())
    stage.pause(0.2)
    stage.shot("most")


@scene("diff-whatif-text", "Tolerances where every column holds texts", "raw-flawed", alone=True)
def what_if_text(stage: Stage) -> None:
    stage.open_diff("raw-flawed").toggle_what_if()
    stage.shot()


@scene(
    "diff-sql",
    "A condition in SQL: the empty line, one that holds, one that is refused",
    ALL,
    alone=True,
)
def sql(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    diff.filters.toggle_sql()
    stage.shot("empty")
    diff.filters.sql.setText("weight__status = 'different' AND weight__agent > 200")
    assert diff.model.show_typed(diff.filters.sql.text())
    stage.shot("applied")
    diff.filters.sql.setText("weight__agent > (SELECT 1)")
    assert not diff.model.show_typed(diff.filters.sql.text())
    stage.shot("refused")


@scene("diff-column", "The panel of one column: numbers, times, texts, and rows of one pair",
       ALL, "other_zone", "raw-flawed", alone=True)  # fmt: skip
def column(stage: Stage) -> None:
    for run, name in (
        (ALL, "weight"),
        ("other_zone", "suspected_infection_time"),
        ("raw-flawed", "ventilation_status"),
    ):
        diff = stage.open_diff(run)
        diff.panels.setCurrentWidget(diff.column_panel)
        diff.column_panel.show_column(stage.column(name))
        stage.shot(name)
    pairs = diff.column_panel.pairs
    assert pairs is not None
    pairs.cellClicked.emit(0, 0)
    stage.shot("pair")


@scene(
    "diff-columns",
    "Columns arranged: one hidden, one kept beside the keys; bad ones only",
    ALL,
    alone=True,
)
def columns(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    diff.columns_panel.changed.emit(
        diff.arrangement.hide(stage.column("uo"), True).freeze(stage.column("weight"), True)
    )
    diff._show_columns()
    stage.shot("arranged")
    diff._toggle_columns()
    stage.shot("bad")


@scene("diff-sorted", "Sorted by one column, then by two", ALL)
def sorted_rows(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    field = diff.model.layout.scored[stage.column("uo")].agent
    diff.model.toggle_sort(field, add=False)
    stage.shot("one")
    diff.model.toggle_sort("mismatches", add=True)
    assert len(diff.model.query.sort) == 2
    stage.shot("two")


@scene("diff-nothing", "A filter that leaves no row; a key that is not there", ALL)
def nothing(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    diff.model.set_text("stay_id=1")
    stage.shot("filter")
    diff.model.clear()
    stage.rest()
    diff.model.go_to("1")
    stage.shot("key")


@scene("diff-menus", "What a column's header and the export offer; selected cells", ALL, alone=True)
def menus(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    grid = stage.grid()
    diff._column_menu(stage.column("weight"), grid.values.mapToGlobal(QPoint(60, 10)))
    stage.shot("column")
    _close_popups()
    diff._export_menu()
    stage.shot("export")
    _close_popups()
    first, last = grid.model.index(2, 2), grid.model.index(7, 8)
    grid.keys.selectionModel().select(
        QItemSelection(first, last), QItemSelectionModel.SelectionFlag.ClearAndSelect
    )
    stage.shot("selection")


def _close_popups() -> None:
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()


@scene("diff-panel", "Without the panel; in the smallest window", ALL, alone=True)
def panel(stage: Stage) -> None:
    diff = stage.open_diff(ALL)
    diff.toggle_panel()
    stage.shot("off")
    diff.toggle_panel()
    stage.window.resize(stage.window.minimumSize())
    stage.shot("small")


@scene("diff-right", "A run that is right everywhere", "charlson")
def right(stage: Stage) -> None:
    stage.open_diff("charlson")
    stage.shot()


@scene("diff-wide", "Many columns, of yes and no", "charlson-flawed")
def wide(stage: Stage) -> None:
    stage.open_diff("charlson-flawed")
    stage.shot()


@scene("diff-episodes", "Episodes with a begin and an end", "ventilation-flawed")
def episodes(stage: Stage) -> None:
    stage.open_diff("ventilation-flawed")
    stage.shot()


@scene("diff-eicu", "Another database: keys and columns of eICU", "gcs-flawed")
def eicu(stage: Stage) -> None:
    stage.open_diff("gcs-flawed")
    stage.shot()


@scene("diff-none", "Outputs that are none, and what their run's page says",
       "no_table", "no_keys", "no_output")  # fmt: skip
def none(stage: Stage) -> None:
    for run in ("no_table", "no_keys", "no_output"):
        stage.go(Place("diff", stage.runs[run]))
        stage.shot(f"{run}-diff")
        stage.go(Place("run", stage.runs[run]))
        stage.shot(f"{run}-run")


@scene("diff-damaged", "A diff file that cannot be read", alone=True)
def damaged(stage: Stage) -> None:
    path = stage.home.root / "damaged.duckdb"
    path.write_bytes(b"this is no database" * 500)
    window, diff = stage.window, stage.diff
    window.stack.setCurrentWidget(diff)
    diff.bind(window.actions_of)
    diff.open_file(path)
    stage.until(lambda: diff.errors.error is not None, 30)
    stage.shot()


@scene("diff-opening", "While a diff is being opened", ALL)
def opening(stage: Stage) -> None:
    stage.window.go(Place("diff", stage.runs[ALL]))
    stage.shot(still=False)
