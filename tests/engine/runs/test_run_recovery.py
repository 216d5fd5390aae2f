"""Killed with SIGKILL in every state: found at the next start, finished or closed, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from run_bench import RIGHT, Bench
from sandbox_store import share_sandbox

from engine.runs.states import COLLECTED, LIVE, State

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

DRIVER = Path(__file__).with_name("run_bench.py")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("bench")).build()
    share_sandbox(bench.home, sandbox_store)
    return bench


def kill_at(bench: Bench, script: Path, state: str) -> str:
    """Drive a run in a process of its own and kill it when it has told `state` (or "log")."""
    driver = subprocess.Popen(
        [sys.executable, str(DRIVER), str(bench.root), str(script), state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
    )
    assert driver.stdout is not None
    assert driver.stdin is not None
    run_id = ""
    for line in driver.stdout:  # ends when the driver does
        told, run_id = line.split()
        if told == state:
            break
    else:
        pytest.fail(f"the driver ended before {state}")
    below = psutil.Process(driver.pid).children(recursive=True)
    driver.kill()
    driver.wait()
    driver.stdout.close()
    driver.stdin.close()
    _, alive = psutil.wait_procs(below, timeout=30)
    assert not alive, "the sandbox outlived its program"
    return run_id


def entered(bench: Bench, run_id: str, state: State) -> int:
    return sum(state == found for _, found, _ in bench.store.events(run_id))


@pytest.mark.parametrize("state", sorted(LIVE))
def test_killed_in_any_state_nothing_is_lost(bench: Bench, state: State):
    run_id = kill_at(bench, bench.script(RIGHT, ".sql"), state)
    before = bench.store.find(run_id)
    assert before.state == state
    assert not before.owner.alive

    if state != State.PREPARED:
        (bench.home.runs / run_id / ".score.json.x.part").touch()  # as a kill in writing leaves it
    (summary,) = bench.recover()
    assert summary.run_id == run_id
    assert not summary.live
    record = bench.record(run_id) if state != State.PREPARED else None
    if state in COLLECTED:
        assert (summary.state, summary.reward, summary.strict_pass) == ("done", 1.0, True)
        assert record is not None
        assert record["reward"] == 1.0
        assert (bench.home.runs / run_id / "diff.duckdb").is_file()
    else:
        assert (summary.state, summary.failure_reason) == ("failed", "interrupted")
        assert summary.reward is None
    assert entered(bench, run_id, State.DONE) == (state in COLLECTED)
    assert entered(bench, run_id, State.FAILED) == (state not in COLLECTED)
    assert not list((bench.home.runs / run_id).glob("work*"))
    assert not list((bench.home.runs / run_id).glob(".*"))
    assert bench.recover() == ()


@pytest.mark.parametrize("state", [State.LINTING, State.SCORING])
def test_killed_again_while_it_is_recovered(bench: Bench, state: State):
    run_id = kill_at(bench, bench.script(RIGHT, ".sql"), State.SCORING)
    assert kill_at(bench, Path("recover"), state) == run_id
    (summary,) = bench.recover()
    assert (summary.run_id, summary.state, summary.reward) == (run_id, "done", 1.0)
    assert entered(bench, run_id, State.DONE) == 1


def test_the_agents_fault_is_kept_over_a_kill(bench: Bench):
    run_id = kill_at(bench, bench.script("raise SystemExit(7)"), "linting")
    (summary,) = bench.recover()
    assert summary.run_id == run_id
    assert (summary.failure_reason, summary.reward) == ("agent_nonzero_exit", 0.0)
    assert bench.record(run_id)["agent_result"]["returncode"] == 7


def test_contamination_is_still_found_after_a_kill(bench: Bench):
    script = bench.script("open('output.csv', 'w').write('a\\n'); open('PROVENANCE.yaml', 'w')\n"
                          "open('x', 'w').write('PROVENANCE.yaml')")  # fmt: skip
    run_id = kill_at(bench, script, "linting")
    (summary,) = bench.recover()
    assert (summary.run_id, summary.failure_reason) == (run_id, "contamination_lint")
    assert not (bench.home.runs / run_id / "output.csv").exists()


def test_killed_while_the_agent_works_its_log_is_there(bench: Bench):
    script = bench.script("print('begun', flush=True); import time; time.sleep(600)")
    run_id = kill_at(bench, script, "log")
    (summary,) = bench.recover()
    assert (summary.run_id, summary.failure_reason) == (run_id, "interrupted")
    assert (bench.home.runs / run_id / "stdout.log").read_text().startswith("begun")
    assert bench.record(run_id)["failure_reason"] == "interrupted"


def test_runs_of_a_living_program_are_left_alone(bench: Bench):
    seen = []

    def tell(event) -> None:
        if event.kind == "state" and event.text == "scoring":
            seen.append(bench.recover())

    run_id = bench.run(bench.assign(bench.script(RIGHT, ".sql")), on_event=tell)
    assert seen == [()]
    assert bench.store.find(run_id).summary.reward == 1.0
