"""Runs of the published harness: taken over, only read, scored again, compared."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path

import duckdb
import pytest
import zstandard

from engine.base.errors import BadInput, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.catalogue.task import find_task
from engine.cli.main import run as m4bench
from engine.references import open_reference
from engine.workbench import Workbench

pytestmark = pytest.mark.slow

TASK = "mimic-charlson-raw"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a synthetic source and one reference; do not change it."""
    bench = Workbench(open_home(tmp_path_factory.mktemp("built") / "home"))
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    bench.build_reference(find_task(TASK), "small", job=SimpleJob())
    return bench.home


@pytest.fixture
def bench(built: Home, tmp_path: Path) -> Workbench:
    shutil.copytree(built.root, tmp_path / "home")
    return Workbench(open_home(tmp_path / "home"))


def result_json(run_id: str, reward: float = 1.0, **more: object) -> dict[str, object]:
    """A record with the published fields, and one that nobody here knows."""
    return {
        "task": TASK, "condition": "with-skill", "schema": "native", "agent": "codex",
        "model": "gpt-x", "reasoning_effort": "medium", "trial": 2, "isolated": True,
        "publishable": True, "publishable_reason": "agent-only Docker isolation active",
        "timestamp": "2026-05-04T05:30:51", "run_id": run_id,
        "agent_db": {"path": "/data/agent.duckdb", "sha256": "0" * 64, "size_bytes": 5},
        "agent_result": {"returncode": 0, "stdout": "", "stderr": "", "elapsed_seconds": 90.5,
                         "trace_file": "trace.jsonl"},
        "test_results": {"passed": 9, "failed": 0, "errors": 0, "total": 9, "reward": reward,
                         "reward_uncapped": reward,
                         "match_rates": {"charlson_comorbidity_index": 1.0},
                         "key_precision": 1.0, "extra_keys": 0, "diagnostics_failed": False,
                         "pytest_output": ""},
        "filesystem_canary": {"passed": True, "required": True, "checks": [], "failures": []},
        "contamination_lint": {"passed": True, "violations": [], "patterns": []},
        "token_usage": {"input_tokens": 5, "cached_input_tokens": 0, "output_tokens": 6,
                        "turns": 1, "model_strings": ["gpt-x"]},
        "from_another_world": {"kept": [1, None]},
    } | more  # fmt: skip


def write(folder: Path, record: object) -> Path:
    folder.mkdir(parents=True)
    text = record if isinstance(record, str) else json.dumps(record)
    (folder / "result.json").write_text(text)
    return folder


def state_of(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns,
        )
        for path in folder.rglob("*")
    }


def test_a_folder_is_listed_where_it_lies_and_never_changed(bench: Workbench, tmp_path: Path):
    top = tmp_path / "results"
    one = write(top / "campaign" / "one_t2_20260504_053051", result_json("one_t2_20260504_053051"))
    (one / "trace.jsonl").write_text("")
    write(top / "half", '{"task": "mimic')
    write(top / "no-task", {"run_id": "x"})
    write(top / "climber", result_json("../../x"))
    write(top / "much", result_json("much", reward=7))
    write(top / "escapes", result_json("escapes", model="a\x1b[2J"))
    write(top / "list", "[1]")
    write(top / "deep", "[" * 200_000)
    write(top / "linked", result_json("linked"))
    (top / "linked" / "result.json").rename(tmp_path / "elsewhere.json")
    (top / "linked" / "result.json").symlink_to(tmp_path / "elsewhere.json")
    os.mkfifo(write(top / "pipe", "") / "x")
    (top / "pipe" / "result.json").unlink()
    os.mkfifo(top / "pipe" / "result.json")
    failed = result_json("bad", agent_result={"failure_reason": "no_output"})
    failed["test_results"] = {"passed": 0, "failed": 1, "errors": 1, "reward": 0.0,
                              "match_rates": {}, "diagnostics_failed": False}  # fmt: skip
    write(top / "bad", failed)
    before = state_of(top)

    report = bench.import_runs(top, job=SimpleJob())
    assert {run.run_id for run in report.imported} == {"one_t2_20260504_053051", "bad"}
    reasons = {item.name: item.text for item in report.problems}
    assert set(reasons) == {
        "half", "no-task", "climber", "much", "escapes", "list", "deep", "linked", "pipe"
    }  # fmt: skip
    assert all(reasons.values())
    record = bench.run_record("one_t2_20260504_053051")
    run = record.summary
    assert (run.origin, run.state, run.reward, run.strict_pass) == ("published", "done", 1.0, True)
    assert (run.trial, run.model, run.source, run.live) == (2, "gpt-x", "", False)
    assert run.started_at == "2026-05-04T05:30:51.000Z"
    assert run.ended_at == "2026-05-04T05:32:21.500Z"
    assert record.folder == one.resolve()
    assert record.raw["from_another_world"] == {"kept": [1, None]}
    assert record.publishable
    bad = bench.run_record("bad").summary
    assert (bad.state, bad.failure_reason, bad.strict_pass) == ("failed", "no_output", False)
    again = bench.import_runs(top, job=SimpleJob())
    assert (again.imported, set(again.already)) == ((), {"one_t2_20260504_053051", "bad"})
    assert bench.run_log("bad") == ""
    assert bench.diff_of("bad", job=SimpleJob()) is None
    bench.recover()
    bench.delete_run("bad")
    assert state_of(top) == before
    assert [r.run_id for r in bench.runs()] == ["one_t2_20260504_053051"]
    shutil.rmtree(top)
    gone = bench.run_record("one_t2_20260504_053051")
    assert gone.publishable_reason == "agent-only Docker isolation active"


def test_another_run_of_the_same_name_is_told(bench: Workbench, tmp_path: Path):
    write(tmp_path / "a" / "run", result_json("run"))
    write(tmp_path / "b" / "run", result_json("run", reward=0.5))
    bench.import_runs(tmp_path / "a", job=SimpleJob())
    report = bench.import_runs(tmp_path / "b", job=SimpleJob())
    assert report.imported == report.already == ()
    assert "Another run" in report.problems[0].text
    assert bench.run_record("run").summary.reward == 1.0


def test_an_archive_is_scored_again_and_compared(
    bench: Workbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    reference = open_reference(bench.home, "small", find_task(TASK).target)
    top = tmp_path / "top"
    for name, reward in (("right", 1.0), ("wrong", 0.25), ("bare", 0.5)):
        folder = write(top / name, result_json(name, reward=reward))
        if name != "bare":
            with duckdb.connect() as con:
                con.execute(f"COPY (FROM '{reference}') TO '{folder / 'output.csv'}'")
    write(top / "eicu", result_json("eicu", task="eicu-gcs"))
    write(top / "unknown", result_json("unknown", task="no-such-task"))
    archive = tmp_path / "runs.tar.zst"
    plain = tmp_path / "runs.tar"
    with tarfile.open(plain, "w") as tar:
        tar.add(top, "results")
    archive.write_bytes(zstandard.compress(plain.read_bytes()))

    home = ["--home", str(bench.home.root), "--json"]
    assert m4bench([*home, "runs", "import", str(archive), "--source", "small"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {item["name"] for item in told["not_scored"]} == {"bare", "eicu", "unknown"}
    found = {item["run_id"]: item["recomputed"] for item in told["imported"]}
    assert found["right"]["same"]
    assert found["right"]["differences"] == []
    assert not found["wrong"]["same"]
    assert found["wrong"]["differences"] == [{"figure": "reward", "recorded": 0.25, "now": 1.0}]
    assert found["wrong"]["strict_now"]

    record = bench.run_record("wrong")
    assert record.summary.reward == 0.25
    assert record.summary.source == "small"
    assert record.folder == bench.home.runs / "wrong" / "published"
    diff = bench.diff_of("wrong", job=SimpleJob())
    assert diff is not None
    diff.unlink()
    assert bench.diff_of("wrong", job=SimpleJob()) == diff
    assert not (record.folder / "diff.duckdb").exists()
    assert not list(bench.home.scratch.glob("import-*"))
    assert m4bench([*home[:2], "runs", "show", "wrong"]) == 0
    assert "reward: 0.25 recorded, 1.0 now" in capsys.readouterr().out
    assert m4bench([*home, "runs", "rescore", "bare", "--source", "small"]) == 3
    bench.delete_run("wrong")
    assert not (bench.home.runs / "wrong").exists()


def test_what_is_no_results_folder(bench: Workbench, tmp_path: Path):
    with pytest.raises(UsageError):
        bench.import_runs(tmp_path / "absent.txt", job=SimpleJob())
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no run folder"):
        bench.import_runs(tmp_path / "empty", job=SimpleJob())
    with pytest.raises(UsageError):
        bench.import_runs(tmp_path / "empty", sources=["nobody"], job=SimpleJob())
    home = ["--home", str(bench.home.root)]
    assert m4bench([*home, "runs", "import", str(tmp_path / "no")]) == 2
    write(tmp_path / "broken" / "x", "{")
    assert m4bench([*home, "runs", "import", str(tmp_path / "broken")]) == 3
