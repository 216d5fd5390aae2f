"""From an empty home to the mismatching row, in the real window with the real engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import duckdb
import pytest
from app_window import settle, until, wait
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.workbench import RunRecord, Workbench
from m4review.app.links import DATA, WORKLIST, Place
from m4review.app.window import MainWindow
from m4review.data.view import DataScreen
from m4review.diff.query import Kind
from m4review.diff.view import DiffScreen
from m4review.launcher.view import LauncherScreen
from m4review.run.view import RunScreen
from m4review.task.view import TaskScreen
from m4review.worklist.view import WorklistScreen

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.sandbox]

TASK = "mimic-ventilation-raw"
SAMPLES = Path(__file__).resolve().parent.parent.parent / "resources" / "samples"
Key, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier

FLAWED_ROWS = 4
"""The script changes the kind of support in this many episodes and loses this many others."""


@pytest.fixture
def empty_home(tmp_path: Path, sandbox_store: Path) -> Path:
    """A home with nothing in it but the sandbox's root, which takes long to make."""
    return share_sandbox(open_home(tmp_path / "home"), sandbox_store).root


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Path:
    """A home with synthetic data, for this module's tests."""
    root = tmp_path_factory.mktemp("journey") / "home"
    home = share_sandbox(open_home(root), sandbox_store)
    Workbench(home).synth_source("invented", kind="mimic-iv", stays=60, seed=3, job=SimpleJob())
    return home.root


def flawed(folder: Path) -> Path:
    """The right solution with a planted error in the first and a loss of the last episodes."""
    right = (SAMPLES / "ventilation-raw.sql").read_text(encoding="utf-8").rstrip().rstrip(";")
    path = folder / "flawed.sql"
    path.write_text(
        "WITH right_one AS (\n"
        f"{right}\n"
        "), numbered AS (SELECT *, row_number() OVER (ORDER BY stay_id, ventilation_seq) AS n, "
        "count(*) OVER () AS total FROM right_one)\n"
        "SELECT stay_id, ventilation_seq, starttime, endtime,\n"
        f"  CASE WHEN n <= {FLAWED_ROWS} THEN 'Tracheostomy' ELSE ventilation_status END "
        "AS ventilation_status\n"
        f"FROM numbered WHERE n <= total - {FLAWED_ROWS}",
        encoding="utf-8",
    )
    return path


def screen_of(window: MainWindow, kind: type) -> object:
    screen = window.screen_shown
    assert isinstance(screen, kind), type(screen)
    return screen


def test_from_an_empty_home_to_the_mismatching_row(  # noqa: PLR0915 (one journey, in its order)
    open_window: Callable[..., MainWindow], empty_home: Path, tmp_path: Path
) -> None:
    home = empty_home
    window = open_window(home)
    window.go(WORKLIST)
    settle(window)

    # No data: the worklist says so, and leads to synthetic data.
    worklist = cast("WorklistScreen", screen_of(window, WorklistScreen))
    assert worklist.empty.isVisible()
    QTest.mouseClick(worklist.make, Qt.MouseButton.LeftButton)
    assert window.place == DATA
    data = cast("DataScreen", screen_of(window, DataScreen))
    form = data.form
    assert form is not None
    assert form.focusWidget() is form.name
    QTest.keyClicks(form.name, "invented")  # over the proposed name, which is selected
    form.stays.setValue(60)
    form.seed.setValue(3)
    QTest.keyClick(form.name, Key.Key_Return)
    until(window, lambda: any(s.state == "ready" for s in data.model.sources), 120)

    # The task, its texts, and its launcher, by keys alone.
    QTest.keyClick(window, Key.Key_1, CTRL)
    settle(window)
    assert not worklist.empty.isVisible()
    QTest.keyClick(window, Key.Key_F, CTRL)
    QTest.keyClicks(worklist.filter, TASK)
    QTest.keyClick(worklist.filter, Key.Key_Return)
    QTest.keyClick(worklist.tree, Key.Key_Return)
    settle(window)
    assert window.place == Place("task", TASK)
    task = cast("TaskScreen", screen_of(window, TaskScreen))
    assert task.asked.count() >= 2
    assert task.rules.count() >= 2
    QTest.keyClick(window, Key.Key_R, CTRL)
    settle(window)
    launcher = cast("LauncherScreen", screen_of(window, LauncherScreen))
    until(window, lambda: launcher.model.backends is not None, 120)
    assert not launcher.start_button.isEnabled()
    launcher.drop.dropped.emit(flawed(tmp_path))
    assert launcher.start_button.isEnabled()

    # The run, live, to its end.
    states: list[str] = []
    launcher.model.state_changed.connect(states.append)
    QTest.keyClick(window, Key.Key_Return, CTRL)
    assert launcher.cancel_button.isEnabled()
    assert launcher.model.states == ["data"]  # its step is lit before the run has a state
    until(window, lambda: window.place is not None and window.place.screen == "run", 180)
    assert states == [
        "prepared", "canary", "running", "collecting", "linting", "scoring", "done",
    ]  # fmt: skip
    run = cast("RunScreen", screen_of(window, RunScreen))
    page = run.model.page
    assert page is not None
    assert page.summary.reward is not None
    assert 0 < page.summary.reward < 1
    assert page.record.test_results is not None
    assert page.record.test_results.missing_keys == FLAWED_ROWS

    # The diff shows exactly the planted rows.
    QTest.keyClick(run, Key.Key_Return)
    until(window, lambda: getattr(window.screen_shown, "grid", None) is not None)
    diff = cast("DiffScreen", screen_of(window, DiffScreen))
    view, grid = diff.model.view, diff.grid
    assert view is not None
    assert grid is not None
    total = page.record.test_results.match_rates
    assert total
    planted = [*range(FLAWED_ROWS), *range(view.count - FLAWED_ROWS, view.count)]
    changed = changed_rows(Home(home), page.record)
    expected = [at for at in planted if at >= FLAWED_ROWS or at in changed]
    assert view.departures.tolist() == expected
    walked = [grid.current]
    for _ in expected[1:]:
        QTest.keyClick(window, Key.Key_F8)
        walked.append(grid.current)
    assert walked == expected
    assert grid.current == view.count - 1

    # By column and by kind, with the mouse and the keyboard.
    status = next(c for c in diff.model.layout.scored if c.name == "ventilation_status")
    diff.filters.column.setFocus()
    QTest.keyClicks(diff.filters.column, "ventilation_status")
    settle(window)
    assert diff.model.query.column == status.index
    QTest.mouseClick(diff.filters.only, Qt.MouseButton.LeftButton)
    settle(window)
    assert grid.model.rowCount() == diff.model.layout.mismatches_of(status.index) == len(expected)
    QTest.mouseClick(diff.filters.only, Qt.MouseButton.LeftButton)
    for kind, number in ((Kind.MISSING, FLAWED_ROWS), (Kind.DIFFERENT, len(changed))):
        chip = diff.filters.chips[kind]
        assert chip.text().split()[1] == f"{number:,}"
        QTest.mouseClick(chip, Qt.MouseButton.LeftButton)
        settle(window)
        assert grid.model.rowCount() == number
        QTest.keyClick(chip, Key.Key_Space)
        settle(window)
        assert grid.model.rowCount() == view.count
    QTest.mouseClick(diff.filters.clear, Qt.MouseButton.LeftButton)
    settle(window)
    assert diff.model.query.column is None

    # Filter, copy, and the address of the row.
    QTest.keyClick(window, Key.Key_M, CTRL)
    settle(window)
    assert grid.model.rowCount() == len(expected)
    grid.go_to(0)
    grid.keys.selectAll()
    QTest.keyClick(window, Key.Key_C, CTRL)
    settle(window)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == len(expected)
    assert any("missing" in line for line in lines)
    QTest.keyClick(window, Key.Key_L, CTRL)
    link = QGuiApplication.clipboard().text()
    assert link.startswith(f"m4review://run/{page.record.run_id}/row/")
    window.close()

    again = open_window(home)
    again.open_text(link)
    until(again, lambda: getattr(again.screen_shown, "grid", None) is not None)
    there = again.screen_shown.place()
    assert there is not None
    assert there.link == link


def changed_rows(home: Home, record: RunRecord) -> set[int]:
    """Which of the first episodes were no tracheostomy before the script said so."""
    path = home.references / record.summary.source / "ventilation.parquet"
    rows = duckdb.sql(
        f"SELECT ventilation_status FROM '{path}' ORDER BY stay_id, ventilation_seq"
    ).fetchall()
    return {at for at, (status,) in enumerate(rows[:FLAWED_ROWS]) if status != "Tracheostomy"}


def test_runs_that_fail_are_told_in_words_and_the_window_lives(
    open_window: Callable[..., MainWindow], home: Path, tmp_path: Path
) -> None:
    window = open_window(home)
    for name, text, words in (
        ("broken.sql", "SELECT FROM WHERE", "ended with an error"),
        ("silent.py", "print('nothing to say')", "left no output.csv"),
    ):
        script = tmp_path / name
        script.write_text(text)
        window.go(Place("launch", TASK))
        settle(window)
        launcher = cast("LauncherScreen", screen_of(window, LauncherScreen))
        until(window, lambda: launcher.model.backends is not None, 120)  # noqa: B023
        launcher.drop.dropped.emit(script)
        launcher.start_button.click()
        until(window, lambda: window.place is not None and window.place.screen == "run", 120)
        run = cast("RunScreen", screen_of(window, RunScreen))
        page = run.model.page
        assert page is not None
        assert words in page.reason
        assert page.summary.reward == 0
        assert not run.diff_button.isEnabled()
    assert "nothing to say" in run.log.toPlainText()


def test_a_run_is_watched_and_stopped(
    open_window: Callable[..., MainWindow], home: Path, tmp_path: Path
) -> None:
    window = open_window(home)
    script = tmp_path / "endless.py"
    script.write_text("import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(1)\n")
    window.go(Place("launch", TASK))
    settle(window)
    launcher = cast("LauncherScreen", screen_of(window, LauncherScreen))
    until(window, lambda: launcher.model.backends is not None, 120)
    launcher.drop.dropped.emit(script)
    launcher.start_button.click()
    wait(lambda: "begun" in launcher.log.toPlainText(), 120)
    assert window.job_bar.isVisible()
    QTest.keyClick(window, Key.Key_Period, CTRL)
    until(window, lambda: not launcher.model.running, 60)
    assert window.place == Place("launch", TASK)
    assert launcher.errors.error is None
    assert launcher.start_button.isEnabled()
    newest = window.context.workbench.runs()[0]
    assert (newest.failure_reason, newest.reward) == ("cancelled", None)


def test_closing_the_window_stops_a_run(
    open_window: Callable[..., MainWindow], home: Path, tmp_path: Path
) -> None:
    window = open_window(home, True)
    script = tmp_path / "endless.py"
    script.write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    window.go(Place("launch", TASK))
    settle(window)
    launcher = cast("LauncherScreen", screen_of(window, LauncherScreen))
    until(window, lambda: launcher.model.backends is not None, 120)
    launcher.drop.dropped.emit(script)
    launcher.start_button.click()
    wait(lambda: "begun" in launcher.log.toPlainText(), 120)
    window.close()
    assert not window.isVisible()
    assert "Run " in window.context.interaction.said[-1]
    assert not window.context.workbench.runs()[0].live
