"""The promises of the gateway: one endpoint, checked requests, and never a sight of the key."""

from __future__ import annotations

import json
from collections.abc import Iterator

from engine.gateway.ground import GatewayGround
from engine.gateway.interface import Budget
from engine.isolation.promises.promise import After, Promise, Seen

_MOST_BYTES = 8 << 20
_FORBIDDEN = (b"/v1/files", b"web_search", b"code_execution", b"mcp_servers", b"example.org")
"""Words of what the attempts ask for and must not get through."""


def clean(seen: Seen) -> str | None:
    """The key is nowhere but at the model server: words on where it is, or None."""
    gateway = _of(seen)
    key = gateway.marker.encode()
    for name, content in _left(seen, gateway):
        if key in content:
            return f"the gateway's key stands in {name}"
    if seen.ended.reason == "exited" and gateway.stopped and gateway.stopped.kind == "fault":
        return f"the gateway broke: {gateway.stopped.detail}"
    return None


def _left(seen: Seen, gateway: GatewayGround) -> Iterator[tuple[str, bytes]]:
    """Everything that an attempt leaves on this side."""
    yield "what the attempt printed", seen.stdout + seen.stderr
    yield "the log of requests", json.dumps(gateway.lines()).encode()
    yield "the reason of the end", repr(gateway.stopped).encode()
    yield "the usage", repr(gateway.gateway.usage()).encode()
    for path in seen.folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < _MOST_BYTES:
            yield "a file of the job folder", path.read_bytes()


def _of(seen: Seen) -> GatewayGround:
    if seen.gateway is None:
        raise TypeError("this attempt had no gateway")
    return seen.gateway


def _reached(least: int, most: int) -> After:
    """So many requests came to the model server, and none with what was forbidden."""

    def after(seen: Seen) -> str | None:
        reached = _of(seen).reached
        if wrong := next((word for word in _FORBIDDEN if word in reached.all()), None):
            return f"{wrong.decode()} reached the model server"
        if not least <= len(reached.requests) <= most:
            return f"{len(reached.requests)} requests reached the model server"
        return _told(seen) if most == 0 else None

    return after


def _told(seen: Seen) -> str | None:
    """The log has a line for what was refused."""
    lines = _of(seen).lines()
    if not lines:
        return "nothing of it is in the log of requests"
    if any(line["allowed"] for line in lines):
        return "the log of requests says that it was allowed"
    return None


def _ended(kind: str) -> After:
    """It ended the run for this reason, and nothing reached the model server."""

    def after(seen: Seen) -> str | None:
        stopped = _of(seen).stopped
        if stopped is None or stopped.kind != kind:
            return f"the run was not ended for it ({stopped})"
        return _reached(0, 0)(seen)

    return after


def _budget_kept(seen: Seen) -> str | None:
    gateway = _of(seen)
    if gateway.stopped is None or gateway.stopped.kind != "budget":
        return "the run was not ended at its budget"
    return _reached(1, _FEW)(seen)


def _nothing_smuggled(seen: Seen) -> str | None:
    gateway = _of(seen)
    if seen.ground["token"].encode() in gateway.reached.all():
        return "a header of the sandbox's reached the model server"
    if gateway.marker.encode() not in gateway.reached.all():
        return "the key did not reach the model server"
    return None


def _honest_log(seen: Seen) -> str | None:
    for line in _of(seen).lines():
        if "forged" in line:
            return "a line of the log was forged"
        words = json.dumps(line, ensure_ascii=False)
        if any(ord(letter) < 32 or letter in "\u2028\u2029\x7f" for letter in words):  # noqa: PLR2004
            return "control characters stand in the log"
    return _reached(0, 1)(seen)


_USUAL = Budget()
_FEW = 3


def _promise(name: str, claim: str, after: After | None) -> Promise:
    return Promise(name=f"gateway.{name}", claim=claim, after=after, gateway=_USUAL)


def _ending(name: str, claim: str, after: After, budget: Budget = _USUAL) -> Promise:
    return Promise(
        name=f"gateway.{name}", claim=claim, after=after, gateway=budget, ends_gateway=True
    )


GATEWAY_PROMISES: tuple[Promise, ...] = (
    _promise("answers", "the model is reached through the gateway", _reached(1, 1)),
    _promise("other_paths", "no other path of the endpoint is reached", _reached(0, 0)),
    _promise("other_methods", "... nor by another method", _reached(0, 0)),
    _ending("absolute_address", "another host's address ends the run", _ended("refused")),
    _ending("connect_method", "... a tunnel too", _ended("refused")),
    _ending("foreign_host", "... another host's name too", _ended("refused")),
    _ending("ambiguous_host", "hosts that can be read in two ways are refused", _reached(0, 0)),
    _promise("smuggled_headers", "no header of the sandbox's passes", _nothing_smuggled),
    _promise("smuggled_requests", "requests that can be read in two ways stay", _reached(0, 0)),
    _promise("pipelined", "each of several requests in a row is checked", _reached(0, 1)),
    _promise("huge_body", "huge bodies are cut off, and others still served", _reached(1, 1)),
    _promise("huge_head", "huge heads are refused", _reached(0, 0)),
    _promise("slow_body", "bodies that never come are not waited for", _reached(0, 0)),
    _promise("many_connections", "many slow connections do no lasting harm", _reached(1, 1)),
    _promise("compressed_body", "compressed bodies are refused", _reached(0, 0)),
    _promise("switched_protocol", "no other protocol is spoken", _reached(0, 1)),
    _ending("provider_search", "the provider's web search ends the run", _ended("refused")),
    _ending("provider_code", "... its code execution too", _ended("refused")),
    _ending("provider_servers", "... servers that it would ask, too", _ended("refused")),
    _ending("provider_fetches", "... addresses that it would fetch, too", _ended("refused")),
    _ending("provider_files", "... files that it keeps, too", _ended("refused")),
    _promise("hidden_tool", "a tool under a name that stands twice is found", _reached(0, 0)),
    _ending("budget", "the budget ends the run", _budget_kept, Budget(requests=_FEW)),
    _promise("log_lines", "the log of requests cannot be forged", _honest_log),
    _promise("files_of_the_gateway", "the socket cannot be changed, nothing lies beside it", None),
    _promise("key_in_answers", "the key stands in no answer, whatever is asked", None),
    _promise("key_anywhere", "... in no environment, argument list or file", None),
)
