"""Homes with the open demo data imported, made once per test session.

`mimic_home` and `eicu_home` (imported), `mimic_built` and `eicu_built` (with concepts and
references) are read-only by agreement: shared by all tests (and all workers of
a parallel run). A test that changes its home takes `mimic_home_copy` or `eicu_home_copy`.
"""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.concepts import build_concepts
from engine.references import build_references
from engine.sources import add_source


def _shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The session's temporary folder; with xdist the one above the workers'."""
    base = factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def _imported(factory: pytest.TempPathFactory, data: Path, source: str) -> Home:
    folder = _shared_folder(factory)
    root = folder / f"home-of-{source}"
    with FileLock(folder / f"{source}.lock"):
        if not (root / "ready").exists():
            shutil.rmtree(root, ignore_errors=True)
            add_source(open_home(root), source, data)
            (root / "ready").touch()
    return open_home(root)


def _built(factory: pytest.TempPathFactory, home: Home, source: str) -> Home:
    folder = _shared_folder(factory)
    root = folder / f"built-home-of-{source}"
    with FileLock(folder / f"{source}-built.lock"):
        if not (root / "ready").exists():
            shutil.rmtree(root, ignore_errors=True)
            _copy(home, root)
            (root / "ready").unlink()
            if source == "mimic-demo":
                build_concepts(open_home(root), source, job=SimpleJob())
            build_references(open_home(root), source, job=SimpleJob())
            (root / "ready").touch()
    return open_home(root)


def _copy(home: Home, to: Path) -> Home:
    shutil.copytree(home.root, to, ignore=shutil.ignore_patterns("lock", "scratch", "workspaces"))
    return open_home(to)


@pytest.fixture(scope="session")
def mimic_home(tmp_path_factory: pytest.TempPathFactory, mimic_demo: Path) -> Home:
    """A home with the open MIMIC-IV demo imported as the source "mimic-demo"; do not change it."""
    return _imported(tmp_path_factory, mimic_demo, "mimic-demo")


@pytest.fixture(scope="session")
def eicu_home(tmp_path_factory: pytest.TempPathFactory, eicu_demo: Path) -> Home:
    """A home with the open eICU demo imported as the source "eicu-demo"; do not change it."""
    return _imported(tmp_path_factory, eicu_demo, "eicu-demo")


@pytest.fixture(scope="session")
def mimic_built(tmp_path_factory: pytest.TempPathFactory, mimic_home: Home) -> Home:
    """As `mimic_home`, with all concepts and references built; do not change it."""
    return _built(tmp_path_factory, mimic_home, "mimic-demo")


@pytest.fixture(scope="session")
def eicu_built(tmp_path_factory: pytest.TempPathFactory, eicu_home: Home) -> Home:
    """As `eicu_home`, with all references built; do not change it."""
    return _built(tmp_path_factory, eicu_home, "eicu-demo")


@pytest.fixture(scope="session")
def small_built(tmp_path_factory: pytest.TempPathFactory, mimic_demo: Path) -> Home:
    """The first lines of every table of the MIMIC-IV demo as the source "mimic-demo", built.

    For tests of machinery, where a tenth of the time matters more than clinical sense.
    """
    folder = _shared_folder(tmp_path_factory)
    root = folder / "small-built-home"
    with FileLock(folder / "small-built.lock"):
        if not (root / "ready").exists():
            shutil.rmtree(root, ignore_errors=True)
            for path in sorted(mimic_demo.glob("*/*.csv.gz")):
                _first_lines(path, folder / "small-data" / path.parent.name / path.name)
            add_source(open_home(root), "mimic-demo", folder / "small-data")
            build_concepts(open_home(root), "mimic-demo", job=SimpleJob())
            (root / "ready").touch()
    return open_home(root)


def _first_lines(path: Path, to: Path, lines: int = 400) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    many = 20_000 if path.name == "chartevents.csv.gz" else lines
    with gzip.open(path, "rb") as source, gzip.open(to, "wb", compresslevel=1) as target:
        target.writelines(itertools.islice(source, many))


@pytest.fixture
def small_built_copy(small_built: Home, tmp_path: Path) -> Home:
    """A copy of `small_built` that the test may change."""
    return _copy(small_built, tmp_path / "small-built")


@pytest.fixture
def mimic_home_copy(mimic_home: Home, tmp_path: Path) -> Home:
    """A copy of `mimic_home` that the test may change."""
    return _copy(mimic_home, tmp_path / "mimic-home")


@pytest.fixture
def mimic_built_copy(mimic_built: Home, tmp_path: Path) -> Home:
    """A copy of `mimic_built` that the test may change."""
    return _copy(mimic_built, tmp_path / "mimic-built")


@pytest.fixture
def eicu_home_copy(eicu_home: Home, tmp_path: Path) -> Home:
    """A copy of `eicu_home` that the test may change."""
    return _copy(eicu_home, tmp_path / "eicu-home")
