"""The agents' own programs: pinned, installed from npm, started in both sandboxes."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest
from sandbox_store import share_sandbox

from engine.base.errors import BadInput, MissingPrerequisite, UsageError
from engine.base.paths import Home, open_home
from engine.cli.main import run as m4bench
from engine.isolation import programs
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.docker import Docker
from engine.isolation.engine_api import Engine
from engine.isolation.image_files import load_image, recognised, save_image
from engine.isolation.interface import Command, Limits
from engine.isolation.programs import KNOWN, install_program, list_programs, pinned_version

SAYS = {"codex": "codex-cli {}", "claude": "{} (Claude Code)", "gemini": "{}", "pi": "{}"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


@pytest.mark.parametrize("name", KNOWN)
def test_locks_pin_version_and_hash_and_name_no_place(name: str):
    lock = json.loads((programs._lock_folder(name) / "package-lock.json").read_text())
    packages = {place: entry for place, entry in lock["packages"].items() if place}
    assert packages
    for entry in packages.values():
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry
    assert any(e["version"].startswith(pinned_version(name)) for e in packages.values())


def test_what_is_not_installed_is_said(home: Home, job_folder: Path, sandbox_store: Path):
    assert [program.installed for program in list_programs(home)] == [None] * len(KNOWN)
    with pytest.raises(MissingPrerequisite, match="not installed") as caught:
        programs.program_folder(home, "pi")
    assert "m4bench sandbox agents install pi" in caught.value.todo
    with pytest.raises(UsageError, match="no agent program called nobody"):
        install_program(home, "nobody")


def test_without_npm_it_is_said(home: Home, monkeypatch):
    monkeypatch.setattr(programs.shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingPrerequisite, match="npm is missing"):
        install_program(home, "pi")
    assert not list((home.sandbox / "agents").glob("*.part"))


def test_npm_without_a_registry_is_said_and_nothing_stays(home: Home, monkeypatch, tmp_path: Path):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setattr(programs, "find_npm", lambda: str(npm))
    with pytest.raises(MissingPrerequisite, match="could not fetch pi") as caught:
        install_program(home, "pi")
    assert "ENOTFOUND" in caught.value.details
    npm.write_text("#!/bin/sh\necho 'npm error code EINTEGRITY' >&2\nexit 1\n")
    with pytest.raises(MissingPrerequisite, match="not what this version pins"):
        install_program(home, "pi")
    assert programs.installed_programs(home) == {}
    assert not list((home.sandbox / "agents").glob("*.part"))


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(900)  # the first one fetches all programs and builds them into the image
@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("backend", ["docker", "bubblewrap"])
def test_each_program_says_its_version(
    request: pytest.FixtureRequest, home: Home, job_folder: Path, name: str, backend: str
):
    share_sandbox(home, request.getfixturevalue("agent_programs"))
    if backend == "docker":
        sandbox = Docker(home, engine=request.getfixturevalue("docker_agents"))
    else:
        sandbox = Bubblewrap(home)
    assert sandbox.programs()[name] == pinned_version(name)
    said = bytearray()
    ended = sandbox.run(
        Command(
            argv=(f"/opt/agents/{name}/run", "--version"),
            job_folder=job_folder,
            env={"HOME": "/tmp/home"},
            programs=(name,),
            limits=Limits(wall_seconds=120),
        ),
        on_output=lambda stream, data: said.extend(data if stream == "stdout" else b""),
    )
    assert (ended.reason, ended.returncode) == ("exited", 0)
    assert said.decode().strip() == SAYS[name].format(pinned_version(name))


def test_the_command_lists_what_is_there(home_dir: Path, capsys):
    assert m4bench(["sandbox", "agents", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["programs"]
    assert [program["name"] for program in told] == list(KNOWN)
    assert m4bench(["sandbox", "agents", "remove", "pi", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "pi", "removed": False}
    assert m4bench(["sandbox", "agents", "install", "nobody"]) == 2
    assert m4bench(["sandbox", "image", "show"]) == 4
    assert "No Docker engine answers" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.sandbox
def test_an_image_is_carried_over(docker_engine: Engine, tmp_path: Path):
    saved = save_image(docker_engine, tmp_path / "image.tar")
    assert saved.bytes == (tmp_path / "image.tar").stat().st_size
    loaded = load_image(docker_engine, tmp_path / "image.tar")
    assert loaded.digest == saved.image.digest


def test_files_that_are_no_image_of_ours_are_refused(tmp_path: Path):
    other = tmp_path / "other.tar"
    other.write_bytes(os.urandom(2000))
    with pytest.raises(BadInput, match="no image file"):
        recognised(other)
    (tmp_path / "x").write_text("x")
    with tarfile.open(other, "w") as tar:
        tar.add(tmp_path / "x", "manifest.json")
    with pytest.raises(BadInput, match="no image that m4bench saved"):
        recognised(other)
