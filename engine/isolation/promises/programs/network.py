"""Attempts to reach anything outside by a socket of any kind."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from .attempt import Broken, ground

NETLINK, PACKET, VSOCK = 16, 17, 40


def _connect(family: int, kind: int, address: object) -> str:
    try:
        with socket.socket(family, kind) as one:
            one.settimeout(3)
            one.connect(address)  # type: ignore[arg-type]
    except OSError as error:
        return str(error.strerror or error)
    raise Broken(f"{address!r} was reached")


def ipv4() -> str:
    found = ground()
    said = [
        _connect(socket.AF_INET, socket.SOCK_STREAM, (address, found["port"]))
        for address in found["addresses"]
        if ":" not in address
    ]
    said.append(_connect(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 443)))
    said.append(_connect(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)))
    return ", ".join(said)


def ipv6() -> str:
    found = ground()
    said = [
        _connect(socket.AF_INET6, socket.SOCK_STREAM, (address, found["port"]))
        for address in found["addresses"]
        if ":" in address
    ]
    said.append(_connect(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443)))
    said.append(_connect(socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 53)))
    return ", ".join(said)


def names() -> str:
    for name in ("example.org", "localhost.localdomain", "metadata.google.internal"):
        with contextlib.suppress(OSError):
            socket.getaddrinfo(name, 443)
            raise Broken(f"{name} was resolved")
    return "no name is resolved"


def broadcast() -> str:
    for target in ("255.255.255.255", "224.0.0.1"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            one.sendto(b"x", (target, 9))
            raise Broken(f"a datagram to {target} was sent")
    return "no broadcast, no multicast"


def interfaces() -> str:
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]
    found = [line.split(":")[0].strip() for line in lines]
    if found != ["lo"]:
        raise Broken(f"interfaces: {found}")
    if len(Path("/proc/net/route").read_text(encoding="ascii").splitlines()) > 1:
        raise Broken("there is a route")
    return "only an empty loopback, no route"


def _no_socket(family: int, what: str) -> str:
    said = ""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
        except OSError as error:
            said = str(error.strerror)
        else:
            raise Broken(f"a {what} socket was opened")
    return f"{what}: {said}"


def netlink() -> str:
    return _no_socket(NETLINK, "netlink")


def vsock() -> str:
    return _no_socket(VSOCK, "vsock")


def raw() -> str:
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            socket.socket(family, socket.SOCK_RAW, 1).close()
            raise Broken("a raw socket was opened")
    return _no_socket(PACKET, "packet")


def other_families() -> str:
    for family in sorted(set(range(46)) - {1, 2, 10}):
        _no_socket(family, f"family {family}")
    return "43 families refused"


def abstract_unix() -> str:
    said = _connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + ground()["abstract"])
    listed = Path("/proc/net/unix").read_text(encoding="ascii", errors="replace")
    if ground()["abstract"] in listed:
        raise Broken("the host's abstract sockets are listed")
    return said


def known_sockets() -> str:
    """The sockets of engines, desktops and agents for keys."""
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)
    said = [_connect(socket.AF_UNIX, kind, path) for path in ground()["sockets"] for kind in kinds]
    return f"{len(said)} attempts: {', '.join(sorted(set(said)))}"


def other_protocols() -> str:
    """Other protocols than TCP and UDP over IP, to the host's own listeners and outside."""
    found = ground()
    kinds = {"MPTCP": (1, 262), "SCTP": (1, 132), "DCCP": (6, 33), "UDP-Lite": (2, 136)}
    said = []
    for name, (kind, protocol) in kinds.items():
        for address in (*found["addresses"], "192.0.2.1"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            try:
                with socket.socket(family, kind, protocol) as one:
                    one.settimeout(3)
                    one.connect((address, found["port"]))
                    if kind == socket.SOCK_DGRAM and not address.startswith(("127.", "::1")):
                        raise Broken(f"{name} has a way to {address}")
                    if kind != socket.SOCK_DGRAM:
                        raise Broken(f"{address} was reached by {name}")
            except OSError as error:
                said.append(f"{name}: {error.strerror or error}")
    return ", ".join(sorted(set(said)))


def name_servers() -> str:
    """A question to name servers themselves, not through the system's resolver."""
    question = b"\x12\x34\x01\x00\x00\x01" + bytes(6) + b"\x07example\x03org\x00\x00\x01\x00\x01"
    for server in ("127.0.0.53", "127.0.0.11", "8.8.8.8", "169.254.169.254", "192.0.2.53"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(0.5)
            one.connect((server, 53))
            one.send(question)
            one.recv(512)
            raise Broken(f"the name server {server} answered")
    return "no name server answers"


def clouds_own_address() -> str:
    """The address under which clouds hand out credentials, and addresses without a route."""
    said = [
        _connect(socket.AF_INET, socket.SOCK_STREAM, (address, 80))
        for address in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "172.17.0.1")
    ]
    said.append(_connect(socket.AF_INET6, socket.SOCK_STREAM, ("fd00:ec2::254", 80)))
    return ", ".join(sorted(set(said)))


def unix_path() -> str:
    return _connect(socket.AF_UNIX, socket.SOCK_STREAM, ground()["unix_path"])
