"""What the gateway itself answers, in the form that each API's clients understand.

Some agents try again for ever on some statuses; what is final is said in the way that makes each
of them give up soonest.
"""

from __future__ import annotations

import json
from typing import Any

from engine.gateway.interface import Api

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
}
_OURS = 500
FINAL: dict[Api, int] = {"responses": 400, "messages": 403, "chat": 400, "generate": 403}
"""The status after which a client of that API does not ask again."""


def error_document(api: Api, status: int, words: str) -> dict[str, Any]:
    """An error as the endpoint itself would say it."""
    if api == "messages":
        error = {"type": _TYPES.get(status, "api_error"), "message": words}
        return {"type": "error", "error": error}
    if api == "generate":
        state = _STATES.get(status, "UNAVAILABLE" if status >= _OURS else "FAILED_PRECONDITION")
        return {"error": {"code": status, "message": words, "status": state}}
    kind = _TYPES.get(status, "server_error" if status >= _OURS else "invalid_request_error")
    return {"error": {"message": words, "type": kind, "code": f"gateway_{status}", "param": None}}


def last_event(api: Api, status: int, words: str, *, final: bool) -> bytes:
    """The event that ends a stream which cannot go on."""
    document = error_document(api, status, words)
    if api == "responses":
        # Its clients try again after most codes, but not after this one.
        error = {"code": "insufficient_quota" if final else "server_error", "message": words}
        response = {"id": "gateway", "object": "response", "status": "failed", "error": error}
        document = {"type": "response.failed", "response": response}
        return b"event: response.failed\ndata: " + json.dumps(document).encode() + b"\n\n"
    name = b"event: error\n" if api == "messages" else b""
    return name + b"data: " + json.dumps(document).encode() + b"\n\n"
