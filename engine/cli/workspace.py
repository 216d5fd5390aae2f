"""`m4bench workspace build`."""

from __future__ import annotations

import click

from engine.catalogue.task import find_task
from engine.cli.context import CliContext, existing, pass_context
from engine.workspaces import build_workspace
from engine.workspaces.build import SCHEMAS


@click.group()
def command() -> None:
    """The database that an agent would get."""


@command.command()
@click.argument("task")
@click.argument("source")
@click.option(
    "--schema",
    type=click.Choice(SCHEMAS),
    default="native",
    show_default=True,
    help="How the database's tables and columns are named.",
)
@click.option("--out", required=True, metavar="FILE.duckdb", help="Where to write it.")
@pass_context
def build(context: CliContext, task: str, source: str, schema: str, out: str) -> None:
    """Write the database of TASK from SOURCE, without what the task takes away."""
    with context.job() as job:
        info = build_workspace(
            context.home, find_task(task), source, schema=schema, out=existing(out), job=job
        )
    context.result(
        {
            "task": task,
            "source": source,
            "schema": schema,
            "path": str(info.path),
            "sha256": info.sha256,
            "size_bytes": info.size_bytes,
            "tables": list(info.tables),
        },
        text=f"{len(info.tables)} tables, {info.size_bytes:,} bytes, SHA-256 {info.sha256}",
    )
