"""What `m4bench doctor` tells of data and its protection: the audit log, policies, the gateway."""

from __future__ import annotations

import contextlib
import http.client
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from engine import audit
from engine.base.errors import M4Error
from engine.base.paths import Home
from engine.gateway.gateway import connected
from engine.gateway.ground import open_ground
from engine.gateway.interface import PORT
from engine.isolation.machine import Finding
from engine.sources import Policy, list_sources, source_policy

_ASKED = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hello"}]}
_OK = 200


def data_care(home: Home) -> tuple[Finding, ...]:
    """Look at everything; takes about a second."""
    looks: tuple[tuple[str, Callable[[Home], Iterator[Finding]]], ...] = (
        ("audit log", _audit),
        ("policies", _policies),
        ("gateway", _gateway),
    )
    findings: list[Finding] = []
    for name, look in looks:
        try:
            findings += look(home)
        except M4Error as error:
            findings.append(Finding(name, "limited", error.text, error.todo))
    return tuple(findings)


def _audit(home: Home) -> Iterator[Finding]:
    verdict = audit.verify(home, thorough=True)
    if not verdict.ok:
        todo = "Keep a copy (m4bench audit export FILE) and find out who wrote to the home folder."
        yield Finding("audit log", "limited", verdict.words, todo)
    elif verdict.entries == 0:
        yield Finding("audit log", "works", "It is empty: no source has been touched yet.")
    else:
        yield Finding("audit log", "works", f"{verdict.words}{_unfinished(home)}")


def _unfinished(home: Home) -> str:
    """What was begun and has no end, in words."""
    begun = [f"{entry.what} (entry {entry.sequence})" for entry in audit.unfinished(home)]
    if not begun:
        return ""
    more = f" and {len(begun) - 3} more" if len(begun) > 3 else ""  # noqa: PLR2004
    return f" Without an end (at work, or killed): {', '.join(begun[:3])}{more}."


def _policies(home: Home) -> Iterator[Finding]:
    policies = [source_policy(home, info.name) for info in list_sources(home)]
    if not policies:
        yield Finding("policies", "works", "There is no source yet.")
        return
    yield Finding("policies", "works", "; ".join(_brief(policy) for policy in policies))


def _brief(policy: Policy) -> str:
    if policy.free:
        return f"{policy.source}: any model ({policy.access})"
    who = f" and {', '.join(policy.providers)}" if policy.providers else " only"
    return f"{policy.source}: models on this machine{who} (credentialed)"


def _gateway(home: Home) -> Iterator[Finding]:
    """A request really goes through one, to a model server of our own."""
    home.scratch.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="gateway-", dir=home.scratch) as folder,
        open_ground(Path(folder)) as ground,
    ):
        answer = b""
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer = _asked(ground.folder)
        reached = ground.marker.encode() in ground.reached.all()
        if reached and answer and ground.marker.encode() not in answer:
            yield Finding("gateway", "works", "A request went through it; its key was not seen")
            return
    yield Finding(
        "gateway",
        "limited",
        "A request did not go through the gateway as it should: no agent with a model can run.",
        "Look whether something on this machine blocks connections to 127.0.0.1.",
    )


def _asked(folder: Path) -> bytes:
    with connected(folder) as one:
        one.settimeout(20)
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        connection.sock = one
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/messages", json.dumps(_ASKED), headers)
        answer = connection.getresponse()
        return answer.read() if answer.status == _OK else b""
