"""Rows written out of a diff: null, zero, empty text and no such cell stay apart."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
from diff_factory import make_diff

from engine.base.errors import Cancelled, UsageError
from engine.base.jobs import SimpleJob
from engine.scoring.exporting import write_rows


@pytest.fixture(scope="module")
def diff(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_diff(tmp_path_factory.mktemp("exporting") / "diff.duckdb", 600).path


def test_csv_tells_null_empty_zero_and_absent_apart(diff: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    names = ["score__reference", "score__agent", "score__status", "status__reference",
             "status__agent", "status__status"]  # fmt: skip
    with duckdb.connect(str(diff), read_only=True) as con:
        # 4: null in the reference; 13: empty texts; 5: missing; 7: extra; 25: the score is 0
        rows = np.array([71, 13, 5, 7, 25], dtype=np.int32)
        assert write_rows(con, out, rows=rows, names=names, job=SimpleJob()) == 5
    lines = out.read_text().splitlines()
    assert lines[0].replace('"', "") == ",".join(names)
    assert lines[1].split(",")[3:] == ["", '"InvasiveVent"', '"reference null"']
    assert lines[2].split(",")[3:5] == ['""', '""']
    assert lines[3].split(",")[1:3] == ["", '"no agent value"']
    assert lines[4].split(",")[0:3:2] == ["", '"no reference value"']
    assert lines[5].split(",")[:3] == ["0", "0", '"equal"']


def test_parquet_holds_every_row_in_the_order_asked(diff: Path, tmp_path: Path) -> None:
    whole, some = tmp_path / "all.parquet", tmp_path / "some.PARQUET"
    with duckdb.connect(str(diff), read_only=True) as con:
        assert write_rows(con, whole, job=SimpleJob()) == 600
        order = np.array([9, 3, 500], dtype=np.int32)
        write_rows(con, some, rows=order, names=["row", "stay_id"], job=SimpleJob())
    assert pa_parquet.read_table(whole)["row"].to_pylist() == list(range(600))
    assert pa_parquet.read_table(some)["row"].to_pylist() == [9, 3, 500]


@pytest.mark.parametrize(("name", "columns"), [("rows.xlsx", None), ("rows.csv", ["nothing"])])
def test_what_cannot_be_written_is_told(
    diff: Path, tmp_path: Path, name: str, columns: list[str] | None
) -> None:
    with duckdb.connect(str(diff), read_only=True) as con, pytest.raises(UsageError):
        write_rows(con, tmp_path / name, names=columns, job=SimpleJob())
    assert not list(tmp_path.iterdir())


def test_a_cancelled_export_leaves_no_file(diff: Path, tmp_path: Path) -> None:
    job = SimpleJob()
    job.cancel()
    with duckdb.connect(str(diff), read_only=True) as con, pytest.raises(Cancelled):
        write_rows(con, tmp_path / "rows.csv", job=job)
    assert not list(tmp_path.iterdir())
