"""Killed, cancelled, out of room, in use: what is finished stays, the rest is done later."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from tests_sources_helpers import refused

from engine.base.errors import Busy, Cancelled, StorageFull, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.sources import (
    add_source,
    find_source,
    list_sources,
    open_source,
    remove_source,
    writing_source,
)
from engine.sources.registry import locked

CHART = "icu/chartevents.csv"


def _large(folder, rows: int) -> None:
    """Make chartevents take a while."""
    header, first, *_ = folder.text(CHART).splitlines(keepends=True)
    folder.write(CHART, header + first * rows)


def _bench(home: Home, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "engine.cli.main", "--home", home.root, "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _until(process: subprocess.Popen[str], stage: str, *, started: bool) -> None:
    """Read events until `stage` has begun (or is finished)."""
    assert process.stderr is not None
    for line in process.stderr:
        event = json.loads(line)
        if event.get("stage") == stage and (started or event["done"] == event["total"]):
            return
    pytest.fail(f"the import ended before {stage}")


def test_killed_in_the_middle_and_done_again(mini, home, rows_of) -> None:
    """Killed while the last table is read: three tables stay, and only one is read again."""
    _large(mini, 1_000_000)
    with _bench(home, "--events", "ndjson", "source", "add", "mini", str(mini.root)) as process:
        _until(process, "import:icustays", started=False)
        _until(process, "import:chartevents", started=True)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert find_source(home, "mini").state == "importing"
    with pytest.raises(UsageError):
        open_source(find_source(home, "mini"))
    with pytest.raises(UsageError), writing_source(home, "mini"):
        pass

    begun: list[str] = []
    job = SimpleJob(
        on_progress=lambda stage, done, total, text: begun.append(stage) if done < total else None
    )
    info = add_source(home, "mini", mini.root, job=job)
    assert info.state == "ready"
    assert {stage for stage in begun if stage != "import"} == {"import:chartevents"}
    assert rows_of("SELECT count(*) FROM mimiciv_icu.chartevents") == [(1_000_000,)]
    assert mini.add("whole").digest == info.digest


def test_interrupted_with_a_signal(mini, home) -> None:
    _large(mini, 1_000_000)
    with _bench(home, "--events", "ndjson", "source", "add", "mini", str(mini.root)) as process:
        _until(process, "import:chartevents", started=True)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
    assert process.returncode == 5
    assert json.loads(out)["error"] == "Cancelled"
    assert find_source(home, "mini").state == "importing"
    assert mini.add().state == "ready"


def test_cancel_from_another_table_on(mini, home) -> None:
    def stop_at_charts(stage: str, done: float, total: float, text: str) -> None:
        if stage == "import:icustays":
            job.cancel()

    job = SimpleJob(on_progress=stop_at_charts)
    with pytest.raises(Cancelled):
        add_source(home, "mini", mini.root, job=job)
    (listed,) = list_sources(home)
    assert listed.state == "importing"
    assert len(listed.tables) == 3
    assert mini.add().state == "ready"


def test_changed_files_are_read_again_and_vanished_ones_dropped(mini, home, rows_of) -> None:
    mini.write(CHART, mini.text(CHART).replace("11:05:00,220045", "11:05:00,x"))
    refused(mini)
    mini.write(CHART, mini.text(CHART).replace("11:05:00,x", "11:05:00,220045"))
    mini.write("hosp/patients.csv", mini.text("hosp/patients.csv") + "12,F,50,2150,x,\n")
    (mini.root / "hosp/d_labitems.csv").unlink()
    info = mini.add()
    assert info.state == "ready"
    assert rows_of("SELECT count(*) FROM mimiciv_hosp.patients") == [(3,)]
    assert rows_of("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'd_labitems'") == [(0,)]
    assert "mimiciv_hosp.d_labitems" not in {table.name for table in info.tables}


def test_another_kind_replaces_an_unfinished_import(mini, home, rows_of) -> None:
    mini.write(CHART, mini.text(CHART).replace("11:05:00,220045", "11:05:00,x"))
    refused(mini)
    for path in list(mini.root.rglob("*.csv")):
        path.unlink()
    mini.write(
        "patient.csv",
        "patientunitstayid,patienthealthsystemstayid,age,"
        "hospitaladmitoffset,unitadmitsource,uniquepid\n1,1,> 89,-5,Floor,p\n",
    )
    info = mini.add()
    assert (info.kind, info.stays) == ("eicu", 1)
    sql = "SELECT DISTINCT schema_name FROM duckdb_tables() ORDER BY 1"
    assert rows_of(sql) == [("eicu_crd",), ("m4_meta",)]


def test_source_being_written(mini, home) -> None:
    mini.add()
    with locked(home, "mini", "tried"), pytest.raises(Busy), writing_source(home, "mini"):
        pass
    with locked(home, "mini", "tried"), pytest.raises(Busy):
        remove_source(home, "mini")
    with locked(home, "other", "tried"), pytest.raises(Busy):
        mini.add("other")
    assert [source.name for source in list_sources(home)] == ["mini"]


def test_read_and_written_in_one_process(mini, home) -> None:
    info = mini.add()
    con = open_source(info)
    with pytest.raises(Busy), writing_source(home, "mini"):
        pass
    con.close()
    with writing_source(home, "mini"), pytest.raises(Busy):
        open_source(info)


def test_database_open_in_another_process(mini, home) -> None:
    info = mini.add()
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(info.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(Busy):
            open_source(info)
        with pytest.raises(Busy), writing_source(home, "mini"):
            pass
        other.communicate(b"\n")
    open_source(info).close()


def test_full_disk(mini, small_disk) -> None:
    """The small tables stay; with room the import goes on."""
    subprocess.run(["mount", "-o", "remount,size=6m", small_disk], check=True)
    header = mini.text(CHART).splitlines()[0]
    row = "10,20,30,{0},2150-01-01 11:00:00,2150-01-01 11:05:00,{1},{2:x},{3}.5,bpm,0"
    lines = [row.format(i * 7919 % 9973, i * 31 % 7919, i**5 % 2**61, i) for i in range(400_000)]
    mini.write(CHART, "\n".join([header, *lines, ""]))
    home = Home(small_disk)
    with pytest.raises(StorageFull):
        add_source(home, "mini", mini.root)
    info = find_source(home, "mini")
    assert info.state == "importing"
    assert len(info.tables) == 3
    subprocess.run(["mount", "-o", "remount,size=120m", small_disk], check=True)
    info = add_source(home, "mini", mini.root)
    assert info.state == "ready"
    con = open_source(info)
    assert con.execute("SELECT count(*) FROM mimiciv_icu.chartevents").fetchone() == (400_000,)
    con.close()
