"""What must not be in an agent's database is not in its bytes."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import duckdb
import pytest

from engine.base.errors import BadInput, Cancelled, HarnessFault, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task
from engine.cli.main import run
from engine.concepts import concept_graph
from engine.sources import find_source, writing_source
from engine.workspaces import build_workspace
from engine.workspaces import contents as contents_module
from engine.workspaces.proof import hash_and_search, tables_in

pytestmark = pytest.mark.shared_data

CANARY = "canary-7f3a9c51-walks-along-the-shore"
STANDARD = "mimic-ventilation"
RAW = "mimic-ventilation-raw"


def build(home: Home, task: str | Task, source: str = "mimic-demo", **more: object) -> Path:
    found = find_task(task) if isinstance(task, str) else task
    return build_workspace(home, found, source, job=SimpleJob(), **more).path  # type: ignore[arg-type]


def found_in(path: Path, *needles: str) -> tuple[str, ...]:
    return hash_and_search(path, needles, SimpleJob())[1]


def plant(home: Home, table: str, column: str) -> None:
    """Put a value that nothing else has into a table, where a search of the bytes can see it."""
    with writing_source(home, "mimic-demo") as con:
        con.execute("PRAGMA force_compression = 'uncompressed'")
        con.execute(f"CREATE TABLE spare AS SELECT * REPLACE ('{CANARY}' AS {column}) FROM {table}")
        con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM spare")
        con.execute("DROP TABLE spare")


def test_a_standard_task_lacks_what_it_drops(small_built: Home) -> None:
    path = build(small_built, STANDARD)
    tables = tables_in(path)
    info = find_source(small_built, "mimic-demo")
    derived = {f"mimiciv_derived.{name}" for name in concept_graph().concepts}
    base = {table.name for table in info.tables}
    assert set(tables) == (base | derived) - {"mimiciv_derived.ventilation"}
    assert "mimiciv_derived.oxygen_delivery" in tables
    con = duckdb.connect(str(path), read_only=True)
    rows = con.execute("SELECT count(*) FROM mimiciv_icu.chartevents").fetchone()
    con.close()
    assert rows == (next(t.rows for t in info.tables if t.name == "mimiciv_icu.chartevents"),)


def test_a_raw_task_has_no_derived_schema(small_built: Home) -> None:
    path = build(small_built, RAW)
    assert {table.split(".")[0] for table in tables_in(path)} == {"mimiciv_hosp", "mimiciv_icu"}
    columns = {c for q in concept_graph().concepts.values() for c in (q.name,) if "_" in c}
    base = {table.split(".")[1] for table in tables_in(path)}
    unique = sorted(name for name in columns - base if len(name) > 11)
    assert "ventilator_setting" in unique
    assert found_in(path, "mimiciv_derived", "m4_meta", *unique) == ()
    # The demo's own words are there, so the search can find something.
    assert found_in(path, "chartevents", "mimiciv_icu") == ("chartevents", "mimiciv_icu")


def test_the_file_does_not_name_its_task(small_built: Home) -> None:
    # DuckDB writes the name that a file is opened by into its catalogue; a task's name holds
    # that of the table that it drops.
    for task in (STANDARD, RAW, "mimic-charlson-raw"):
        path = build(small_built, task)
        assert found_in(path, task, task.removesuffix("-raw")) == ()
        con = duckdb.connect(str(path), read_only=True)
        con.execute("SELECT count(*) FROM mimiciv_icu.icustays").fetchone()
        con.close()


def test_eicu_gets_the_source(eicu_built: Home) -> None:
    path = build(eicu_built, "eicu-gcs", "eicu-demo")
    info = find_source(eicu_built, "eicu-demo")
    assert set(tables_in(path)) == {table.name for table in info.tables}


def test_a_planted_value_of_a_dropped_table_is_not_in_the_bytes(small_built_copy: Home) -> None:
    plant(small_built_copy, "mimiciv_derived.ventilation", "ventilation_status")
    source = find_source(small_built_copy, "mimic-demo").path
    needles = (CANARY, "ventilation_status")
    assert found_in(source, *needles) == needles
    for task in (STANDARD, RAW):
        path = small_built_copy.workspaces / "mimic-demo" / f"{task}.duckdb"
        path.unlink(missing_ok=True)
        # In the process that has just had the value in its memory.
        assert found_in(build(small_built_copy, task), *needles) == ()


def test_the_search_would_find_a_file_that_was_only_edited(
    small_built_copy: Home, tmp_path: Path
) -> None:
    plant(small_built_copy, "mimiciv_derived.ventilation", "ventilation_status")
    edited = tmp_path / "edited.duckdb"
    edited.write_bytes(find_source(small_built_copy, "mimic-demo").path.read_bytes())
    con = duckdb.connect(str(edited))
    con.execute("DROP TABLE mimiciv_derived.ventilation")
    con.execute("CHECKPOINT")
    con.close()
    assert "mimiciv_derived.ventilation" not in tables_in(edited)
    # DuckDB punches holes where the freed blocks were, but the old catalogue stays.
    assert "ventilation_status" in found_in(edited, CANARY, "ventilation_status")


def test_what_is_found_in_the_bytes_is_not_used(
    small_built_copy: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents_module, "FORBIDDEN_SCHEMAS", ("chartevents",))
    with pytest.raises(HarnessFault, match="something else than it must"):
        build(small_built_copy, RAW)
    folder = small_built_copy.workspaces / "mimic-demo"
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def test_derived_tables_that_we_did_not_build_stay_out(small_built_copy: Home) -> None:
    with writing_source(small_built_copy, "mimic-demo") as con:
        con.execute("CREATE TABLE mimiciv_derived.answers AS SELECT 42 AS a")
        con.execute("CREATE TABLE main.leftover AS SELECT 42 AS a")
    tables = tables_in(build(small_built_copy, STANDARD))
    assert not [name for name in tables if "answers" in name or "leftover" in name]


def test_cached_until_something_changes(small_built_copy: Home, tmp_path: Path) -> None:
    first = build(small_built_copy, RAW)
    stamp = first.stat().st_mtime_ns
    again = build_workspace(small_built_copy, find_task(RAW), "mimic-demo", job=SimpleJob())
    assert again.path.stat().st_mtime_ns == stamp
    assert again.sha256 == hashlib.sha256(first.read_bytes()).hexdigest()
    assert again.size_bytes == first.stat().st_size
    out = build(small_built_copy, RAW, out=tmp_path / "copy.duckdb")
    assert out.read_bytes() == first.read_bytes()
    # Touched.
    os.utime(first, ns=(stamp + 10**9, stamp + 10**9))
    assert build(small_built_copy, RAW).stat().st_mtime_ns not in (stamp, stamp + 10**9)
    # Other rules.
    task = find_task(RAW)
    stamp = first.stat().st_mtime_ns
    other = task.model_copy(update={"drop_tables": ("mimiciv_hosp.omr",)})
    assert "mimiciv_hosp.omr" not in tables_in(build(small_built_copy, other))
    assert first.stat().st_mtime_ns != stamp


def test_a_cancel_leaves_nothing(small_built_copy: Home) -> None:
    job = SimpleJob()
    job.on_progress = lambda stage, done, *_: job.cancel() if done == 5 else None
    with pytest.raises(Cancelled):
        build_workspace(small_built_copy, find_task(RAW), "mimic-demo", job=job)
    folder = small_built_copy.workspaces / "mimic-demo"
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def test_what_a_killed_program_left_is_removed(small_built_copy: Home) -> None:
    folder = small_built_copy.workspaces / "mimic-demo"
    folder.mkdir(parents=True)
    for name in (f".{RAW}.duckdb.abc.part", f".{RAW}.duckdb.abc.part.wal"):
        (folder / name).write_text("half")
    build(small_built_copy, RAW)
    assert not list(folder.glob(".*"))


def test_wrong_calls(small_built: Home) -> None:
    with pytest.raises(UsageError, match="needs a source of kind eicu"):
        build(small_built, "eicu-gcs")
    with pytest.raises(UsageError, match="cannot be made yet"):
        build(small_built, RAW, schema="obfuscated")
    with pytest.raises(UsageError, match="no schema called"):
        build(small_built, RAW, schema="other")
    nothing = find_task(RAW)
    every = tuple(table.name for table in find_source(small_built, "mimic-demo").tables)
    with pytest.raises(BadInput, match="no table"):
        build(small_built, nothing.model_copy(update={"drop_tables": every}))


def test_command_line(
    small_built: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "agent.duckdb"
    arguments = ["--home", str(small_built.root), "--json", "workspace", "build"]
    assert run([*arguments, RAW, "mimic-demo", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert told["size_bytes"] == out.stat().st_size
    assert "mimiciv_icu.chartevents" in told["tables"]
