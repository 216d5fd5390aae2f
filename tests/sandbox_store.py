"""The sandbox's root file system, made once per test session and shared by its homes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.base.paths import Home, open_home
from engine.isolation.rootfs import sandbox_root


@pytest.fixture(scope="session")
def sandbox_store(tmp_path_factory: pytest.TempPathFactory, bubblewrap: str) -> Path:
    """A ``sandbox`` folder with a finished root; `share_sandbox` gives it to a home."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    home = open_home(folder / "home-of-the-sandbox")
    sandbox_root(home)  # it locks by itself
    return home.sandbox


def share_sandbox(home: Home, store: Path) -> Home:
    """Let `home` use the session's root instead of making its own (takes seconds)."""
    if not home.sandbox.exists():
        home.sandbox.symlink_to(store)
    return home
