"""A secret that was planted out of the agent's reach is not passed on, and ends the run."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

from engine.gateway.gateway import connected
from engine.gateway.ground import open_ground

WORD = "planted-5f1c0b"


def ask(folder: Path, text: str) -> int:
    body = json.dumps(
        {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": text}]}
    )
    with connected(folder) as one:
        connection = http.client.HTTPConnection("127.0.0.1", 18080)
        connection.sock = one
        connection.request("POST", "/v1/messages", body, {"Content-Type": "application/json"})
        return connection.getresponse().status


def test_a_planted_secret_is_held_back(tmp_path: Path):
    with open_ground(tmp_path, planted=[WORD]) as ground:
        assert ask(ground.folder, "hello") == 200
        assert ask(ground.folder, f"I read {WORD}") == 403
        ground.gateway.close()
        assert ground.stopped is not None
        assert ground.stopped.kind == "refused"
        assert "planted" in ground.stopped.detail
        assert WORD.encode() not in ground.reached.all()
        assert [line["why"] for line in ground.lines()] == [None, "planted"]
        assert WORD not in json.dumps(ground.lines()) + repr(ground.stopped)


def test_escapes_do_not_hide_it(tmp_path: Path):
    with open_ground(tmp_path, planted=[WORD]) as ground:
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in WORD)
        body = '{"model":"m","messages":[{"role":"user","content":"' + escaped + '"}]}'
        with connected(ground.folder) as one:
            connection = http.client.HTTPConnection("127.0.0.1", 18080)
            connection.sock = one
            connection.request("POST", "/v1/messages", body)
            assert connection.getresponse().status == 403
        assert ground.reached.all() == b""
