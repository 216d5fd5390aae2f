"""Two thousand stays contain every level of every scored column, every label, every band."""

from __future__ import annotations

import duckdb
import pytest
from synth_levels import BANDS, LEVELS, NULLABLE, bands
from synth_sources import built, home, synth_base  # noqa: F401 (fixture)

from engine.references.targets import kind_of, list_targets
from engine.sources.schema import KINDS

STAYS = 2000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mimic() -> duckdb.DuckDBPyConnection:
    return built("mimic-iv", STAYS)


def reference(key: str) -> duckdb.DuckDBPyRelation:
    kind = kind_of(list_targets()[key])
    path = home(kind, STAYS).references / "s" / f"{key}.parquet"
    return duckdb.sql(f"FROM '{path}'")


@pytest.mark.parametrize("key", sorted(list_targets()))
def test_every_level_of_every_scored_column_occurs(key: str) -> None:
    found = reference(key)
    missing = {}
    for column, levels in LEVELS[key].items():
        values = {row[0] for row in found.project(f'"{column}"').distinct().fetchall()}
        values = {int(v) if isinstance(v, bool) else v for v in values}
        if absent := [level for level in levels if level not in values]:
            missing[column] = absent
    for column in NULLABLE.get(key, ()):
        nulls = dict(found.aggregate(f'"{column}" IS NULL AS n, count(*) AS c').fetchall())
        if absent := [
            word for word, null in (("null", True), ("value", False)) if null not in nulls
        ]:
            missing[column] = absent
    assert not missing


def test_all_targets_have_their_levels_written_down() -> None:
    assert set(list_targets()) <= set(LEVELS)


@pytest.mark.parametrize(("table", "column"), sorted(BANDS))
def test_every_band_has_a_stay(mimic: duckdb.DuckDBPyConnection, table: str, column: str) -> None:
    rows = mimic.execute(f"SELECT {column} FROM mimiciv_derived.{table}").fetchall()
    values = [None if row[0] is None else float(row[0]) for row in rows]
    assert not empty_bands(BANDS[table, column], values)
    assert None in values


def empty_bands(
    wanted: tuple[tuple[float, float], ...], values: list[float | None]
) -> list[tuple[float, float]]:
    numbers = [value for value in values if value is not None]
    return [(low, high) for low, high in wanted if not any(low <= v < high for v in numbers)]


def test_an_empty_band_is_seen() -> None:
    assert empty_bands(bands(1, 2), [0.5, 2, None]) == [(1, 2)]


def test_acid_and_carbon_dioxide_fill_the_scored_cells(mimic: duckdb.DuckDBPyConnection) -> None:
    cells = mimic.execute(
        """
        SELECT DISTINCT
            len(list_filter([7.2, 7.3, 7.35, 7.45, 7.5, 7.6], lambda x: ph >= x)),
            len(list_filter([25, 30, 35, 40, 45, 50], lambda x: pco2 >= x))
        FROM mimiciv_derived.bg WHERE specimen = 'ART.' AND ph IS NOT NULL AND pco2 IS NOT NULL
        """
    ).fetchall()
    assert len(cells) >= 44


def test_stages_of_kidney_injury_by_each_criterion(mimic: duckdb.DuckDBPyConnection) -> None:
    for column, levels in (
        ("aki_stage_creat", {0, 1, 2, 3, None}),
        ("aki_stage_uo", {0, 1, 2, 3, None}),
        ("aki_stage_crrt", {3, None}),
        ("aki_stage_smoothed", {0, 1, 2, 3}),
    ):
        rows = mimic.execute(f"SELECT DISTINCT {column} FROM mimiciv_derived.kdigo_stages")
        assert {row[0] for row in rows.fetchall()} >= levels, column


def test_kinds_of_dialysis(mimic: duckdb.DuckDBPyConnection) -> None:
    rows = mimic.execute(
        "SELECT DISTINCT dialysis_present, dialysis_active FROM mimiciv_derived.first_day_rrt"
    ).fetchall()
    assert {(1, 1), (1, 0), (None, None)} <= set(rows)


def test_both_kinds_are_covered() -> None:
    assert {kind_of(target) for target in list_targets().values()} == set(KINDS)
