"""Gateways for tests: a real one in a process of its own, and one in a thread for many trials."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from engine.gateway.egress import EgressLog
from engine.gateway.gateway import Gateway, connected, open_gateway
from engine.gateway.interface import Api, Budget, Endpoint, Stopped
from engine.gateway.keys import Secret
from engine.gateway.ledger import Ledger
from engine.gateway.process import _Server, listen
from engine.gateway.proxy import Proxy
from engine.gateway.redact import Redactor
from engine.gateway.upstream import Upstream

HOST = "127.0.0.1:18080"
PATHS: dict[Api, str] = {
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "generate": "/v1beta/models/m:generateContent",
}


def body_of(api: Api, **more: Any) -> dict[str, Any]:
    """A small request of that API."""
    message = {"role": "user", "content": "hello"}
    plain: dict[Api, dict[str, Any]] = {
        "responses": {"model": "m", "input": "hello"},
        "messages": {"model": "m", "max_tokens": 10, "messages": [message]},
        "chat": {"model": "m", "messages": [message]},
        "generate": {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
    }
    return {**plain[api], **more}


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def document(self) -> Any:
        return json.loads(self.text)


def ask(
    folder: Path,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One whole request over the socket in `folder`."""
    with connected(folder) as stream:
        stream.settimeout(30)
        connection = http.client.HTTPConnection(HOST)
        connection.sock = stream
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
        verb = method or ("GET" if body is None else "POST")
        connection.request(verb, path, data, {"Host": HOST, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)


def raw_ask(folder: Path, data: bytes, seconds: float = 10.0) -> bytes:
    """Send bytes as they are; everything that comes back until the gateway closes."""
    with connected(folder) as stream:
        stream.settimeout(seconds)
        with contextlib.suppress(OSError):
            stream.sendall(data)
        got = b""
        with contextlib.suppress(OSError):
            while part := stream.recv(1 << 16):
                got += part
        return got


@dataclass
class Opened:
    """A real gateway and what it said."""

    gateway: Gateway
    egress: Path
    stops: list[Stopped] = field(default_factory=list)
    stop_seen: threading.Event = field(default_factory=threading.Event)

    @property
    def folder(self) -> Path:
        return self.gateway.folder

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.egress.read_text().splitlines()]

    def wait_stopped(self) -> Stopped:
        assert self.stop_seen.wait(30)
        return self.stops[0]


@contextlib.contextmanager
def opened(
    folder: Path,
    url: str,
    api: Api = "messages",
    *,
    budget: Budget | None = None,
    secret: Secret | None = None,
    **options: Any,
) -> Iterator[Opened]:
    """A gateway in its own process."""
    stops: list[Stopped] = []
    seen = threading.Event()

    def on_stop(stopped: Stopped) -> None:
        stops.append(stopped)
        seen.set()

    egress = folder / "egress.jsonl"
    with open_gateway(
        Endpoint(name="test", api=api, url=url),
        budget=budget or Budget(),
        folder=folder / "gateway",
        egress=egress,
        permit_remote=options.pop("permit_remote", False),
        on_stop=on_stop,
        secret=secret,
        **options,
    ) as gateway:
        yield Opened(gateway, egress, stops, seen)


class InThread:
    """The gateway's own server in a thread of the test: `renew` gives a fresh run in no time."""

    def __init__(self, folder: Path, url: str, api: Api, secret: Secret) -> None:
        self.folder, self.url, self.api, self.secret = folder, url, api, secret
        self.stops: list[Stopped] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gateway in a thread")
        self._thread.start()
        self._call(self._open())

    def _call(self, coroutine: Any) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(30)

    async def _open(self) -> None:
        endpoint = Endpoint(name="test", api=self.api, url=self.url)
        self._upstream = Upstream(
            endpoint, permit_remote=False, idle_seconds=10, secret=self.secret
        )
        self._log = EgressLog(self.folder / "egress.jsonl")
        self._proxy = Proxy(
            endpoint,
            self._upstream,
            ledger=Ledger(Budget(requests=None)),
            log=self._log,
            on_stop=self.stops.append,
            on_usage=lambda: None,
            seconds=None,
            local_only=True,
            redactor=lambda: Redactor(self.secret),
            body_seconds=2.0,
        )
        server = _Server(self._proxy, self.api)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.SockSite(self._runner, listen(self.folder)).start()

    def renew(self) -> None:
        """As if the run had just begun."""
        self.stops.clear()
        self._proxy.stopped = None
        self._proxy._stop_seen.clear()
        self._proxy._ledger = Ledger(Budget(requests=None))

    def close(self) -> None:
        async def end() -> None:
            await self._runner.cleanup()
            await self._upstream.close()
            self._log.close()

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
