"""Shared fixtures: homes, the open demo data, and what a test may need of the machine.

A test that needs something names it with a fixture (`mimic_demo`, `bubblewrap`, …). On a user's
machine its absence skips with a reason; where ``M4REVIEW_TEST_REQUIRE=all`` is set (CI), its
absence is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from absence import absent
from demo_data import demo_data
from demo_homes import (  # noqa: F401 (fixtures)
    eicu_built,
    eicu_home,
    eicu_home_copy,
    mimic_built,
    mimic_built_copy,
    mimic_home,
    mimic_home_copy,
    small_built,
    small_built_copy,
)
from docker_engine import (  # noqa: F401 (fixtures)
    agent_programs,
    docker_agents,
    docker_engine,
    docker_found,
    hide_engine,
)
from hygiene import _nothing_left_over  # noqa: F401 (watches every test)
from hypothesis import settings
from sandbox_store import sandbox_store  # noqa: F401 (fixture)

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
hide_engine()

# How long an example takes says how busy the machine is, not whether the program is right.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def home_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of this test's own."""
    home = tmp_path / "home"
    monkeypatch.setenv("M4REVIEW_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def mimic_demo() -> Path:
    """The folder of the open MIMIC-IV demo."""
    folder = demo_data() / "data" / "mimic-iv-demo"
    return folder if folder.is_dir() else absent("the MIMIC-IV demo ($M4REVIEW_TEST_DATA)")


@pytest.fixture(scope="session")
def eicu_demo() -> Path:
    """The folder of the open eICU demo."""
    folder = demo_data() / "data" / "eicu-demo"
    return folder if folder.is_dir() else absent("the eICU demo ($M4REVIEW_TEST_DATA)")


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden tables."""
    folder = demo_data() / "golden"
    return folder if folder.is_dir() else absent("the golden tables ($M4REVIEW_TEST_DATA)")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; needs root."""
    if os.geteuid() != 0:
        absent("root (to mount a small file system)")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture(scope="session")
def bubblewrap() -> str:
    """The bubblewrap program."""
    return shutil.which("bwrap") or absent("bubblewrap")
