"""Where mismatches sit: intervals against published figures, groups against a planted one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from engine.diagnosis.recompute.patients import SOURCE
from engine.diagnosis.segments.clusters import Clusters, correlation
from engine.diagnosis.segments.features import Feature, make_features
from engine.diagnosis.segments.find import find_segments, newcombe, wilson
from engine.diagnosis.table import Table, open_diff


def test_intervals_are_the_published_ones() -> None:
    # Newcombe 1998, Statistics in Medicine 17: 857 (81/263) and 873 (56/70 - 48/80), method 10.
    assert wilson(81, 263, 0.05) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert newcombe(56, 70, 48, 80, 0.05) == pytest.approx((0.0524, 0.3339), abs=1e-4)


@pytest.fixture
def diff(tmp_path: Path) -> Path:
    """Four hundred rows of one column; those of unit B with a gas mismatch mostly."""
    path = tmp_path / "diff.duckdb"
    rng = np.random.default_rng(5)
    rows = 400
    unit = rng.choice(["A", "B", "C"], rows)
    gas = rng.random(rows) < 0.5
    wrong = np.where((unit == "B") & gas, rng.random(rows) < 0.8, rng.random(rows) < 0.03)
    frame = pd.DataFrame(
        {
            "row": np.arange(rows),
            "key_status": np.zeros(rows, np.uint8),
            "mismatches": wrong.astype(np.uint64),
            "k0": np.arange(rows),
            "r0": np.ones(rows),
            "a0": 1.0 + wrong,
            "s0": np.where(wrong, 2, 0).astype(np.uint8),
        }
    )
    features = pd.DataFrame(
        {
            "row": np.arange(rows),
            "person": np.arange(rows),
            "f0": unit,
            "f1": gas,
            "f2": rng.normal(60, 15, rows),
        }
    )
    with duckdb.connect(str(path)) as con:
        con.register("frame", frame)
        con.register("known", features)
        con.execute("CREATE TABLE diff AS FROM frame")
        con.execute("CREATE TABLE known_features AS FROM known")
        con.execute(
            "CREATE TABLE diff_columns AS SELECT * FROM (VALUES (0, 'stay_id', 'key', 'number', "
            "0.0), (0, 'score', 'scored', 'number', 0.0)) "
            "t(position, name, role, compared_as, tolerance)"
        )
        con.execute(
            "CREATE TABLE diff_counts AS SELECT 'key' AS role, NULL::INTEGER AS position, "
            "0::UTINYINT AS status, count(*) AS count FROM diff UNION ALL "
            "SELECT 'scored', 0, s0, count(*) FROM diff GROUP BY s0"
        )
    return path


def test_the_planted_group_is_found(diff: Path) -> None:
    table = open_diff(diff, memory_limit="500MB", scratch=None)
    try:
        table.con.execute("CREATE TABLE memory.features AS FROM known_features")
        features = (
            Feature("unit", "category", ""),
            Feature("gas", "flag", ""),
            Feature("age", "number", ""),
        )
        found = find_segments(table, features, None)
        first = found[0]
        assert set(zip(first.features, first.levels, strict=True)) == {
            ("unit", "B"),
            ("gas", "yes"),
        }
        assert first.share > 0.7
        assert first.base < 0.1
        assert 0.4 < first.difference[0] < first.share - first.base < first.difference[1] < 1
        assert first.p < 1e-6
        assert not [s for s in found if s.features == ("age",)]
        assert first.people == (
            first.rows.count, first.mismatches.count, 400 - first.rows.count,
            round(first.base * (400 - first.rows.count)),
        )  # fmt: skip
        for rows in (first.rows, first.mismatches):
            assert table.count(rows.condition) == rows.count
        assert table.count(f"{first.mismatches.condition} AND s0 <> 2") == 0
    finally:
        table.con.close()


def test_no_group_without_a_difference(diff: Path) -> None:
    table = open_diff(diff, memory_limit="500MB", scratch=None)
    try:
        table.con.execute(
            "CREATE TABLE memory.features AS SELECT row, row AS person, "
            "hash(row + 17) % 3 = 0 AS f0, "
            "(hash(row + 99) % 1000)::DOUBLE AS f1 FROM diff"
        )
        features = (Feature("coin", "flag", ""), Feature("dice", "number", ""))
        assert find_segments(table, features, None) == ()
    finally:
        table.con.close()


def test_many_rows_of_two_patients_are_no_group(diff: Path) -> None:
    """All rows of unit B with a gas are made those of two patients: one patient's habits."""
    table = open_diff(diff, memory_limit="500MB", scratch=None)
    try:
        table.con.execute(
            "CREATE TABLE memory.features AS SELECT * REPLACE "
            "(CASE WHEN f0 = 'B' AND f1 THEN -(row % 2) - 1 ELSE row // 10 END AS person) "
            "FROM known_features"
        )
        features = (Feature("unit", "category", ""), Feature("gas", "flag", ""))
        found = find_segments(table, features, None)
        assert not [s for s in found if s.features == ("unit", "gas") and s.people[0] == 2]
    finally:
        table.con.close()


def test_rows_of_a_patient_count_as_often_as_they_differ() -> None:
    people = np.repeat(np.arange(60), 20)
    alike = np.repeat(np.arange(60) % 3 == 0, 20)
    rng = np.random.default_rng(2)
    assert correlation(people, alike) == pytest.approx(1)
    split = Clusters.of(people, alike).split(people < 15)
    assert split.effects == pytest.approx((20, 20))
    assert split.people == (15, 5, 45, 15)
    assert correlation(people, rng.random(1200) < 0.3) == pytest.approx(0, abs=0.02)
    assert correlation(np.arange(1200), alike) == 0
    # Half of the time a patient's own habit, half chance: the variance between is a quarter.
    mixed = np.where(rng.random(400_000) < 0.5, np.repeat(rng.random(20_000) < 0.4, 20),
                     rng.random(400_000) < 0.4)  # fmt: skip
    assert correlation(np.repeat(np.arange(20_000), 20), mixed) == pytest.approx(0.25, abs=0.01)


def test_what_is_known_of_a_row_with_a_time(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "source.duckdb")) as con:
        con.execute(
            "CREATE SCHEMA mimiciv_icu; CREATE SCHEMA mimiciv_hosp;"
            "CREATE TABLE mimiciv_icu.icustays AS SELECT 1 AS subject_id, 10 AS hadm_id, "
            "100 + n AS stay_id, 'Unit' AS first_careunit, 1.0 AS los, "
            "TIMESTAMP '2150-01-01' + n * INTERVAL 9 DAYS AS intime, "
            "TIMESTAMP '2150-01-02' + n * INTERVAL 9 DAYS AS outtime FROM range(2) t(n);"
            "CREATE TABLE mimiciv_hosp.admissions AS SELECT 1 AS subject_id, 10 AS hadm_id, "
            "TIMESTAMP '2149-12-31' AS admittime, TIMESTAMP '2150-02-01' AS dischtime, "
            "'URGENT' AS admission_type, 0 AS hospital_expire_flag, 'x' AS race;"
            "CREATE TABLE mimiciv_hosp.patients AS SELECT 1 AS subject_id, 'F' AS gender, "
            "'2014 - 2016' AS anchor_year_group, 60 AS anchor_age, 2150 AS anchor_year"
        )
    con = duckdb.connect()
    con.execute(f"ATTACH '{tmp_path / 'source.duckdb'}' AS {SOURCE} (READ_ONLY)")
    con.execute(
        "CREATE TABLE diff AS SELECT n AS row, 100 + n AS k0, "
        "TIMESTAMP '2150-01-01 06:00' + n * INTERVAL 9 DAYS AS k1 FROM range(2) t(n)"
    )
    table = Table(con, ("stay_id", "charttime"), ("BIGINT", "TIMESTAMP"), (), 2, (2, 0, 0, 0))
    features = make_features(table, "mimic-iv")
    at = [f.name for f in features].index("hours into the stay")
    rows = con.execute(f"SELECT row, person, f{at} FROM memory.features ORDER BY row").fetchall()
    assert rows == [(0, 1, 6.0), (1, 1, 6.0)]
    con.execute("CREATE OR REPLACE TABLE diff AS SELECT 0 AS row, 1 AS k0")
    of_patient = Table(con, ("subject_id",), ("BIGINT",), (), 1, (1, 0, 0, 0))
    assert [f.name for f in make_features(of_patient, "mimic-iv")] == ["year group", "sex"]
    con.close()
