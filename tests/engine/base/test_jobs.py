"""Cancelling: told once, told everyone, also the late."""

from __future__ import annotations

import threading

import pytest

from engine.base.errors import Cancelled
from engine.base.jobs import SimpleJob


def test_check_raises_only_after_cancel() -> None:
    job = SimpleJob()
    job.check()
    job.cancel()
    with pytest.raises(Cancelled):
        job.check()


def test_stops_are_called_once_and_late_ones_at_once() -> None:
    job = SimpleJob()
    calls: list[str] = []
    job.on_cancel(lambda: calls.append("early"))
    forget = job.on_cancel(lambda: calls.append("forgotten"))
    forget()
    job.cancel()
    job.cancel()
    job.on_cancel(lambda: calls.append("late"))
    assert calls == ["early", "late"]


def test_a_stop_may_forget_itself_from_another_thread() -> None:
    job = SimpleJob()
    forget = job.on_cancel(lambda: None)
    thread = threading.Thread(target=job.cancel)
    thread.start()
    thread.join(5)
    forget()
    assert job.cancelled


def test_progress_and_messages_reach_the_front_end() -> None:
    seen: list[tuple[object, ...]] = []
    job = SimpleJob(
        on_progress=lambda *what: seen.append(what), on_message=lambda text: seen.append((text,))
    )
    job.progress("import:labevents", 1, 4, "labevents")
    job.message("done")
    assert seen == [("import:labevents", 1, 4, "labevents"), ("done",)]
