"""Endpoints: known ones, the user's own, what counts as this machine, and the command line."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import PATHS, InThread, ask, body_of
from model_server import scripted

from engine.base.errors import BadInput, JudgedFailed, UsageError
from engine.base.paths import open_home
from engine.cli.main import run as m4bench
from engine.gateway import endpoints as known
from engine.gateway import local, trial
from engine.gateway.endpoints import BUILT_IN, add_endpoint, find_endpoint, make_endpoint
from engine.gateway.interface import Endpoint
from engine.gateway.keys import Secret


def at(url: str) -> Endpoint:
    return Endpoint(name="x", api="chat", url=url)


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:1", True),
        ("http://[::ffff:127.0.0.1]:1", True),
        ("https://localhost", True),
        ("https://192.0.2.1", False),
        ("http://[::ffff:192.0.2.1]", False),
        ("http://[2001:db8::1]", False),
        ("https://no-such-host.invalid", False),
        ("http://0.0.0.0:1", False),
    ],
)
def test_what_counts_as_this_machine(url: str, is_local: bool) -> None:
    assert local.is_local(at(url)) is is_local


def test_own_addresses_are_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "own_addresses", lambda: {"192.0.2.7", "2001:db8::7"})
    assert local.is_local(at("http://192.0.2.7:1"))
    assert local.is_local(at("http://[2001:db8::7]:1"))
    assert not local.is_local(at("http://192.0.2.8:1"))


def _resolving(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> None:
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        if host in ("model.test", b"model.test"):
            return [each for address in addresses for each in real(address, port, *more, **named)]
        return real(host, port, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_a_name_is_local_only_if_all_of_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _resolving(monkeypatch, ["127.0.0.1"])
    assert local.is_local(at("http://model.test"))
    _resolving(monkeypatch, ["127.0.0.1", "192.0.2.1"])
    assert not local.is_local(at("http://model.test"))


def test_a_name_that_moves_to_another_machine_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    addresses = ["127.0.0.1"]
    _resolving(monkeypatch, addresses)
    with scripted() as model:
        url = f"http://model.test:{model.port}"
        gateway = InThread(tmp_path, url, "chat", Secret("sk-some-key-123"))
        with contextlib.closing(gateway):
            assert ask(tmp_path, PATHS["chat"], body_of("chat")).status == 200
            gateway._call(gateway._upstream._session.connector.close())
            addresses[:] = ["192.0.2.1"]
            gateway._call(_reopen(gateway))
            moved = ask(tmp_path, PATHS["chat"], body_of("chat"))
    assert moved.status == 502
    assert "not on this machine" in moved.text
    lines = [json.loads(line) for line in (tmp_path / "egress.jsonl").read_text().splitlines()]
    assert [line["why"] for line in lines] == [None, "not_local"]


async def _reopen(gateway: InThread) -> None:
    """New connections, as after some idle seconds."""
    from engine.gateway.upstream import Upstream  # noqa: PLC0415

    await gateway._upstream.close()
    fresh = Upstream(at(gateway.url), permit_remote=False, idle_seconds=5, secret=gateway.secret)
    gateway._upstream = gateway._proxy._upstream = fresh


def test_own_endpoints_are_kept_changed_and_forgotten(home_dir: Path) -> None:
    home = open_home()
    assert find_endpoint(home, "ollama").url == "http://127.0.0.1:11434"
    mine = make_endpoint("mine", api="messages", url="https://llm.example.org/v1/", key="k")
    assert mine.url == "https://llm.example.org"
    add_endpoint(home, mine)
    known.endpoints_file(home).write_text(
        "# a comment of mine\n" + known.endpoints_file(home).read_text()
    )
    add_endpoint(home, make_endpoint("ollama", api="chat", url="http://127.0.0.1:5"))
    assert find_endpoint(home, "mine") == mine
    assert find_endpoint(home, "ollama").url == "http://127.0.0.1:5"
    assert len(known.list_endpoints(home)) == len(BUILT_IN) + 1
    assert known.own_names(home) == {"mine", "ollama"}
    known.remove_endpoint(home, "ollama")
    assert find_endpoint(home, "ollama") == BUILT_IN["ollama"]
    assert "# a comment of mine" in known.endpoints_file(home).read_text()
    with pytest.raises(UsageError, match="built in"):
        known.remove_endpoint(home, "ollama")
    with pytest.raises(UsageError, match="no endpoint"):
        known.remove_endpoint(home, "other")
    with pytest.raises(UsageError, match="no endpoint"):
        find_endpoint(home, "other")


@pytest.mark.parametrize(
    "text",
    ["[x\n", "x = 1\n",
     "[x]\napi = 'chat'\n", "[x]\napi = 1\nurl = 2\n", "[X]\napi='chat'\nurl='y'",
     "[x]\napi='chat'\nurl='http://127.0.0.1'\nsecret='sk'\n", "[x]\napi='soap'\nurl='http://a'\n"],
)  # fmt: skip
def test_a_broken_file_is_told(home_dir: Path, text: str) -> None:
    home = open_home()
    known.endpoints_file(home).write_text(text)
    with pytest.raises(BadInput, match=r"endpoints\.toml"):
        find_endpoint(home, "ollama")


@pytest.mark.parametrize(
    ("name", "api", "url", "key"),
    [
        ("Mine", "chat", "http://127.0.0.1", None),
        ("mine", "soap", "http://127.0.0.1", None),
        ("mine", "chat", "http://192.0.2.1", None),
        ("mine", "chat", "https://user:pass@example.org", None),
        ("mine", "chat", "https://example.org?x=1", None),
        ("mine", "chat", "https://exa mple.org", None),
        ("mine", "chat", "https://example.org", "A Key"),
    ],
)
def test_endpoints_that_cannot_be(name: str, api: str, url: str, key: str | None) -> None:
    with pytest.raises(UsageError):
        make_endpoint(name, api=api, url=url, key=key)


def test_the_command_line(home_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted() as model:
        url = model.url + "/v1"
        assert m4bench(["endpoint", "add", "mine", "--api", "chat", "--url", url]) == 0
        assert m4bench(["--json", "endpoint", "test", "mine"]) == 0
        said = capsys.readouterr().out
    assert json.loads(said[said.index("{") :])["models"] == ["scripted"]
    assert model.asked[0].target == "/v1/models"
    assert m4bench(["--json", "endpoint", "list"]) == 0
    listed = json.loads(capsys.readouterr().out)["endpoints"]
    assert [row["own"] for row in listed if row["name"] == "mine"] == [True]
    assert {row["where"] for row in listed} == {"this machine", "elsewhere"}
    assert m4bench(["endpoint", "test", "mine"]) == 1  # the server is gone
    assert "cannot be reached" in capsys.readouterr().err
    assert m4bench(["endpoint", "key", "mine"]) == 2
    assert m4bench(["endpoint", "remove", "mine"]) == 0
    assert m4bench(["endpoint", "test", "mine"]) == 2


@pytest.mark.parametrize(
    ("status", "key", "words", "todo"),
    [
        (401, "mine", "does not accept the key 'mine'", "m4bench endpoint key mine"),
        (403, None, "wants a key", "--key NAME"),
        (429, "mine", "limits how much", "Wait"),
        (502, None, "does not answer", "running"),
        (500, None, "status 500", ""),
    ],
)
def test_what_a_refusal_of_an_endpoint_means(
    status: int, key: str | None, words: str, todo: str
) -> None:
    endpoint = Endpoint(name="mine", api="chat", url="https://192.0.2.1", key=key)
    with pytest.raises(JudgedFailed, match=words) as refused:
        trial._models(endpoint, status, b'{"error": {"message": "no"}}')
    assert todo in (refused.value.todo or "")
    assert refused.value.details == "no"
