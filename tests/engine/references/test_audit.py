"""The audit's questions: honest headers, counts that a second way confirms."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from concept_cases import run_query

from engine.base.errors import UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.cli.main import run
from engine.references import audit_questions, audit_source, list_targets
from engine.sources import find_source

QUESTIONS = {question.name: question for question in audit_questions()}


def test_every_target_is_asked_about() -> None:
    asked = {key for question in QUESTIONS.values() for key in question.targets}
    assert asked == set(list_targets())


def test_headers_say_all() -> None:
    for question in QUESTIONS.values():
        assert question.counts.endswith(".")
        assert question.why.endswith(".")
        assert not question.of.endswith(".")
        assert question.query.reads


def _count(name: str, inputs: dict[str, list[dict[str, str | None]]]) -> tuple[int, int]:
    types, rows = run_query(QUESTIONS[name].query, inputs)
    found = dict(zip(types, rows[0], strict=True))
    return found["affected"], found["total"]


LAB = "mimiciv_hosp.labevents"
CHART = "mimiciv_icu.chartevents"


def _gas(specimen: int, item: int, at: str, value: str | None = "80") -> dict[str, str | None]:
    return {
        "subject_id": "1", "specimen_id": str(specimen), "itemid": str(item),
        "charttime": f"2150-01-01 {at}", "valuenum": value,
    }  # fmt: skip


def test_gases_of_one_minute() -> None:
    rows = [
        _gas(1, 50821, "08:00"),
        _gas(2, 50821, "08:00"),
        _gas(3, 50821, "09:00"),
        _gas(4, 50821, "09:00", None),  # no pO2: no gas
        _gas(5, 50818, "09:00"),
    ]
    assert _count("gas-shared-minute", {LAB: rows}) == (2, 3)
    assert _count("gas-without-po2", {LAB: rows}) == (1, 1)


def _device(item: int, at: str, value: str | None) -> dict[str, str | None]:
    return {
        "subject_id": "1", "stay_id": "1", "itemid": str(item), "value": value, "valuenum": None,
        "charttime": f"2150-01-01 {at}",
    }  # fmt: skip


def test_devices_without_flow() -> None:
    rows = [
        _device(226732, "08:00", "Nasal cannula"),
        _device(223834, "08:00", "2"),
        _device(226732, "09:00", "None"),
        _device(226732, "09:00", "Face tent"),
        _device(223834, "10:00", "2"),
    ]
    assert _count("device-without-flow", {CHART: rows}) == (1, 2)


def test_weights_that_begin_together() -> None:
    stays = [
        {"subject_id": "1", "stay_id": str(n), "intime": "2150-01-01", "outtime": "2150-01-03"}
        for n in (1, 2, 3)
    ]

    def weight(stay: int, item: int, at: str, value: int) -> dict[str, str | None]:
        return {
            "subject_id": "1", "stay_id": str(stay), "itemid": str(item), "value": str(value),
            "valuenum": str(value), "charttime": f"2150-01-01 {at}",
        }  # fmt: skip

    rows = [
        weight(1, 224639, "08:00", 70),
        weight(1, 224639, "08:00", 80),
        weight(2, 226512, "08:00", 70),  # holds from before the stay
        weight(2, 224639, "08:00", 80),
        weight(3, 224639, "08:00", 70),
        weight(3, 224639, "08:00", 70),
    ]
    found = _count("weight-tied", {CHART: rows, "mimiciv_icu.icustays": stays})
    assert found == (1, 3)


def test_age_at_a_boundary() -> None:
    patients = [
        {"subject_id": str(n), "anchor_age": str(age), "anchor_year": "2150"}
        for n, age in ((1, 50), (2, 49), (3, 53))
    ]
    admissions = [
        {"subject_id": "1", "hadm_id": "1", "admittime": "2150-01-01 00:00:00"},  # exactly 50
        {"subject_id": "2", "hadm_id": "2", "admittime": "2150-06-01 00:00:00"},
        {"subject_id": "3", "hadm_id": "3", "admittime": "2150-06-01 00:00:00"},
    ]
    inputs = {"mimiciv_hosp.patients": patients, "mimiciv_hosp.admissions": admissions}
    assert _count("charlson-age-boundary", inputs) == (1, 3)
    stays = [
        {"subject_id": str(n), "hadm_id": str(n), "stay_id": str(n), "intime": "2150-06-02"}
        for n in (1, 2, 3)
    ]
    assert _count("oasis-age-boundary", {**inputs, "mimiciv_icu.icustays": stays}) == (1, 3)


@pytest.mark.slow
@pytest.mark.shared_data
def test_counts_on_the_demos(mimic_built: Home, eicu_built: Home) -> None:
    for home, source in ((mimic_built, "mimic-demo"), (eicu_built, "eicu-demo")):
        counted = audit_source(home, source, job=SimpleJob())
        assert counted
        for item in counted:
            assert item.missing == ()
            assert item.affected is not None
            assert item.total is not None
            assert 0 <= item.affected <= item.total
        assert sum(bool(item.affected) for item in counted) > len(counted) / 3
    found = {i.question.name: i for i in audit_source(mimic_built, "mimic-demo", job=SimpleJob())}
    con = duckdb.connect(str(find_source(mimic_built, "mimic-demo").path), read_only=True)
    try:
        frame = con.execute(
            "SELECT specimen_id, subject_id, charttime FROM mimiciv_hosp.labevents "
            "WHERE itemid = 50821 AND valuenum IS NOT NULL"
        ).df()
    finally:
        con.close()
    gases = frame.drop_duplicates("specimen_id")
    shared = gases.duplicated(["subject_id", "charttime"], keep=False)
    gas = found["gas-shared-minute"]
    assert (gas.affected, gas.total) == (int(shared.sum()), len(gases))


@pytest.mark.slow
@pytest.mark.shared_data
def test_command_line(
    mimic_built: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M4REVIEW_HOME", str(mimic_built.root))
    assert run(["references", "audit", "mimic-demo", "--target", "charlson", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"charlson-age-boundary", "charlson-text-ranges"} == {
        item["name"] for item in document["audit"]
    }
    assert run(["references", "audit", "mimic-demo", "--target", "charlson"]) == 0
    assert "admissions with a known age" in capsys.readouterr().out
    assert run(["references", "audit", "mimic-demo", "--target", "eicu-gcs"]) == 2


def test_a_source_without_the_tables_says_so(tmp_path: Path, home_dir: Path) -> None:
    from engine.base.paths import open_home  # noqa: PLC0415 - only here
    from engine.sources import add_source  # noqa: PLC0415 - only here

    data = tmp_path / "data" / "icu"
    data.mkdir(parents=True)
    (data / "icustays.csv").write_text(
        "subject_id,hadm_id,stay_id,first_careunit,last_careunit,intime,outtime,los\n"
        "1,1,1,A,A,2150-01-01 00:00:00,2150-01-02 00:00:00,1\n"
    )
    home = open_home(home_dir)
    add_source(home, "small", tmp_path / "data")
    counted = audit_source(home, "small", job=SimpleJob(), targets=["charlson"])
    assert [(i.affected, i.total) for i in counted] == [(None, None), (None, None)]
    assert all(item.missing for item in counted)
    with pytest.raises(UsageError):
        audit_source(home, "small", job=SimpleJob(), targets=["charlsn"])
