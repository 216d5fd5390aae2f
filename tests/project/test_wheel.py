"""The wheel carries all content and runs where there is no source tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from test_tree import ROOT, tracked


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network."""
    out = tmp_path_factory.mktemp("wheel")
    pip(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(ROOT)])
    (built,) = out.glob("m4review-*.whl")
    return built


def pip(arguments: list[str]) -> None:
    """Run pip; fail with its words."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_everything_that_is_ours_is_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    content = [
        f"engine/_content/{path.relative_to(ROOT)}"
        for path in tracked("tasks/*", "skills/*", "resources/*")
    ]
    code = [str(path.relative_to(ROOT)) for path in tracked("engine/*", "m4review/*")]
    assert [name for name in content + code if name not in names] == []
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert [n for n in names if n.startswith(("tests/", "packaging/", "benchmarks/"))] == []


@pytest.mark.slow
def test_it_runs_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip(["install", "--no-deps", "--no-index", "--target", str(site), str(wheel)])
    environment = {**os.environ, "PYTHONPATH": str(site), "M4REVIEW_HOME": str(tmp_path / "home")}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = "import engine, m4review; print(engine.__file__); print(m4review.__file__)"
    assert all(line.startswith(str(site)) for line in run(sys.executable, "-c", where).split())
    tasks = json.loads(
        run(sys.executable, str(site / "bin" / "m4bench"), "tasks", "list", "--json")
    )
    assert len(tasks["tasks"]) == len(tracked("tasks/*/task.toml"))
