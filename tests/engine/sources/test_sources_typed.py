"""Parquet files and DuckDB databases as input."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests_sources_helpers import refused

from engine.base.errors import Busy
from engine.sources import add_source

CHART = "icu/chartevents.csv"


def _to_parquet(folder, name: str, select: str = "*", target: str | None = None) -> Path:
    """Replace a CSV by a Parquet file made of `select`."""
    source = folder.root / name
    path = folder.root / (target or name.replace(".csv", ".parquet"))
    path.parent.mkdir(parents=True, exist_ok=True)
    con = duckdb.connect()
    con.execute(f"COPY (SELECT {select} FROM read_csv('{source}')) TO '{path}' (FORMAT parquet)")
    con.close()
    source.unlink()
    return path


def test_parquet_gives_the_same_source_as_csv(mini, home) -> None:
    as_csv = mini.add("as-csv")
    for name in (CHART, "icu/icustays.csv", "hosp/patients.csv"):
        _to_parquet(mini, name)
    mini.gzip("hosp/d_labitems.csv")
    as_parquet = mini.add("as-parquet")
    assert as_parquet.digest == as_csv.digest
    assert as_parquet.tables == as_csv.tables


def test_narrow_types_are_widened(mini, rows_of) -> None:
    _to_parquet(
        mini,
        CHART,
        "* REPLACE (stay_id::DOUBLE AS stay_id, itemid::SMALLINT::INTEGER AS itemid, "
        "valuenum::DECIMAL(8,2) AS valuenum, charttime::TIMESTAMP_NS AS charttime, "
        "storetime::TIMESTAMPTZ AS storetime)".replace("itemid::SMALLINT::", "itemid::"),
    )
    mini.add()
    types = dict(row[:2] for row in rows_of("DESCRIBE mimiciv_icu.chartevents"))
    assert types["stay_id"] == types["itemid"] == "BIGINT"
    assert types["valuenum"] == "DOUBLE"
    assert types["charttime"] == types["storetime"] == "TIMESTAMP"
    rows = rows_of("SELECT stay_id, charttime::VARCHAR FROM mimiciv_icu.chartevents LIMIT 1")
    assert rows == [(30, "2150-01-01 11:00:00")]


def test_texts_of_parquet_obey_the_null_strings(mini, rows_of) -> None:
    _to_parquet(mini, CHART, "* REPLACE ('N/A' AS value, '' AS valueuom, '7.5' AS valuenum)")
    mini.add()
    sql = "SELECT DISTINCT value, valueuom, valuenum FROM mimiciv_icu.chartevents"
    assert rows_of(sql) == [(None, None, 7.5)]


def test_a_column_without_any_value_may_have_any_type(mini, rows_of) -> None:
    _to_parquet(mini, CHART, "* REPLACE (NULL::INTEGER AS storetime)")
    mini.add()
    types = dict(row[:2] for row in rows_of("DESCRIBE mimiciv_icu.chartevents"))
    assert types["storetime"] == "TIMESTAMP"


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ("1.5 AS stay_id", "stay_id"),
        ("'x7' AS itemid", "itemid"),
        ("'NaN'::DOUBLE AS valuenum", "valuenum"),
        ("12 AS charttime", "charttime"),
        ("[1, 2] AS value", "value"),
        ("TIMESTAMP 'infinity' AS charttime", "charttime"),
    ],
)
def test_parquet_that_does_not_fit(mini, change, column) -> None:
    _to_parquet(mini, CHART, f"* REPLACE ({change})")
    error = refused(mini)
    assert error.place.column == column
    assert error.place.file.endswith("chartevents.parquet")
    assert "x7" not in str(error)


def test_parquet_row_is_named(mini) -> None:
    _to_parquet(mini, CHART, "* REPLACE (CASE WHEN itemid = 223900 THEN 2.5 ELSE 2 END AS hadm_id)")
    error = refused(mini)
    assert "Row 3" in error.text
    assert error.place.column == "hadm_id"


def test_parquet_without_a_needed_column(mini) -> None:
    _to_parquet(mini, CHART, "* EXCLUDE (itemid)")
    assert refused(mini).place.column == "itemid"


def test_32_bit_numbers_are_mentioned(mini) -> None:
    _to_parquet(mini, CHART, "* REPLACE (valuenum::FLOAT AS valuenum)")
    mini.add()
    assert any("valuenum" in text and "32-bit" in text for text in mini.messages)


@pytest.mark.parametrize("bad", [b"", b"PAR1", b"no parquet at all" * 100])
def test_damaged_parquet(mini, bad) -> None:
    (mini.root / CHART).unlink()
    mini.write("icu/chartevents.parquet", bad)
    assert refused(mini).place.file.endswith("chartevents.parquet")


def test_truncated_parquet(mini) -> None:
    path = _to_parquet(mini, CHART)
    path.write_bytes(path.read_bytes()[:-100])
    assert refused(mini).place.file.endswith("chartevents.parquet")


def test_parquet_with_changed_bytes(mini) -> None:
    text = mini.text(CHART)
    header, *lines = text.splitlines(keepends=True)
    mini.write(CHART, header + "".join(lines) * 3000)
    path = _to_parquet(mini, CHART)
    data = bytearray(path.read_bytes())
    for position in range(40, len(data) - 3000, 50):
        data[position] ^= 0xFF
    path.write_bytes(bytes(data))
    assert refused(mini).place.file.endswith("chartevents.parquet")


@pytest.mark.parametrize(
    "places",
    [
        ("icu/chartevents/a.parquet", "icu/chartevents/b.parquet"),
        ("icu/chartevents/part=1/data.parquet", "icu/chartevents/part=2/data.parquet"),
        ("chartevents.parquet/0.parquet", "chartevents.parquet/1.parquet"),
    ],
)
def test_partitioned_parquet(mini, rows_of, places) -> None:
    text = mini.text(CHART)
    for place in places:
        mini.write(CHART, text)
        _to_parquet(mini, CHART, target=place)
    mini.add()
    assert rows_of("SELECT count(*) FROM mimiciv_icu.chartevents") == [(6,)]
    names = [row[0] for row in rows_of("DESCRIBE mimiciv_icu.chartevents")]
    assert names[-1] == "warning"


def test_flat_folder(mini, rows_of) -> None:
    for path in list(mini.root.rglob("*.csv")):
        shutil.move(path, mini.root / path.name)
    assert len(mini.add().tables) == 4


def _database(path: Path, *, view: bool = False) -> None:
    con = duckdb.connect(str(path))
    con.execute("CREATE SCHEMA mimiciv_hosp; CREATE SCHEMA mimiciv_icu")
    con.execute(
        "CREATE TABLE mimiciv_icu.icustays AS SELECT 10::INTEGER AS subject_id, 20 AS hadm_id, "
        "i::INTEGER AS stay_id, 'MICU' AS first_careunit, '___' AS last_careunit, "
        "TIMESTAMP '2150-01-01' AS intime, TIMESTAMP '2150-01-02' AS outtime, 1.5::FLOAT AS los "
        "FROM range(50) t(i)"
    )
    con.execute(
        "CREATE TABLE mimiciv_hosp.d_labitems AS SELECT 1::INTEGER AS itemid, 'NA' AS label"
    )
    con.execute("CREATE TABLE mimiciv_icu.notes AS SELECT 'x' AS text")
    con.execute("CREATE SCHEMA mimiciv_derived; CREATE TABLE mimiciv_derived.age AS SELECT 1 AS a")
    if view:
        con.execute(
            "CREATE VIEW mimiciv_hosp.services AS SELECT 10 AS subject_id, 20 AS hadm_id, "
            "TIMESTAMP '2150-01-01' AS transfertime, NULL AS prev_service, 'MED' AS curr_service"
        )
    con.close()


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_duckdb_file(tmp_path, home, rows_of) -> None:
    path = tmp_path / "mine.db"
    _database(path, view=True)
    before = _hash(path), sorted(tmp_path.iterdir())
    info = add_source(home, "mini", path)
    assert (_hash(path), sorted(tmp_path.iterdir())) == (before[0], before[1])
    assert {t.name: t.rows for t in info.tables} == {
        "mimiciv_hosp.d_labitems": 1,
        "mimiciv_hosp.services": 1,
        "mimiciv_icu.icustays": 50,
    }
    types = dict(row[:2] for row in rows_of("DESCRIBE mimiciv_icu.icustays"))
    assert (types["stay_id"], types["los"]) == ("BIGINT", "DOUBLE")
    assert rows_of("SELECT DISTINCT last_careunit FROM mimiciv_icu.icustays") == [(None,)]
    assert rows_of("SELECT * FROM mimiciv_hosp.d_labitems") == [(1, None)]
    sql = "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'mimiciv_derived'"
    assert rows_of(sql) == [(0,)]


def test_duckdb_file_that_is_damaged(tmp_path, home) -> None:
    path = tmp_path / "mine.db"
    _database(path)
    data = bytearray(path.read_bytes())
    data[20:4096] = b"\x07" * (4096 - 20)
    path.write_bytes(bytes(data))
    mini = type("F", (), {"add": lambda self: add_source(home, "mini", path)})()
    assert refused(mini).place.file == str(path)


def test_duckdb_file_in_use(tmp_path, home) -> None:
    path = tmp_path / "mine.db"
    _database(path)
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(Busy):
            add_source(home, "mini", path)
        other.communicate(b"\n")
    assert add_source(home, "mini", path).state == "ready"


def test_duckdb_file_with_a_bad_cell(tmp_path, home) -> None:
    path = tmp_path / "mine.db"
    _database(path)
    con = duckdb.connect(str(path))
    con.execute("ALTER TABLE mimiciv_icu.icustays ALTER stay_id TYPE VARCHAR")
    con.execute("UPDATE mimiciv_icu.icustays SET stay_id = 'x7' WHERE stay_id = '40'")
    con.close()
    mini = type("F", (), {"add": lambda self: add_source(home, "mini", path)})()
    error = refused(mini)
    assert error.place.column == "stay_id"
    assert "Row 41 of mimiciv_icu.icustays" in error.text
    assert "x7" not in str(error)


def test_duckdb_file_without_known_schemas(tmp_path, home) -> None:
    path = tmp_path / "mine.db"
    con = duckdb.connect(str(path))
    con.execute("CREATE TABLE icustays AS SELECT 1 AS a")
    con.close()
    mini = type("F", (), {"add": lambda self: add_source(home, "mini", path)})()
    assert "mimiciv_icu" in (refused(mini).todo or "")


def test_view_whose_files_are_gone(tmp_path, home) -> None:
    path = tmp_path / "mine.db"
    _database(path)
    con = duckdb.connect(str(path))
    parquet = tmp_path / "s.parquet"
    con.execute(f"COPY (SELECT 1 AS hadm_id) TO '{parquet}' (FORMAT parquet)")
    con.execute(f"CREATE VIEW mimiciv_hosp.services AS SELECT * FROM '{parquet}'")
    con.close()
    parquet.unlink()
    mini = type("F", (), {"add": lambda self: add_source(home, "mini", path)})()
    assert "mimiciv_hosp.services" in refused(mini).text
