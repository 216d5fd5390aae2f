"""Both open demos import completely, with the types of the schema facts."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.sources import NULL_STRINGS, SourceInfo, add_source, facts, open_source


class Imported:
    """A demo, imported once for all tests here."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.folder = folder
        self.events: list[tuple[str, float, float]] = []
        job = SimpleJob(on_progress=lambda *event: self.events.append(event[:3]))
        self.info: SourceInfo = add_source(home, "demo", folder, job=job)
        self.con = open_source(self.info)

    def one(self, sql: str) -> object:
        row = self.con.execute(sql).fetchone()
        assert row is not None
        return row[0] if len(row) == 1 else row


@pytest.fixture(scope="module")
def mimic(mimic_demo, tmp_path_factory) -> Iterator[Imported]:
    demo = Imported(open_home(tmp_path_factory.mktemp("mimic")), mimic_demo)
    yield demo
    demo.con.close()


@pytest.fixture(scope="module")
def eicu(eicu_demo, tmp_path_factory) -> Iterator[Imported]:
    demo = Imported(open_home(tmp_path_factory.mktemp("eicu")), eicu_demo)
    yield demo
    demo.con.close()


def _records(path: Path) -> int:
    """Rows by Python's own reader."""
    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        return sum(1 for _ in csv.reader(file)) - 1


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("which", ["mimic", "eicu"])
def test_every_table_with_every_row(which, request) -> None:
    demo: Imported = request.getfixturevalue(which)
    there = {table.name: table.rows for table in demo.info.tables}
    assert demo.info.missing == ()
    assert demo.info.state == "ready"
    assert demo.info.access == "open"
    found = 0
    for path in sorted(demo.folder.rglob("*.csv.gz")):
        table = facts(demo.info.kind).tables[path.name[: -len(".csv.gz")].lower()]
        rows = _records(path)
        assert there[table.full_name] == rows, path.name
        assert demo.one(f"SELECT count(*) FROM {table.full_name}") == rows
        found += 1
    assert found == len(there) == 31


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("which", ["mimic", "eicu"])
def test_declared_types(which, request) -> None:
    demo: Imported = request.getfixturevalue(which)
    for table in facts(demo.info.kind).tables.values():
        rows = demo.con.execute(f"DESCRIBE {table.full_name}").fetchall()
        described = {row[0]: row[1] for row in rows}
        assert [*described][: len(table.columns)] == [*table.columns]
        for column, kind in table.columns.items():
            assert described[column] == kind, f"{table.full_name}.{column}"
        assert not {"FLOAT", "INTEGER"} & set(described.values())


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("which", ["mimic", "eicu"])
def test_null_strings_are_gone_and_no_other_text_is(which, request) -> None:
    """Column by column against Python's reader, on every file below a megabyte."""
    demo: Imported = request.getfixturevalue(which)
    compared = 0
    for path in sorted(demo.folder.rglob("*.csv.gz")):
        if path.stat().st_size > 120_000:
            continue
        table = facts(demo.info.kind).tables[path.name[: -len(".csv.gz")].lower()]
        with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        for position, name in enumerate(header):
            column = name.lower()
            texts = [row[position] for row in rows if row[position] not in NULL_STRINGS]
            count = demo.one(f'SELECT count("{column}") FROM {table.full_name}')
            assert count == len(texts), f"{table.full_name}.{column}"
            if table.columns.get(column) == "VARCHAR":
                sql = f'SELECT "{column}" FROM {table.full_name} WHERE "{column}" IS NOT NULL'
                assert [row[0] for row in demo.con.execute(sql).fetchall()] == texts
            elif table.columns.get(column) in {"BIGINT", "DOUBLE"}:
                sql = f'SELECT "{column}" FROM {table.full_name} WHERE "{column}" IS NOT NULL'
                values = [row[0] for row in demo.con.execute(sql).fetchall()]
                assert values == [float(text) for text in texts]
            compared += 1
    assert compared > 50


@pytest.mark.slow
@pytest.mark.shared_data
def test_what_the_facts_say_about_the_mimic_demo(mimic) -> None:
    assert mimic.info.kind == "mimic-iv"
    assert mimic.info.stays == 140
    # Whole numbers only in this extract, and still not whole-number columns.
    assert mimic.one("SELECT typeof(value) FROM mimiciv_icu.outputevents LIMIT 1") == "DOUBLE"
    # The file's header has this name in upper case.
    assert mimic.one("SELECT count(originalamount) FROM mimiciv_icu.procedureevents")
    # Codes are texts: leading zeros stay.
    sql = "SELECT count(*) FROM mimiciv_hosp.diagnoses_icd WHERE icd_code LIKE '0%'"
    assert mimic.one(sql)
    # A diagnosis table that nobody reads has detected types.
    assert (
        mimic.one("SELECT typeof(icd_code) FROM mimiciv_hosp.d_icd_diagnoses LIMIT 1") == "VARCHAR"
    )
    assert mimic.one("SELECT typeof(itemid) FROM mimiciv_hosp.d_labitems LIMIT 1") == "BIGINT"
    assert mimic.one("SELECT typeof(charttime) FROM mimiciv_hosp.emar LIMIT 1") == "TIMESTAMP"


@pytest.mark.slow
@pytest.mark.shared_data
def test_what_the_facts_say_about_the_eicu_demo(eicu) -> None:
    assert eicu.info.kind == "eicu"
    assert eicu.info.stays == 2520
    assert eicu.one("SELECT count(*) FROM eicu_crd.patient WHERE age = '> 89'")
    assert eicu.one("SELECT typeof(hospitaladmittime24) FROM eicu_crd.patient LIMIT 1") == "VARCHAR"
    assert eicu.one("SELECT typeof(labresult) FROM eicu_crd.lab LIMIT 1") == "DOUBLE"


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("which", ["mimic", "eicu"])
def test_only_the_data_and_the_journal_are_in_the_file(which, request) -> None:
    demo: Imported = request.getfixturevalue(which)
    sql = "SELECT DISTINCT schema_name FROM duckdb_tables()"
    schemas = {row[0] for row in demo.con.execute(sql).fetchall()}
    assert schemas == {*facts(demo.info.kind).schemas, "m4_meta"}


@pytest.mark.slow
@pytest.mark.shared_data
def test_progress_grows_to_the_end(mimic) -> None:
    overall = [done / total for stage, done, total in mimic.events if stage == "import"]
    assert overall == sorted(overall)
    assert overall[-1] == 1.0
    stages = {stage for stage, _, _ in mimic.events}
    assert stages == {"import", *(f"import:{name}" for name in facts("mimic-iv").tables)}
