"""Who may import whom, and that the engine runs without any window."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]

# Imports every module of the engine, one after the other, and tells which one brought Qt in.
EVERY_MODULE = """
import importlib, pkgutil, sys
import engine
names = ["engine"] + [m.name for m in pkgutil.walk_packages(engine.__path__, "engine.")]
for name in names:
    importlib.import_module(name)
    if {"PySide6", "shiboken6", "pyqtgraph"} & set(sys.modules):
        sys.exit(f"{name} imports Qt")
print(len(names))
"""


def test_the_import_contracts_hold(capsys: pytest.CaptureFixture[str]) -> None:
    code = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_every_part_of_the_engine_has_its_layer() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = document["tool"]["importlinter"]["contracts"]
    (layers,) = [c for c in contracts if c.get("containers") == ["engine"]]
    assert layers["exhaustive"] is True
    assert "exhaustive_ignores" not in layers
    assert not any("ignore_imports" in contract for contract in contracts)


def test_the_engine_loads_no_qt() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EVERY_MODULE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
