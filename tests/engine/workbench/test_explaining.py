"""Two runs on a small source: diagnosed, compared, reported, and traced to the source."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from sandbox_store import share_sandbox

from engine.base.errors import UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.catalogue.task import find_task
from engine.cli.main import run as m4bench
from engine.diagnosis import Diagnosis, keeping
from engine.workbench import RunRequest, Workbench, explaining

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"
TASK = "mimic-charlson-raw"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> Workbench:
    home = open_home(tmp_path_factory.mktemp("explaining") / "home")
    bench = Workbench(share_sandbox(home, sandbox_store))
    bench.synth_source("small", kind="mimic-iv", stays=150, seed=3, job=SimpleJob())
    return bench


@pytest.fixture(scope="module")
def runs(bench: Workbench) -> tuple[str, str]:
    flawed, right = (
        bench.run(
            RunRequest(task=TASK, source="small", script=SAMPLES / name), job=SimpleJob()
        ).run_id
        for name in ("charlson-flawed.sql", "charlson.sql")
    )
    return flawed, right


def test_a_run_is_diagnosed(bench: Workbench, runs: tuple[str, str]):
    so_far: list[Diagnosis] = []
    found = bench.diagnose_run(runs[0], job=SimpleJob(), again=True, on_found=so_far.append)
    assert found.mismatches > 0
    # Both things that the sample does wrong, named together: neither alone explains every cell.
    first = found.ranked[0]
    assert "age cut down to whole numbers" in first.words
    assert "all parts added up where only the highest of some counts" in first.words
    assert (first.explained, first.broken) == (found.mismatches, 0)
    assert all(s.explained > s.broken for s in found.ranked)
    assert so_far
    assert not any(one.complete for one in so_far)
    assert found.complete
    assert bench.diagnose_run(runs[1], job=SimpleJob()).mismatches == 0


def test_a_report_takes_the_diagnosis_that_is_kept(
    bench: Workbench, runs: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = bench.diagnose_run(runs[0], job=SimpleJob())

    def never(*_: object, **__: object) -> Diagnosis:
        raise AssertionError("it was found out again")

    monkeypatch.setattr(explaining, "diagnose", never)
    assert bench.diagnose_run(runs[0], job=SimpleJob()) == found
    _, data = bench.report((runs[0],), tmp_path / "kept.html", job=SimpleJob())
    told = json.loads(data.read_text("utf-8"))["diagnosis"]["signatures"]
    assert [one["words"] for one in told] == [s.words for s in found.ranked]
    with pytest.raises(AssertionError, match="found out again"):
        bench.diagnose_run(runs[0], job=SimpleJob(), again=True)
    diff = bench.diff_of(runs[0], job=SimpleJob())
    assert diff is not None
    task = find_task(TASK)
    key = keeping.key_of(diff, task, "one source", [])
    assert key != keeping.key_of(diff, task, "another source", [])
    assert key != keeping.key_of(diff, task, "one source", ["SELECT 1"])
    keeping.keep(tmp_path, key, 10, replace(found, cut_short=True))
    assert keeping.kept(tmp_path, key, 10) == replace(found, cut_short=True)
    assert keeping.kept(tmp_path, key, 20) is None  # more time may find more
    assert keeping.kept(tmp_path, "another", 10) is None
    (tmp_path / keeping.NAME).write_text("broken")
    assert keeping.kept(tmp_path, key, 10) is None


def test_runs_are_compared_and_reported(
    bench: Workbench, runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    comparison, rows = bench.compare_runs(runs, job=SimpleJob())
    (other,) = comparison.others
    assert other.rows["mended"] == comparison.first_wrong > 0
    assert other.rows["broken"] == comparison.always_wrong == 0
    with duckdb.connect(str(rows), read_only=True) as con:
        kept = con.execute("SELECT count(*), count(DISTINCT k0) FROM compare").fetchone()
    assert kept == (comparison.first_wrong, comparison.first_wrong)
    rows.unlink()

    home = ["--home", str(bench.home.root), "--json"]
    assert m4bench([*home, "runs", "compare", *runs]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == list(runs)
    assert m4bench([*home, "runs", "report", runs[0], "--out", str(tmp_path / "one.html")]) == 0
    assert m4bench([*home, "runs", "report", *runs, "--out", str(tmp_path / "two.html")]) == 0
    capsys.readouterr()
    with duckdb.connect(str(bench.diff_of(runs[0], job=SimpleJob())), read_only=True) as con:
        keys = {str(key) for (key,) in con.execute("SELECT k0 FROM diff").fetchall()}
    for name in ("one", "two"):
        page = (tmp_path / f"{name}.html").read_text("utf-8")
        facts = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
        assert facts["kind"] == ("run" if name == "one" else "comparison")
        assert TASK in page
        for text in (page, json.dumps(facts)):
            assert keys.isdisjoint(re.findall(r"\d+", text))
            assert str(bench.home.root) not in text
        assert not re.search(r"<script|https?://|src=|@import|url\(", page)
    assert list(bench.home.scratch.glob("compare-*")) == []


def test_the_command_line_finds_of_a_run_what_the_window_finds(
    bench: Workbench, runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    found = json.loads(json.dumps(bench.diagnose_run(runs[0], job=SimpleJob()).as_dict()))
    home = ["--home", str(bench.home.root), "--json"]
    assert m4bench([*home, "diagnose", TASK, runs[0]]) == 0
    assert json.loads(capsys.readouterr().out) == found
    copy = shutil.copytree(bench.home.runs / runs[0], tmp_path / "out" / runs[0])
    call = ["diagnose", TASK, str(copy / "output.csv"), "--source", "small"]
    assert m4bench([*home, *call]) == 0
    assert json.loads(capsys.readouterr().out) == found
    (script := tmp_path / "none.py").write_text("x = 1\n")
    nothing = bench.run(RunRequest(task=TASK, source="small", script=script), job=SimpleJob())
    assert m4bench([*home, "diagnose", TASK, nothing.run_id]) == 0
    proposals = json.loads(capsys.readouterr().out)["proposals"]
    assert [p["fault"] for p in proposals] == ["agent"]
    assert "There is no output file." in proposals[0]["words"]
    assert m4bench([*home[:2], "runs", "show", runs[0]]) == 0
    next_steps = capsys.readouterr().err
    assert f"m4bench diagnose {TASK} {runs[0]}" in next_steps
    assert f"m4bench runs report {runs[0]}" in next_steps
    assert f"m4bench diff {TASK} " in next_steps
    assert m4bench([*home[:2], "runs", "show", runs[1]]) == 0
    assert "m4bench diagnose" not in capsys.readouterr().err
    assert m4bench([*home, "diagnose", "mimic-ventilation", runs[0]]) == 3
    assert TASK in capsys.readouterr().err


def test_a_value_is_traced(
    bench: Workbench, runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
):
    path = bench.home.references / "small" / f"{find_task(TASK).target}.parquet"
    with duckdb.connect() as con:
        row = con.execute(
            f"SELECT hadm_id, charlson_comorbidity_index FROM read_parquet('{path}') "
            "WHERE charlson_comorbidity_index > 4 LIMIT 1"
        ).fetchone()
    words = ["lineage", TASK, "small", "--key", f"hadm_id={row[0]}"]
    column = ["--column", "charlson_comorbidity_index"]
    home = ["--home", str(bench.home.root)]
    assert m4bench([*home, "--json", *words, *column]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["value"], told["verified"]) == (row[1], True)
    assert {event["table"] for event in told["events"] if event["role"] == "decisive"} >= {
        "mimiciv_hosp.diagnoses_icd"
    }
    assert m4bench([*home, *words, *column]) == 0
    assert "computed again from the rows used: the same" in capsys.readouterr().out
    assert m4bench([*home, *words[:3], "--key", "hadm_id", *column]) == 2


def test_what_cannot_be_explained_is_said(bench: Workbench, runs: tuple[str, str], tmp_path: Path):
    with pytest.raises(UsageError, match="with itself"):
        bench.compare_runs((runs[0], runs[0]), job=SimpleJob())
    with pytest.raises(UsageError, match=r"\.html"):
        bench.report(runs, tmp_path / "report.txt", job=SimpleJob())
    script = tmp_path / "nothing.py"
    script.write_text("pass")
    empty = bench.run(RunRequest(task=TASK, source="small", script=script), job=SimpleJob())
    with pytest.raises(UsageError, match="no rows to look at"):
        bench.diagnose_run(empty.run_id, job=SimpleJob())
    _, data = bench.report((empty.run_id,), tmp_path / "empty.html", job=SimpleJob())
    facts = json.loads(data.read_text("utf-8"))
    assert (facts["failure"]["reason"], facts["diagnosis"]) == ("no_output", None)
