"""The diff screen in the real window, driven with keys and clicks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
from app_window import settle, show_diff, until
from diff_factory import Made, make_diff
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSlider,
    QLabel,
    QPushButton,
    QScrollArea,
    QStyle,
    QStyleOptionSlider,
    QTableWidget,
)

from m4review.app.links import Place
from m4review.app.start import wait
from m4review.app.window import MainWindow
from m4review.diff import viewmodel
from m4review.diff.detail import Cell, RowDetail
from m4review.diff.layout import CellStatus, KeyStatus
from m4review.diff.panels import ValueLabel
from m4review.diff.query import Kind
from m4review.diff.reader import DiffFile
from m4review.diff.row_panel import RowPanel
from m4review.diff.view import DiffScreen
from m4review.diff.words import difference_words
from m4review.timeline.link import NOT_OURS, NOWHERE

pytestmark = pytest.mark.gui
ROWS = 3_000
Key = Qt.Key


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_diff(tmp_path_factory.mktemp("screen") / "diff.duckdb", ROWS)


@pytest.fixture
def window(open_window: Callable[..., MainWindow]) -> MainWindow:
    return open_window()


@pytest.fixture
def screen(window: MainWindow, made: Made) -> DiffScreen:
    return show_diff(window, made.path)


def row(screen: DiffScreen) -> int:
    """The file's row that is the current one."""
    assert screen.grid is not None
    assert screen.model.view is not None
    return screen.model.view.row_at(screen.grid.current)


def test_opens_on_the_first_mismatch(screen: DiffScreen, made: Made) -> None:
    assert row(screen) == made.mismatching[0]
    assert screen.status.text() == (
        f"row {made.mismatching[0] + 1:,} of {ROWS:,} · "
        f"{len(made.mismatching):,} rows with a mismatch"
    )


def test_rows_come_before_their_mismatches_and_a_step_waits_for_them(
    window: MainWindow, screen: DiffScreen, made: Made
) -> None:
    seen = []

    def opened() -> None:
        assert screen.model.view is not None
        seen.append((screen.model.view.sought, screen.model.view.count))
        assert "finding the mismatches" in screen.model.status_line(0)
        assert screen.next.isEnabled()
        screen.step(1)  # before anything is known of mismatches

    screen.model.opened.connect(opened)
    screen.open_file(made.path)
    until(window, lambda: bool(seen) and not screen.model.searching)
    assert seen == [(False, ROWS)]
    assert row(screen) == made.mismatching[0]
    assert f"{len(made.mismatching):,} rows with a mismatch" in screen.status.text()


def test_who_has_gone_on_before_the_mismatches_are_found_stays_there(
    window: MainWindow, screen: DiffScreen, made: Made
) -> None:
    screen.model.opened.connect(lambda: screen.model.go_to_row(1_234))
    screen.open_file(made.path)
    settle(window)
    assert screen.model.view is not None
    assert screen.model.view.sought
    assert row(screen) == 1_234


def test_of_two_diffs_opened_one_after_the_other_the_second_is_shown(
    window: MainWindow, screen: DiffScreen, made: Made, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    slow, let, closed = tmp_path / "slow.duckdb", threading.Event(), []

    class Slow(DiffFile):
        def __init__(self, path: Path, *, scratch: Path | None = None) -> None:
            if path == slow:
                assert let.wait(20)
            super().__init__(made.path, scratch=scratch)
            self.is_slow = path == slow

        def close(self) -> None:
            closed.append(self.is_slow)
            super().close()

    monkeypatch.setattr(viewmodel, "DiffFile", Slow)
    screen.open_file(slow)
    screen.open_file(made.path)
    wait(lambda: screen.model.view is not None and screen.model.view.sought, 60)
    shown = screen.model.file
    let.set()  # the first comes last
    settle(window)
    assert screen.model.file is shown
    assert closed == [True]
    screen.open_file(slow)
    screen.close_down()
    settle(window)
    assert screen.model.file is None
    assert closed == [True, False, True]


def test_a_filter_of_one_run_does_not_hold_for_the_next(
    window: MainWindow, screen: DiffScreen, made: Made
) -> None:
    screen.model.set_column(1)
    screen.model.set_only_mismatches(True)
    settle(window)
    screen.open_file(made.path)
    settle(window)
    assert screen.model.query.plain
    assert not screen.filters.only.isChecked()
    assert not screen.model.can_undo
    assert screen.model.view is not None
    assert screen.model.view.count == ROWS
    assert row(screen) == made.mismatching[0]


def test_keys_walk_the_mismatches(window: MainWindow, screen: DiffScreen, made: Made) -> None:
    for expected in made.mismatching[1:8]:
        QTest.keyClick(window, Key.Key_F8)
        assert row(screen) == expected
    QTest.keyClick(screen.grid, "p")
    assert row(screen) == made.mismatching[6]
    QTest.keyClick(window, Key.Key_F8, Qt.KeyboardModifier.ShiftModifier)
    assert row(screen) == made.mismatching[5]


def test_letters_in_a_choice_look_for_a_choice(window: MainWindow, screen: DiffScreen) -> None:
    here, choice = row(screen), screen.filters.column
    choice.setFocus()
    QTest.keyClicks(choice, "stn")  # the last one matches nothing, and is no command either
    assert choice.currentText() == "starttime"
    settle(window)
    assert row(screen) == here
    screen.panels.setCurrentWidget(screen.columns_panel)
    screen.columns_panel.list.setFocus()
    QTest.keyClick(screen.columns_panel.list, "n")
    assert row(screen) == here
    assert screen.grid is not None
    screen.grid.keys.setFocus()
    QTest.keyClick(screen.grid.keys, "n")
    assert row(screen) > here


def test_the_end_of_the_walk_is_told(window: MainWindow, screen: DiffScreen, made: Made) -> None:
    screen.model.go_to_row(made.mismatching[-1])
    QTest.keyClick(window, Key.Key_F8)
    assert "No further mismatch" in screen.note.text()
    assert row(screen) == made.mismatching[-1]


def test_only_mismatches_and_undo(window: MainWindow, screen: DiffScreen, made: Made) -> None:
    stay = row(screen)
    QTest.keyClick(window, Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    settle(window)
    assert screen.grid is not None
    assert screen.grid.model.rowCount() == len(made.mismatching)
    assert screen.filters.only.isChecked()
    assert row(screen) == stay
    QTest.keyClick(window, Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    settle(window)
    assert screen.grid.model.rowCount() == ROWS
    assert not screen.filters.only.isChecked()
    assert row(screen) == stay


def test_kinds_columns_and_text_filter(window: MainWindow, screen: DiffScreen) -> None:
    assert screen.grid is not None
    layout = screen.model.layout
    QTest.mouseClick(screen.filters.chips[Kind.MISSING], Qt.MouseButton.LeftButton)
    settle(window)
    missing = screen.grid.model.rowCount()
    assert screen.filters.chips[Kind.MISSING].text().split()[1] == f"{missing:,}"
    QTest.mouseClick(screen.filters.chips[Kind.DUPLICATE], Qt.MouseButton.LeftButton)
    settle(window)
    assert screen.grid.model.rowCount() > missing
    QTest.keyClick(window, Key.Key_Backspace, Qt.KeyboardModifier.ControlModifier)
    settle(window)
    screen.filters.only.click()
    screen.filters.column.setCurrentText("score")
    settle(window)
    assert screen.grid.model.rowCount() == layout.mismatches_of(1)
    QTest.keyClick(window, Key.Key_Backspace, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(screen.filters.text, "stay_id=30000007")
    QTest.keyClick(screen.filters.text, Key.Key_Return)
    settle(window)
    assert screen.grid.model.rowCount() == 3


def test_no_row_passes(window: MainWindow, screen: DiffScreen) -> None:
    screen.filters.text.setText("nothing like this")
    QTest.keyClick(screen.filters.text, Key.Key_Return)
    settle(window)
    assert screen.grid is not None
    assert screen.grid.model.rowCount() == 0
    assert "No row passes" in screen.status.text()
    QTest.keyClick(window, Key.Key_F8)
    screen.filters.clear.click()
    settle(window)
    assert screen.grid.model.rowCount() == ROWS


def test_a_header_sorts_both_ways_and_not(window: MainWindow, screen: DiffScreen) -> None:
    grid = screen.grid
    assert grid is not None
    column = next(i for i, c in enumerate(grid.model.columns) if c.sort_field == "a1")
    header = grid.values.pair_header
    x = header.sectionViewportPosition(column) + 20
    for first in (0, 25):
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x, 40))
        settle(window)
        grid.model.ensure(0, 0, wait=5)
        record = grid.model.record(0)
        assert record is not None
        assert record[grid.model.columns[column].at] == first
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x, 40))
    settle(window)
    assert screen.model.query.sort == ()


def test_cursor_goes_from_the_keys_to_the_values_and_back(screen: DiffScreen) -> None:
    grid = screen.grid
    assert grid is not None
    grid.keys.setFocus()
    here = grid.current
    grid.keys.setCurrentIndex(grid.model.index(here, 3))
    QTest.keyClick(grid.keys, Key.Key_Right)
    assert (grid.current, grid.current_column) == (here, 4)
    QTest.keyClick(grid.values, Key.Key_Left)
    assert (grid.current, grid.current_column) == (here, 3)
    QTest.keyClick(grid.keys, Key.Key_Down)
    assert (grid.current, grid.current_column) == (here + 1, 3)


def test_both_halves_stay_at_the_same_row_also_at_the_end(
    window: MainWindow, screen: DiffScreen
) -> None:
    grid = screen.grid
    assert grid is not None
    for position in (0, 777, ROWS - 1):
        screen.model.go_to_row(position)
        settle(window)
        assert grid.keys.rowAt(0) == grid.values.rowAt(0)
        assert grid.keys.viewport().height() == grid.values.viewport().height()


def test_copy_with_and_without_names(window: MainWindow, screen: DiffScreen) -> None:
    window.context.interaction.answers = [True, True]  # a file of no run counts as credentialed
    grid = screen.grid
    assert grid is not None
    grid.keys.setCurrentIndex(grid.model.index(10, 2))
    block = QItemSelection(grid.model.index(10, 2), grid.model.index(11, 5))
    grid.keys.selectionModel().select(block, QItemSelectionModel.SelectionFlag.ClearAndSelect)
    QTest.keyClick(window, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    settle(window)
    assert QGuiApplication.clipboard().text().splitlines()[0].split("\t")[:2] == ["30000003", "2"]
    shift = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Key.Key_C, shift)
    settle(window)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t") == [
        "stay_id", "episode", "heart_rate (reference)", "heart_rate (agent)",
    ]  # fmt: skip
    assert len(lines) == 3
    assert "8 cells copied" in screen.note.text()


def test_go_to_a_key_or_a_row(open_window: Callable[..., MainWindow], made: Made) -> None:
    window = open_window(None, "30000200 2", "#12", "#99999999", "77", None)
    screen = show_diff(window, made.path)
    for expected in (601, 11):
        QTest.keyClick(window, Key.Key_G, Qt.KeyboardModifier.ControlModifier)
        settle(window)
        assert row(screen) == expected
    QTest.keyClick(window, Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    assert "There is no row 99,999,999" in screen.note.text()
    QTest.keyClick(window, Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    until(window, lambda: "No row has this key" in screen.note.text())


def test_a_lone_key_that_is_a_time_is_found_with_its_blank(
    window: MainWindow, made: Made, tmp_path: Path
) -> None:
    path = tmp_path / "timed.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"ATTACH '{made.path}' AS d (READ_ONLY)")
        con.execute("CREATE TABLE diff_counts AS FROM d.diff_counts")
        con.execute(
            "CREATE TABLE diff_columns AS FROM d.diff_columns WHERE role <> 'key' OR position = 0"
        )
        con.execute(
            "CREATE TABLE diff AS SELECT * EXCLUDE (k1) "
            "REPLACE (TIMESTAMP '2180-01-01' + to_minutes(row) AS k0) FROM d.diff"
        )
    screen = show_diff(window, path)
    screen.model.go_to("2180-01-01 11:40:00")
    settle(window)
    assert row(screen) == 700


def test_opens_at_the_row_of_an_address(window: MainWindow, made: Made) -> None:
    screen = show_diff(window, made.path, row=2_345)
    assert row(screen) == 2_345
    place = screen.place()
    assert place is not None
    assert place.row == 2_345


def test_row_panel_says_everything_in_words(window: MainWindow, screen: DiffScreen) -> None:
    screen.model.go_to_row(3)  # a different heart rate
    settle(window)
    words = [label.text() for label in screen.row_panel.findChildren(QLabel)]
    assert "Row 4" in words
    assert "≠ different" in words
    assert "+7" in words
    screen.model.go_to_row(5)  # missing
    settle(window)
    words = [label.text() for label in screen.row_panel.findChildren(QLabel)]
    assert "− missing: only in the reference" in words


def test_from_row_to_row_the_panel_keeps_its_widgets(
    window: MainWindow, screen: DiffScreen
) -> None:
    screen.model.go_to_row(3)
    settle(window)
    before = screen.row_panel.findChildren(QLabel)
    shown = {one.text() for one in before if one.isVisible()}
    assert {"difference", "+7"} <= shown
    screen.model.go_to_row(8)  # equal throughout
    settle(window)
    after = screen.row_panel.findChildren(QLabel)
    assert after == before
    shown = {one.text() for one in after if one.isVisible()}
    assert "Row 9" in shown
    assert "difference" not in shown


def test_what_is_selected_is_seen_and_a_column_fits_its_values(
    window: MainWindow, screen: DiffScreen
) -> None:
    grid = screen.grid
    assert grid is not None
    screen.model.go_to_row(8)
    settle(window)
    block = QItemSelection(grid.model.index(14, 2), grid.model.index(15, 2))
    grid.keys.selectionModel().select(block, QItemSelectionModel.SelectionFlag.ClearAndSelect)
    picture = grid.keys.viewport().grab().toImage()

    def ground(row: int, column: int) -> str:
        place = grid.keys.visualRect(grid.model.index(row, column)).topLeft() + QPoint(3, 4)
        return str(picture.pixelColor(place).name())

    assert ground(14, 2) == ground(15, 2)
    assert ground(14, 3) == ground(16, 2)
    assert ground(14, 3) != ground(14, 2)
    at = next(i for i, c in enumerate(grid.model.columns) if c.sort_field == "a3")
    grid.set_width(at, 40)
    grid.values.resizeColumnToContents(at)
    assert grid.values.columnWidth(at) > 100


def test_a_pair_of_values_filters(window: MainWindow, screen: DiffScreen) -> None:
    screen.panels.setCurrentWidget(screen.column_panel)
    screen.column_panel.choice.setCurrentIndex(3)
    until(window, lambda: screen.column_panel.pairs is not None)
    table = screen.column_panel.pairs
    assert isinstance(table, QTableWidget)
    count = int(table.item(0, 2).text().replace(",", ""))
    table.cellActivated.emit(0, 0)
    settle(window)
    assert screen.grid is not None
    assert screen.grid.model.rowCount() == count
    assert screen.filters.pair.isVisible()
    screen.filters.pair.click()
    settle(window)
    assert screen.grid.model.rowCount() == ROWS


def test_pairs_of_times_say_how_far_they_are_apart(window: MainWindow, screen: DiffScreen) -> None:
    screen.panels.setCurrentWidget(screen.column_panel)
    screen.column_panel.choice.setCurrentIndex(2)  # starttime: the agent is an hour late
    until(window, lambda: screen.column_panel.pairs is not None)
    table = screen.column_panel.pairs
    assert isinstance(table, QTableWidget)
    assert table.isColumnHidden(1)
    reference, agent, apart = table.item(0, 0).text().splitlines()
    assert reference != agent
    assert apart == "+1 h"


def test_only_columns_with_mismatches(window: MainWindow, tmp_path: Path) -> None:
    path = make_diff(tmp_path / "d.duckdb", 30).path  # so few rows that some columns are right
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE diff_counts SET status = 0 WHERE role = 'scored' AND position = 2")
    screen = show_diff(window, path)
    grid = screen.grid
    assert grid is not None
    all_shown = len(grid.shown_columns)
    QTest.keyClick(window, Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    grid = screen.grid
    assert grid is not None
    assert len(grid.shown_columns) == all_shown - 2
    QTest.keyClick(window, Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    grid = screen.grid
    assert grid is not None
    assert len(grid.shown_columns) == all_shown


def test_widths_are_remembered(open_window: Callable[..., MainWindow], made: Made) -> None:
    window = open_window()
    screen = show_diff(window, made.path)
    assert screen.grid is not None
    screen.grid.values.pair_header.resizeSection(4, 177)  # as a mouse does
    window.close()
    again = show_diff(open_window(), made.path)
    assert again.grid is not None
    assert again.grid.width_of(4) == 177


def test_theme_and_size_change_while_it_is_open(window: MainWindow, screen: DiffScreen) -> None:
    before = window.grab().toImage()
    window.set_theme("dark")
    window.set_zoom(150)
    settle(window)
    after = window.grab().toImage()
    assert before.pixelColor(300, 300).lightness() > 128 > after.pixelColor(2, 400).lightness()
    assert screen.grid is not None
    assert screen.grid.keys.verticalHeader().defaultSectionSize() > 30


def test_a_broken_file_is_told_with_what_to_do(window: MainWindow, tmp_path: Path) -> None:
    before = show_diff(window, make_diff(tmp_path / "before.duckdb", 100).path)
    assert [chip for chip in before.filters.chips.values() if chip.isEnabled()]
    path = tmp_path / "diff.duckdb"
    path.write_bytes(b"no database at all" * 999)
    screen = show_diff(window, path)
    assert screen.errors.isVisible()
    error = screen.errors.error
    assert error is not None
    assert error.todo
    assert not [chip.text() for chip in screen.filters.chips.values() if chip.isEnabled()]
    good = show_diff(window, make_diff(tmp_path / "good.duckdb", 100).path)
    assert good.grid is not None


def test_a_sort_that_is_cancelled_leaves_all_as_it_was(
    window: MainWindow, screen: DiffScreen
) -> None:
    before = screen.model.view
    screen.model.toggle_sort("a0", add=False)
    assert screen.model.busy
    screen.stop.click()
    settle(window)
    assert screen.model.view is before
    assert screen.model.query.sort == ()
    assert not screen.model.busy
    screen.model.toggle_sort("a0", add=False)
    settle(window)
    assert screen.model.view is not before


def test_whole_table_selected_is_no_trap(window: MainWindow, screen: DiffScreen) -> None:
    window.context.interaction.answers = [True]
    grid = screen.grid
    assert grid is not None
    grid.keys.selectAll()
    QTest.keyClick(window, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    settle(window)
    assert len(QGuiApplication.clipboard().text().splitlines()) == ROWS


def test_sideways_the_table_stops_at_whole_pairs(window: MainWindow, screen: DiffScreen) -> None:
    grid = screen.grid
    assert grid is not None
    window.resize(1_200, 700)
    settle(window)
    view, bar = grid.values, grid.values.horizontalScrollBar()
    assert view.stops()[-1] > 0, "narrow enough to scroll"
    edges = {view.pair_header.sectionPosition(at) for at in (4, 6, 8, 10)}
    bar.setValue(0)
    seen = [0]
    for _ in range(6):
        bar.triggerAction(QAbstractSlider.SliderAction.SliderSingleStepAdd)
        seen.append(bar.value())
    assert seen[-1] == bar.maximum()
    assert set(seen) <= edges
    assert len(set(seen)) > 1
    for offset in range(0, bar.maximum() + 1, 7):
        bar.setValue(offset)
        assert bar.value() in edges
    for column in (4, 5, 8, 11, 6):  # and so does the cursor, with the whole pair in view
        view.setCurrentIndex(grid.model.index(grid.current, column))
        assert bar.value() in edges
        first = column - column % 2
        right = view.columnViewportPosition(first + 1) + view.columnWidth(first + 1)
        assert view.columnViewportPosition(first) >= 0
        assert right <= view.viewport().width()


def test_a_column_at_the_right_edge_is_clipped_and_its_values_are_not_shortened(
    window: MainWindow, screen: DiffScreen
) -> None:
    grid = screen.grid
    assert grid is not None
    view = grid.values

    def picture(width: int) -> QImage:
        window.resize(width, 700)
        settle(window)
        view.horizontalScrollBar().setValue(0)
        settle(window)
        return view.viewport().grab().toImage()

    wide, cut = picture(1_500), 0
    fading = round(QFontMetrics(grid.keys.pair_header.font()).height() * 1.5) + 1
    for width in range(940, 1_420, 80):
        narrow = picture(width)
        at = view.columnAt(narrow.width() - 1)
        if view.columnViewportPosition(at) + view.columnWidth(at) <= narrow.width():
            continue
        cut += 1
        whole = QRect(0, 0, narrow.width() - fading, narrow.height())
        assert narrow.copy(whole) == wide.copy(whole)
        paper = QColor(window.context.theme.surface).rgb()
        for y in range(60, 300, 9):
            ink = narrow.pixel(narrow.width() - 1, y)
            apart = max(abs((ink >> by & 255) - (paper >> by & 255)) for by in (0, 8, 16))
            assert apart <= 6, "what goes on fades out"
    assert cut > 1


def test_a_long_value_is_whole_in_the_row_panel_and_copied_whole(
    window: MainWindow, screen: DiffScreen
) -> None:
    long = "190.03846999916001190038469"
    value = ValueLabel()
    value.setParent(screen)
    value.setText(long)
    value.resize(90, 100)
    value.show()
    assert value.minimumSizeHint().width() < 90, "it can be broken"
    assert value.whole == long
    asked: list[str] = []
    value.copy_asked.connect(asked.append)
    value.setSelection(0, len(value.text()))
    QTest.keyClick(value, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert asked == [long]
    settle(window)
    panel = screen.row_panel.findChild(QScrollArea)
    assert panel is not None
    assert panel.widget().width() <= panel.viewport().width(), "no card is cut at its side"
    value.deleteLater()


def test_a_difference_below_zero_has_a_minus_and_is_copied_with_a_hyphen(
    window: MainWindow, screen: DiffScreen
) -> None:
    cell = Cell("score", "12", "10", CellStatus.DIFFERENT, difference_words(12, 10))
    panel = RowPanel(window.context)
    panel.setParent(screen)
    panel.show_row(RowDetail(3, KeyStatus.MATCHED, (("stay_id", "1"),), (cell,)))
    panel.show()
    settle(window)
    copied: list[str] = []
    panel.copy_asked.connect(copied.append)
    shown = next(each for each in panel.findChildren(ValueLabel) if each.whole == "−2")
    shown.setSelection(0, 2)
    QTest.keyClick(shown, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert copied == ["-2"]
    panel.deleteLater()


def test_where_a_value_is_from_can_be_asked_of_rows_that_the_reference_has(
    window: MainWindow, screen: DiffScreen
) -> None:
    ask = next(
        each for each in screen.row_panel.findChildren(QPushButton)
        if each.accessibleName() == "Where is it from?"
    )  # fmt: skip
    assert ask.isEnabled()
    usual = ask.toolTip()
    assert "source rows" in usual
    for does, enabled, tip in (
        (lambda: screen.model.go_to_row(7), False, NOT_OURS),  # extra
        (lambda: screen.model.go_to_row(8), True, usual),
        (lambda: screen.model.set_text("there is no such stay"), False, NOWHERE),
        (screen.model.clear, True, usual),
        (screen.close_down, False, NOWHERE),
    ):
        does()
        until(window, partial(lambda on: ask.isEnabled() is on, enabled))
        assert ask.toolTip() == tip


def test_buttons_share_the_first_line_with_the_filters_where_it_has_room(
    window: MainWindow, screen: DiffScreen
) -> None:
    tools = (screen.page_button, screen.export_button, screen.panel_button)

    def lines() -> list[int]:
        settle(window)
        each = (screen.filters.clear, *tools, screen.next)
        return [button.mapTo(screen, button.rect().center()).y() for button in each]

    window.resize(1_366, 900)
    clear, *above, following = lines()
    assert max(abs(y - clear) for y in above) <= 2
    assert following > clear
    window.resize(820, 900)
    clear, *above, _following = lines()
    assert min(above) > clear + 10
    window.resize(1_366, 900)
    clear, *above, following = lines()
    assert max(abs(y - clear) for y in above) <= 2


def test_the_slider_can_be_grasped_at_any_size_of_letters(
    window: MainWindow, screen: DiffScreen
) -> None:
    screen.toggle_what_if()
    for zoom in (100, 200):
        window.set_zoom(zoom)
        settle(window)
        slider, option = screen.what_if.slider, QStyleOptionSlider()
        slider.initStyleOption(option)
        handle = slider.style().subControlRect(
            QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
        )
        assert handle.width() >= 16 * zoom // 100
    field = screen.what_if.value
    assert field.cursorPosition() == 0, "a long number is shown from its beginning"


def test_the_panel_is_put_away_with_a_key_and_its_width_remembered(
    open_window: Callable[..., MainWindow], made: Made
) -> None:
    window = open_window()
    screen = show_diff(window, made.path)
    sizes = screen.splitter.sizes()
    assert abs(sizes[1] - 290) <= 2
    screen.splitter.moveSplitter(sizes[0] - 70, 1)  # as a mouse does
    window.close()
    again = open_window()
    other = show_diff(again, made.path)
    assert abs(other.splitter.sizes()[1] - sizes[1] - 70) <= 4
    QTest.keyClick(again, Key.Key_I, Qt.KeyboardModifier.ControlModifier)
    assert not other.panels.isVisible()
    assert other.context.settings.get("diff.panel") is False
    other.panel_button.click()
    assert other.panels.isVisible()


def test_why_an_output_could_not_be_compared_stands_above_its_rows(
    window: MainWindow, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = SimpleNamespace(name="has_rows", passed=False, detail="EOF inside string at row 1.")
    results = SimpleNamespace(diagnostics=[broken])
    summary = SimpleNamespace(task="some-task", model="some-model")
    record = SimpleNamespace(summary=summary, test_results=results)
    monkeypatch.setattr(window.context.workbench, "run_record", lambda _run: record)
    monkeypatch.setattr(window.context.workbench, "diff_of", lambda _run, **_: made.path)
    diff = window.screens["diff"]
    assert isinstance(diff, DiffScreen)
    window.go(Place("diff", "some-run"))
    settle(window)
    assert diff.judged.isVisible()
    assert diff.judged.text() == (
        "The output could not be compared: EOF inside string at row 1. Each row of the reference "
        "is therefore without an agent's value."
    )
    record.test_results = None
    window.go(Place("diff", "another-run"))
    settle(window)
    assert diff.judged.isHidden()


def test_the_chip_of_chosen_rows_pushes_nothing_onto_a_third_line(
    window: MainWindow, screen: DiffScreen
) -> None:
    window.resize(1366, 900)
    settle(window)
    before = screen.next.mapTo(window, QPoint()).y()
    screen.model.show_rows("s0 = 2", "explained by: Another unit", column=0)
    settle(window)
    filters = screen.filters
    assert filters.chosen.isVisible()
    assert filters.chosen.geometry().center().y() == filters.clear.geometry().center().y()
    assert screen.next.mapTo(window, QPoint()).y() == before
    window.resize(window.minimumSize())
    settle(window)
    assert filters.chosen.geometry().center().y() > filters.clear.geometry().center().y()
    assert filters.width() <= window.width()
    screen.model.drop_chosen()
    settle(window)
    assert filters.chosen.isHidden()
