"""The connection to the one endpoint: where it may lead, how long it may wait, what it carries."""

from __future__ import annotations

import socket
from typing import Any

import aiohttp
from yarl import URL

from engine.gateway.interface import Api, Endpoint
from engine.gateway.keys import Secret
from engine.gateway.local import is_own, split_url

CONNECT_SECONDS = 10.0
_AGENT = "m4review-gateway"
_KEY_HEADERS: dict[Api, tuple[str, str]] = {
    "responses": ("Authorization", "Bearer "),
    "chat": ("Authorization", "Bearer "),
    "messages": ("x-api-key", ""),
    "generate": ("x-goog-api-key", ""),
}


class NotThisMachine(OSError):
    """The address is another machine's, and only this one may be reached."""


class Upstream:
    """Sends requests to one endpoint; to be made and closed inside a running event loop.

    Args:
        endpoint: the only one.
        permit_remote: whether another machine may be reached (by https only).
        idle_seconds: without a byte of the answer for so long, it is given up.
        secret: its key.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        permit_remote: bool,
        idle_seconds: float,
        secret: Secret | None,
    ) -> None:
        scheme, self.host, self.port, base = split_url(endpoint.url)
        self._api = endpoint.api
        host = f"[{self.host}]" if ":" in self.host else self.host
        self._base = f"{scheme}://{host}:{self.port}{base}"
        self._anywhere = permit_remote and scheme == "https"
        self._secret = secret
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                use_dns_cache=False,
                keepalive_timeout=5,
                # Asked with the very address that is connected to, whatever a name meant before.
                socket_factory=self._socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            raise_for_status=False,
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=CONNECT_SECONDS,
                sock_connect=CONNECT_SECONDS,
                sock_read=idle_seconds,
            ),
        )

    def _socket(self, address: Any) -> socket.socket:
        family, kind, protocol, _, where = address
        if not self._anywhere and not is_own(str(where[0])):
            raise NotThisMachine("not an address of this machine")
        return socket.socket(family, kind, protocol)

    def ask(
        self, method: str, path: str, query: str, headers: dict[str, str], data: bytes | None
    ) -> Any:
        """Send one request; an async context that gives aiohttp's response.

        Redirects are not followed.
        """
        sent = {**headers, "Accept-Encoding": "identity", "User-Agent": _AGENT}
        if data is not None:
            sent["Content-Type"] = "application/json"
        if self._secret is not None:
            name, scheme = _KEY_HEADERS[self._api]
            sent[name] = scheme + self._secret.reveal()
        url = URL(f"{self._base}{path}{'?' + query if query else ''}", encoded=True)
        return self._session.request(method, url, headers=sent, data=data, allow_redirects=False)

    async def close(self) -> None:
        """Close its connections."""
        await self._session.close()
