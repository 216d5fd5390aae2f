"""The figures of a column: every one counts just the rows that its condition selects."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from diff_factory import make_diff

from engine.base.errors import Cancelled
from engine.base.jobs import SimpleJob
from engine.diagnosis.columns import Bar, ColumnStudy, MatrixCell, study_column
from engine.diagnosis.columns.bins import signed
from engine.diagnosis.columns.tolerance import tolerance_curve
from engine.scoring.whatif import Compared


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("columns")
    made = make_diff(folder / "diff.duckdb", 3_000)
    wide = folder / "wide.duckdb"
    with duckdb.connect(str(wide)) as con:
        con.execute(f"ATTACH '{made.path}' AS d (READ_ONLY)")
        for table in ("diff_columns", "diff_counts"):
            con.execute(f"CREATE TABLE {table} AS FROM d.{table}")
        # hundreds of differences, some immense, and two levels of each text
        con.execute(
            "CREATE TABLE diff AS SELECT * REPLACE (CASE WHEN s0 = 2 AND row % 7 = 0 THEN 'inf' "
            "WHEN s0 = 2 THEN r0 + row / 3.7 ELSE a0 END AS a0, "
            "CASE WHEN s2 = 2 THEN r2 + to_seconds(row * 40) ELSE a2 END AS a2, "
            "CASE WHEN row % 5 = 0 THEN 'kind ' || row % 30 ELSE r3 END AS r3) FROM d.diff"
        )
    return duckdb.connect(str(wide), read_only=True)


def column_of(con: duckdb.DuckDBPyConnection, at: int) -> Compared:
    types = {row[0]: row[1] for row in con.execute("DESCRIBE diff").fetchall()}
    kind = con.execute(
        "SELECT compared_as FROM diff_columns WHERE role = 'scored' AND position = ?", [at]
    ).fetchone()
    assert kind is not None
    return Compared(at, kind[0], types[f"r{at}"], types[f"a{at}"])


@pytest.fixture(scope="module")
def studies(con: duckdb.DuckDBPyConnection) -> list[ColumnStudy]:
    return [
        study_column(con, column_of(con, at), tolerance=0.5 if at == 0 else 0, job=SimpleJob())
        for at in range(4)
    ]


def figures(study: ColumnStudy) -> list[Bar | MatrixCell]:
    found: list[Bar | MatrixCell] = [*study.statuses, *study.nulls]
    if study.histogram is not None:
        found += [*study.histogram.bars, study.histogram.equal]
    if study.confusion is not None:
        found += study.confusion.cells
    if study.scatter is not None:
        found += study.scatter.cells
    return found


def test_each_figure_counts_the_rows_it_leads_to(
    con: duckdb.DuckDBPyConnection, studies: list[ColumnStudy]
) -> None:
    for study in studies:
        for figure in figures(study):
            row = con.execute(f"SELECT count(*) FROM diff WHERE {figure.condition}").fetchone()
            assert row == (figure.count,), figure


def test_nothing_is_lost_between_the_bars(
    con: duckdb.DuckDBPyConnection, studies: list[ColumnStudy]
) -> None:
    for study in studies:
        i = study.position
        differing = con.execute(f"SELECT count(*) FROM diff WHERE s{i} IN (1, 2)").fetchone()
        if study.histogram is not None:
            assert differing == (sum(bar.count for bar in study.histogram.bars),)
        assert sum(bar.count for bar in study.statuses) == 3_000
        assert sum(bar.count for bar in study.nulls) == 3_000
        if study.confusion is not None:
            assert sum(cell.count for cell in study.confusion.cells) == 3_000
        if study.scatter is not None:
            both = con.execute(f"SELECT count(*) FROM diff WHERE s{i} IN (0, 1, 2)").fetchone()
            drawn = sum(cell.count for cell in study.scatter.cells)
            assert both == (drawn + study.scatter.left_out,)


def test_kinds_of_columns_have_the_figures_that_suit_them(studies: list[ColumnStudy]) -> None:
    number, levels, time, text = studies
    assert number.scatter is not None
    assert number.scatter.left_out > 0
    assert number.histogram is not None
    assert not number.histogram.discrete
    assert number.histogram.bars[-1].words == "infinite or immense"
    assert levels.histogram is not None
    assert levels.histogram.discrete
    assert time.histogram is not None
    assert time.confusion is None
    assert time.scatter is None
    assert text.confusion is not None
    assert not text.curve
    assert text.histogram is None
    assert "“” empty text" in text.confusion.levels


def test_a_score_with_values_between_its_levels_keeps_its_matrix(
    tmp_path: Path,
) -> None:
    """The mean of two scores where the reference has the worse one."""
    with duckdb.connect(str(tmp_path / "means.duckdb")) as own:
        own.execute(
            "CREATE TABLE diff AS SELECT 0::UTINYINT AS key_status, (i % 5)::BIGINT AS r0, "
            "CASE WHEN i % 5 = 4 AND i < 60 THEN 3.5 WHEN i = 7 THEN 9 ELSE i % 5 END::DOUBLE "
            "AS a0 FROM range(100) t(i)"
        )
        own.execute("ALTER TABLE diff ADD COLUMN s0 UTINYINT")
        own.execute("UPDATE diff SET s0 = CASE WHEN r0 = a0 THEN 0 ELSE 2 END")
        column = Compared(0, "number", "BIGINT", "DOUBLE")
        study = study_column(own, column, tolerance=0, job=SimpleJob())
    assert study.confusion is not None
    assert study.confusion.levels[:6] == ("0", "1", "2", "3", "4", "9")
    assert study.confusion.others == 1
    means = {(c.reference, c.agent): c.count for c in study.confusion.cells}
    assert means[4, 6] == 12
    assert sum(means.values()) == 100
    assert study.scatter is not None


def test_of_another_unit_each_axis_has_its_scale_and_the_ratio_is_told(tmp_path: Path) -> None:
    """Creatinine in µmol/L, and a few values that are right."""
    with duckdb.connect(str(tmp_path / "unit.duckdb")) as own:
        own.execute(
            "CREATE TABLE diff AS SELECT 0::UTINYINT AS key_status, 0.5 + i / 20 AS r0, "
            "(0.5 + i / 20) * CASE WHEN i % 9 = 0 THEN 1 ELSE 88.4 END AS a0, "
            "CASE WHEN i % 9 = 0 THEN 0 ELSE 2 END::UTINYINT AS s0 FROM range(200) t(i)"
        )
        column = Compared(0, "number", "DOUBLE", "DOUBLE")
        study = study_column(own, column, tolerance=0, job=SimpleJob())
        own.execute("UPDATE diff SET a0 = r0 + 3 * sin(r0 * 100), s0 = 2")
        plain = study_column(own, column, tolerance=0, job=SimpleJob())
    found = study.scatter
    assert found is not None
    assert found.agent.step > 50 * found.reference.step
    assert max(cell.reference for cell in found.cells) > found.bins / 3
    assert found.ratio is not None
    assert round(found.ratio.median, 4) == 88.4
    assert plain.scatter is not None
    assert plain.scatter.reference == plain.scatter.agent
    assert plain.scatter.ratio is None


def test_tolerances_that_only_floats_tell_apart_are_one(tmp_path: Path) -> None:
    made = make_diff(tmp_path / "diff.duckdb", 300)
    with duckdb.connect(str(tmp_path / "noisy.duckdb")) as con:
        con.execute(f"ATTACH '{made.path}' AS d (READ_ONLY)")
        for table in ("diff_columns", "diff_counts"):
            con.execute(f"CREATE TABLE {table} AS FROM d.{table}")
        con.execute(
            "CREATE TABLE diff AS SELECT * REPLACE (row / 7.0 AS r0, "
            "row / 7.0 + CASE s0 WHEN 1 THEN 0.3 ELSE 0.8 END AS a0) FROM d.diff"
        )
        column = column_of(con, 0)
        curve = tolerance_curve(con, column, own=0.5, reference_rows=300, job=SimpleJob())
        distances = con.execute(
            f"SELECT count(DISTINCT {column.distance}) FROM diff WHERE s0 IN (1, 2)"
        ).fetchone()
    assert distances is not None
    assert distances[0] > 4
    assert [round(point.tolerance, 9) for point in curve] == [0, 0.3, 0.5, 0.8]
    assert curve[1].matches == curve[2].matches > curve[0].matches


def test_the_match_rate_is_the_scorers(
    con: duckdb.DuckDBPyConnection, studies: list[ColumnStudy]
) -> None:
    for study in studies:
        row = con.execute(
            f"SELECT count(*) FILTER (s{study.position} IN (0, 1, 5)), "
            "count(*) FILTER (key_status < 2) FROM diff"
        ).fetchone()
        assert row == (study.matches, study.reference_rows)


def test_differences_are_told_with_sign_and_unit() -> None:
    time = Compared(0, "time", "TIMESTAMP", "TIMESTAMP")
    assert signed(-90_061, time) == "−1 d 1 h 1 min 1 s"
    assert signed(0.5, Compared(0, "number", "DOUBLE", "DOUBLE")) == "+0.5"
    assert signed(-2, Compared(0, "number", "DOUBLE", "DOUBLE")) == "−2"


def test_a_cancelled_study_ends(con: duckdb.DuckDBPyConnection) -> None:
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        study_column(con, column_of(con, 0), tolerance=0, job=job)
