"""The workbench on a small synthetic source: what both front ends do with it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest
from sandbox_store import share_sandbox

from engine.base.errors import BadInput, Busy, Cancelled, MissingPrerequisite, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.catalogue.task import find_task
from engine.cli.main import run as m4bench
from engine.runs.records import RunEvent
from engine.workbench import RunRequest, Workbench

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "resources" / "samples"
TASK = "mimic-charlson-raw"
RIGHT = RunRequest(task=TASK, source="small", script=SAMPLES / "charlson.sql")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Workbench:
    home = open_home(tmp_path_factory.mktemp("workbench") / "home")
    bench = Workbench(share_sandbox(home, sandbox_store))
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    return bench


@pytest.fixture
def m4(bench: Workbench, capsys: pytest.CaptureFixture[str]):
    def call(*words: str):
        code = m4bench(["--home", str(bench.home.root), "--json", *words])
        out = capsys.readouterr()
        return code, (json.loads(out.out) if out.out else None), out.err

    return call


def test_the_first_run_builds_what_is_missing(bench: Workbench):
    task = find_task(TASK)
    shutil.rmtree(bench.home.references, ignore_errors=True)
    assert [info.name for info in bench.sources_for(task)] == ["small"]
    assert bench.sources_for(find_task("eicu-gcs")) == ()
    absent = bench.reference_state(task, "small")
    assert (absent.state, absent.rows, absent.built_at) == ("absent", None, None)
    assert absent.why

    stages: list[str] = []
    events: list[RunEvent] = []
    job = SimpleJob(on_progress=lambda stage, *_: stages.append(stage))
    record = bench.run(RIGHT, job=job, on_event=events.append)

    ready = bench.reference_state(task, "small")
    assert (ready.state, ready.why) == ("ready", "")
    assert record.summary.reward == 1.0
    assert record.summary.strict_pass is True
    assert record.agent_db is not None
    assert record.agent_db.path == "database.duckdb"
    assert record.filesystem_canary is not None
    assert record.filesystem_canary.passed
    assert record.filesystem_canary.checks > 10
    assert record.contamination_lint is not None
    assert record.contamination_lint.passed
    assert record.test_results is not None
    assert record.test_results.total == record.test_results.passed == 4 + 19
    assert record.artefacts == ("output.csv",)
    assert "references" in stages
    assert "run" in stages
    assert [e.text for e in events if e.kind == "state"][-1] == "done"
    assert {e.run_id for e in events} == {record.run_id}
    assert bench.run_record(record.run_id) == record
    assert bench.runs()[0] == record.summary
    assert bench.runs(task="eicu-gcs") == ()
    assert next(state for _, state, _ in bench.run_events(record.run_id)) == "prepared"


def test_reference_texts(bench: Workbench):
    task = find_task(TASK)
    notes = bench.reference_notes(task)
    assert "Grain: one row per" in notes
    assert (task.folder.parent / "reference-notes.md").read_text(encoding="utf-8") in notes
    sql = bench.reference_sql(task)
    assert "SELECT" in sql
    parts = bench.reference_parts(task)
    assert parts[0].title == f"reference {task.target}"
    at = [sql.index(f"{number} of {len(parts)}: {p.title}") for number, p in enumerate(parts, 1)]
    assert at == sorted(at)
    made: set[str] = set()
    for part in parts[1:]:  # each after what it reads
        read = set(re.findall(r"mimiciv_derived\.\w+", part.text)) - {part.title}
        assert read <= made
        made.add(part.title)
    assert set(re.findall(r"mimiciv_derived\.\w+", parts[0].text)) <= made
    assert bench.build_reference(task, "small", job=SimpleJob()).state == "ready"


def test_a_flawed_run_has_a_diff_that_can_be_made_again(bench: Workbench):
    record = bench.run(
        RunRequest(task=find_task(TASK), source="small", script=SAMPLES / "charlson-flawed.sql"),
        job=SimpleJob(),
    )
    assert record.summary.state == "done"
    assert record.summary.reward is not None
    assert record.summary.reward < 1
    path = bench.diff_of(record.run_id, job=SimpleJob())
    assert path == record.folder / "diff.duckdb"
    before = rows(path)
    assert any(mismatches for _, mismatches in before)
    path.unlink()
    again = bench.diff_of(record.run_id, job=SimpleJob())
    assert again == path
    assert rows(path) == before
    (record.folder / "output.csv").unlink()
    assert bench.diff_of(record.run_id, job=SimpleJob()) is None


def rows(path: Path) -> list[tuple[int, int]]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute("SELECT k0, mismatches FROM diff ORDER BY row").fetchall()


def test_a_run_is_repeated_from_the_command_line(bench: Workbench, m4, tmp_path: Path):
    first = bench.run(
        RunRequest(
            task=TASK, source="small", script=SAMPLES / "charlson.sql", condition="with-skill"
        ),
        job=SimpleJob(),
    )
    code, again, _ = m4("run", TASK, "small", "--agent", "replay", "--record", first.run_id)
    assert code == 0
    assert again["replay"]["of"] == first.run_id
    assert again["replay"]["same_output"] is True
    assert again["condition"] == "with-skill"
    assert again["skills"] == ["charlson"]
    outside = tmp_path / "elsewhere"
    shutil.copytree(first.folder, outside)
    for words, code in (
        (["--agent", "replay"], 2),
        (["--agent", "replay", "--record", "no-such-run"], 2),
        (["--agent", "replay", "--record", str(tmp_path)], 3),
        (["--script", "x.sql", "--record", first.run_id], 2),
        (["--script", str(SAMPLES / "charlson.sql"), "--effort", "low"], 2),
        (["--script", str(SAMPLES / "charlson.sql"), "--endpoint", "openai"], 2),
    ):
        assert m4("run", TASK, "small", *words)[0] == code, words
    assert (
        m4("run", "mimic-meld-24h-raw", "small", "--agent", "replay", "--record", str(outside))[0]
        == 2
    )


def test_log_is_told_and_kept(bench: Workbench, tmp_path: Path):
    script = tmp_path / "talk.py"
    script.write_text("print('one\\x1b[2J'); raise SystemExit(2)")
    events: list[RunEvent] = []
    record = bench.run(
        RunRequest(task=TASK, source="small", script=script, model="mine"),
        job=SimpleJob(),
        on_event=events.append,
    )
    assert record.summary.model == "mine"
    assert (record.summary.failure_reason, record.summary.reward) == ("agent_nonzero_exit", 0.0)
    assert record.test_results is not None
    assert record.test_results.errors == 1
    assert "".join(e.text for e in events if e.kind == "log") == "one␛[2J\n"
    assert bench.run_log(record.run_id) == "one␛[2J\n"
    assert bench.diff_of(record.run_id, job=SimpleJob()) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": "mimic-charlsonn-raw"}, "mimic-charlson-raw"),
        ({"task": "eicu-gcs"}, "needs eicu"),
        ({"source": "absent"}, "no source"),
        ({"agent": "codex"}, "Codex"),
        ({"script": None}, "--script"),
        ({"condition": "with-a-wink"}, "with-a-wink"),
        ({"schema": "sideways"}, "sideways"),
        ({"trial": 0}, "counted from 1"),
        ({"time_limit_seconds": 0}, "time limit"),
        ({"backend": "docker"}, "docker|Docker"),
    ],
)
def test_requests_that_cannot_be_carried_out_make_no_run(bench: Workbench, change, words):
    before = bench.runs()
    with pytest.raises((UsageError, MissingPrerequisite), match=words):
        bench.run(RunRequest(**(vars(RIGHT) | change)), job=SimpleJob())
    assert bench.runs() == before


def test_a_reference_that_was_touched_is_built_again(bench: Workbench):
    bench.build_reference(find_task(TASK), "small", job=SimpleJob())
    path = bench.home.references / "small" / "charlson.parquet"
    path.write_bytes(path.read_bytes() + b"x")
    assert bench.reference_state(find_task(TASK), "small").state == "stale"
    assert bench.run(RIGHT, job=SimpleJob()).summary.reward == 1.0


def test_cancel_before_the_agent_starts_makes_no_run(bench: Workbench):
    job = SimpleJob()
    job.cancel()
    before = bench.runs()
    with pytest.raises(Cancelled):
        bench.run(RIGHT, job=job)
    assert bench.runs() == before


def test_runs_are_deleted_with_their_folders_but_not_while_they_live(bench: Workbench):
    tried = []

    def tell(event: RunEvent) -> None:
        if event.text == "running":
            try:
                bench.delete_run(event.run_id)
            except Busy as error:
                tried.append(error)
            live = bench.run_record(event.run_id)
            tried.append(live.summary.live)

    record = bench.run(RIGHT, job=SimpleJob(), on_event=tell)
    assert isinstance(tried[0], Busy)
    assert tried[1] is True
    bench.delete_run(record.run_id)
    assert not record.folder.exists()
    with pytest.raises(UsageError):
        bench.run_record(record.run_id)


def test_a_damaged_record_is_made_up_from_the_state_file(bench: Workbench):
    record = bench.run(RIGHT, job=SimpleJob())
    (record.folder / "result.json").write_text("{ half")
    again = bench.run_record(record.run_id)
    assert again.summary == record.summary
    assert again.test_results == record.test_results


def test_runs_may_go_on_in_several_threads(bench: Workbench):
    """Even where each finds that reference and database have to be built."""
    shutil.rmtree(bench.home.references, ignore_errors=True)
    shutil.rmtree(bench.home.workspaces, ignore_errors=True)
    rewards: list[float | None] = []

    def one() -> None:
        rewards.append(bench.run(RIGHT, job=SimpleJob()).summary.reward)

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rewards == [1.0, 1.0]


def test_backends_say_what_works(bench: Workbench):
    (found,) = [info for info in bench.backends() if info.name == "bubblewrap"]
    assert (found.works, found.publishable, found.todo) == (True, False, None)


def test_command_line_runs_lists_shows_and_deletes(bench: Workbench, m4, tmp_path: Path):
    results = tmp_path / "results"
    code, record, err = m4(
        "run", TASK, "small", "--agent", "script", "--script", str(SAMPLES / "charlson.sql"),
        "--condition", "with-skill", "--trial", "3", "--results", str(results),
        "--backend", "bubblewrap", "--events", "ndjson",
    )  # fmt: skip
    assert code == 0
    assert record["reward"] == 1.0
    assert record["run_id"].startswith(f"{TASK}_with-skill_script_charlson_t3_")
    states = [json.loads(line) for line in err.splitlines() if '"state"' in line]
    assert [event["state"] for event in states][-1] == "done"
    copied = json.loads((results / record["run_id"] / "result.json").read_text())
    assert copied == {k: v for k, v in record.items() if k != "folder"}

    code, listed, _ = m4("runs", "list", "--task", TASK)
    assert code == 0
    assert listed[0]["run_id"] == record["run_id"]
    code, shown, _ = m4("runs", "show", record["run_id"])
    assert (code, shown) == (0, record)
    assert m4("runs", "delete", record["run_id"])[0] == 0
    assert m4("runs", "show", record["run_id"])[0] == 2


def test_command_line_ends_with_zero_at_reward_zero(m4, tmp_path: Path):
    script = tmp_path / "nothing.py"
    script.write_text("pass")
    code, record, _ = m4("run", TASK, "small", "--script", str(script))
    assert (code, record["reward"], record["failure_reason"]) == (0, 0.0, "no_output")


def test_ctrl_c_ends_with_five_and_a_closed_run(bench: Workbench, tmp_path: Path):
    script = tmp_path / "slow.py"
    script.write_text("print('begun', flush=True); import time; time.sleep(600)")
    words = ["--home", str(bench.home.root), "--events", "ndjson", "run", TASK, "small"]
    with subprocess.Popen(
        [sys.executable, "-m", "engine.cli.main", *words, "--script", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as program:
        assert program.stderr is not None
        for line in program.stderr:
            if json.loads(line)["event"] == "log":
                break
        program.send_signal(signal.SIGINT)
        said = [json.loads(line) for line in program.stderr]
        assert program.wait() == 5
    assert any(event["event"] == "error" for event in said)
    run = bench.runs()[0]
    assert (run.state, run.failure_reason, run.reward) == ("failed", "cancelled", None)
    assert bench.run_log(run.run_id).startswith("begun")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", TASK, "small"), 2),
        (("run", TASK, "small", "--script", "/nowhere.sql"), 3),
        (("run", TASK, "absent", "--script", str(SAMPLES / "charlson.sql")), 2),
        (("run", TASK, "small", "--agent", "codex"), 2),
        (("runs", "show", "absent"), 2),
    ],
)
def test_command_line_tells_what_is_wrong(m4, words, code):
    found, error, _ = m4(*words)
    assert found == code
    assert error["text"]


def test_command_line_for_people(bench: Workbench, capsys: pytest.CaptureFixture[str]):
    home = ["--home", str(bench.home.root)]
    assert m4bench([*home, "run", TASK, "small", "--script", str(SAMPLES / "charlson.sql")]) == 0
    shown = capsys.readouterr().out
    assert "reward               1\n" in shown
    assert "strict pass          yes" in shown
    assert m4bench([*home, "runs", "list"]) == 0
    assert f"{TASK}_no-skill_script_charlson_t1_" in capsys.readouterr().out


def test_without_a_sandbox_nothing_runs(bench: Workbench, m4, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    before = bench.runs()
    code, error, _ = m4("run", TASK, "small", "--script", str(SAMPLES / "charlson.sql"))
    assert code == 4
    assert error["todo"]
    assert bench.runs() == before


def test_a_bad_script_is_named(bench: Workbench, tmp_path: Path):
    script = tmp_path / "a.sql"
    script.write_bytes(b"\xff")
    with pytest.raises(BadInput, match="UTF-8"):
        bench.run(RunRequest(task=TASK, source="small", script=script), job=SimpleJob())
