"""The model endpoints that a user can choose: those that are known, and the user's own.

The user's own are kept in ``endpoints.toml`` in the home, one table each; an own one of a known
name takes its place. Keys are never in it, only their names.
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Any, get_args

import tomlkit
from filelock import FileLock
from tomlkit.exceptions import TOMLKitError

from engine.base.errors import BadInput, MissingPrerequisite, UsageError, bad_file
from engine.base.files import os_error, write_text
from engine.base.paths import Home
from engine.gateway.interface import Api, Endpoint
from engine.gateway.keys import check_key_name, has_key
from engine.gateway.local import is_local, is_own, split_url

__all__ = [
    "BUILT_IN",
    "add_endpoint",
    "endpoints_file",
    "find_endpoint",
    "is_local",
    "list_endpoints",
    "looks_local",
    "make_endpoint",
    "own_names",
    "remove_endpoint",
    "where_key_went",
]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HERE = {"ollama": 11434, "llamacpp": 8080, "vllm": 8000}
"""Model servers that people run themselves, at the ports that they choose by default."""


def _built_in() -> dict[str, Endpoint]:
    found = [
        Endpoint(name="openai", api="responses", url="https://api.openai.com", key="openai"),
        Endpoint(name="openai-chat", api="chat", url="https://api.openai.com", key="openai"),
        Endpoint(
            name="anthropic", api="messages", url="https://api.anthropic.com", key="anthropic"
        ),
        Endpoint(
            name="google",
            api="generate",
            url="https://generativelanguage.googleapis.com",
            key="google",
        ),
    ]
    apis: tuple[tuple[str, Api], ...] = (
        ("", "chat"),
        ("-responses", "responses"),
        ("-messages", "messages"),
    )
    for server, port in _HERE.items():
        for ending, api in apis:
            url = f"http://127.0.0.1:{port}"
            found.append(Endpoint(name=server + ending, api=api, url=url))
    return {endpoint.name: endpoint for endpoint in found}


BUILT_IN = _built_in()
"""Endpoints that need no setting up, by name."""


def endpoints_file(home: Home) -> Path:
    """Where the user's own endpoints are kept."""
    return home.root / "endpoints.toml"


def make_endpoint(name: str, *, api: str, url: str, key: str | None = None) -> Endpoint:
    """An endpoint of these values, its URL without what the API adds.

    Raises:
        UsageError: one of them cannot be.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            "An endpoint's name has small letters, digits, dots, dashes and underscores "
            "(at most 64)."
        )
    known: tuple[Api, ...] = get_args(Api)
    spoken = next((each for each in known if each == api), None)
    if spoken is None:
        raise UsageError(f"There is no API of that name; there are {', '.join(known)}.")
    base = re.sub(r"/(v1|v1beta)/?$", "", url.strip()).rstrip("/")
    scheme, host, _, _ = split_url(base)
    if scheme == "http" and _numeric(host) and not is_own(host):
        raise UsageError(
            "A server on another machine is reached by https only.",
            todo="Use https, or a server on this machine.",
        )
    if key is not None:
        check_key_name(key)
    return Endpoint(name=name, api=spoken, url=base, key=key)


def _numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host.split("%", maxsplit=1)[0])
    except ValueError:
        return False
    return True


def looks_local(endpoint: Endpoint) -> bool:
    """Is it on this machine by its very address? No name is looked up, unlike in `is_local`."""
    _, host, _, _ = split_url(endpoint.url)
    return host == "localhost" or is_own(host)


def _document(home: Home) -> tomlkit.TOMLDocument:
    path = endpoints_file(home)
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except OSError as error:
        raise os_error(error, "reading the endpoints") from error
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise bad_file(
            path.name,
            "endpoints.toml is no TOML.",
            line=getattr(error, "line", None),
            todo="Mend or remove the file.",
        ) from error


def _own(home: Home) -> dict[str, Endpoint]:
    found = {}
    for name, table in _document(home).unwrap().items():
        try:
            found[name] = _from_table(name, table)
        except UsageError as error:
            raise BadInput(
                f"The endpoint {name!r} in endpoints.toml cannot be used: {error.text}",
                todo="Mend it there, or remove it with m4bench endpoint remove.",
            ) from error
    return found


def _from_table(name: str, table: Any) -> Endpoint:
    if not isinstance(table, dict) or not {"api", "url"} <= set(table) <= {"api", "url", "key"}:
        raise UsageError("it has api, url and perhaps key, nothing else.")
    if not all(isinstance(value, str) for value in table.values()):
        raise UsageError("its values are texts.")
    return make_endpoint(name, **table)


def own_names(home: Home) -> frozenset[str]:
    """Names of the user's own endpoints."""
    return frozenset(_document(home).unwrap())


def list_endpoints(home: Home) -> list[Endpoint]:
    """All endpoints, those that are known first.

    Raises:
        BadInput: the user's file is broken; the text says where.
    """
    return list({**BUILT_IN, **_own(home)}.values())


def find_endpoint(home: Home, name: str) -> Endpoint:
    """The endpoint of that name.

    Raises:
        UsageError: there is none.
        BadInput: the user's file is broken.
    """
    found = {**BUILT_IN, **_own(home)}
    if name not in found:
        raise UsageError(
            f"There is no endpoint {name!r}.",
            todo="m4bench endpoint list shows them, m4bench endpoint add makes one.",
        )
    return found[name]


def where_key_went(home: Home, endpoint: Endpoint) -> str | None:
    """Whether keeping this endpoint would send a key to a host that has not had it; in words.

    None where nothing is to be asked: it has no key, its host has it already, or the key is new.

    Raises:
        BadInput: the user's file is broken.
    """
    if endpoint.key is None:
        return None
    hosts = {_origin(each) for each in list_endpoints(home) if each.key == endpoint.key}
    to = _origin(endpoint)
    if to in hosts:
        return None
    if hosts:
        return f"The key {endpoint.key} goes to {' and '.join(sorted(hosts))} so far, not to {to}."
    try:
        kept = has_key(endpoint.key)
    except MissingPrerequisite:  # no keyring holds no key
        return None
    words = f"The keyring holds a key {endpoint.key} already; it would be sent to {to}."
    return words if kept else None


def _origin(endpoint: Endpoint) -> str:
    scheme, host, port, _ = split_url(endpoint.url)
    return f"{scheme}://{host}:{port}"


def add_endpoint(home: Home, endpoint: Endpoint, *, move_key: bool = False) -> None:
    """Keep an endpoint; one of that name is replaced.

    Args:
        home: whose.
        endpoint: it.
        move_key: its key may go to a host that has not had it (`where_key_went`).

    Raises:
        UsageError: its key would, and nobody said that it may.
        BadInput: the user's file is broken.
        StorageFull, Busy, MissingPrerequisite: it cannot be written.
    """
    moves = None if move_key else where_key_went(home, endpoint)
    if moves is not None:
        raise UsageError(
            f"{moves} Whoever runs that server could use it.",
            todo="Give this endpoint's key a name of its own, or say --move-key if that is meant.",
        )
    with FileLock(home.root / "endpoints.lock"):
        document = _document(home)
        table = tomlkit.table()
        table.update({"api": endpoint.api, "url": endpoint.url})
        if endpoint.key is not None:
            table["key"] = endpoint.key
        document[endpoint.name] = table
        write_text(endpoints_file(home), tomlkit.dumps(document), "keeping the endpoints")


def remove_endpoint(home: Home, name: str) -> None:
    """Forget one of the user's own endpoints (its key stays in the keyring).

    Raises:
        UsageError: it is none of the user's own.
    """
    with FileLock(home.root / "endpoints.lock"):
        document = _document(home)
        if name not in document:
            known = name in BUILT_IN
            raise UsageError(
                f"The endpoint {name!r} is built in; it cannot be removed."
                if known
                else f"There is no endpoint {name!r}."
            )
        document.remove(name)
        write_text(endpoints_file(home), tomlkit.dumps(document), "keeping the endpoints")
