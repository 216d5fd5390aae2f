"""Synthetic sources for tests, made once per session (by one worker of a parallel run).

A test module takes the fixture `synth_base` in by importing it; what it reads is shared, and left
as it is.
"""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

import duckdb
import pytest
from filelock import FileLock
from synth_levels import MIMIC_NEEDED

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.concepts import build_concepts
from engine.references import build_references
from engine.references.targets import kind_of, list_targets
from engine.sources.schema import Kind
from engine.sources.synth import make
from engine.sources.synthetic import synthesize_source

SEED = 5
_base: list[Path] = []


@pytest.fixture(scope="session", autouse=True)
def synth_base(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Says where this session keeps its sources."""
    base = tmp_path_factory.getbasetemp()
    _base.append(base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base)


@functools.cache
def folder(kind: Kind, stays: int) -> Path:
    """A generated folder."""
    path = _base[0] / f"synth-{kind}-{stays}"
    with FileLock(f"{path}.lock"):
        if not (path / "ready").exists():
            shutil.rmtree(path, ignore_errors=True)
            make(kind, stays, SEED, path, SimpleJob())
            (path / "ready").touch()
    return path


@functools.cache
def tables(kind: Kind, stays: int) -> duckdb.DuckDBPyConnection:
    """The generated tables as views by file name; in memory."""
    con = duckdb.connect()
    for path in sorted(folder(kind, stays).rglob("*.parquet")):
        con.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")
    return con


@functools.cache
def home(kind: Kind, stays: int) -> Home:
    """A home with the source ``s`` and every reference of its kind."""
    root = _base[0] / f"synth-home-{kind}-{stays}"
    with FileLock(f"{root}.lock"):
        if not (root / "ready").exists():
            shutil.rmtree(root, ignore_errors=True)
            made = open_home(root)
            synthesize_source(made, "s", kind=kind, stays=stays, seed=SEED)
            if kind == "mimic-iv":
                build_concepts(made, "s", sorted(MIMIC_NEEDED), job=SimpleJob())
            keys = [key for key, target in list_targets().items() if kind_of(target) == kind]
            build_references(made, "s", keys, job=SimpleJob())
            (root / "ready").touch()
    return open_home(root)


def built(kind: Kind, stays: int) -> duckdb.DuckDBPyConnection:
    """The imported source of `home`, read-only."""
    path = home(kind, stays).sources / "s" / "source.duckdb"
    return duckdb.connect(str(path), read_only=True)
