"""The gateway's own process: ``python -m engine.gateway.process``, started by `gateway`.

It reads one line of JSON from stdin (what to do), writes lines of JSON to stdout (what happens)
and ends when stdin is closed. The key is read from the keyring here, after the process was closed
to debuggers and core dumps; nothing writes it anywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from engine.base.errors import M4Error
from engine.gateway.egress import EgressLog
from engine.gateway.exchange import error_response
from engine.gateway.harden import close_memory, die_with
from engine.gateway.interface import SOCKET, Api, Budget, Endpoint, Stopped
from engine.gateway.keys import Secret, get_key
from engine.gateway.ledger import Ledger
from engine.gateway.proxy import Proxy
from engine.gateway.redact import Redactor
from engine.gateway.routes import Forbidden
from engine.gateway.upstream import Upstream

CONNECTIONS = 128
"""Open at the same time; further ones are dropped."""
IDLE_SECONDS = 75.0
"""A connection without a whole request's head for so long is closed."""
_LINE, _FIELD, _FIELDS = 8190, 8190, 128
_CLOSING_SECONDS = 0.5
_STILL, _LOOK_SECONDS = 3, 0.01
"""Looks in a row that find nothing going on before this is told, and the time between them."""


def tell(event: str, **values: Any) -> None:
    """One line for the program that started this process."""
    data = json.dumps({"event": event, **values}) + "\n"
    with contextlib.suppress(OSError):  # it is gone; the end of stdin says so
        os.write(1, data.encode())


class _Handler(RequestHandler):
    """One connection; what cannot be parsed is logged like any other refusal."""

    __slots__ = ("_api", "_proxy")

    def __init__(self, server: web.Server, proxy: Proxy, api: Api, **options: Any) -> None:
        super().__init__(server, **options)
        self._proxy, self._api = proxy, api

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """A request that is none."""
        words = "This is no request that can be read in one way only."
        if self._proxy.stopped is None:
            line = self._proxy.new_line("", "")
            self._proxy.refused(line, Forbidden(400, "malformed", words))
        if request.writer.output_size > 0:
            raise ConnectionError("an answer was begun")
        return error_response(self._api, 400, words, final=False)


class _Server(web.Server):
    """All connections of a run."""

    def __init__(self, proxy: Proxy, api: Api) -> None:
        super().__init__(proxy.handle)
        self._proxy, self._api = proxy, api

    def __call__(self) -> RequestHandler:
        return _Handler(
            self,
            self._proxy,
            self._api,
            loop=asyncio.get_running_loop(),
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            tcp_keepalive=False,
            max_line_size=_LINE,
            max_field_size=_FIELD,
            max_headers=_FIELDS,
            lingering_time=1.0,
            auto_decompress=False,
        )

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()


def listen(folder: Path) -> socket.socket:
    """The run's socket in `folder`, open to the sandbox's user."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.chdir(folder)  # a socket's whole path is limited to some hundred bytes
    server.bind(SOCKET)
    Path(SOCKET).chmod(0o666)
    os.chdir("/")
    server.listen(CONNECTIONS)
    server.setblocking(False)
    return server


async def serve(order: dict[str, Any], secret: Secret | None, server: socket.socket) -> None:
    """Serve until stdin is closed."""
    endpoint = Endpoint(**order["endpoint"])
    budget = Budget(**order["budget"])
    permit_remote = bool(order["permit_remote"])
    ledger = Ledger(budget)

    def on_stop(stopped: Stopped) -> None:
        tell("stopped", **vars(stopped))

    def on_usage() -> None:
        tell("usage", **ledger.usage.as_dict())

    log = EgressLog(Path(order["egress"]))
    upstream = Upstream(
        endpoint,
        permit_remote=permit_remote,
        idle_seconds=float(order["idle_seconds"]),
        secret=secret,
    )
    proxy = Proxy(
        endpoint,
        upstream,
        ledger=ledger,
        log=log,
        on_stop=on_stop,
        on_usage=on_usage,
        seconds=budget.seconds,
        local_only=not permit_remote,
        redactor=lambda: Redactor(secret),
        body_seconds=float(order["body_seconds"]),
        planted=[str(word) for word in order.get("planted", ())],
    )
    runner = web.ServerRunner(_Server(proxy, endpoint.api), shutdown_timeout=_CLOSING_SECONDS)
    await runner.setup()
    await web.SockSite(runner, server).start()
    tell("ready")

    def idle() -> bool:
        web_server = runner.server
        return proxy.busy == 0 and web_server is not None and not web_server.connections

    await _stdin_closed(idle)
    proxy.close()
    await runner.cleanup()
    await upstream.close()
    log.close()
    on_usage()
    tell("closed")


async def _stdin_closed(idle: Callable[[], bool]) -> None:
    """Wait for the end; whatever comes before it asks to be told when nothing is going on."""
    asked, closed = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def look() -> None:
        if not os.read(0, 1024):
            loop.remove_reader(0)
            closed.set()
        asked.set()

    loop.add_reader(0, look)
    while not closed.is_set():
        await asked.wait()
        asked.clear()
        still = 0
        while still < _STILL and not closed.is_set():  # who waits to be let in is no connection yet
            await asyncio.sleep(_LOOK_SECONDS)
            still = still + 1 if idle() else 0
        tell("idle")


def _read_order() -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        part = os.read(0, 1 << 16)
        if not part:
            sys.exit(1)
        data += part
    found: dict[str, Any] = json.loads(data)
    return found


def _secret(order: dict[str, Any]) -> Secret | None:
    given = order.pop("secret", None)
    if given is not None:
        return Secret(given)
    name = order["endpoint"]["key"]
    return None if name is None else get_key(name)


def main(run: Callable[[Any], object] = asyncio.run) -> int:
    """Do what stdin says; the exit status."""
    close_memory()
    order = _read_order()
    die_with(order["parent"])
    try:
        secret = _secret(order)
        server = listen(Path(order["folder"]))
    except M4Error as error:
        tell("error", **error.as_dict())
        return error.exit_code
    except OSError as error:
        tell("error", error="HarnessFault", text="The gateway's socket cannot be made.",
             todo=None, details=error.strerror)  # fmt: skip
        return 70
    run(serve(order, secret, server))
    return 0


if __name__ == "__main__":
    sys.exit(main())
