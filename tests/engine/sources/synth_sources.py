"""Synthetic sources for tests, made once per process and shared read-only."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import duckdb
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
_KEPT = tempfile.TemporaryDirectory(prefix="m4-synth-", ignore_cleanup_errors=True)


@functools.cache
def folder(kind: Kind, stays: int) -> Path:
    """A generated folder."""
    path = Path(_KEPT.name) / f"{kind}-{stays}"
    make(kind, stays, SEED, path, SimpleJob())
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
    made = open_home(Path(_KEPT.name) / f"home-{kind}-{stays}")
    synthesize_source(made, "s", kind=kind, stays=stays, seed=SEED)
    if kind == "mimic-iv":
        build_concepts(made, "s", sorted(MIMIC_NEEDED), job=SimpleJob())
    keys = [key for key, target in list_targets().items() if kind_of(target) == kind]
    build_references(made, "s", keys, job=SimpleJob())
    return made


def built(kind: Kind, stays: int) -> duckdb.DuckDBPyConnection:
    """The imported source of `home`, read-only."""
    path = home(kind, stays).sources / "s" / "source.duckdb"
    return duckdb.connect(str(path), read_only=True)
