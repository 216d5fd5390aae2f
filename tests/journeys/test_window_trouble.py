"""Bad input and bad luck in the real window: told in words, nothing lost, the window alive."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import duckdb
import pytest
from app_window import settle, show_diff, until, wait
from diff_factory import make_diff
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from engine.base.errors import BadInput, Busy, M4Error, StorageFull
from m4review.app.links import DATA, RUNS, WORKLIST
from m4review.app.window import MainWindow
from m4review.data.view import DataScreen

pytestmark = pytest.mark.gui


def data_screen(window: MainWindow) -> DataScreen:
    window.go(DATA)
    settle(window)
    return cast("DataScreen", window.screen_shown)


def told(screen: DataScreen) -> M4Error:
    """The error that stands in the page, with its words really on the screen."""
    error = screen.errors.error
    assert error is not None
    assert screen.errors.isVisible()
    words = " ".join(label.text() for label in screen.errors.findChildren(QLabel))
    assert error.title in words
    assert error.text in words
    assert error.todo
    assert error.todo in words
    return error


def is_alive(window: MainWindow) -> None:
    """Going about still works."""
    for place in (WORKLIST, RUNS, DATA):
        window.go(place)
        settle(window)
        assert window.place == place


def physionet(folder: Path) -> Path:
    """A folder with a good and a truncated table."""
    (folder / "icu").mkdir(parents=True)
    (folder / "icu" / "icustays.csv").write_text(
        "subject_id,hadm_id,stay_id,first_careunit,last_careunit,intime,outtime,los\n"
        "1,2,3,MICU,MICU,2150-01-01 00:00:00,2150-01-02 00:00:00,1.0\n"
    )
    return folder


def test_a_truncated_file_is_named_in_the_page(
    open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    folder = physionet(tmp_path / "mimic")
    whole = gzip.compress(b"subject_id,gender\n" + b"1,F\n" * 5_000)
    (folder / "icu" / "chartevents.csv.gz").write_bytes(whole[: len(whole) // 2])
    window = open_window(None, "broken")
    screen = data_screen(window)
    screen.add_path(folder)
    until(window, lambda: screen.errors.error is not None, 60)
    error = told(screen)
    assert isinstance(error, BadInput)
    assert error.place is not None
    assert "chartevents.csv.gz" in str(error.place)
    is_alive(window)


def test_a_source_that_was_refused_says_why_and_how_to_go_on(
    open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    folder = physionet(tmp_path / "mimic")
    names = (
        "subject_id,hadm_id,stay_id,caregiver_id,charttime,storetime,itemid,value,valuenum,"
        "valueuom,warning"
    )
    row = "1,2,3,1,2150-01-01 00:00:00,2150-01-01 00:05:00,{},70,70,bpm,0"
    lines = [names, *[row.format(220045)] * 20, row.format("heart")]
    (folder / "icu" / "chartevents.csv").write_text("\n".join(lines) + "\n")
    window = open_window(None, "part")
    screen = data_screen(window)
    screen.add_path(folder)
    until(window, lambda: screen.errors.error is not None, 60)
    assert [source.name for source in screen.model.sources] == ["part"]
    assert screen.records.index(0, 2).data() == "not imported whole"
    assert screen.trouble.isVisible()
    for words in ("chartevents.csv", "itemid", "again under this name"):
        assert words in screen.trouble.text()


def test_a_folder_that_holds_nothing(
    open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    window = open_window(None, "nothing")
    screen = data_screen(window)
    screen.add_path(empty)
    until(window, lambda: screen.errors.error is not None, 60)
    told(screen)
    is_alive(window)


def test_a_source_in_use_is_told(open_window: Callable[..., MainWindow], tmp_path: Path) -> None:
    database = tmp_path / "mine.duckdb"
    with duckdb.connect(str(database)) as con:
        con.execute("CREATE SCHEMA mimiciv_icu")
        con.execute("CREATE TABLE mimiciv_icu.icustays (stay_id BIGINT)")
    script = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('held', flush=True); "
        "sys.stdin.read()"
    )
    window = open_window(None, "mine")
    screen = data_screen(window)
    with subprocess.Popen(
        [sys.executable, "-c", script, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        screen.add_path(database)
        until(window, lambda: screen.errors.error is not None, 60)
        assert isinstance(told(screen), Busy)
        holder.communicate(b"")
    is_alive(window)


def test_a_full_disk_is_told(small_disk: Path, open_window: Callable[..., MainWindow]) -> None:
    window = open_window(small_disk / "home")
    screen = data_screen(window)
    screen.make_synthetic("too-much", kind="mimic-iv", stays=500, seed=1)
    until(window, lambda: screen.errors.error is not None, 120)
    assert isinstance(told(screen), StorageFull)
    window.go(WORKLIST)
    settle(window)
    assert window.place == WORKLIST


def test_an_import_is_cancelled_and_can_go_on(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    screen = data_screen(window)
    screen.make_synthetic("large", kind="mimic-iv", stays=5_000, seed=1)
    handle = window.context.runner.loud[0]
    wait(lambda: handle.progress is not None or handle.state.over, 60)
    assert window.job_bar.isVisible()
    handle.cancel()
    until(window, lambda: handle.state.over, 60)
    assert screen.errors.error is None  # stopped is not failed
    assert window._message.text().startswith("Stopped")
    is_alive(window)


def test_an_error_can_be_read_and_put_away(
    open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    path = tmp_path / "diff.duckdb"
    path.write_bytes(b"\0" * 9_000)
    window = open_window()
    screen = show_diff(window, path)
    assert screen.errors.isVisible()
    screen.errors.dismiss()
    assert not screen.errors.isVisible()
    again = show_diff(window, make_diff(tmp_path / "good.duckdb", 500).path)
    assert again.grid is not None
    QTest.keyClick(window, Qt.Key.Key_F8)
    assert again.grid.current >= 0
