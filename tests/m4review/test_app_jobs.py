"""Jobs: one outcome each, in the window's thread; cancelled is not failed."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from engine.base.errors import BadInput, HarnessFault
from engine.base.jobs import Job
from m4review.app.jobs import JobRunner, Progress, State, duration


def test_result_arrives_in_the_windows_thread(runner: JobRunner, qtbot: QtBot) -> None:
    seen: list[Any] = []
    handle = runner.start(
        "Add",
        lambda _job: (1 + 1, threading.current_thread()),
        on_done=lambda result: seen.append((result, threading.current_thread())),
    )
    qtbot.waitUntil(lambda: bool(seen))
    (result, worker), here = seen[0]
    assert result == 2
    assert worker is not here
    assert here is threading.main_thread()
    assert handle.state is State.DONE
    assert runner.live == ()


def test_an_error_meant_for_the_user_is_handed_on(runner: JobRunner, qtbot: QtBot) -> None:
    def work(_job: Job) -> None:
        raise BadInput("This is wrong.", todo="Mend it.")

    handle = runner.start("Fail", work)
    with qtbot.waitSignal(handle.failed) as caught:
        pass
    assert caught.args[0].todo == "Mend it."
    assert handle.state is State.FAILED


def test_an_unforeseen_fault_becomes_words(
    runner: JobRunner, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    # What another test ran in this process may have switched loggers off.
    logging.disable(logging.NOTSET)
    logger = logging.getLogger("m4review.app.jobs")
    logger.disabled = False
    logger.propagate = True

    def work(_job: Job) -> None:
        raise ValueError("could not convert '30000123' in /data/mimic")

    handle = runner.start("Divide", work)
    with qtbot.waitSignal(handle.failed) as caught:
        pass
    assert isinstance(caught.args[0], HarnessFault)
    assert caught.args[0].details == "ValueError"
    assert "ValueError at" in caplog.text
    assert "test_app_jobs.py" in caplog.text
    assert "30000123" not in caplog.text  # the log says where, never what
    assert "/data/mimic" not in caplog.text


def test_cancelled_is_not_failed(runner: JobRunner, qtbot: QtBot) -> None:
    begun = threading.Event()
    told = threading.Event()

    def work(job: Job) -> None:
        job.on_cancel(told.set)
        begun.set()
        assert told.wait(10)
        job.check()

    failed: list[object] = []
    handle = runner.start("Wait", work, on_failed=failed.append)
    assert begun.wait(10)
    with qtbot.waitSignal(handle.cancelled):
        handle.cancel()
    assert handle.state is State.CANCELLED
    assert failed == []


def test_jobs_of_one_lane_run_one_after_the_other(runner: JobRunner, qtbot: QtBot) -> None:
    order: list[str] = []
    release = threading.Event()

    def first(_job: Job) -> None:
        assert release.wait(10)
        order.append("first")

    one = runner.start("First", first, lane="db")
    two = runner.start("Second", lambda _job: order.append("second"), lane="db")
    other = runner.start("Other", lambda _job: order.append("other"), lane="elsewhere")
    with qtbot.waitSignal(other.over):
        pass
    assert two.state is State.WAITING
    with qtbot.waitSignal(two.over):
        release.set()
    assert order == ["other", "first", "second"]
    assert one.state is State.DONE


def test_a_waiting_job_can_be_cancelled(runner: JobRunner, qtbot: QtBot) -> None:
    release = threading.Event()
    runner.start("First", lambda _job: release.wait(10), lane="db")
    ran: list[int] = []
    two = runner.start("Second", lambda _job: ran.append(1), lane="db")
    with qtbot.waitSignal(two.cancelled):
        two.cancel()
        qtbot.waitUntil(lambda: two.stopping)
        release.set()
    assert ran == []


def test_progress_is_told_with_an_end(runner: JobRunner, qtbot: QtBot) -> None:
    listening = threading.Event()

    def work(job: Job) -> None:
        listening.wait(10)
        for done in range(2_001):
            job.progress("copy", done, 2_000, "Copying")

    told: list[Progress] = []
    handle = runner.start("Copy", work)
    handle.progressed.connect(told.append)
    with qtbot.waitSignal(handle.over):
        listening.set()
    assert told[-1].share == 1
    assert len(told) < 400  # not one signal for each of two thousand reports


def test_shutting_down_ends_every_job(qapp: object) -> None:
    runner = JobRunner()

    def work(job: Job) -> None:
        stop = threading.Event()
        job.on_cancel(stop.set)
        stop.wait(20)
        job.check()

    handles = [runner.start(f"Job {n}", work) for n in range(3)]
    assert runner.shut_down(10)
    assert all(handle.state is State.CANCELLED for handle in handles)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.6, "1 min"), (8.2, "8 s"), (200, "3 min 20 s"), (3900, "1 h 5 min")],
)
def test_duration_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
