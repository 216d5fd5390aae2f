"""`m4bench sandbox image` and `m4bench sandbox agents`: what sandboxes are made of."""

from __future__ import annotations

from pathlib import Path

import click

from engine.base.errors import UsageError
from engine.cli.context import CliContext, pass_context
from engine.isolation.engine_api import Engine, find_engine
from engine.isolation.image import build_image, find_image
from engine.isolation.image_files import load_image, save_image
from engine.isolation.programs import (
    KNOWN,
    install_program,
    list_programs,
    remove_program,
)


def _engine() -> Engine:
    engine = find_engine()
    engine.check()
    return engine


@click.group()
def image() -> None:
    """The image of the Docker sandbox: build it, carry it to another machine."""


@image.command()
@click.option(
    "--base",
    metavar="IMAGE",
    help="Build on this image (best with @sha256:…), or on `machine`: this machine's own Python, "
    "for machines that reach no registry. Default: the public Python image, for Python 3.11 pinned "
    "by digest.",
)
@click.option(
    "--agents",
    metavar="NAMES",
    default="",
    help=f"Agent programs to put in, with commas between: {','.join(KNOWN)}; or `all`.",
)
@click.option(
    "--save",
    metavar="FILE.tar",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the image to this file.",
)
@pass_context
def build(context: CliContext, base: str | None, agents: str, save: Path | None) -> None:
    """Build the image in this machine's Docker engine."""
    names = KNOWN if agents == "all" else tuple(n.strip() for n in agents.split(",") if n.strip())
    for name in names:
        if name not in KNOWN:
            raise UsageError(
                f"There is no agent program called {name}.", todo=f"Known: {', '.join(KNOWN)}."
            )
    with context.job() as job:
        engine = _engine()
        built = build_image(context.home, engine, base=base, agents=names, job=job)
        saved = save_image(engine, save.absolute(), job=job) if save is not None else None
    result = built.as_dict()
    if saved is not None:
        result |= {"file": str(saved.path), "file_bytes": saved.bytes, "sha256": saved.sha256}
    context.result(result)


@image.command()
@pass_context
def show(context: CliContext) -> None:
    """The image that runs stand on now: its digest, base, packages, programs."""
    context.result(find_image(_engine()).as_dict())


@image.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@pass_context
def save(context: CliContext, file: Path) -> None:
    """Write the image to a file, for a machine without a network."""
    with context.job() as job:
        saved = save_image(_engine(), file.absolute(), job=job)
    context.result(
        {
            "file": str(saved.path),
            "file_bytes": saved.bytes,
            "sha256": saved.sha256,
            **saved.image.as_dict(),
        }
    )


@image.command()
@click.argument(
    "file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
@pass_context
def load(context: CliContext, file: Path) -> None:
    """Load a file that `image save` wrote; anything else is refused."""
    with context.job() as job:
        loaded = load_image(_engine(), file.absolute(), job=job)
    context.result(loaded.as_dict())


@click.group()
def agents() -> None:
    """The agents' own programs, fetched from npm at pinned versions."""


@agents.command(name="list")
@pass_context
def list_(context: CliContext) -> None:
    """Which programs there are, at which version, and which are installed."""
    found = list_programs(context.home)
    context.result(
        {"programs": [program.as_dict() for program in found]},
        rows=[
            {
                "program": program.name,
                "version": program.version,
                "installed": program.installed or "no",
                "size": f"{program.bytes / 1e6:.0f} MB" if program.installed else "",
                "licence": program.licence,
            }
            for program in found
        ],
    )


@agents.command()
@click.argument("names", metavar="NAMES", nargs=-1, required=True)
@pass_context
def install(context: CliContext, names: tuple[str, ...]) -> None:
    """Fetch programs (`all`: every one) for the bubblewrap sandbox and for images."""
    wanted = KNOWN if names == ("all",) else names
    for name in wanted:
        if name not in KNOWN:
            raise UsageError(
                f"There is no agent program called {name}.", todo=f"Known: {', '.join(KNOWN)}."
            )
    with context.job() as job:
        installed = [install_program(context.home, name, job) for name in wanted]
    context.result({"programs": [program.as_dict() for program in installed]})
    context.say(
        "For the Docker sandbox build them into its image: m4bench sandbox image build "
        f"--agents {','.join(wanted)}"
    )


@agents.command()
@click.argument("name")
@pass_context
def remove(context: CliContext, name: str) -> None:
    """Remove a program from the home folder (images keep theirs)."""
    removed = remove_program(context.home, name)
    context.result({"name": name, "removed": removed})
    if not removed:
        context.say(f"{name} was not installed.")
