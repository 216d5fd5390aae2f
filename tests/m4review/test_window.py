"""The window itself: going about, commands, memory, closing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from app_window import settle, until, wait
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableView,
    QToolButton,
    QTreeView,
)

from engine.base.jobs import Job
from engine.workbench import BackendInfo
from m4review.app.actions import COMMANDS, key_text
from m4review.app.dialogs import Dialogs
from m4review.app.help import Help
from m4review.app.jobs_view import JobList
from m4review.app.links import DATA, RUNS, WORKLIST, Place
from m4review.app.palette import Palette, matching
from m4review.app.window import MainWindow
from m4review.run.view import RunScreen
from m4review.worklist.view import WorklistScreen

pytestmark = pytest.mark.gui
CTRL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier


def test_a_fresh_home_says_what_to_do(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(WORKLIST)
    settle(window)
    worklist = window.screens["worklist"]
    assert worklist.empty.isVisible()  # type: ignore[attr-defined]
    QTest.mouseClick(worklist.make, Qt.MouseButton.LeftButton)  # type: ignore[attr-defined]
    assert window.place == DATA
    form = window.screens["data"].form  # type: ignore[attr-defined]
    assert form.isVisible()
    assert form.focusWidget() is form.name
    QTest.keyClick(form, Qt.Key.Key_Escape)
    assert window.screens["data"].form is None  # type: ignore[attr-defined]


def test_the_list_takes_the_keys_when_it_is_there(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(WORKLIST)
    settle(window)
    worklist = window.screens["worklist"]
    assert isinstance(worklist, WorklistScreen)
    assert worklist.tree.hasFocus()


def test_a_question_with_few_facts_is_no_higher_than_they_are(
    open_window: Callable[..., MainWindow],
) -> None:
    window = open_window()
    heights: list[int] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        assert dialog is not None
        heights.append(dialog.height())
        dialog.close()

    for number in (2, 80):
        facts = [(f"Fact {n}", "a value") for n in range(number)]
        QTimer.singleShot(0, look)
        assert not Dialogs(window).confirm_facts("Title", "Text", facts, more="More.", yes="Yes")
    few, many = heights
    assert few < many / 2
    assert many <= window.fontMetrics().height() * 31


def test_the_worklist_says_that_it_is_being_read(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(WORKLIST)
    worklist = window.screens["worklist"]
    assert isinstance(worklist, WorklistScreen)
    assert worklist.count.text() == "Reading…"
    worklist.filter.setText("sofa")  # nothing is claimed before it is known
    assert worklist.count.text() == "Reading…"
    settle(window)
    assert worklist.count.text().endswith("tasks")


def test_places_are_gone_back_to(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    for place in (WORKLIST, DATA, RUNS):
        window.go(place)
        settle(window)
    QTest.keyClick(window, Qt.Key.Key_Left, ALT)
    assert window.place == DATA
    QTest.keyClick(window, Qt.Key.Key_Left, ALT)
    assert window.place == WORKLIST
    QTest.keyClick(window, Qt.Key.Key_Right, ALT)
    assert window.place == DATA
    QTest.keyClick(window, Qt.Key.Key_1, CTRL)
    assert window.place == WORKLIST
    settle(window)


def test_the_trail_names_a_run_as_its_page_does(
    open_window: Callable[..., MainWindow], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    summary = SimpleNamespace(task="some-task", model="some-model")
    record = SimpleNamespace(summary=summary, test_results=None)
    monkeypatch.setattr(window.context.workbench, "run_record", lambda _run: record)
    monkeypatch.setattr(window.context.workbench, "diff_of", lambda _run, **_: None)
    window.go(Place("diff", "some-task_run_20260101"))
    settle(window)
    told = [w.text() for w in window.findChildren(QToolButton) if w.isVisible()]
    assert "some-task · some-model" in told


def test_commands_have_one_name_each() -> None:
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)


def test_no_two_commands_of_a_screen_have_one_key(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    for name, screen in window.screens.items():  # what only another screen binds is not there
        screen.bind(window.actions_of)
        keys = [key for c in window.actions_of.available() for key in c.keys]
        assert len(set(keys)) == len(keys), name
        screen.leave(window.actions_of)
    settle(window)


def test_menus_offer_every_command(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    offered = {
        action.objectName()
        for menu in window.menuBar().actions()
        for action in menu.menu().actions()  # type: ignore[attr-defined]
    }
    assert offered == {command.name for command in COMMANDS}


def test_a_command_without_a_handler_is_disabled(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(WORKLIST)
    action: QAction = window.actions_of["diff.next"]
    assert not action.isEnabled()
    names = {command.name for command in window.actions_of.available()}
    assert "diff.next" not in names
    assert "app.data" in names
    settle(window)


def test_palette_finds_and_gives_a_command(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(WORKLIST)
    settle(window)
    QTest.keyClick(window, Qt.Key.Key_K, CTRL)
    palette = next(w for w in QApplication.topLevelWidgets() if isinstance(w, Palette))
    QTest.keyClicks(palette.line, "colours dark")
    assert palette.list.count() == 1
    QTest.keyClick(palette.line, Qt.Key.Key_Return)
    assert window.context.theme.dark
    assert window.context.settings.get("look.theme") == "dark"


def test_palette_matches_every_word() -> None:
    assert [c.name for c in matching(list(COMMANDS), "mism next")] == ["diff.next"]
    assert matching(list(COMMANDS), "no such thing") == []
    assert len(matching(list(COMMANDS), "")) == len(COMMANDS)


def test_help_names_every_key(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window._show_help()
    help_window = window.findChild(Help)
    assert help_window is not None
    told = {label.text() for label in help_window.findChildren(QLabel)}
    assert {key_text(c) for c in COMMANDS if c.keys} <= told
    help_window.reject()


def test_size_theme_and_place_are_remembered(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(DATA)
    window.set_zoom(125)
    window.set_theme("dark")
    window.resize(1111, 777)
    settle(window)
    window.close()
    again = open_window()
    assert again.context.zoom == 1.25
    assert again.context.theme.dark
    assert again.context.settings.get("window.last") == DATA.link


def test_a_page_fits_the_size_that_holds_now(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    edge = window.screens["run"].layout().contentsMargins().left()
    window.set_zoom(200)
    assert window.screens["run"].layout().contentsMargins().left() == 2 * edge
    window.set_zoom(100)
    assert window.screens["run"].layout().contentsMargins().left() == edge


def test_the_buttons_of_a_run_are_whole_in_large_letters(
    open_window: Callable[..., MainWindow],
) -> None:
    window = open_window()
    window.resize(1366, 900)
    window.set_zoom(200)
    screen = window.screens["run"]
    assert isinstance(screen, RunScreen)
    window.stack.setCurrentWidget(screen)
    settle(window)
    for each in (screen.task_button, screen.reveal_button, screen.diff_button):
        assert each.width() >= each.sizeHint().width()
    window.set_zoom(100)


def test_zoom_by_keys(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(WORKLIST)
    settle(window)
    before = QApplication.font().pointSizeF()
    QTest.keyClick(window, Qt.Key.Key_Plus, CTRL)
    assert QApplication.font().pointSizeF() > before
    QTest.keyClick(window, Qt.Key.Key_0, CTRL)
    assert QApplication.font().pointSizeF() == before
    settle(window)


def test_closing_asks_while_something_is_worked_on(open_window: Callable[..., MainWindow]) -> None:
    window = open_window(None, False)
    stop = threading.Event()

    def work(job: Job) -> None:
        job.on_cancel(stop.set)
        stop.wait(20)
        job.check()

    handle = window.context.runner.start("A long thing", work)
    window.close()
    assert window.isVisible()
    assert "A long thing" in window.context.interaction.said[-1]
    window.context.interaction.answers = [True]
    window.close()
    assert not window.isVisible()
    assert handle.state.over
    assert stop.is_set()


def test_jobs_are_shown_with_cancel(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    stop = threading.Event()

    def work(job: Job) -> None:
        job.progress("x", 1, 4, "A quarter")
        job.on_cancel(stop.set)
        stop.wait(20)
        job.check()

    handle = window.context.runner.start("Count", work)
    wait(lambda: handle.progress is not None, 10)
    assert window.job_bar.isVisible()
    QTest.keyClick(window, Qt.Key.Key_J, CTRL)
    jobs = window.findChild(JobList)
    assert jobs is not None
    cancel = next(b for b in jobs.findChildren(QPushButton) if "Cancel" in b.text())
    cancel.click()
    until(window, lambda: handle.state.over, 10)
    assert not window.job_bar.isVisible()
    jobs.accept()


def test_an_address_that_names_nothing_is_told(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.go(WORKLIST)
    window.open_text("m4review://nowhere/at/all")
    assert window.context.interaction.errors[0].todo
    window.open_text("no-such-run")
    settle(window)
    error = window.screens["run"].errors.error  # type: ignore[attr-defined]
    assert error is not None
    window.open_text("m4review://task/no-such-task")
    settle(window)
    assert window.screens["task"].errors.error is not None  # type: ignore[attr-defined]


def test_what_takes_the_keyboard_has_a_name(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.screens["launch"].model.backends = (  # type: ignore[attr-defined]
        BackendInfo("bubblewrap", True, False, "", None),  # else a sandbox is made for nothing
    )
    for place in (WORKLIST, DATA, RUNS, Place("task", "x"), Place("launch", "x")):
        window.go(place)
        settle(window)
        for kind in (QTableView, QTreeView, QLineEdit, QAbstractButton):
            for widget in window.screen_shown.findChildren(kind):
                if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible():
                    named = widget.accessibleName() or getattr(widget, "text", str)()
                    internal = widget.objectName().startswith("qt_")
                    assert named or internal, f"{type(widget).__name__} on {place.screen}"


def test_damaged_settings_are_told(open_window: Callable[..., MainWindow], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.toml").write_text("[broken")
    window = open_window()
    assert "settings" in window._message.text()


def test_void_calls_keep_their_reference_to_none(qapp: QApplication) -> None:
    """A binding that drops a reference to None per call kills the program after a while."""
    edit = QLineEdit()
    before = sys.getrefcount(None)
    for _ in range(5_000):
        edit.setText("x")
        edit.setEnabled(True)
        edit.update()
    lost = before - sys.getrefcount(None)
    edit.deleteLater()
    assert abs(lost) < 1_000
