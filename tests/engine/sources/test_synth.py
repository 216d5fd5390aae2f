"""The synthetic sources: shape, determinism, and that they look like intensive care."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from engine.base.errors import Cancelled, StorageFull, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.sources import open_source
from engine.sources.schema import KINDS, Kind, facts
from engine.sources.synth import make
from engine.sources.synth.cohort import CHUNK
from engine.sources.synth.tables import layout
from engine.sources.synthetic import synthesize_source


def made(folder: Path, kind: Kind, stays: int, seed: int = 3) -> Path:
    make(kind, stays, seed, folder, SimpleJob())
    return folder


@pytest.fixture(scope="module", params=KINDS)
def small(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Kind, Path]:
    kind: Kind = request.param
    return kind, made(tmp_path_factory.mktemp(kind), kind, 60)


def test_every_table_of_the_source_has_its_declared_columns_and_types(
    small: tuple[Kind, Path],
) -> None:
    kind, folder = small
    arrow = {
        "BIGINT": "int64",
        "DOUBLE": "double",
        "VARCHAR": "string",
        "DATE": "date32[day]",
        "TIMESTAMP": "timestamp[us]",
    }
    found = {path.stem.lower(): pq.read_schema(path) for path in folder.rglob("*.parquet")}
    assert set(found) == set(facts(kind).tables)
    for name, table in facts(kind).tables.items():
        if table.columns:
            schema = [(field.name, str(field.type)) for field in found[name]]
            assert schema == [(c, arrow[t]) for c, t in table.columns.items()], name


def test_same_seed_same_bytes_other_seed_other_data(
    small: tuple[Kind, Path], tmp_path: Path
) -> None:
    kind, folder = small
    again, other = made(tmp_path / "a", kind, 60), made(tmp_path / "b", kind, 60, seed=4)
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*.parquet"))]
    assert names
    for name in names:
        assert pq.read_table(folder / name).equals(pq.read_table(again / name)), name
    big = "icu/chartevents.parquet" if kind == "mimic-iv" else "nurseCharting.parquet"
    assert not pq.read_table(folder / big).equals(pq.read_table(other / big))


@pytest.mark.parametrize(("stays", "seed"), [(0, 1), (100_001, 1), (5, -1), (5, 1 << 64)])
def test_out_of_bounds_is_said_in_words(stays: int, seed: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        make("mimic-iv", stays, seed, tmp_path, SimpleJob())


class Impatient(SimpleJob):
    """Cancels itself at the given check."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    def check(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.cancel()
        super().check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [1, 4])
def test_cancel_stops_between_the_areas_of_a_chunk(kind: Kind, at: int, tmp_path: Path) -> None:
    job = Impatient(at)
    with pytest.raises(Cancelled):
        make(kind, 10, 1, tmp_path, job)
    assert job.left == 0


def test_progress_counts_stays(tmp_path: Path) -> None:
    told: list[tuple[str, float, float]] = []
    job = SimpleJob(on_progress=lambda stage, done, total, text: told.append((stage, done, total)))
    make("eicu", 10, 1, tmp_path, job)
    assert told == [("synth:eicu", 0, 10), ("synth:eicu", 10, 10)]


def test_a_full_disk_is_said_in_words(small_disk: Path) -> None:
    with pytest.raises(StorageFull):
        make("mimic-iv", 60, 1, small_disk / "s", SimpleJob())


@pytest.mark.parametrize("stays", [1, 2, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_tiny_sources_have_exactly_the_stays_asked_for(
    kind: Kind, stays: int, tmp_path: Path
) -> None:
    made(tmp_path, kind, stays)
    table = "icu/icustays" if kind == "mimic-iv" else "patient"
    assert pq.read_metadata(tmp_path / f"{table}.parquet").num_rows == stays


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_do_not_repeat_across_chunks(kind: Kind, tmp_path: Path) -> None:
    stays = CHUNK + 40
    folder = made(tmp_path / "s", kind, stays)
    unique = {
        "mimic-iv": {
            "hosp/patients": "subject_id",
            "hosp/admissions": "hadm_id",
            "hosp/labevents": "labevent_id",
            "hosp/microbiologyevents": "microevent_id",
            "hosp/prescriptions": "pharmacy_id",
            "icu/icustays": "stay_id",
            "icu/inputevents": "orderid",
            "icu/procedureevents": "orderid",
        },
        "eicu": {
            "patient": "patientunitstayid",
            "nurseCharting": "nursingchartid",
            "intakeOutput": "intakeoutputid",
            "physicalExam": "physicalexamid",
            "respiratoryCare": "respcareid",
            "apachePredVar": "patientunitstayid",
        },
    }[kind]
    for table, column in unique.items():
        rel = duckdb.sql(f"FROM '{folder}/{table}.parquet'")
        rows = rel.aggregate(f"count(*), count(DISTINCT {column})").fetchall()
        assert rows[0][0] == rows[0][1], table
    if kind == "mimic-iv":
        shared = "SELECT count(*) FROM (SELECT specimen_id FROM '{}' GROUP BY ALL HAVING {})"
        labs = folder / "hosp/labevents.parquet"
        many = duckdb.sql(shared.format(labs, "count(DISTINCT subject_id) > 1"))
        assert many.fetchall() == [(0,)]


def test_names_of_files_are_physionets() -> None:
    assert set(layout("mimic-iv")) == {"hosp", "icu"}
    assert {"nurseCharting", "apacheApsVar", "intakeOutput"} <= set(layout("eicu")[""])


@pytest.mark.parametrize("kind", KINDS)
def test_a_synthetic_source_imports(kind: Kind, home_dir: Path) -> None:
    home = open_home(home_dir)
    info = synthesize_source(home, "made", kind=kind, stays=30, seed=9)
    assert info.access == "synthetic"
    again = made(home_dir / "again", kind, 30, seed=9)
    with open_source(info) as con:
        for path in again.rglob("*.parquet"):
            schema = next(
                t.schema for t in facts(kind).tables.values() if t.name == path.stem.lower()
            )
            rows = con.execute(f"SELECT count(*) FROM {schema}.{path.stem.lower()}").fetchall()
            assert rows == [(pq.read_metadata(path).num_rows,)], path.stem
