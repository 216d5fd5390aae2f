"""`m4bench endpoint`: which models can be reached, and their keys."""

from __future__ import annotations

import sys
from typing import get_args

import click

from engine.base.errors import MissingPrerequisite, UsageError
from engine.cli.context import CliContext, pass_context
from engine.gateway.endpoints import (
    add_endpoint,
    find_endpoint,
    list_endpoints,
    looks_local,
    make_endpoint,
    own_names,
    remove_endpoint,
)
from engine.gateway.harden import close_memory
from engine.gateway.interface import Api, Endpoint
from engine.gateway.keys import Secret, delete_key, has_key, keyring_name, set_key
from engine.gateway.trial import try_endpoint


@click.group(name="endpoint")
def command() -> None:
    """Which models can be reached, and their keys."""


def _keys(endpoints: list[Endpoint]) -> dict[str, bool | None]:
    """Which keys are there; None where no keyring can be asked."""
    found: dict[str, bool | None] = {}
    for endpoint in endpoints:
        if endpoint.key is not None and endpoint.key not in found:
            try:
                found[endpoint.key] = has_key(endpoint.key)
            except MissingPrerequisite:
                return {each.key: None for each in endpoints if each.key is not None}
    return found


@command.command(name="list")
@pass_context
def list_command(context: CliContext) -> None:
    """Show all endpoints: known ones and your own."""
    endpoints = list_endpoints(context.home)
    own = own_names(context.home)
    keys = _keys(endpoints)
    words = {True: "stored", False: "missing", None: "no keyring"}
    rows = [
        {
            "name": endpoint.name,
            "api": endpoint.api,
            "url": endpoint.url,
            "where": "this machine" if looks_local(endpoint) else "elsewhere",
            "key": endpoint.key,
            "key_is": None if endpoint.key is None else words[keys[endpoint.key]],
            "own": endpoint.name in own,
        }
        for endpoint in endpoints
    ]
    shown = [{**row, "own": "yes" if row["own"] else ""} for row in rows]
    context.result({"endpoints": rows}, rows=shown)


@command.command()
@click.argument("name")
@click.option("--api", required=True, type=click.Choice(get_args(Api)), help="What it speaks.")
@click.option("--url", required=True, metavar="URL", help="http(s)://HOST[:PORT], without /v1.")
@click.option("--key", metavar="NAME", help="Name of its key; none when left away.")
@click.option("--move-key", is_flag=True, help="The key may go to a host that never had it.")
@pass_context
def add(
    context: CliContext, *, name: str, api: str, url: str, key: str | None, move_key: bool
) -> None:
    """Add an endpoint of your own, or change one.

    A key that another host has (or that the keyring holds already) goes to no new host unless you
    say --move-key.
    """
    endpoint = make_endpoint(name, api=api, url=url, key=key)
    add_endpoint(context.home, endpoint, move_key=move_key)
    context.result(vars(endpoint), text=f"{endpoint.name}: {endpoint.api} at {endpoint.url}")
    if endpoint.key is not None:
        context.say(f"Store its key with: m4bench endpoint key {endpoint.name}")


@command.command()
@click.argument("name")
@pass_context
def remove(context: CliContext, name: str) -> None:
    """Forget an endpoint of your own; its key stays in the keyring."""
    remove_endpoint(context.home, name)
    context.result({"removed": name}, text=f"{name} is forgotten.")


@command.command()
@click.argument("name")
@click.option("--delete", is_flag=True, help="Remove the key from the keyring.")
@pass_context
def key(context: CliContext, name: str, delete: bool) -> None:
    """Store an endpoint's key in the keyring of the operating system.

    It is asked for without echo, or read from standard input.
    """
    endpoint = find_endpoint(context.home, name)
    if endpoint.key is None:
        raise UsageError(
            f"The endpoint {name!r} has no key.",
            todo="Give its key a name with m4bench endpoint add … --key NAME.",
        )
    if delete:
        gone = delete_key(endpoint.key)
        text = "The key is removed." if gone else "There was no such key."
        context.result({"key": endpoint.key, "removed": gone}, text=text)
        return
    store = keyring_name()  # before somebody types a key in vain
    close_memory()
    set_key(endpoint.key, Secret(_asked()))
    text = f"The key {endpoint.key} is stored in the keyring."
    context.result({"key": endpoint.key, "stored": True, "keyring": store}, text=text)


def _asked() -> str:
    if sys.stdin.isatty():
        typed: str = click.prompt("Key", hide_input=True, err=True)
        return typed.strip()
    return sys.stdin.readline().strip()


@command.command()
@click.argument("name")
@pass_context
def test(context: CliContext, name: str) -> None:
    """Ask an endpoint for its models, the way a run would reach it.

    Exit status 1 if it does not answer as it should.
    """
    endpoint = find_endpoint(context.home, name)
    with context.job() as job:
        models = try_endpoint(endpoint, job=job)
    text = f"{name} answers. " + (f"Models: {', '.join(models)}" if models else "")
    context.result({"endpoint": name, "answers": True, "models": models}, text=text.strip())
