"""The doctor looks at endpoints, and asks them only when it is told to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from model_server import ModelServer

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.cli.main import run as m4bench
from engine.gateway.endpoints import add_endpoint, make_endpoint
from engine.workbench import reachable
from engine.workbench.reachable import endpoints


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return open_home(tmp_path / "home")


def told(home: Home, *, ask: bool) -> list[tuple[str, str]]:
    return [(one.state, one.detail) for one in endpoints(home, ask=ask, job=SimpleJob())]


def test_endpoints_are_asked_on_wish_only(home: Home, monkeypatch: pytest.MonkeyPatch):
    ((state, words),) = told(home, ask=False)
    assert (state, "None is set up" in words) == ("limited", True)
    with ModelServer() as server:
        add_endpoint(home, make_endpoint("here", api="chat", url=server.url))
        add_endpoint(home, make_endpoint("gone", api="chat", url="http://127.0.0.1:9"))
        add_endpoint(home, make_endpoint("keyed", api="chat", url="https://h.example", key="k"))
        asked = dict(zip(("here", "gone", "keyed"), told(home, ask=True), strict=True))
    assert asked["here"][0] == "works"
    assert "it answers, with" in asked["here"][1]
    assert asked["gone"][0] == "limited"
    assert "does not answer" in asked["gone"][1]
    assert "key is in no keyring" in asked["keyed"][1]

    def nobody(*_: object, **__: object) -> None:
        raise AssertionError("An endpoint was asked.")

    monkeypatch.setattr(reachable, "try_endpoint", nobody)
    assert [state for state, _ in told(home, ask=False)] == ["works", "works", "limited"]
    assert "doctor --endpoints" in told(home, ask=False)[0][1]


def test_a_key_moves_only_when_it_is_said(home: Home, capsys: pytest.CaptureFixture[str]):
    add = ["--home", str(home.root), "--json", "endpoint", "add", "mine", "--api", "chat"]
    assert m4bench([*add, "--url", "https://one.example", "--key", "mine"]) == 0
    assert m4bench([*add, "--url", "https://one.example/v1", "--key", "mine"]) == 0
    capsys.readouterr()
    elsewhere = [*add, "--url", "https://two.example", "--key", "mine"]
    assert m4bench(elsewhere) == 2
    said = capsys.readouterr().err
    assert "https://one.example:443 so far, not to https://two.example:443" in said
    assert "--move-key" in said
    assert m4bench([*elsewhere, "--move-key"]) == 0
    assert json.loads(capsys.readouterr().out)["url"] == "https://two.example"
    assert m4bench([*add, "--url", "https://one.example", "--key", "openai"]) == 2  # a known one's
    assert m4bench([*add, "--url", "https://three.example", "--key", "other"]) == 0


def test_a_key_that_was_left_in_the_keyring_is_asked_about(
    home: Home, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("engine.gateway.endpoints.has_key", lambda name: name == "old")
    add = ["--home", str(home.root), "endpoint", "add", "mine", "--api", "chat"]
    assert m4bench([*add, "--url", "https://one.example", "--key", "old"]) == 2
    assert m4bench([*add, "--url", "https://one.example", "--key", "new"]) == 0
