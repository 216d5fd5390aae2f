"""The audit log hears of each run; a run that it cannot hear of is not made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine import audit
from engine.base.errors import Busy, StorageFull, UsageError
from engine.base.paths import Home, open_home
from engine.runs.audited import AuditedRuns
from engine.runs.records import RunSummary
from engine.runs.states import Reason, State
from engine.runs.store import RunStore

RUN = RunSummary(
    run_id="mimic-x_no-skill_script_a_t1_20260101_000000",
    task="mimic-x",
    source="demo",
    agent="script",
    model="a",
    condition="no-skill",
    schema="native",
    trial=1,
    state="prepared",
    failure_reason=None,
    reward=None,
    strict_pass=None,
    started_at="2026-01-01T00:00:00.000Z",
    ended_at=None,
    live=True,
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


def test_a_run_begins_ends_and_is_deleted(home: Home):
    runs = AuditedRuns(home)
    assert runs.add(RUN, {})
    assert not runs.add(RUN, {})
    runs.enter(RUN.run_id, State.CANARY)
    with pytest.raises(Busy):
        runs.delete(RUN.run_id)
    runs.enter(RUN.run_id, State.FAILED, reason=Reason.TIMEOUT, reward=0.0)
    runs.delete(RUN.run_id)
    log = audit.read_log(home)
    assert [(e.what, e.stage) for e in log] == [
        ("run", "begin"),
        ("run", "end"),
        ("run.delete", "done"),
    ]
    assert {(e.source, e.object) for e in log} == {("demo", RUN.run_id)}
    assert log[0].facts["agent"] == "script"
    assert log[1].facts == {"state": "failed", "reason": "timeout"}


def test_a_run_that_cannot_be_recorded_is_not_made(home: Home, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object, **__: object) -> None:
        raise StorageFull("full")

    runs = AuditedRuns(home)
    with monkeypatch.context() as patch:
        patch.setattr(audit, "note", full)
        with pytest.raises(StorageFull):
            runs.add(RUN, {})
    with pytest.raises(UsageError):
        runs.find(RUN.run_id)
    assert runs.add(RUN, {})
    with monkeypatch.context() as patch:
        patch.setattr(audit, "note", full)
        runs.enter(RUN.run_id, State.FAILED, reason=Reason.TIMEOUT)  # it has ended all the same
    assert not runs.find(RUN.run_id).summary.live


def ends(home: Home) -> list[dict[str, object]]:
    return [dict(e.facts) for e in audit.read_log(home) if (e.what, e.stage) == ("run", "end")]


def test_an_end_that_the_log_missed_is_told_at_the_next_start(
    home: Home, monkeypatch: pytest.MonkeyPatch
):
    runs = AuditedRuns(home)
    runs.add(RUN, {})
    assert runs.reconcile() == 0  # it is at work
    RunStore.enter(runs, RUN.run_id, State.FAILED, reason=Reason.TIMEOUT)  # and killed now
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)  # the run is another, living program's
        assert runs.reconcile() == 0  # its program may be about to tell
    assert runs.reconcile() == 1
    assert runs.reconcile() == 0
    (told,) = ends(home)
    assert (told["state"], told["reason"]) == ("failed", "timeout")
    assert "later" in str(told["note"])
    assert audit.verify(home, thorough=True).ok


def test_a_run_that_is_in_the_log_alone_is_ended_there(home: Home):
    audit.note(home, "run", source="demo", object="lost", stage="begin")
    audit.note(home, "run", source="demo", object="deleted", stage="begin")
    audit.note(home, "run.delete", source="demo", object="lost too")
    assert AuditedRuns(home).reconcile() == 2
    assert [told["state"] for told in ends(home)] == ["unknown", "unknown"]


def test_a_run_that_the_log_never_heard_of_is_told_when_it_is_taken_over(home: Home):
    runs = AuditedRuns(home)
    RunStore.add(runs, RUN, {})  # and killed now
    assert runs.claim(runs.find(RUN.run_id))
    runs.enter(RUN.run_id, State.FAILED, reason=Reason.INTERRUPTED)
    assert [(e.what, e.stage) for e in audit.read_log(home)] == [("run", "begin"), ("run", "end")]
    assert "later" in audit.read_log(home)[0].facts["note"]
    assert audit.begun(home, "run") == {RUN.run_id: False}
