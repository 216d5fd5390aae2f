"""`m4bench queue` and `m4bench campaign`, and the workbench below them, with real runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from sandbox_store import share_sandbox

from engine.base.errors import UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.cli.main import run as m4bench
from engine.isolation.bubblewrap import Bubblewrap
from engine.workbench import ItemState, RunEvent, RunRequest, Workbench

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
TASK = "mimic-charlson-raw"
SCRIPT = ROOT / "resources" / "samples" / "charlson.sql"
REQUEST = RunRequest(task=TASK, source="small", script=SCRIPT)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Path:
    """A home with a small synthetic source, its reference and one run."""
    home = open_home(tmp_path_factory.mktemp("queued") / "home")
    bench = Workbench(share_sandbox(home, sandbox_store))
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    bench.run(REQUEST, job=SimpleJob())
    return home.root


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Workbench:
    shutil.copytree(made, tmp_path / "home", symlinks=True)
    return Workbench(open_home(tmp_path / "home"))


@pytest.fixture
def m4(bench: Workbench, capsys: pytest.CaptureFixture[str]):
    def call(*words: str):
        code = m4bench(["--home", str(bench.home.root), "--json", *words])
        out = capsys.readouterr()
        return code, (json.loads(out.out) if out.out else None), out.err

    return call


ADD = ("queue", "add", TASK, "--source", "small", "--script", str(SCRIPT))


def test_add_order_hold_run_and_clear(bench: Workbench, m4, tmp_path: Path):
    both = ("--condition", "no-skill", "--condition", "with-skill")
    more = ("--trials", "2", "--name", "b", "--results", str(tmp_path / "out"))
    code, added, _ = m4(*ADD, *both, *more)
    assert (code, added) == (0, {"batch": "b", "runs": 4})
    assert m4(*ADD, "--name", "b")[0] == 2
    assert m4("queue", "move", "4", "top")[1]["changed"] == 1
    assert m4("queue", "pause", "2")[1]["changed"] == 1
    assert m4("queue", "cancel", "3")[1]["changed"] == 1
    assert m4("queue", "cancel")[0] == 2
    assert m4("queue", "cancel", "99")[0] == 2
    listed = m4("queue", "list")[1]
    assert [item["item"] for item in listed["items"]] == [4, 1, 2]

    assert m4("queue", "pause")[0] == 0
    code, error, _ = m4("queue", "run")
    assert (code, error["text"]) == (2, "The queue is paused.")
    m4("queue", "resume")
    code, state, err = m4("queue", "run")
    assert code == 0, err
    words = {item["item"]: item["state"] for item in state["items"]}
    assert words == {1: "done", 2: "waiting", 3: "cancelled", 4: "done"}
    assert state["owner"] is None
    assert {item["reward"] for item in state["items"] if item["state"] == "done"} == {1.0}
    copies = {path.name for path in (tmp_path / "out").iterdir()}
    assert copies == {item["run_id"] for item in state["items"] if item["state"] == "done"}

    shown = m4("queue", "show", "4")[1]
    assert [event["state"] for event in shown["events"]] == [
        "waiting", "starting", "running", "done",
    ]  # fmt: skip
    assert m4("queue", "clear")[1]["changed"] == 0
    m4("queue", "cancel", "--all")
    assert m4("queue", "clear")[1]["changed"] == 1
    assert m4("queue", "list", "--all")[1]["items"] == []
    assert len(bench.runs()) == 3


def test_what_cannot_be_run_is_not_added(bench: Workbench):
    with pytest.raises(UsageError):
        bench.enqueue([REQUEST, replace(REQUEST, task="no-such-task")])
    with pytest.raises(UsageError):
        bench.enqueue([])
    assert bench.queue().items == ()


def test_interrupted_ends_with_5_and_keeps_the_item(bench: Workbench, tmp_path: Path):
    endless = tmp_path / "endless.py"
    endless.write_text("import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    bench.enqueue([replace(REQUEST, script=endless)])
    program = subprocess.Popen(
        [sys.executable, "-m", "engine.cli.main", "--home", str(bench.home.root),
         "--events", "ndjson", "queue", "run"],
        cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with program:
        assert program.stderr is not None
        for line in program.stderr:
            if '"running"' in line:
                break
        owner = bench.queue().owner
        assert owner is not None
        assert owner.pid == program.pid
        os.kill(program.pid, signal.SIGINT)
        program.stderr.read()
        assert program.wait(60) == 5
    (item,) = bench.queue().items
    assert (item.state, item.attempt) == (ItemState.WAITING, 1)
    assert bench.queue().owner is None
    assert bench.runs()[0].failure_reason == "cancelled"


PLAN = f"""
name = "pilot"
sources = ["small"]
tasks = ["{TASK}"]
trials = 2
results = "out"
[[agents]]
agent = "script"
script = "{SCRIPT}"
"""


def test_a_campaign_is_planned_run_and_gone_on_with(bench: Workbench, m4, tmp_path: Path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    code, planned, err = m4("campaign", "plan", str(plan))
    assert (code, planned["ok"], planned["runs"]) == (0, True, 2), err
    assert [check["name"] for check in planned["checks"]] == [
        "Requests", "Texts", "References", "Databases", "Sandbox", "Results folder", "Disk",
    ]  # fmt: skip
    assert planned["estimate"]["exact"] == 2
    assert planned["estimate"]["seconds"] > 0
    assert bench.queue().items == ()

    code, status, _ = m4("campaign", "run", str(plan), "--no-wait")
    assert (code, status["waiting"]) == (0, 2)
    assert m4("campaign", "cancel", "pilot")[1]["cancelled"] == 2
    code, status, _ = m4("campaign", "resume", "pilot")
    assert (code, status["done"], status["runs"]) == (0, 2, 2)
    assert [cell["mean_reward"] for cell in status["cells"]] == [1.0]
    assert m4("campaign", "status")[1][0]["done"] == 2
    assert m4("campaign", "run", str(plan))[0] == 2
    assert m4("campaign", "status", "none")[0] == 2

    plan.write_text(PLAN.replace("pilot", "second"))
    code, error, _ = m4("campaign", "run", str(plan))
    assert (code, error["error"]) == (1, "JudgedFailed")
    assert "The folder for results is not empty." in error["text"]
    assert [batch.name for batch in bench.queue().batches] == ["pilot"]


def test_each_failing_check_says_what_to_do(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One planted trouble per check; everything else holds."""
    # The session's sandbox may hold the agents' programs, by which test came first.
    monkeypatch.setattr(Bubblewrap, "programs", lambda _: {})

    def failing(*requests: RunRequest, strict: bool = True) -> dict[str, str | None]:
        checks = bench.preflight(requests, strict=strict)
        assert all(check.why for check in checks)
        return {check.name: check.todo for check in checks if not check.ok}

    assert failing(REQUEST) == {}
    assert list(failing(replace(REQUEST, condition="none"))) == ["Requests"]
    unknown = failing(replace(REQUEST, task="no-such"), REQUEST)
    assert list(unknown) == ["Requests"]
    codex = replace(REQUEST, script=None, agent="codex", model="m", endpoint="no-such")
    assert list(failing(codex, replace(codex, trial=2))) == ["Endpoints", "Programs"]
    sofa = replace(REQUEST, task="mimic-sofa-24h-raw")
    assert failing(sofa, strict=False) == {}
    todo = failing(sofa)["References"]
    assert todo is not None
    assert "m4bench references build small --target sofa-24h" in todo

    task = ROOT / "tasks" / "charlson" / TASK
    copy = tmp_path / "tasks" / "charlson" / TASK
    shutil.copytree(task, copy)
    shutil.copy(task.parent / "PROVENANCE.yaml", copy.parent)
    with (copy / "instruction.md").open("a") as file:
        file.write("\nSELECT * FROM mimiciv_hosp.admissions;\n")
    assert "Texts" in failing(replace(REQUEST, task=str(copy)))

    database = bench.home.workspaces / "small" / f"{TASK}.duckdb"
    with duckdb.connect(str(database)) as con:
        con.execute("CREATE SCHEMA mimiciv_derived")
        con.execute("CREATE TABLE mimiciv_derived.charlson (hadm_id INTEGER)")
    assert list(failing(REQUEST)) == ["Databases"]


def test_who_watches_takes_over_from_one_that_is_killed(bench: Workbench, tmp_path: Path):
    endless = tmp_path / "endless.py"
    endless.write_text("import time\ntime.sleep(600)\n")
    bench.enqueue([replace(REQUEST, script=endless), REQUEST])
    words = ["--home", str(bench.home.root), "--events", "ndjson", "queue", "run", "--at-once", "1"]
    program = subprocess.Popen(
        [sys.executable, "-m", "engine.cli.main", *words],
        cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    watching, again = threading.Event(), threading.Event()

    def tell(event: RunEvent) -> None:
        if event.text == "running":
            again.set()

    job = SimpleJob(on_message=lambda _: watching.set())
    second = threading.Thread(target=lambda: bench.work_queue(job, on_event=tell))
    with program:
        assert program.stderr is not None
        for line in program.stderr:
            if '"running"' in line:
                break
        second.start()
        assert watching.wait(60)
        assert not again.is_set()
        program.kill()
    assert again.wait(60), "the endless one is begun again by who watched"
    owner = bench.queue().owner
    assert owner is not None
    assert owner.pid == os.getpid()
    assert bench.queue_control("cancel", "1") == 1
    second.join(60)
    first, other = bench.queue().items
    assert (first.state, first.attempt, first.tries) == (ItemState.CANCELLED, 2, 1)
    assert (other.state, other.attempt, other.reward) == (ItemState.DONE, 1, 1.0)
    reasons = sorted(str(run.failure_reason) for run in bench.runs() if run.reward is None)
    assert reasons == ["cancelled", "interrupted"]
