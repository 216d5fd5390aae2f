"""Which requests may pass, told from method, target and headers alone.

A request is not passed on but made anew from what is allowed here, so that nothing else of the
client's bytes can reach the endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.gateway.interface import Api

Kind = Literal["model", "count", "list", "hello"]
"""Asks the model; counts tokens; lists models; is answered here."""

_MODEL = r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}"
_MODELS = (("GET", rf"/v1/models(/{_MODEL})?", "list"),)
_ROUTES: dict[Api, tuple[tuple[str, str, Kind], ...]] = {
    "responses": (("POST", r"/v1/responses", "model"), ("GET", _MODELS[0][1], "list")),
    "messages": (
        ("POST", r"/v1/messages", "model"),
        ("POST", r"/v1/messages/count_tokens", "count"),
        ("HEAD", r"/api/hello", "hello"),
        ("GET", r"/api/hello", "hello"),
        ("GET", _MODELS[0][1], "list"),
    ),
    "chat": (("POST", r"/v1/chat/completions", "model"), ("GET", _MODELS[0][1], "list")),
    "generate": (
        ("POST", rf"/v1beta/models/{_MODEL}:(generateContent|streamGenerateContent)", "model"),
        ("POST", rf"/v1beta/models/{_MODEL}:countTokens", "count"),
        ("GET", rf"/v1beta/models(/{_MODEL})?", "list"),
    ),
}
_QUERY: dict[Api, tuple[str, ...]] = {
    "responses": (),
    "messages": ("beta=true",),
    "chat": (),
    "generate": ("alt=sse",),
}
_OWN_HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
_TARGET = re.compile(r"/[!-~]{0,4095}")

_VALUE = re.compile(r"[ -~]{1,1024}")
_BETA = re.compile(r"[A-Za-z0-9=._-]{1,100}")
_NO_BETA = re.compile(r"mcp|code-execution|files-api|web-|computer-use|skills-")
"""Betas of the provider's own tools."""
_ACCEPTED = ("application/json", "text/event-stream")


class Forbidden(Exception):
    """A request that does not pass.

    Args:
        status: of the answer.
        why: a short machine word for the log.
        words: for the agent.
        ends: whether the run ends with it.
    """

    def __init__(self, status: int, why: str, words: str, *, ends: bool = False) -> None:
        super().__init__(words)
        self.status, self.why, self.words, self.ends = status, why, words, ends


@dataclass(frozen=True, kw_only=True)
class Passed:
    """What of a request may be passed on."""

    kind: Kind
    path: str
    """The API's own path."""
    query: str
    """Known parameters only."""
    streams: bool = False
    """The path says that the answer is a stream."""
    model: str | None = None
    """The model that the path names."""


def header(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """All values of a header."""
    return [value for key, value in headers if key.lower() == name]


def check_framing(headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Refuse what two programs could read in two ways.

    Raises:
        Forbidden: both lengths, several lengths or hosts, or an encoding other than chunked.
    """
    lengths = header(headers, b"content-length")
    encodings = header(headers, b"transfer-encoding")
    plain = all(value.lower() == b"chunked" for value in encodings) and len(encodings) <= 1
    digits = all(re.fullmatch(rb"[0-9]{1,12}", value) for value in lengths) and len(lengths) <= 1
    if not plain or not digits or (lengths and encodings):
        raise Forbidden(400, "framing", "The length of this request is ambiguous.")
    if any(value.lower() != b"identity" for value in header(headers, b"content-encoding")):
        raise Forbidden(415, "encoding", "Compressed request bodies are not passed on.")


def check_target(
    api: Api, method: str, target: str, headers: Sequence[tuple[bytes, bytes]]
) -> Passed:
    """What of a request's first line may pass.

    Raises:
        Forbidden: it does not; another host ends the run, an unknown path does not.
    """
    hosts = header(headers, b"host")
    own = [value for value in hosts if _OWN_HOSTS.fullmatch(value.decode("latin1"))]
    if method == "CONNECT" or "://" in target.split("?", maxsplit=1)[0]:
        raise Forbidden(403, "other_host", "Only the model can be reached here.", ends=True)
    if len(own) != len(hosts):
        raise Forbidden(403, "other_host", "Only the model can be reached here.", ends=True)
    if len(hosts) != 1:
        raise Forbidden(400, "framing", "A request needs exactly one Host header.")
    if not _TARGET.fullmatch(target):
        raise Forbidden(403, "path", "This path is not part of the model's API.")
    path, _, query = target.partition("?")
    if header(headers, b"upgrade"):
        raise Forbidden(426, "upgrade", "WebSockets are not passed on; use plain HTTP.")
    if method == "GET" and path == "/v1/responses":
        raise Forbidden(426, "upgrade", "WebSockets are not passed on; use plain HTTP.")
    for wanted, pattern, kind in _ROUTES[api]:
        if method == wanted and re.fullmatch(pattern, path):
            kept = [pair for pair in query.split("&") if pair in _QUERY[api]]
            named = re.match(rf"/v1beta/models/({_MODEL}):", path) if kind != "list" else None
            return Passed(
                kind=kind,
                path=path,
                query="&".join(dict.fromkeys(kept)),
                streams="streamGenerateContent" in path,
                model=named.group(1) if named else None,
            )
    raise Forbidden(403, "path", "This path is not part of the model's API.")


def passed_headers(api: Api, headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """The client's headers that the endpoint gets: how it wants the answer, and the API's version.

    Never a key, a cookie, or anything of one connection.
    """
    kept = {}
    accepted = [value.decode("latin1").lower() for value in header(headers, b"accept")]
    named = [word for word in _ACCEPTED if any(word in value for value in accepted)]
    kept["Accept"] = ", ".join(named) or "*/*"
    wanted = {"messages": (b"anthropic-version", b"anthropic-beta"), "responses": (b"openai-beta",)}
    for name in wanted.get(api, ()):
        values = ",".join(value.decode("latin1") for value in header(headers, name))
        if name.endswith(b"-beta"):
            words = [word.strip() for word in values.split(",")]
            values = ",".join(w for w in words if _BETA.fullmatch(w) and not _NO_BETA.search(w))
        if _VALUE.fullmatch(values):
            kept[name.decode()] = values
    return kept


_ANSWER = re.compile(
    r"content-type|retry-after|retry-after-ms|x-should-retry|request-id|x-request-id"
    r"|x-ratelimit-[a-z-]+|anthropic-ratelimit-[a-z-]+|openai-(model|version|processing-ms)"
    r"|x-reasoning-included"
)


_LONGEST_WAIT = 20.0
"""Seconds. An agent that is told to wait longer may sleep through its whole run; without being told
it gives up soon, and the log says when to come again."""


def _waits_long(name: str, value: str) -> bool:
    if not name.startswith("retry-after"):
        return False
    try:
        seconds = float(value) / (1000 if name.endswith("-ms") else 1)
    except ValueError:
        return True  # a date
    return not seconds <= _LONGEST_WAIT


def passed_answer_headers(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The endpoint's headers that the agent gets; never a cookie, who pays, or a long wait."""
    return [
        (name, value)
        for name, value in headers
        if _ANSWER.fullmatch(name.lower())
        and _VALUE.fullmatch(value)
        and not _waits_long(name.lower(), value)
    ]
