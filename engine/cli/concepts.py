"""`m4bench concepts build|export`."""

from __future__ import annotations

from dataclasses import asdict

import click

from engine.base.errors import BadInput
from engine.cli.context import CliContext, existing, pass_context
from engine.concepts import build_concepts, export_concepts


@click.group()
def command() -> None:
    """Build the derived tables of a source."""


@command.command()
@click.argument("source")
@click.option("--only", metavar="A,B", help="These and what they need; default: all.")
@click.option("--threads", type=click.IntRange(min=1), help="Worker threads.")
@click.option("--memory", metavar="SIZE", help="Limit of the database engine, e.g. 4GB.")
@pass_context
@click.pass_context
def build(
    ctx: click.Context,
    context: CliContext,
    *,
    source: str,
    only: str | None,
    threads: int | None,
    memory: str | None,
) -> None:
    """Build the derived tables of SOURCE, needed ones first; finished ones are kept.

    Leaves with 3 when the source lacks tables that some concepts need; the others are built.
    """
    names = [part.strip() for part in only.split(",") if part.strip()] if only else None
    with context.job() as job:
        built = build_concepts(
            context.home, source, names, job=job, threads=threads, memory_limit=memory
        )
    context.result(
        {"source": source, "concepts": [asdict(item) for item in built]},
        rows=[
            {
                "concept": item.name,
                "status": item.status,
                "rows": item.rows,
                "seconds": f"{item.seconds:.2f}",
                "missing": ", ".join(item.missing),
            }
            for item in built
        ],
    )
    left_out = [item for item in built if item.status == "left out"]
    if left_out:
        context.say(
            f"{len(left_out)} concepts are left out: the source lacks "
            f"{', '.join(sorted({lost for item in left_out for lost in item.missing}))}. "
            "Add the files to the source's folder and register it again."
        )
        ctx.exit(BadInput.exit_code)


@command.command()
@click.argument("source")
@click.option("--out", required=True, metavar="DIR", help="Folder for one Parquet per concept.")
@pass_context
def export(context: CliContext, source: str, out: str) -> None:
    """Write each built table of SOURCE as DIR/NAME.parquet."""
    with context.job() as job:
        done = export_concepts(context.home, source, existing(out), job=job)
    context.result(
        {
            "source": source,
            "concepts": [{"name": e.name, "rows": e.rows, "path": str(e.path)} for e in done],
        },
        rows=[{"concept": item.name, "rows": item.rows} for item in done],
    )
