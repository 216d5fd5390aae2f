"""The locks pin everything that pyproject.toml asks for, with hashes, and the same in both."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
RUN, DEV = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"


def pinned(lock: Path) -> dict[str, Requirement]:
    """Name -> requirement of a lock; fails where a line is neither pinned nor hashed."""
    entries = re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8").replace(" \\\n", "\n"))
    found = {}
    for entry in entries:
        if entry.startswith("#"):
            continue
        first, *hashes = entry.strip().splitlines()
        requirement = Requirement(first)
        assert [s.operator for s in requirement.specifier] == ["=="], first
        assert requirement.url is None, first
        assert hashes, first
        assert all(re.fullmatch(r"\s+--hash=sha256:[0-9a-f]{64}", line) for line in hashes), first
        found[canonicalize_name(requirement.name)] = requirement
    return found


def asked(*groups: str) -> list[Requirement]:
    """What pyproject.toml asks for to run, and for dependency groups."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = list(document["project"]["dependencies"])
    for group in groups:
        wanted += [each for each in document["dependency-groups"][group] if isinstance(each, str)]
    return [Requirement(each) for each in wanted]


@pytest.mark.parametrize(("lock", "groups"), [(RUN, ("build",)), (DEV, ("build", "dev"))])
def test_what_is_asked_for_is_pinned(lock: Path, groups: tuple[str, ...]) -> None:
    pins = pinned(lock)
    for wanted in asked(*groups):
        pin = pins.get(canonicalize_name(wanted.name))
        assert pin is not None, f"{wanted.name} is not in {lock.name}: run make lock"
        version = next(iter(pin.specifier)).version
        assert wanted.specifier.contains(version, prereleases=True), f"{pin}: run make lock"


def test_both_locks_pin_the_same() -> None:
    run, dev = pinned(RUN), pinned(DEV)
    # The markers may differ: what development needs may need a package everywhere.
    assert {name: str(r.specifier) for name, r in run.items()} == {
        name: str(dev[name].specifier) for name in run if name in dev
    }


def test_what_is_installed_needs_nothing_that_is_not_pinned() -> None:
    pins = pinned(DEV)
    for installed in distributions():
        if canonicalize_name(installed.name) not in pins:
            continue
        for text in installed.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in pins, f"{installed.name} needs {text}"


@pytest.mark.parametrize("lock", [RUN, DEV])
def test_a_lock_names_no_place(lock: Path) -> None:
    assert "://" not in lock.read_text(encoding="utf-8")
