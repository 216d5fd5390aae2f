"""`m4bench source …`: register, make, list, show and remove sources."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from engine.base.errors import UsageError
from engine.cli.context import CliContext, existing, pass_context
from engine.references.needs import with_needs
from engine.sources import (
    KINDS,
    Policy,
    SourceInfo,
    add_source,
    find_source,
    list_sources,
    remove_source,
    revoke,
    source_policy,
)
from engine.workbench.care import allow_endpoint


@click.group()
def command() -> None:
    """Register, make, list and remove sources of data."""


def _as_json(context: CliContext, info: SourceInfo) -> dict[str, Any]:
    policy = source_policy(context.home, info.name).as_dict()
    return {**asdict(with_needs(info)), "path": str(info.path), "policy": policy}


def _brief(info: SourceInfo) -> dict[str, object]:
    return {
        "name": info.name,
        "kind": info.kind,
        "state": info.state_words,
        "access": info.access,
        "tables": len(info.tables),
        "missing": len(info.missing),
        "stays": info.stays,
        "MB": round(info.size_bytes / 1e6, 1),
        "added": info.added_at,
    }


def _text(info: SourceInfo) -> str:
    lines = [f"{name:9} {value}" for name, value in _brief(info).items() if value is not None]
    if info.todo:
        lines += ["", info.todo]
    if info.digest:
        lines.append(f"{'digest':9} {info.digest}")
    lines += ["", "Tables and rows:"]
    lines += [f"  {table.rows:>13,}  {table.name}" for table in info.tables]
    if info.missing:
        lines += ["", "Missing, and what cannot be built without it:"]
        for table in with_needs(info).missing:
            lines.append(f"  {table.name}: {', '.join(table.needed_for) or 'nothing needs it'}")
    return "\n".join(lines)


def _tell(context: CliContext, info: SourceInfo) -> None:
    policy = source_policy(context.home, info.name)
    context.result(_as_json(context, info), text=f"{_text(info)}\n\n{policy.words}")


def _policy_text(policy: Policy) -> str:
    lines = [policy.words]
    for ruling in policy.history:
        whom = f" {ruling.provider}" if ruling.provider else ""
        whom += f" at {ruling.host}" if ruling.host else ""
        ended = "" if ruling.holds or ruling.act != "allow" else " (no longer)"
        why = f": {ruling.why}" if ruling.why else ""
        lines.append(f"  {ruling.at}  {ruling.act}{whom} by {ruling.by}{why}{ended}")
    return "\n".join(lines)


@command.command()
@click.argument("name")
@click.argument("path")
@click.option(
    "--kind",
    type=click.Choice([*KINDS, "auto"]),
    default="auto",
    show_default=True,
    help="Which database it is; found out by itself from the tables.",
)
@click.option("--memory", metavar="SIZE", help='Limit of the database engine, e.g. "3GB".')
@pass_context
def add(context: CliContext, name: str, path: str, kind: str, memory: str | None) -> None:
    """Register PATH as NAME and import it.

    PATH is a PhysioNet-style folder of CSV, CSV.gz or Parquet files, or a DuckDB file. Called
    again after an interruption, it goes on where it was.
    """
    with context.job() as job:
        info = add_source(
            context.home, name, existing(path), kind=kind, job=job, memory_limit=memory
        )
    _tell(context, info)


@command.command()
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="Whose shape it has.")
@click.option("--stays", type=click.IntRange(1), required=True, help="How many ICU stays.")
@click.option(
    "--seed", type=int, default=1, show_default=True, help="The same seed makes the same data."
)
@pass_context
def synth(context: CliContext, name: str, kind: str, stays: int, seed: int) -> None:
    """Make a synthetic source called NAME: no patient is in it."""
    from engine.sources.synthetic import synthesize_source  # noqa: PLC0415 - only when asked for

    with context.job() as job:
        info = synthesize_source(context.home, name, kind=kind, stays=stays, seed=seed, job=job)
    _tell(context, info)


@command.command(name="list")
@pass_context
def list_(context: CliContext) -> None:
    """All sources, unfinished imports too."""
    infos = list_sources(context.home)
    value = [_as_json(context, info) for info in infos]
    context.result(value, rows=[_brief(info) for info in infos])
    for info in infos:
        if info.todo:
            click.echo(f"{info.name} is {info.state_words}. {info.todo}", err=True)


@command.command()
@click.argument("name")
@pass_context
def show(context: CliContext, name: str) -> None:
    """One source: its tables, and what is missing for what."""
    _tell(context, find_source(context.home, name))


@command.command()
@click.argument("name")
@pass_context
def remove(context: CliContext, name: str) -> None:
    """Forget a source; delete its database, references and workspaces. Runs stay."""
    remove_source(context.home, name)
    context.result({"removed": name}, text=f"Removed {name}; its runs are kept.")


@command.command(name="policy")
@click.argument("name")
@click.option("--local-only", is_flag=True, help="Take back everything that was allowed.")
@click.option("--allow", metavar="PROVIDER", help="Let this endpoint's models see it.")
@click.option("--revoke", "revoked", metavar="PROVIDER", help="Take one permission back.")
@click.option("--by", metavar="WHO", default="", help="Who decides it; needed with --allow.")
@click.option("--why", metavar="TEXT", default="", help="The reason; needed with --allow.")
@pass_context
def policy_(
    context: CliContext,
    *,
    name: str,
    local_only: bool,
    allow: str | None,
    revoked: str | None,
    by: str,
    why: str,
) -> None:
    """Which models may see NAME, and who decided so; with an option, decide it.

    Synthetic sources and open demos are free. Of a credentialed source only models on this
    machine may see anything until a provider is allowed by name: the host that this endpoint has
    now, and no other if it is changed. Every decision is kept.
    """
    if sum((local_only, allow is not None, revoked is not None)) > 1:
        raise UsageError("Only one of --local-only, --allow and --revoke can be said at once.")
    if allow is not None:
        policy = allow_endpoint(context.home, name, allow, by=by, why=why)
    elif local_only or revoked is not None:
        policy = revoke(context.home, name, revoked, by=by, why=why)
    else:
        policy = source_policy(context.home, name)
    context.result(policy.as_dict(), text=_policy_text(policy))
