"""Runs in the state file: one transaction a state, one owner, no way round the order."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engine.base.errors import Busy, HarnessFault, UsageError
from engine.runs.records import RunSummary
from engine.runs.states import LIVE, NEXT, Reason, State
from engine.runs.store import Owner, RunStore

FIRST = RunSummary(
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
def store(tmp_path: Path) -> RunStore:
    store = RunStore(tmp_path / "state.db")
    assert store.add(FIRST, {"a": 1})
    return store


def test_a_run_goes_its_way_and_remembers_it(store: RunStore):
    way = [State.CANARY, State.RUNNING, State.COLLECTING, State.LINTING, State.SCORING]
    for state in way:
        store.enter(FIRST.run_id, state, facts={state.value: True})
        found = store.find(FIRST.run_id)
        assert (found.state, found.summary.live, found.summary.ended_at) == (state, True, None)
    at = store.enter(FIRST.run_id, State.DONE, reward=0.5, strict_pass=False)
    found = store.find(FIRST.run_id)
    assert found.summary == replace(
        FIRST, state="done", reward=0.5, strict_pass=False, ended_at=at, live=False
    )
    assert found.facts == {"a": 1} | dict.fromkeys([s.value for s in way], True)
    assert [state for _, state, _ in store.events(FIRST.run_id)] == [
        "prepared",
        *(s.value for s in way),
        "done",
    ]


@pytest.mark.parametrize("state", list(State))
def test_no_state_is_left_out(store: RunStore, state: State):
    if state in NEXT[State.PREPARED]:
        store.enter(FIRST.run_id, state)
        return
    with pytest.raises(HarnessFault, match="cannot go"):
        store.enter(FIRST.run_id, state)
    assert store.find(FIRST.run_id).state == State.PREPARED
    assert len(store.events(FIRST.run_id)) == 1


def test_an_ended_run_never_changes(store: RunStore):
    store.enter(FIRST.run_id, State.FAILED, reason=Reason.CANCELLED)
    for state in State:
        with pytest.raises(HarnessFault):
            store.enter(FIRST.run_id, state)


def test_every_state_leads_to_an_end():
    for state in LIVE:
        assert State.FAILED in NEXT[state]
    assert not NEXT[State.DONE]
    assert not NEXT[State.FAILED]


def test_ids_are_unique(store: RunStore):
    assert not store.add(FIRST, {})
    assert store.find(FIRST.run_id).facts == {"a": 1}
    assert len(store.list()) == 1


def test_a_ticket_finds_its_run_and_makes_no_second(store: RunStore):
    other = replace(FIRST, run_id="other")
    assert store.by_ticket("t/1") is None
    assert store.add(other, {}, ticket="t/1")
    found = store.by_ticket("t/1")
    assert found is not None
    assert found.summary == other
    with pytest.raises(HarnessFault, match="begun already"):
        store.add(replace(FIRST, run_id="third"), {}, ticket="t/1")
    assert [run.run_id for run in store.list()] == ["other", FIRST.run_id]
    assert store.add(replace(FIRST, run_id="fourth"), {})


def test_lists_are_newest_first_and_by_task(store: RunStore):
    later = replace(FIRST, run_id="later", started_at="2026-01-02T00:00:00.000Z")
    other = replace(FIRST, run_id="other", task="eicu-y")
    store.add(later, {})
    store.add(other, {})
    assert [run.run_id for run in store.list()] == ["later", "other", FIRST.run_id]
    assert [run.run_id for run in store.list("mimic-x")] == ["later", FIRST.run_id]


def test_live_runs_cannot_be_deleted(store: RunStore):
    with pytest.raises(Busy):
        store.delete(FIRST.run_id)
    store.enter(FIRST.run_id, State.FAILED, reason=Reason.EXCEPTION)
    store.delete(FIRST.run_id)
    with pytest.raises(UsageError):
        store.find(FIRST.run_id)
    assert store.events(FIRST.run_id) == ()


def test_runs_of_a_dead_process_are_orphans_and_claimed_once(store: RunStore, tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from engine.runs.store import RunStore; from engine.runs.records import RunSummary\n"
        f"RunStore(Path(sys.argv[1])).add(replace({FIRST!r}, run_id='dead'), {{}})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "state.db")], check=True)
    orphans = store.orphans()
    assert [run.summary.run_id for run in orphans] == ["dead"]
    with pytest.raises(HarnessFault, match="Another program"):
        store.enter("dead", State.FAILED)
    with pytest.raises(HarnessFault, match="Another program"):
        store.note("dead", {})
    assert store.claim(orphans[0])
    assert not store.claim(orphans[0])
    assert store.orphans() == ()
    store.enter("dead", State.FAILED, reason=Reason.INTERRUPTED)


def test_a_process_of_the_same_number_is_not_the_owner():
    me = Owner.me()
    assert me.alive
    assert not Owner(me.pid, me.started - 100).alive
