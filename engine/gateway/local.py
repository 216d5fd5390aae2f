"""Is an endpoint on this machine? Asked when it is chosen and again at every connection."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

import psutil

from engine.base.errors import UsageError
from engine.gateway.interface import Endpoint

PORTS = {"http": 80, "https": 443}


def split_url(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and base path (without a closing slash) of an endpoint's URL.

    Raises:
        UsageError: not an http(s) URL, or with parts that it must not have.
    """
    wrong = UsageError(
        "An endpoint's URL is http(s)://HOST[:PORT][/PATH] without user, query or fragment.",
        todo="For example http://127.0.0.1:11434 or https://api.openai.com.",
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    odd = parts.username or parts.password or parts.query or parts.fragment or "@" in parts.netloc
    plain = url.isascii() and url.isprintable() and not any(c in url for c in " \\%")
    if parts.scheme not in PORTS or not parts.hostname or odd or not plain or ".." in parts.path:
        raise wrong
    return parts.scheme, parts.hostname, port or PORTS[parts.scheme], parts.path.rstrip("/")


def host_of(endpoint: Endpoint) -> str:
    """What a permission is bound to: ``https://api.openai.com``; with its port if unusual.

    Raises:
        UsageError: its URL is none.
    """
    scheme, host, port, _ = split_url(endpoint.url)
    shown = f"[{host}]" if ":" in host else host.rstrip(".")
    return f"{scheme}://{shown}" + ("" if port == PORTS[scheme] else f":{port}")


def own_addresses() -> set[str]:
    """The addresses of this machine's interfaces, without scopes."""
    families = (socket.AF_INET, socket.AF_INET6)
    return {
        each.address.split("%")[0]
        for addresses in psutil.net_if_addrs().values()
        for each in addresses
        if each.family in families
    }


def is_own(address: str, own: Iterable[str] | None = None) -> bool:
    """Is this numeric address loopback or an interface's of this machine?"""
    try:
        parsed = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return parsed.is_loopback or str(parsed) in (own_addresses() if own is None else own)


def addresses_of(host: str, port: int) -> list[str]:
    """The numeric addresses that a host has now; empty when it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(each[4][0]) for each in found]


def is_local(endpoint: Endpoint) -> bool:
    """Does it resolve to this machine, and to nothing else?

    What a server on this machine does with a request is not known here.

    Raises:
        UsageError: its URL is none.
    """
    _, host, port, _ = split_url(endpoint.url)
    found = addresses_of(host, port)
    own = own_addresses()
    return bool(found) and all(is_own(address, own) for address in found)
