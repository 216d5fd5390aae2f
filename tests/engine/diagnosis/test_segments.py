"""Where mismatches sit: intervals against published figures, groups against a planted one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from engine.diagnosis.segments.features import Feature
from engine.diagnosis.segments.find import find_segments, newcombe, wilson
from engine.diagnosis.table import open_diff


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
        {"row": np.arange(rows), "f0": unit, "f1": gas, "f2": rng.normal(60, 15, rows)}
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
        for rows in (first.rows, first.mismatches):
            assert table.count(rows.condition) == rows.count
        assert table.count(f"{first.mismatches.condition} AND s0 <> 2") == 0
    finally:
        table.con.close()


def test_no_group_without_a_difference(diff: Path) -> None:
    table = open_diff(diff, memory_limit="500MB", scratch=None)
    try:
        table.con.execute(
            "CREATE TABLE memory.features AS SELECT row, hash(row + 17) % 3 = 0 AS f0, "
            "(hash(row + 99) % 1000)::DOUBLE AS f1 FROM diff"
        )
        features = (Feature("coin", "flag", ""), Feature("dice", "number", ""))
        assert find_segments(table, features, None) == ()
    finally:
        table.con.close()
