"""The program is killed at twenty random points of a ten-run queue: each run ends once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.queue import ItemState, ticket_of
from engine.runs.states import State
from engine.runs.store import RunStore
from engine.workbench import RunRequest, Workbench

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
DRIVER = Path(__file__).parent / "killed_queue.py"
RUNS, KILLS, SEED = 10, 20, 5


def requests(count: int) -> list[RunRequest]:
    script = ROOT / "resources" / "samples" / "charlson.sql"
    return [
        RunRequest(task="mimic-charlson-raw", source="small", script=script, trial=trial)
        for trial in range(1, count + 1)
    ]


@pytest.mark.timeout(600)
def test_killed_at_twenty_points_every_run_ends_and_is_scored_once(
    tmp_path: Path, sandbox_store: Path
):
    bench = Workbench(share_sandbox(open_home(tmp_path / "home"), sandbox_store))
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    bench.enqueue(requests(RUNS), name="ten")

    driver = [sys.executable, str(DRIVER), str(bench.home.root), str(SEED), str(KILLS)]
    done = subprocess.run(driver, capture_output=True, text=True, check=True, timeout=550)
    told = json.loads(done.stdout)
    assert [signum for signum, _ in told["deaths"]] == [9] * KILLS
    assert len({at for _, at in told["deaths"]}) >= 4, "they died all over"
    assert told["end"] == 0

    store, state = RunStore(bench.home.state), bench.queue()
    assert [item.state for item in state.items] == [ItemState.DONE] * RUNS
    runs = {run.run_id: run for run in bench.runs()}
    ends = Counter(
        (run_id, state)
        for run_id in runs
        for _, state, _ in store.events(run_id)
        if state in (State.DONE, State.FAILED)
    )
    assert set(ends.values()) == {1}
    assert len(ends) == len(runs), "each run, also an interrupted one, ended once"
    assert not any(run.live for run in runs.values())
    for item in state.items:
        way = [word for _, word, *_ in bench.queue_events(item.item)]
        assert way.count("done") == 1
        assert way[-1] == "done"
        tickets = [ticket_of(item.item, number + 1) for number in range(item.attempt)]
        own = [found.summary for ticket in tickets if (found := store.by_ticket(ticket))]
        assert [run.run_id for run in own if run.reward is not None] == [item.run_id]
        assert {run.failure_reason for run in own if run.reward is None} <= {"interrupted"}
        record = json.loads((bench.home.runs / str(item.run_id) / "result.json").read_text())
        assert record["test_results"]["reward"] == item.reward == 1.0
        scored = [word for _, word, _ in store.events(str(item.run_id)) if word == "done"]
        assert scored == ["done"]
    assert sum(item.attempt for item in state.items) > RUNS, "some died and were begun again"
    folders = {path.name for path in bench.home.runs.iterdir() if path.is_dir()}
    assert folders <= set(runs)
