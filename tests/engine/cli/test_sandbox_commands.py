from __future__ import annotations

import json
from pathlib import Path

import pytest
from sandbox_store import share_sandbox

from engine.base.paths import open_home
from engine.cli.main import run
from engine.isolation import bubblewrap, machine


@pytest.fixture
def ready_home(home_dir: Path, sandbox_store: Path) -> Path:
    return share_sandbox(open_home(home_dir), sandbox_store).root


@pytest.mark.sandbox
@pytest.mark.usefixtures("ready_home")
def test_check_says_what_was_tried(capsys):
    names = ["network.ipv4", "kernel.privileges"]
    code = run(["sandbox", "check", "--only", names[0], "--only", names[1], "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["passed"], told["backend"], told["broken"]) == (0, True, "bubblewrap", [])
    assert [p["name"] for p in told["promises"]] == names
    assert told["sandbox"]["root_digest"]
    assert run(["sandbox", "check", "--only", names[0], "--backend", "bubblewrap"]) == 0
    told = capsys.readouterr()
    assert names[0] in told.out
    assert "All 1 promises" in told.err


@pytest.mark.sandbox
@pytest.mark.usefixtures("ready_home")
def test_a_broken_promise_exits_1(capsys, monkeypatch):
    monkeypatch.setitem(bubblewrap.ENVIRONMENT, "SECRET_OF_THE_HOST", "x")
    assert run(["sandbox", "check", "--only", "works.environment", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["broken"]) == (False, ["works.environment"])
    assert "SECRET_OF_THE_HOST" in told["promises"][0]["detail"]
    assert run(["sandbox", "check", "--only", "works.environment"]) == 1
    assert "Do not run agents" in capsys.readouterr().err


@pytest.mark.usefixtures("home_dir")
def test_calls_that_are_not_understood(capsys):
    assert run(["sandbox", "check", "--backend", "docker"]) == 4
    assert "Docker" in capsys.readouterr().err
    assert run(["sandbox", "check", "--backend", "gvisor"]) == 2


@pytest.mark.usefixtures("home_dir")
def test_no_backend_exits_4(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(bubblewrap.Bubblewrap, "search", str(tmp_path))
    assert run(["sandbox", "check"]) == 4
    assert "apt-get install bubblewrap" in capsys.readouterr().err


@pytest.mark.sandbox
@pytest.mark.usefixtures("ready_home")
def test_doctor(capsys):
    assert run(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    states = {finding["name"]: finding["state"] for finding in told["findings"]}
    for name in ("python", "duckdb", "sandbox root", "bubblewrap"):
        assert states[name] == "works", told
    # A machine without a screen has Qt's libraries, and need not have those of X11.
    (window,) = [finding for finding in told["findings"] if finding["name"] == "window"]
    assert "loads" in window["detail"], told
    assert states["docker"] == "limited"
    assert {"disk", "keyring"} <= set(states)
    assert run(["doctor"]) == 0
    assert "bubblewrap" in capsys.readouterr().out


@pytest.mark.sandbox
@pytest.mark.usefixtures("ready_home")
def test_doctor_names_what_is_missing(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(bubblewrap.Bubblewrap, "search", str(tmp_path))
    assert run(["doctor", "--json"]) == 4
    told = json.loads(capsys.readouterr().out)
    assert not told["ok"]
    states = {finding["name"]: finding for finding in told["findings"]}
    # One is enough: neither of them is what is missing.
    assert (states["docker"]["state"], states["bubblewrap"]["state"]) == ("limited", "limited")
    assert "apt-get install bubblewrap" in states["bubblewrap"]["todo"]
    assert run(["doctor"]) == 4
    said = capsys.readouterr().err
    assert "Missing here: a sandbox." in said
    assert "docker: " in said
    assert "bubblewrap: Install it: apt-get install bubblewrap" in said


def test_qt_that_does_not_load_names_the_library(tmp_path: Path, monkeypatch):
    broken = "import sys; sys.exit('ImportError: libEGL.so.1: cannot open shared object file')"
    monkeypatch.setattr(machine, "_QT", broken)
    (finding,) = machine._window(open_home(tmp_path / "home"))
    assert finding.state == "limited"
    assert "libEGL.so.1 is missing" in finding.detail
    assert "apt-get install" in (finding.todo or "")


def test_a_small_disk_is_said(tmp_path: Path, monkeypatch):
    home = open_home(tmp_path / "home")
    monkeypatch.setattr(machine, "NEEDED_BYTES", 1 << 62)
    assert next(machine._disk(home)).state == "missing"
    monkeypatch.setattr(machine, "NEEDED_BYTES", 0)
    monkeypatch.setattr(machine, "WANTED_BYTES", 1 << 62)
    assert next(machine._disk(home)).state == "limited"


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ('print(\'{"why": "The keyring is locked.", "todo": "Unlock it."}\')', "is locked"),
        ("import time; time.sleep(60)", "asks for its password"),
        ("raise SystemExit(1)", "cannot be asked"),
    ],
)
def test_a_keyring_that_cannot_be_used_is_told(tmp_path: Path, monkeypatch, program, words):
    monkeypatch.setattr(machine, "_KEYRING", program)
    monkeypatch.setattr(machine, "_SECONDS", 1.0 if "sleep" in program else 60.0)
    (finding,) = machine._keyring(open_home(tmp_path / "home"))
    assert finding.state == "limited"
    assert words in finding.detail
    assert "remote model" in (finding.todo or "")


def test_no_keyring_is_told_by_the_gateways_own_look(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    (finding,) = machine._keyring(open_home(tmp_path / "home"))
    assert "no keyring in this session" in finding.detail
    assert "gnome-keyring" in (finding.todo or "")
