"""Journeys over the diff in the real window: what-if, conditions, columns, exports, column page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pa_parquet
import pytest
from app_window import settle, show_diff, until
from diff_factory import Made, make_diff
from PySide6.QtCore import QItemSelection, QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from engine import audit
from m4review.app.window import MainWindow
from m4review.diff.layout import CellStatus, KeyStatus
from m4review.diff.view import DiffScreen
from m4review.run.words import two_shares

pytestmark = pytest.mark.gui
ROWS = 3_000
Key = Qt.Key
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_diff(tmp_path_factory.mktemp("journeys") / "diff.duckdb", ROWS)


@pytest.fixture
def window(open_window: Callable[..., MainWindow]) -> MainWindow:
    return open_window()


@pytest.fixture
def screen(window: MainWindow, made: Made) -> DiffScreen:
    return show_diff(window, made.path)


def shown(screen: DiffScreen) -> int:
    """Rows of the view."""
    assert screen.model.view is not None
    return screen.model.view.count


def test_the_first_mismatch_is_seen_whole(window: MainWindow, screen: DiffScreen) -> None:
    grid = screen.grid
    assert grid is not None
    column = grid.model.columns[grid.current_column]
    assert column.part == "agent"
    cell = grid.values.visualRect(grid.model.index(grid.current, grid.current_column))
    assert grid.values.viewport().rect().contains(cell)


def test_what_if_marks_and_counts_and_leaves_no_trace(
    window: MainWindow, screen: DiffScreen
) -> None:
    QTest.keyClick(window, Key.Key_T, CONTROL)
    until(window, screen.what_if.slider.isEnabled)
    scored = dict(screen.model.layout.cell_counts[0])
    before = screen.model.layout.match_rate(0)
    screen.what_if.slider.setValue(screen.what_if.slider.maximum())  # everything that has a value
    until(window, lambda: bool(screen.model.view and screen.model.view.counts))
    settle(window)
    would = screen.model.counted
    assert would.cells(CellStatus.DIFFERENT, column=0) == 0
    assert would.match_rate(0) > before
    assert "With a tolerance of 7, " in screen.what_if.said.text()
    assert "the score is not touched" in screen.what_if.said.text()
    grid = screen.grid
    assert grid is not None
    assert grid.model.what_if == {0}
    screen.model.go_to_row(3)  # different, as scored
    settle(window)
    record = grid.model.record(grid.current)
    assert record is not None
    assert record[7] == CellStatus.NEAR
    assert "in the what-if" in screen.status.text()
    screen.what_if.reset.click()
    settle(window)
    assert screen.model.query.tolerances == ()
    assert dict(screen.model.counted.cell_counts[0]) == scored


def test_a_typed_tolerance_is_checked(window: MainWindow, screen: DiffScreen) -> None:
    QTest.keyClick(window, Key.Key_T, CONTROL)
    settle(window)
    value = screen.what_if.value
    value.setFocus()
    value.selectAll()
    QTest.keyClicks(value, "-3")
    QTest.keyClick(value, Key.Key_Return)
    assert "A tolerance is a number from 0 on" in screen.what_if.said.text()
    assert screen.model.query.tolerances == ()


def test_a_condition_in_sql_filters_and_goes_away(window: MainWindow, screen: DiffScreen) -> None:
    QTest.keyClick(window, Key.Key_F, CONTROL | SHIFT)
    QTest.keyClicks(screen.filters.sql, "heart_rate__status = 'different'")
    QTest.keyClick(screen.filters.sql, Key.Key_Return)
    until(window, lambda: shown(screen) < ROWS)
    assert shown(screen) == screen.model.layout.cells(CellStatus.DIFFERENT, column=0)
    assert screen.filters.chosen.isVisible()
    screen.filters.sql.setText("row IN (SELECT row FROM diff)")
    QTest.keyClick(screen.filters.sql, Key.Key_Return)
    settle(window)
    assert screen.errors.error is not None
    assert "no query" in str(screen.errors.error)
    assert shown(screen) < ROWS  # the refused one changed nothing
    screen.errors.dismiss()
    screen.filters.chosen.click()
    until(window, lambda: shown(screen) == ROWS)


def test_rows_that_a_finding_speaks_of(window: MainWindow, screen: DiffScreen) -> None:
    screen.model.show_rows("row BETWEEN 10 AND 19", "ten rows", column=1)
    until(window, lambda: shown(screen) == 10)
    assert "ten rows" in screen.filters.chosen.text()
    assert screen.model.query.column == 1


def test_columns_are_hidden_frozen_moved_and_remembered(
    open_window: Callable[..., MainWindow], made: Made, tmp_path: Path
) -> None:
    home = tmp_path / "kept"
    window = open_window(home)
    screen = show_diff(window, made.path)
    QTest.keyClick(window, Key.Key_B, CONTROL | SHIFT)
    panel = screen.columns_panel
    assert panel.list.hasFocus()
    panel.list.setCurrentRow(3)
    panel.freeze.click()
    panel.list.setCurrentRow(0)
    panel.down.click()
    panel.list.item(2).setCheckState(Qt.CheckState.Unchecked)
    settle(window)
    titles = (
        [c.title for c in screen.grid.model.columns if c.part == "agent"] if screen.grid else []
    )
    assert titles == ["status", "score", "heart_rate"]
    window.close()
    again = show_diff(open_window(home), made.path)
    assert again.grid is not None
    columns = again.grid.model.columns
    assert [c.title for c in columns if c.part == "agent"] == titles
    assert [c.frozen for c in columns if c.part == "agent"] == [True, False, False]
    frozen = next(at for at, c in enumerate(columns) if c.part == "agent")
    assert not again.grid.keys.isColumnHidden(frozen)
    for row in range(4):
        again.columns_panel.list.item(row).setCheckState(Qt.CheckState.Unchecked)
    assert len(again.arrangement.shown) == 1  # the last one stays


def test_copies_are_asked_for_recorded_and_tell_null_from_empty(
    open_window: Callable[..., MainWindow], made: Made
) -> None:
    window = open_window(None, False, True)
    screen = show_diff(window, made.path)
    grid = screen.grid
    assert grid is not None
    QGuiApplication.clipboard().setText("before")
    row = QItemSelection(grid.model.index(2, 0), grid.model.index(2, len(grid.model.columns) - 1))
    grid.keys.selectionModel().select(row, QItemSelectionModel.SelectionFlag.ClearAndSelect)
    screen.copy(headers=False)
    until(window, lambda: "Nothing was copied" in screen.note.text())
    assert QGuiApplication.clipboard().text() == "before"
    screen.copy(headers=False)
    until(window, lambda: "copied." in screen.note.text())
    cells = QGuiApplication.clipboard().text().split("\t")
    assert "null" in cells
    copies = [e for e in audit.read_log(window.context.workbench.home) if "export" in e.what]
    assert [e.what for e in copies] == ["export.clipboard"]
    assert copies[0].facts["rows"] == 1


def test_a_value_of_the_row_panel_is_copied_as_cells_are(
    open_window: Callable[..., MainWindow], made: Made
) -> None:
    window = open_window(None, False, True)
    screen = show_diff(window, made.path)
    until(window, lambda: bool(screen.row_panel._keys))
    key = screen.row_panel._keys[0][1]
    QGuiApplication.clipboard().setText("before")
    for said, text, recorded in (("Nothing was copied", "before", 0), ("copied.", key.whole, 1)):
        key.setFocus()
        key.setSelection(0, len(key.text()))
        QTest.keyClick(key, Key.Key_C, CONTROL)
        until(window, lambda said=said: said in screen.note.text())  # type: ignore[misc]
        assert QGuiApplication.clipboard().text() == text
        log = audit.read_log(window.context.workbench.home)
        assert [e.facts["rows"] for e in log if e.what == "export.clipboard"] == [1] * recorded
    key.setSelection(0, len(key.text()))
    QTest.mousePress(key, Qt.MouseButton.LeftButton, pos=key.rect().center())
    assert not key.hasSelectedText(), "a selected text could be dragged away"
    QTest.mouseRelease(key, Qt.MouseButton.LeftButton, pos=key.rect().center())


def test_on_the_column_page_no_unseen_cells_are_copied(
    window: MainWindow, screen: DiffScreen
) -> None:
    screen.show_page(0)
    until(window, lambda: drawn(screen))
    QGuiApplication.clipboard().setText("before")
    QTest.keyClick(window, Key.Key_C, CONTROL)
    settle(window)
    assert "copied from the rows" in screen.note.text()
    assert QGuiApplication.clipboard().text() == "before"


def test_an_order_that_no_header_shows_is_told(window: MainWindow, screen: DiffScreen) -> None:
    screen.model.toggle_sort("a0", add=False)
    settle(window)
    assert "sorted" not in screen.status.text()
    screen.columns_panel.changed.emit(screen.arrangement.hide(0, True))
    settle(window)
    screen.step(1)
    assert "sorted by heart_rate, which is hidden" in screen.status.text()
    screen.columns_panel.changed.emit(screen.arrangement.hide(0, False))
    settle(window)


def test_a_filter_that_came_to_nothing_is_nothing_to_undo(
    window: MainWindow, screen: DiffScreen
) -> None:
    screen.model.set_only_mismatches(True)
    settle(window)
    screen.model.show_typed("score__agent = 'many'")
    until(window, lambda: screen.errors.error is not None)
    screen.model.undo()
    settle(window)
    assert shown(screen) == ROWS


def test_the_rows_shown_are_written_to_a_file(
    open_window: Callable[..., MainWindow], made: Made, tmp_path: Path
) -> None:
    out = tmp_path / "rows.parquet"
    window = open_window(None, True, out)
    screen = show_diff(window, made.path)
    screen.model.set_only_mismatches(True)
    settle(window)
    QTest.keyClick(window, Key.Key_S, CONTROL)
    until(window, lambda: "written" in screen.note.text())
    table = pa_parquet.read_table(out)
    assert table["row"].to_pylist() == made.mismatching
    assert {"heart_rate__status", "stay_id"} <= set(table.column_names)
    entry = audit.read_log(window.context.workbench.home)[-1]
    assert (entry.what, entry.facts["rows"]) == ("export.file", len(made.mismatching))


def test_rows_of_a_what_if_leave_with_the_status_of_the_score(
    open_window: Callable[..., MainWindow], made: Made, tmp_path: Path
) -> None:
    out = tmp_path / "rows.parquet"
    window = open_window(None, True, out)
    screen = show_diff(window, made.path)
    screen.model.set_tolerance(0, 100.0)
    settle(window)
    screen.model.set_column(0)
    screen.model.set_only_mismatches(True)
    settle(window)
    screen.export("shown")
    until(window, lambda: "written" in screen.note.text())
    assert "status is that of the score" in screen.note.text()
    table = pa_parquet.read_table(out)
    assert table.num_rows == screen.model.counted.mismatches_of(0) == shown(screen)
    assert table.num_rows < screen.model.layout.mismatches_of(0)


def drawn(screen: DiffScreen) -> bool:
    """Does the column page stand?"""
    return screen.page is not None and screen.page.drawn


def test_every_figure_of_the_column_page_leads_to_its_rows(
    window: MainWindow, screen: DiffScreen
) -> None:
    screen.show_page(0)
    until(window, lambda: drawn(screen))
    page = screen.page
    assert page is not None
    assert set(page.charts) == {"histogram", "scatter", "curve"}
    chart = page.charts["histogram"]
    chart.setFocus()
    QTest.keyClick(chart, Key.Key_End)
    expected = chart.marks[chart.current].count
    assert f"{expected:,} rows" in chart.said.text()
    QTest.keyClick(chart, Key.Key_Return)
    until(window, lambda: shown(screen) == expected)
    assert screen._stack.currentWidget() is screen.grid
    screen.show_page(0)
    until(window, lambda: drawn(screen))
    table = page.tables["nulls"]
    table.cellActivated.emit(2, 0)
    until(window, lambda: shown(screen) == table.rows[2].count)
    screen.show_page(3)
    until(window, lambda: page.matrix is not None and drawn(screen))
    assert page.matrix is not None
    cell = next(c for c in page.matrix._found.cells if c.reference != c.agent)
    page.matrix.chosen.emit(cell)
    until(window, lambda: shown(screen) == cell.count)


def test_a_click_on_a_bar_is_a_click_on_its_rows(window: MainWindow, screen: DiffScreen) -> None:
    screen.show_page(0)
    until(window, lambda: drawn(screen))
    assert screen.page is not None
    chart = screen.page.charts["histogram"]
    box = chart.plot.getPlotItem().vb
    middle = box.mapViewToScene(chart._outline(chart.marks[0]).center())
    QTest.mouseClick(
        chart.plot.viewport(), Qt.MouseButton.LeftButton, pos=chart.plot.mapFromScene(middle)
    )
    until(window, lambda: shown(screen) == chart.marks[0].count)


def test_the_curve_tries_a_tolerance(window: MainWindow, screen: DiffScreen) -> None:
    screen.show_page(0)
    until(window, lambda: drawn(screen))
    assert screen.page is not None
    table = screen.page.tables["curve"]
    table.cellActivated.emit(len(table.rows) - 1, 0)
    until(window, lambda: bool(screen.model.view and screen.model.view.counts))
    assert screen.model.counted.cells(*CellStatus, column=0) == ROWS
    would = screen.model.counted.cells(
        CellStatus.EQUAL, CellStatus.NEAR, CellStatus.BOTH_NULL, column=0
    )
    assert would == table.rows[-1].count


def test_both_shares_of_a_column_are_named(window: MainWindow, screen: DiffScreen) -> None:
    screen.show_page(0)
    until(window, lambda: drawn(screen))
    assert screen.page is not None
    counts = screen.model.layout.key_counts
    more = counts.get(KeyStatus.EXTRA, 0) + counts.get(KeyStatus.DUPLICATE, 0)
    rows = screen.model.layout.reference_rows + more
    assert more > 0
    assert f"The score also counts {more:,} extra or duplicate rows" in screen.page.words.text()
    assert f"of {rows:,}, " in screen.page.words.text()
    assert f"{more:,} extra or duplicate rows" in two_shares(more)
