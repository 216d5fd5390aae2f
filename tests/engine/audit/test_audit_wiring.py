"""What a person does with a source by `m4bench` is in the audit log, and no path or value is."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import audit
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.cli.main import run
from engine.workbench import Workbench


@pytest.mark.slow
def test_the_way_of_a_source(home_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    home: Home = open_home(home_dir)
    out = tmp_path / "outside"
    bench = Workbench(home)
    assert bench.audit_state().ok
    assert run(["source", "synth", "made", "--kind", "eicu", "--stays", "20"]) == 0
    assert run(["references", "build", "made", "--target", "eicu-gcs", "--out", str(out)]) == 0
    assert run(["references", "build", "made", "--target", "eicu-gcs"]) == 0  # nothing to do
    workspace = ["workspace", "build", "eicu-gcs", "made", "--out", str(out / "w.duckdb")]
    assert run(workspace) == 0
    csv = tmp_path / "output.csv"
    csv.write_text("stay_id\n", encoding="utf-8")
    diff = ["diff", "eicu-gcs", str(csv), "--source", "made", "--out", str(out / "d.parquet")]
    assert run(diff) == 0
    bench.note_copy("made", kind="clipboard", of="reference eicu-gcs", rows=3)
    bench.remove_source("made")
    capsys.readouterr()
    log = bench.audit_log("made")
    assert [(e.what, e.stage) for e in log] == [
        ("source.synth", "begin"),
        ("source.synth", "end"),
        ("references.build", "begin"),
        ("export.references", "begin"),
        ("export.references", "end"),
        ("references.build", "end"),
        ("workspace.build", "begin"),
        ("workspace.build", "end"),
        ("export.workspace", "begin"),
        ("export.workspace", "end"),
        ("export.diff", "begin"),
        ("export.diff", "end"),
        ("export.clipboard", "done"),
        ("source.remove", "begin"),
        ("source.remove", "end"),
    ]
    assert all(e.facts["outcome"] == "done" for e in log if e.stage == "end")
    assert log[1].facts["stays"] == 20
    assert log[5].facts["rows"]["eicu-gcs"] > 0
    assert log[11].facts["rows"] > 0
    assert {e.object for e in log if e.what == "export.diff"} == {"d.parquet"}
    content = home.audit.read_bytes()
    assert str(tmp_path).encode() not in content
    assert audit.verify(home, thorough=True).problems == ()
    assert bench.audit_state().entries == len(log)


@pytest.mark.slow
def test_derived_tables_are_told(small_built_copy: Home, tmp_path: Path):
    from engine.concepts import export_concepts  # noqa: PLC0415 - heavy

    before = len(audit.read_log(small_built_copy))
    export_concepts(small_built_copy, "mimic-demo", tmp_path / "out", job=SimpleJob())
    told = audit.read_log(small_built_copy)[before:]
    assert [(e.what, e.stage) for e in told] == [
        ("export.concepts", "begin"),
        ("export.concepts", "end"),
    ]
    assert len(told[1].facts["rows"]) > 10
