"""References on the open demos: golden, manifests, and what happens when they do not hold."""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import pytest
from golden_tables import check_against_golden

from engine.base.duck import quote_text
from engine.base.errors import BadInput, Cancelled, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.catalogue.task import list_tasks
from engine.cli.main import run
from engine.references import (
    build_references,
    list_targets,
    open_reference,
    reference_state,
    verify_references,
)
from engine.references.manifest import manifest_path, parquet_path, read_manifest
from engine.references.targets import find_target, kind_of
from engine.sources import find_source, writing_source

pytestmark = pytest.mark.shared_data

MIMIC = sorted(key for key, target in list_targets().items() if kind_of(target) == "mimic-iv")
EICU = sorted(key for key, target in list_targets().items() if kind_of(target) == "eicu")


def _check(home: Home, source: str, key: str, folder: Path) -> None:
    where = f"read_parquet({quote_text(str(open_reference(home, source, key)))})"
    con = duckdb.connect()
    try:
        check_against_golden(con, where, folder, "targets", key)
    finally:
        con.close()


@pytest.mark.parametrize("key", MIMIC)
def test_mimic_targets_are_golden(key: str, mimic_built: Home, golden: Path) -> None:
    _check(mimic_built, "mimic-demo", key, golden / "mimic-iv-demo")


@pytest.mark.parametrize("key", EICU)
def test_eicu_targets_are_golden(key: str, eicu_built: Home, golden: Path) -> None:
    _check(eicu_built, "eicu-demo", key, golden / "eicu-demo")


def test_the_manifest_tells_what_it_was_built_from(mimic_built: Home) -> None:
    manifest = read_manifest(manifest_path(mimic_built, "mimic-demo", "ventilation"))
    assert manifest is not None
    info = find_source(mimic_built, "mimic-demo")
    assert manifest.source_digest == info.digest
    assert manifest.sort_keys == ("stay_id", "ventilation_seq")
    assert [column.name for column in manifest.columns][:2] == ["stay_id", "ventilation_seq"]
    assert manifest.duplicate_keys == 0
    assert str(info.path.parent.parent.parent) not in manifest.model_dump_json()


@pytest.fixture
def home(mimic_home_copy: Home) -> Home:
    build_references(mimic_home_copy, "mimic-demo", ["charlson"], job=SimpleJob())
    return mimic_home_copy


def test_what_holds_is_not_built_again(home: Home, tmp_path: Path) -> None:
    built = build_references(
        home, "mimic-demo", ["charlson"], job=SimpleJob(), out=tmp_path / "out"
    )
    assert [item.fresh for item in built] == [True]
    copied = (tmp_path / "out" / "charlson.parquet").read_bytes()
    assert copied == parquet_path(home, "mimic-demo", "charlson").read_bytes()
    assert reference_state(home, "mimic-demo", "charlson").state == "ready"
    assert verify_references(home, "mimic-demo", job=SimpleJob())[0].problems == ()


def _assert_closed(home: Home, state: str, why: str) -> None:
    found = reference_state(home, "mimic-demo", "charlson")
    assert (found.state, why in found.why) == (state, True)
    with pytest.raises(BadInput, match="references build mimic-demo --target charlson"):
        open_reference(home, "mimic-demo", "charlson")


def test_absent(mimic_home_copy: Home) -> None:
    _assert_closed(mimic_home_copy, "absent", "not been built")
    arguments = ["--home", str(mimic_home_copy.root), "references", "verify", "mimic-demo"]
    assert run(arguments) == 3


def test_changed_file(home: Home) -> None:
    path = parquet_path(home, "mimic-demo", "charlson")
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    _assert_closed(home, "stale", "touched")
    # Also when whoever changed it hid the traces.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reference_state(home, "mimic-demo", "charlson").state == "ready"
    with pytest.raises(BadInput, match="was changed"):
        open_reference(home, "mimic-demo", "charlson")
    assert "bytes" in verify_references(home, "mimic-demo", job=SimpleJob())[0].problems[0]


def test_changed_definition_data_and_engine(home: Home) -> None:
    path = manifest_path(home, "mimic-demo", "charlson")
    original = json.loads(path.read_text())
    for field, value, why in (
        ("sql_sha256", "0" * 64, "definition"),
        ("source_digest", "0" * 64, "source has changed"),
        ("duckdb_version", "1.0.0", "another version"),
        ("sort_keys", ["subject_id"], "key"),
    ):
        path.write_text(json.dumps({**original, field: value}))
        _assert_closed(home, "stale", why)
    path.write_text("{")
    _assert_closed(home, "stale", "cannot be read")
    left = path.with_name(".charlson.parquet.killed.part")
    left.write_text("half")
    built = build_references(home, "mimic-demo", ["charlson"], job=SimpleJob())
    assert [item.fresh for item in built] == [False]
    assert not left.exists()
    assert open_reference(home, "mimic-demo", "charlson").exists()


def test_a_false_manifest_is_found_by_verify(home: Home) -> None:
    path = manifest_path(home, "mimic-demo", "charlson")
    original = json.loads(path.read_text())
    path.write_text(json.dumps({**original, "rows": 274, "content_sha256": "0" * 64}))
    problems = verify_references(home, "mimic-demo", job=SimpleJob())[0].problems
    assert len(problems) == 2


def test_two_builds_give_the_same_content(home: Home) -> None:
    before = read_manifest(manifest_path(home, "mimic-demo", "charlson"))
    manifest_path(home, "mimic-demo", "charlson").unlink()
    build_references(home, "mimic-demo", ["charlson"], job=SimpleJob())
    after = read_manifest(manifest_path(home, "mimic-demo", "charlson"))
    assert before is not None
    assert after is not None
    assert before.content_sha256 == after.content_sha256


def test_duplicate_keys_are_told_and_cannot_be_scored_on(mimic_home_copy: Home) -> None:
    with writing_source(mimic_home_copy, "mimic-demo") as con:
        con.execute(
            "INSERT INTO mimiciv_hosp.admissions SELECT * FROM mimiciv_hosp.admissions LIMIT 1"
        )
    told: list[str] = []
    built = build_references(
        mimic_home_copy, "mimic-demo", ["charlson"], job=SimpleJob(on_message=told.append)
    )
    # Joined with the ages, which are doubled too.
    assert built[0].duplicate_keys > 0
    assert any("repeat a key" in text for text in told)
    with pytest.raises(BadInput, match="same key"):
        open_reference(mimic_home_copy, "mimic-demo", "charlson")
    problems = verify_references(mimic_home_copy, "mimic-demo", job=SimpleJob())[0].problems
    assert "Keys occur more than once." in problems


def test_missing_tables_are_named_with_what_needs_them(mimic_home_copy: Home) -> None:
    with writing_source(mimic_home_copy, "mimic-demo") as con:
        con.execute("DROP TABLE mimiciv_icu.chartevents")
    with pytest.raises(BadInput, match=r"mimiciv_icu.chartevents is needed by ventilation"):
        build_references(mimic_home_copy, "mimic-demo", ["ventilation"], job=SimpleJob())


def test_all_that_can_be_built_are(
    small_built_copy: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing_source(small_built_copy, "mimic-demo") as con:
        con.execute("DROP TABLE mimiciv_hosp.diagnoses_icd")
    arguments = ["--home", str(small_built_copy.root), "--json", "references", "build"]
    assert run([*arguments, "mimic-demo"]) == 3
    out, err = capsys.readouterr()
    told = json.loads(out)
    left = {item["key"]: item["missing"] for item in told["left_out"]}
    assert left["charlson"] == ["mimiciv_hosp.diagnoses_icd"]
    assert "ventilation" in {item["key"] for item in told["references"]}
    assert "Left out for lack of tables" in err
    with writing_source(small_built_copy, "mimic-demo") as con:
        con.execute("DROP SCHEMA mimiciv_icu CASCADE")
        con.execute("DROP SCHEMA mimiciv_hosp CASCADE")
    assert run([*arguments, "mimic-demo"]) == 3
    assert "is needed by" in json.loads(capsys.readouterr().out)["text"]


def test_a_stop_before_the_work(mimic_home_copy: Home) -> None:
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        build_references(mimic_home_copy, "mimic-demo", ["charlson"], job=job)
    assert reference_state(mimic_home_copy, "mimic-demo", "charlson").state == "absent"


def test_wrong_names(mimic_home: Home) -> None:
    with pytest.raises(UsageError, match="Did you mean charlson"):
        find_target("charlsn")
    with pytest.raises(UsageError, match="built from eicu"):
        build_references(mimic_home, "mimic-demo", ["eicu-gcs"], job=SimpleJob())


def test_command_line(
    mimic_built: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(mimic_built.root), "--json"]
    out = tmp_path / "out"
    assert run([*home, "references", "build", "mimic-demo", "--out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [item["key"] for item in document["references"]] == MIMIC
    assert sorted(path.stem for path in out.iterdir()) == MIMIC
    assert run([*home, "references", "verify", "mimic-demo"]) == 0
    document = json.loads(capsys.readouterr().out)
    users: dict[str, dict[str, float]] = {key: {} for key in MIMIC}
    for task in list_tasks():
        if task.target in users:
            users[task.target][task.name] = 1.0
    assert {r["key"]: r["self_scores"] for r in document["references"]} == users
    assert all(item["holds"] for item in document["references"])


def test_verify_leaves_with_1(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    path = parquet_path(home, "mimic-demo", "charlson")
    path.write_bytes(path.read_bytes() + b"x")
    arguments = ["--home", str(home.root), "--json", "references", "verify", "mimic-demo"]
    assert run(arguments) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["references"][0]["holds"] is False
