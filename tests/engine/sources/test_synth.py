"""The synthetic sources: shape, determinism, and that they look like intensive care."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from engine.base.errors import Cancelled, UsageError
from engine.base.jobs import SimpleJob
from engine.sources.schema import KINDS, Kind, facts
from engine.sources.synth import make
from engine.sources.synth.tables import layout


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


def test_cancel_stops(tmp_path: Path) -> None:
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        make("eicu", 10, 1, tmp_path, job)


def test_names_of_files_are_physionets() -> None:
    assert set(layout("mimic-iv")) == {"hosp", "icu"}
    assert "nurseCharting" in layout("eicu")[""]
    assert duckdb.__version__
