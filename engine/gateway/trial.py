"""Tries an endpoint the way a run would reach it: through a gateway, asking for its models."""

from __future__ import annotations

import http.client
import json
import tempfile
from pathlib import Path

from engine.base.errors import JudgedFailed
from engine.base.jobs import Job
from engine.gateway.gateway import FOLDER, connected, open_gateway
from engine.gateway.interface import Budget, Endpoint

_SECONDS = 30.0
_SHOWN = 20


def try_endpoint(endpoint: Endpoint, *, job: Job | None = None) -> list[str]:
    """The names of some models that it offers; sends nothing but the question (and the key).

    Raises:
        JudgedFailed: it does not answer, or not as the API says; the text says why.
        UsageError, MissingPrerequisite, HarnessFault: as `open_gateway`.
    """
    with tempfile.TemporaryDirectory(prefix="m4review-") as place:
        folder = Path(place)
        with (
            open_gateway(
                endpoint,
                budget=Budget(requests=1),
                folder=folder / FOLDER,
                egress=folder / "egress.jsonl",
                permit_remote=True,
                on_stop=lambda _: None,
                job=job,
                idle_seconds=_SECONDS,
            ) as gateway,
            connected(gateway.folder) as stream,
        ):
            stream.settimeout(2 * _SECONDS)
            path = "/v1beta/models" if endpoint.api == "generate" else "/v1/models"
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            if endpoint.api == "messages":
                head += "anthropic-version: 2023-06-01\r\n"
            stream.sendall(f"{head}\r\n".encode())
            answer = http.client.HTTPResponse(stream)
            answer.begin()
            text = answer.read()
            status = answer.status
    return _models(endpoint, status, text)


def _trouble(endpoint: Endpoint, status: int) -> tuple[str, str | None]:
    """What a status means for who wants to use the endpoint, and what to do."""
    store = f"m4bench endpoint key {endpoint.name}"
    what, todo = f"The endpoint answered with status {status}.", None
    if status in (401, 403) and endpoint.key is None:
        what = f"The endpoint wants a key, and none is named for it (status {status})."
        todo = f"Name one: m4bench endpoint add {endpoint.name} … --key NAME, then {store}"
    elif status in (401, 403):
        what = f"The endpoint does not accept the key {endpoint.key!r} (status {status})."
        todo = f"Store another one in the keyring: {store}"
    elif status == 429:  # noqa: PLR2004 - as in HTTP
        what = "The endpoint is there, but limits how much it may be asked (status 429)."
        todo = "Wait, or look at the limits and the credit of the key's account."
    elif status in (502, 504):
        what = f"The endpoint does not answer (status {status})."
        todo = "Is it running, and is its URL right? m4bench endpoint list shows it."
    return what, todo


def _models(endpoint: Endpoint, status: int, text: bytes) -> list[str]:
    try:
        document = json.loads(text)
    except ValueError:
        document = {}
    if status != http.client.OK:
        inner = document.get("error") if isinstance(document, dict) else None
        words = inner.get("message") if isinstance(inner, dict) else None
        what, todo = _trouble(endpoint, status)
        raise JudgedFailed(
            what,
            todo=todo,
            details="".join(c if c.isprintable() else " " for c in str(words or ""))[:300] or None,
        )
    listed = (document.get("data") or document.get("models")) if isinstance(document, dict) else []
    names = [each.get("id") or each.get("name") for each in listed or [] if isinstance(each, dict)]
    shown = [str(name).removeprefix("models/")[:100] for name in names if name]
    return [name for name in shown if name.isprintable()][:_SHOWN]
