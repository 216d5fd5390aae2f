"""The list of sources, digests, who may have the data, and the commands."""

from __future__ import annotations

import json
import random
import re
import sqlite3

import duckdb
import pytest

from engine.base.errors import BadInput, Cancelled, UsageError
from engine.base.jobs import SimpleJob
from engine.cli.main import run
from engine.sources import (
    facts,
    find_source,
    list_sources,
    open_source,
    remove_source,
    writing_source,
)
from engine.sources.synthetic import synthesize_source

CHART = "icu/chartevents.csv"


def test_what_is_told(mini, home) -> None:
    info = mini.add()
    assert (info.name, info.kind, info.state, info.access) == (
        "mini",
        "mimic-iv",
        "ready",
        "credentialed",
    )
    assert info.path == home.sources / "mini" / "source.duckdb"
    assert info.stays == 2
    assert info.size_bytes >= info.path.stat().st_size > 0
    assert re.fullmatch(r"[0-9a-f]{64}", info.digest)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", info.added_at)
    missing = {table.name: table.needed_for for table in info.missing}
    assert "target charlson" in missing["mimiciv_hosp.diagnoses_icd"]
    assert "concept bg" in missing["mimiciv_hosp.labevents"]
    assert missing["mimiciv_hosp.emar"] == ()
    assert len(info.tables) + len(info.missing) == len(facts("mimic-iv").tables)
    assert find_source(home, "mini") == info
    assert list_sources(home) == [info]


def test_added_again(mini, home) -> None:
    info = mini.add()
    assert mini.add() == info
    assert any("already" in message for message in mini.messages)
    mini.write(CHART, mini.text(CHART) + mini.text(CHART).splitlines(keepends=True)[1])
    with pytest.raises(UsageError, match="remove"):
        mini.add()
    assert find_source(home, "mini") == info


def test_unknown_name_offers_the_nearest(mini, home) -> None:
    with pytest.raises(UsageError, match="registered yet"):
        find_source(home, "mini")
    mini.add()
    with pytest.raises(UsageError, match="Is mini meant"):
        find_source(home, "minni")
    with pytest.raises(UsageError, match="There are: mini"):
        find_source(home, "zzz")


def test_removed_with_what_was_made_from_it(mini, home) -> None:
    info = mini.add()
    mini.add("other")
    for folder in (home.references, home.workspaces, home.runs):
        (folder / "mini").mkdir(parents=True)
        (folder / "mini" / "file").write_text("x")
    remove_source(home, "mini")
    assert [source.name for source in list_sources(home)] == ["other"]
    assert not info.path.parent.exists()
    assert not (home.references / "mini").exists()
    assert not (home.workspaces / "mini").exists()
    assert (home.runs / "mini" / "file").exists()
    assert list(home.sources.glob(".removed-*")) == []
    assert mini.add().state == "ready"


def test_database_gone(mini, home) -> None:
    info = mini.add()
    info.path.unlink()
    with pytest.raises(BadInput, match="add it again"):
        open_source(info)
    with pytest.raises(UsageError, match="remove"):
        mini.add()
    remove_source(home, "mini")
    assert mini.add().state == "ready"


def test_written_by_concepts(mini, home) -> None:
    info = mini.add()
    with writing_source(home, "mini") as con:
        con.execute("CREATE SCHEMA mimiciv_derived")
        con.execute("CREATE TABLE mimiciv_derived.age AS SELECT 1 AS a")
    con = open_source(find_source(home, "mini"))
    assert con.execute("SELECT a FROM mimiciv_derived.age").fetchall() == [(1,)]
    with pytest.raises(duckdb.Error):
        con.execute("DROP TABLE mimiciv_derived.age")
    con.close()
    assert find_source(home, "mini").digest == info.digest


def test_digest_knows_every_cell_but_no_order(mini) -> None:
    text = mini.text(CHART)
    header, *lines = text.splitlines(keepends=True)
    original = mini.add("a").digest
    random.Random(3).shuffle(lines)
    mini.write(CHART, header + "".join(lines))
    assert mini.add("b").digest == original
    mini.write(CHART, text.replace("81.5,81.5", "81.5,81.6"))
    changed = mini.add("c").digest
    mini.write(CHART, text + lines[0] + lines[0])
    doubled = mini.add("d").digest
    assert len({original, changed, doubled}) == 3


def test_state_holds_no_path_of_the_users(mini, home) -> None:
    mini.add()
    con = sqlite3.connect(home.state)
    dump = "\n".join(con.iterdump())
    con.close()
    assert "mini" in dump
    assert str(mini.root) not in dump


@pytest.mark.slow
@pytest.mark.shared_data
def test_demo_with_a_stranger_in_it_is_not_open(mimic_demo, tmp_path, mini, home) -> None:
    """A subset of the demo is open; with one more person it is not."""
    folder = tmp_path / "part"
    folder.mkdir()
    for path in ("hosp/patients.csv.gz", "icu/icustays.csv.gz", "hosp/services.csv.gz"):
        (folder / path.split("/")[1]).symlink_to(mimic_demo / path)
    mini.root = folder
    assert mini.add("part").access == "open"
    mini.write(
        "admissions.csv",
        "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,discharge_location,race,"
        "hospital_expire_flag\n77,1,2150-01-01 00:00:00,,,URGENT,HOME,OTHER,0\n",
    )
    assert mini.add("stranger").access == "credentialed"


def test_synthetic_is_recorded(mini) -> None:
    assert mini.add(synthetic=True).access == "synthetic"


def _bench(capsys, *arguments: str) -> tuple[int, object]:
    code = run(["--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_commands(mini, home, capsys) -> None:
    code, added = _bench(capsys, "source", "add", "mini", str(mini.root))
    assert (code, added["state"], added["stays"]) == (0, "ready", 2)
    assert _bench(capsys, "source", "show", "mini") == (0, added)
    assert _bench(capsys, "source", "list") == (0, [added])
    code, error = _bench(capsys, "source", "show", "minni")
    assert (code, error["error"]) == (2, "UsageError")
    assert run(["source", "show", "mini"]) == 0
    shown = capsys.readouterr().out
    assert "target charlson" in shown
    assert "mimiciv_icu.chartevents" in shown
    assert run(["source", "list"]) == 0
    assert "credentialed" in capsys.readouterr().out
    assert _bench(capsys, "source", "remove", "mini") == (0, {"removed": "mini"})
    assert _bench(capsys, "source", "list") == (0, [])


def test_command_names_file_line_and_column(mini, home, capsys) -> None:
    mini.write(CHART, mini.text(CHART).replace("11:05:00,220045", "11:05:00,x"))
    code, error = _bench(capsys, "source", "add", "mini", str(mini.root))
    assert code == 3
    assert (error["line"], error["column"]) == (2, "itemid")
    assert error["file"].endswith("chartevents.csv")
    assert run(["source", "list"]) == 0
    told = capsys.readouterr()
    assert "not imported whole" in told.out
    assert "again under this name" in told.err


def test_command_refuses_a_kind(mini, home, capsys) -> None:
    assert run(["source", "add", "mini", str(mini.root), "--kind", "omop"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mimic-iv", "eicu"])
def test_command_makes_a_synthetic_source(home, capsys, kind) -> None:
    code, made = _bench(capsys, "source", "synth", "syn", "--kind", kind, "--stays", "50")
    assert code == 0
    assert (made["kind"], made["access"], made["stays"], made["missing"]) == (
        kind,
        "synthetic",
        50,
        [],
    )
    assert list(home.scratch.iterdir()) == []
    code, error = _bench(capsys, "source", "synth", "syn", "--kind", kind, "--stays", "50")
    assert (code, error["error"]) == (2, "UsageError")


def test_cancelled_while_synthetic_data_is_made(home) -> None:
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        synthesize_source(home, "syn", kind="eicu", stays=50, job=job)
    assert list_sources(home) == []
    assert list(home.scratch.iterdir()) == []
