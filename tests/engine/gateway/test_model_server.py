"""The scripted model says one script alike in all four APIs, streamed and whole."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest
from model_server import ModelServer, Step, Trouble, scripted, tokens_of

SHELL = {
    "responses": {"type": "function", "name": "exec_command"},
    "messages": {"name": "Bash"},
    "chat": {"type": "function", "function": {"name": "bash"}},
    "generate": {"functionDeclarations": [{"name": "run_shell_command"}]},
}
PATHS = {
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "generate": "/v1beta/models/m:streamGenerateContent?alt=sse",
}


def asking(api: str, results: int = 0, *, stream: bool = True) -> dict[str, Any]:
    tools = [SHELL[api]]
    if api == "responses":
        items = [{"type": "function_call_output", "call_id": "c", "output": "x"}] * results
        return {"model": "m", "input": items, "tools": tools, "stream": stream}
    if api == "messages":
        block = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
        messages = [{"role": "user", "content": [block] * results or "hello"}]
        return {"model": "m", "messages": messages, "tools": tools, "stream": stream}
    if api == "chat":
        messages = [{"role": "user", "content": "hello"}] + [
            {"role": "tool", "tool_call_id": "c", "content": "x"}
        ] * results
        options = {"include_usage": True}
        return {
            "model": "m",
            "messages": messages,
            "tools": tools,
            "stream": stream,
            "stream_options": options,
        }
    parts = [{"functionResponse": {"name": "f", "response": {}}}] * results
    return {"contents": [{"role": "user", "parts": parts or [{"text": "hello"}]}], "tools": tools}


def ask(url: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode())  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return str(answer.read().decode())


@pytest.mark.parametrize("api", PATHS)
def test_a_script_in_every_api(api: str) -> None:
    with scripted(Step(say="Two words.", command="echo hi"), Step(say="Done.")) as model:
        first = ask(model.url + PATHS[api], asking(api))
        second = ask(model.url + PATHS[api], asking(api, results=1))
        whole = ask(
            model.url + PATHS[api].replace("streamGenerateContent?alt=sse", "generateContent"),
            asking(api, stream=False),
        )
    assert "Two " in first
    assert "words." in first
    assert "echo" in first
    assert f"{tokens_of(0).input - (tokens_of(0).cached if api == 'messages' else 0)}" in first
    assert "Done." in second
    assert "echo" not in second
    assert "Two words." in json.dumps(json.loads(whole)) or api == "generate"
    assert "echo hi" in whole
    assert len(model.bodies) == 3


@pytest.mark.parametrize("api", PATHS)
def test_trouble_that_passes(api: str) -> None:
    trouble = Trouble(status=429, retry_after=7, times=1)
    with scripted(Step(say="Done.", trouble=trouble)) as model:
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(model.url + PATHS[api], asking(api))
        refused.value.close()
        assert (refused.value.code, refused.value.headers["Retry-After"]) == (429, "7")
        assert "Done." in ask(model.url + PATHS[api], asking(api))


def test_a_gate_holds_every_event_and_what_hangs_ends_with_the_server() -> None:
    gate = threading.Semaphore(0)
    with ModelServer([Step(say="a b c", gate=gate)]) as model:
        connection = socket.create_connection(("127.0.0.1", model.port))
        body = json.dumps(asking("chat")).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body)
        with connection, connection.makefile("rb") as answer:
            gate.release()
            while b"data:" not in (line := answer.readline()):
                assert line
            assert b"assistant" in line
    with ModelServer([Step(trouble=Trouble(trick="hang"))]) as model:
        connection = socket.create_connection(("127.0.0.1", model.port))
        connection.sendall(head.encode() + body)
        model.wait_for(1)
    with connection:
        assert connection.recv(100) == b""
