"""Several runs planned, queued, watched and stopped in the real window; a replayed one read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from app_window import settle, until, wait
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.workbench import ItemState, RunRequest, Workbench
from m4review.app.links import QUEUE, Place
from m4review.app.window import MainWindow
from m4review.plan.view import PlanScreen
from m4review.queue.view import QueueScreen
from m4review.run.view import RunScreen

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.sandbox]

TASK = "mimic-ventilation-raw"
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Path:
    home = share_sandbox(open_home(tmp_path_factory.mktemp("queued") / "home"), sandbox_store)
    Workbench(home).synth_source("invented", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    return home.root


def queue_of(window: MainWindow) -> QueueScreen:
    screen = window.screens["queue"]
    assert isinstance(screen, QueueScreen)
    return screen


def counts(window: MainWindow) -> dict[str, int]:
    page = queue_of(window).model.page
    return {} if page is None else {s.value: n for s in ItemState if (n := page.state.count(s))}


def look_at_the_steps(window: MainWindow) -> None:
    """The run of the first item, its steps, and the address of one of them."""
    queue = queue_of(window)
    queue.table.selectRow(0)
    QTest.keyClick(queue.table, Qt.Key.Key_Return)
    settle(window)
    run = cast("RunScreen", window.screen_shown)
    QTest.keyClick(window, Qt.Key.Key_F, CTRL)
    assert run.tabs.currentWidget() is run.steps
    wait(lambda: not run.trace.reading and run.steps.table.rowCount() > 0, 60)
    QTest.keyClicks(run.steps.search, "look around")
    QTest.keyClick(run.steps.search, Qt.Key.Key_Return)
    assert run.steps.table.rowCount() == 1
    assert "I look around" in run.steps.detail.output.toPlainText()
    number = run.steps.current
    assert number is not None
    run.steps.detail.link_button.click()
    link = QGuiApplication.clipboard().text()
    assert link == f"m4review://run/{run.model.run_id}/step/{number}"
    window.go(QUEUE)
    run.steps.clear_filter()
    window.open_text(link)
    until(window, lambda: run.steps.current == number, 30)
    run.trace.read_file("/job/notes.txt")
    run.steps.detail.show_step(run.steps.table.numbered(number))
    wait(lambda: run.steps.detail.dialog is not None, 30)
    assert run.steps.detail.dialog is not None
    assert run.steps.detail.dialog.text.toPlainText() == "a note"
    run.steps.detail.dialog.reject()


def test_runs_are_planned_queued_and_watched_to_their_end(
    open_window: Callable[..., MainWindow], home: Path, tmp_path: Path
) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        "import time\nprint('I look around', flush=True)\nopen('notes.txt', 'w').write('a note')\n"
        "open('output.csv', 'w').write('stay_id\\n1\\n')\n"
    )
    window = open_window(home)
    window.go(Place("task", TASK))
    settle(window)
    QTest.keyClick(window, Qt.Key.Key_R, CTRL | SHIFT)
    assert window.place == Place("plan", TASK)
    plan = cast("PlanScreen", window.screen_shown)
    wait(lambda: plan.model.offer is not None, 60)
    assert plan.model.choice.tasks == (TASK,)
    assert not plan.run_button.isEnabled()
    plan.agents[0].drop.dropped.emit(script)
    plan.trials.setFocus()
    QTest.keyClick(plan.trials, Qt.Key.Key_Up)
    plan.conditions["with-skill"].setFocus()
    QTest.keyClick(plan.conditions["with-skill"], Qt.Key.Key_Space)
    plan.name.setText("night shift")
    wait(lambda: plan.model.count is not None and plan.model.checks is not None, 200)
    assert plan.number.text() == "4 runs", plan.estimate.text()
    assert plan.run_button.isEnabled(), plan.model.checks
    QTest.keyClick(window, Qt.Key.Key_Return, CTRL)
    wait(lambda: window.place == QUEUE, 60)
    queue = queue_of(window)
    wait(lambda: counts(window) == {"done": 4}, 400)
    until(window, lambda: not queue.desk.working, 60)
    assert queue.words.text().startswith("0 running, 0 waiting, 4 ended")
    assert queue.progress.value() == queue.progress.maximum() == 4
    assert {item.batch for item in queue.model.page.state.items} == {"night shift"}  # type: ignore[union-attr]
    assert len(window.context.workbench.runs()) == 4

    look_at_the_steps(window)

    # A recorded run again: the same task, replayed from its trace.
    recorded = window.screens["run"].model.run_id  # type: ignore[attr-defined]
    bench = window.context.workbench
    request = RunRequest(task=TASK, source="invented", agent="replay", record=recorded)
    bench.enqueue([request], name="again")
    window.go(QUEUE)
    wait(queue.work_button.isEnabled, 60)
    queue.work_button.click()
    wait(lambda: counts(window) == {"done": 5}, 200)
    until(window, lambda: not queue.desk.working, 60)


def test_a_running_item_is_followed_held_cancelled_and_stopped_at_the_close(
    open_window: Callable[..., MainWindow], home: Path, tmp_path: Path
) -> None:
    script = tmp_path / "endless.py"
    script.write_text(
        "import time\nn = 0\nwhile True:\n    print('step', n, flush=True)\n    n += 1\n"
        "    time.sleep(.1)\n"
    )
    bench = Workbench(open_home(home))
    requests = [
        RunRequest(task=TASK, source="invented", script=script, trial=trial) for trial in (1, 2, 3)
    ]
    bench.enqueue(requests, name="endless")
    bench.queue_limit(1)
    window = open_window(home, True, True)
    window.go(QUEUE)
    queue = queue_of(window)
    wait(lambda: queue.model.page is not None, 60)
    queue.batch.setCurrentText("endless")
    queue.batch.activated.emit(queue.batch.currentIndex())
    assert [queue.items.record(row).trial for row in range(3)] == [1, 2, 3]  # type: ignore[union-attr]
    QTest.keyClick(window, Qt.Key.Key_W, CTRL | SHIFT)
    wait(lambda: queue.steps.live and queue.steps.table.rowCount() > 5, 200)
    assert "This window works on it" in queue.words.text()
    assert queue.steps.follow.isChecked()
    before = queue.steps.table.rowCount()
    wait(lambda: queue.steps.table.rowCount() > before, 60)
    last = queue.steps.table.step(queue.steps.table.rowCount() - 1)
    assert last is not None
    assert queue.steps.current == last.number
    QTest.keyClick(queue.steps.list, Qt.Key.Key_PageUp)  # whoever scrolls back wants to read
    wait(lambda: not queue.steps.follow.isChecked(), 10)
    shown = queue.steps.current
    before = queue.steps.table.rowCount()
    wait(lambda: queue.steps.table.rowCount() > before, 60)
    assert queue.steps.current == shown

    # Held and moved; the running one is cancelled, and the next takes its place.
    queue.table.selectRow(1)
    queue.item_buttons["hold"].click()
    wait(lambda: queue.items.index(1, 0).data() == "on hold", 30)
    queue.table.selectRow(0)
    queue.item_buttons["cancel"].click()  # asked, and agreed to
    wait(
        lambda: any(i.trial == 3 and i.state == ItemState.RUNNING for i in bench.queue().items), 200
    )
    assert {i.trial: i.state.value for i in bench.queue().of("endless")} == {
        1: "cancelled",
        2: "waiting",
        3: "running",
    }
    window.close()  # asked, and agreed to
    assert not window.isVisible()
    assert window.context.interaction.said[-1].startswith("Stop what is being worked on?")
    left = {item.trial: item.state.value for item in bench.queue().of("endless")}
    assert left == {1: "cancelled", 2: "waiting", 3: "waiting"}  # it waits for another time
    assert bench.queue().owner is None
    bench.queue_control("cancel", "endless")
