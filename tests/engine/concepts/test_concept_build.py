"""`build_concepts` and `export_concepts` on a registered source, and their commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from engine.base.errors import BadInput, Busy, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.cli.main import run
from engine.concepts import build_concepts, concept_graph, export_concepts
from engine.sources import find_source, open_source, writing_source

pytestmark = pytest.mark.shared_data

SOURCE = "mimic-demo"


def test_a_finished_source_is_not_touched(small_built_copy: Home) -> None:
    path = find_source(small_built_copy, SOURCE).path
    before = path.read_bytes()
    built = build_concepts(small_built_copy, SOURCE, job=SimpleJob())
    assert {item.status for item in built} == {"fresh"}
    assert {item.name for item in built} == set(concept_graph().concepts)
    assert path.read_bytes() == before


def test_other_limits_give_the_same_rows(small_built_copy: Home) -> None:
    info = find_source(small_built_copy, SOURCE)

    def ventilation() -> list[tuple[object, ...]]:
        con = open_source(info)
        rows = con.execute("FROM mimiciv_derived.ventilation ORDER BY ALL").fetchall()
        con.close()
        return rows

    before = ventilation()
    assert before
    with writing_source(small_built_copy, SOURCE) as con:
        con.execute("DROP SCHEMA mimiciv_derived CASCADE")
    built = build_concepts(
        small_built_copy, SOURCE, ["ventilation"], job=SimpleJob(), threads=1, memory_limit="200MB"
    )
    assert [item.name for item in built][-1] == "ventilation"
    assert all(item.status == "built" and item.seconds > 0 for item in built)
    assert ventilation() == before


def test_wrong_calls(small_built_copy: Home, eicu_home: Home) -> None:
    with pytest.raises(UsageError, match="made from MIMIC-IV"):
        build_concepts(eicu_home, "eicu-demo", job=SimpleJob())
    with writing_source(small_built_copy, SOURCE) as con:
        con.execute("DROP TABLE mimiciv_derived.age")
        con.execute("DROP TABLE mimiciv_hosp.diagnoses_icd")
    with pytest.raises(UsageError, match="limit of memory"):
        build_concepts(small_built_copy, SOURCE, ["age"], job=SimpleJob(), memory_limit="lots")
    con = open_source(find_source(small_built_copy, SOURCE))
    with pytest.raises(Busy):
        build_concepts(small_built_copy, SOURCE, ["age"], job=SimpleJob())
    con.close()
    with writing_source(small_built_copy, SOURCE) as con:
        con.execute("DROP TABLE mimiciv_derived.charlson")
    with pytest.raises(BadInput, match=r"diagnoses_icd is needed by charlson"):
        build_concepts(small_built_copy, SOURCE, ["charlson"], job=SimpleJob())


def test_export(small_built_copy: Home, tmp_path: Path) -> None:
    done = export_concepts(small_built_copy, SOURCE, tmp_path / "out", job=SimpleJob())
    assert {item.path.name for item in done} == {f"{n}.parquet" for n in concept_graph().concepts}
    con = duckdb.connect()
    for item in done:
        counted = con.execute("SELECT count(*) FROM read_parquet(?)", [str(item.path)]).fetchone()
        assert counted == (item.rows,)
    con.close()
    # What was built from something else is not exported as if it held.
    with writing_source(small_built_copy, SOURCE) as con:
        con.execute("UPDATE m4_meta.concepts SET fingerprint = 'x' WHERE name = 'age'")
    with pytest.raises(BadInput, match="out of date: age"):
        export_concepts(small_built_copy, SOURCE, tmp_path / "again", job=SimpleJob())
    with writing_source(small_built_copy, SOURCE) as con:
        con.execute("DROP SCHEMA mimiciv_derived CASCADE")
    with pytest.raises(BadInput, match="No concept has been built"):
        export_concepts(small_built_copy, SOURCE, tmp_path / "again", job=SimpleJob())


def test_command_line(
    small_built_copy: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(small_built_copy.root), "--json"]
    build = [*home, "concepts", "build", SOURCE, "--threads", "2", "--memory", "1GB"]
    assert run([*build, "--only", "age, charlson"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in told["concepts"]] == ["age", "charlson"]
    assert all(item["rows"] > 0 and item["seconds"] > 0 for item in told["concepts"])
    assert run([*home, "concepts", "export", SOURCE, "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "charlson.parquet").is_file()
    capsys.readouterr()
    with writing_source(small_built_copy, SOURCE) as con:
        con.execute("DROP TABLE mimiciv_hosp.diagnoses_icd")
        con.execute("DROP TABLE mimiciv_derived.charlson")
    assert run(build) == 3
    out, err = capsys.readouterr()
    left = {item["name"]: item for item in json.loads(out)["concepts"]}
    assert left["charlson"]["missing"] == ["mimiciv_hosp.diagnoses_icd"]
    assert left["age"]["status"] == "fresh"
    assert "lacks mimiciv_hosp.diagnoses_icd" in err
    assert run([*build, "--only", "charlsn"]) == 2


def test_a_killed_build_goes_on_where_it_was(small_built_copy: Home) -> None:
    with writing_source(small_built_copy, SOURCE) as con:
        con.execute("DROP SCHEMA mimiciv_derived CASCADE")
    home = ["--home", str(small_built_copy.root), "--events", "ndjson"]
    program = subprocess.Popen(
        [sys.executable, "-m", "engine.cli.main", *home, "concepts", "build", SOURCE],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    with program:
        assert program.stderr is not None
        for line in program.stderr:
            event = json.loads(line)
            if event["event"] == "progress" and event["done"] >= 3:
                program.kill()
                break
    built = {item.name: item for item in build_concepts(small_built_copy, SOURCE, job=SimpleJob())}
    # At least those that were told as finished are kept.
    assert sum(item.status == "fresh" for item in built.values()) >= 3
    assert {item.status for item in built.values()} <= {"fresh", "built"}
    assert set(built) == set(concept_graph().concepts)
