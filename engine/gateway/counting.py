"""Token counts out of answers, whole or streamed, of all four model APIs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.gateway.interface import Api

_EVENT_MOST = 16 << 20
_COUNT_MOST = 10**9
_BAD, _FAILED, _BAD_UNTIL = 400, 500, 600
_MEANS = {
    "overloaded": 529,
    "rate_limit": 429,
    "resource_exhausted": 429,
    "authentication": 401,
    "permission": 403,
    "invalid": 400,
}
"""Words of errors within streams, and the HTTP statuses that they mean."""


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """What one answer told."""

    input: int
    """Cached ones included."""
    cached: int
    """Of them, read from the provider's cache."""
    output: int
    """Reasoning included."""


def _number(values: Any, *names: str) -> int | None:
    """The first of these numbers that is there and possible."""
    if not isinstance(values, Mapping):
        return None
    for name in names:
        value = values.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _COUNT_MOST:
            return value
    return None


def _usage(api: Api, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The part of an answer or of an event that holds counts."""
    places = {
        "responses": (document, document.get("response")),
        "messages": (document, document.get("message")),
        "chat": (document,),
        "generate": (document,),
    }
    name = "usageMetadata" if api == "generate" else "usage"
    for place in places[api]:
        found = place.get(name) if isinstance(place, Mapping) else None
        if isinstance(found, Mapping):
            return found
    return None


def _failed(event: Mapping[str, Any]) -> int | None:
    """The HTTP status that an event of a stream means, if it tells an error.

    Only the event's own fields count: what a model says stands deeper, within texts.
    """
    response = event.get("response")
    place = response if isinstance(response, Mapping) else event
    error = place.get("error")
    kind = event.get("type")
    if kind not in (None, "error", "response.failed") or not (error or kind == "error"):
        return None
    told = error if isinstance(error, Mapping) else event
    code = _number(told, "code", "status")
    if code is not None and _BAD <= code < _BAD_UNTIL:
        return code
    words = " ".join(str(told.get(name)) for name in ("type", "code", "status")).lower()
    return next((status for word, status in _MEANS.items() if word in words), _FAILED)


class Counter:
    """Reads one answer while it passes.

    Args:
        api: what is spoken.
        streamed: whether the answer is a stream of events (else one document).
    """

    def __init__(self, api: Api, *, streamed: bool) -> None:
        self._api = api
        self._streamed = streamed
        self._rest = bytearray()
        self._lost = False
        self._counts: dict[str, int] = {}
        self.failed: int | None = None
        """HTTP status that an error event of a stream means; None without one."""

    def feed(self, data: bytes) -> None:
        """The next bytes of the answer, decompressed."""
        if len(self._rest) + len(data) > _EVENT_MOST:
            self._lost = True  # too long to be read: it is still passed on
            self._rest.clear()
            return
        self._rest += data
        if not self._streamed or b"\n" not in data:
            return
        lines = bytes(self._rest).replace(b"\r\n", b"\n").split(b"\n")
        self._rest = bytearray(lines.pop())
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:") and (b'"usage' in line or b'"error"' in line):
            self._document(line[5:])

    def _document(self, text: bytes) -> None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(document, list) and document:  # a stream that was not asked for as events
            document = document[-1]
        if isinstance(document, Mapping):
            if self._streamed:
                self.failed = _failed(document) or self.failed
            self._take(_usage(self._api, document))

    def _take(self, usage: Mapping[str, Any] | None) -> None:
        """Counts of later events replace those of earlier ones: they are sums so far."""
        if usage is None:
            return
        details: Any
        found: dict[str, int | None]
        if self._api == "messages":
            fresh = _number(usage, "input_tokens")
            written = _number(usage, "cache_creation_input_tokens")
            found = {
                "fresh": fresh,
                "written": written,
                "cached": _number(usage, "cache_read_input_tokens"),
                "output": _number(usage, "output_tokens"),
            }
        elif self._api == "generate":
            found = {
                "fresh": _number(usage, "promptTokenCount"),
                "written": _number(usage, "toolUsePromptTokenCount"),
                "cached": _number(usage, "cachedContentTokenCount"),
                "output": _number(usage, "candidatesTokenCount"),
                "thoughts": _number(usage, "thoughtsTokenCount"),
            }
        else:
            details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details")
            found = {
                "fresh": _number(usage, "input_tokens", "prompt_tokens"),
                "cached": _number(details, "cached_tokens"),
                "output": _number(usage, "output_tokens", "completion_tokens"),
            }
        self._counts |= {name: value for name, value in found.items() if value is not None}

    def result(self) -> Tokens | None:
        """What was told, at the end of the answer; None when nothing was."""
        if self._rest and not self._lost:
            if self._streamed:
                self._line(bytes(self._rest))
            else:
                self._document(bytes(self._rest))
            self._rest.clear()
        counts = self._counts
        if "fresh" not in counts and "output" not in counts:
            return None
        total = counts.get("fresh", 0) + counts.get("written", 0)
        cached = counts.get("cached", 0)
        if self._api == "messages":  # its cached tokens stand beside the others
            total += cached
        return Tokens(
            input=total,
            cached=min(cached, total),
            output=counts.get("output", 0) + counts.get("thoughts", 0),
        )
