"""A real gateway before a model server of our own, to be attacked.

The server is the worst there can be: it keeps every byte that reaches it and gives all that it got,
the key included, back in its answer. What an attempt inside the sandbox can see of the key, and
what of its smuggling got through, is then known on this side.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.gateway.gateway import Gateway, open_gateway
from engine.gateway.interface import Api, Budget, Endpoint, Stopped
from engine.gateway.keys import Secret

_HEAD_MOST = 1 << 20
_SECONDS = 30.0


@dataclass
class Recorded:
    """What reached the model server."""

    requests: list[bytes] = field(default_factory=list)
    """Each request raw: head and body, in order of arrival."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def all(self) -> bytes:
        """All of it."""
        with self.lock:
            return b"\n".join(self.requests)


@dataclass(frozen=True, kw_only=True)
class GatewayGround:
    """An open gateway and what is known on this side."""

    gateway: Gateway
    """The gateway; `gateway.folder` is what a command mounts (`Command.gateway`)."""
    api: Api
    """What it speaks."""
    marker: str
    """The key, made for this ground; never to be seen inside."""
    reached: Recorded
    """What reached the model server."""
    egress: Path
    """The gateway's log."""

    @property
    def folder(self) -> Path:
        """Host folder with the socket."""
        return self.gateway.folder

    @property
    def stopped(self) -> Stopped | None:
        """Why the gateway ended the run, if it did."""
        return self.gateway.stopped

    def forget(self) -> None:
        """Forget all that came so far; the gateway goes on. Only when it has settled."""
        with self.reached.lock:
            self.reached.requests.clear()
        if self.egress.exists():
            os.truncate(self.egress, 0)

    def lines(self) -> list[dict[str, object]]:
        """The lines of the log."""
        text = self.egress.read_text(encoding="utf-8") if self.egress.exists() else ""
        return [json.loads(line) for line in text.splitlines()]


def _request(stream: socket.socket) -> bytes:
    """One request as it comes, by its Content-Length or chunks; empty at the end."""
    data = bytearray()
    while b"\r\n\r\n" not in data:
        part = stream.recv(1 << 16)
        if not part or len(data) > _HEAD_MOST:
            return bytes(data)
        data += part
    head, _, _ = bytes(data).partition(b"\r\n\r\n")
    start = len(head) + 4
    fields = [line.split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line]
    named = {name.strip().lower(): value.strip() for name, value in fields}
    length = int(named.get(b"content-length", b"0"))

    def whole() -> bool:
        if b"chunked" in named.get(b"transfer-encoding", b""):
            return data.endswith(b"0\r\n\r\n")
        return len(data) >= start + length

    while not whole():
        part = stream.recv(1 << 16)
        if not part:
            break
        data += part
    return bytes(data)


@contextlib.contextmanager
def model_server(recorded: Recorded) -> Iterator[int]:
    """The server's port on 127.0.0.1; it answers everything with all that it got."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(_SECONDS)
            with contextlib.suppress(OSError):
                got = _request(self.request)
                if not got:
                    return
                with recorded.lock:
                    recorded.requests.append(got)
                usage = {"input_tokens": 10, "output_tokens": 5}
                usage |= {"prompt_tokens": 10, "completion_tokens": 5}
                counts = {"promptTokenCount": 10, "candidatesTokenCount": 5}
                echo = {"echo": got.decode("latin1"), "usage": usage, "usageMetadata": counts}
                body = json.dumps(echo).encode()
                head = (
                    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                )
                self.request.sendall(head.encode() + body)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = False
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="model server")
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def open_ground(
    folder: Path,
    *,
    api: Api = "messages",
    budget: Budget | None = None,
    body_seconds: float = 60.0,
    planted: Sequence[str] = (),
    on_stop: Callable[[Stopped], object] | None = None,
) -> Iterator[GatewayGround]:
    """A real gateway with a marker as its key, before a model server on this machine.

    Args:
        folder: an empty folder of the caller's; the socket's folder and the log are made in it.
        api: what is spoken.
        budget: of the run; the usual one when left away.
        body_seconds: in which a request's body has to be there.
        planted: as in `open_gateway`.
        on_stop: as in `open_gateway`.

    Raises:
        M4Error: as `open_gateway`.
    """
    recorded = Recorded()
    marker = f"m4-marker-{secrets.token_hex(16)}"
    egress = folder / "egress.jsonl"
    with (
        model_server(recorded) as port,
        open_gateway(
            Endpoint(name="ground", api=api, url=f"http://127.0.0.1:{port}"),
            budget=budget or Budget(),
            folder=folder / "gateway",
            egress=egress,
            permit_remote=False,
            on_stop=on_stop or (lambda _: None),
            secret=Secret(marker),
            body_seconds=body_seconds,
            planted=planted,
        ) as gateway,
    ):
        yield GatewayGround(
            gateway=gateway, api=api, marker=marker, reached=recorded, egress=egress
        )
