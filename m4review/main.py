"""`m4review`: opens the app, or saves pictures of its screens where there is no display."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from engine import __version__
from engine.base.content import use_content
from engine.base.errors import M4Error, UsageError
from engine.base.paths import open_home


def run(
    home_option: str | None,
    address: str | None,
    pictures: Path | None,
    content: Path | None = None,
) -> int:
    """Open the window (or save pictures); returns the exit code.

    Raises:
        M4Error: the home cannot be used, the address names nothing, or there is no display.
    """
    # Qt is loaded here, so that --help and --version work without its system libraries.
    try:
        from m4review.app.start import open_window, save_pictures  # noqa: PLC0415
    except ImportError as error:
        return _without_qt(error)
    home = open_home(home_option)
    if content is not None:
        if not (content / "tasks").is_dir():
            raise UsageError(
                "There is no folder tasks/ in that content.",
                todo="Name the folder that holds tasks/ and skills/.",
            )
        use_content(content.resolve())
    if pictures is not None:
        return save_pictures(home, pictures, address)
    return open_window(home, address, content)


def _without_qt(error: ImportError) -> int:
    click.echo(
        f"The window cannot be opened: {error}\n"
        "On Debian or Ubuntu install: apt install libglib2.0-0 libegl1 libgl1 libdbus-1-3 "
        "libfontconfig1 libxkbcommon0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 "
        "libxkbcommon-x11-0\n"
        "The command line (m4bench) works without them.",
        err=True,
    )
    return 4


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", metavar="DIR", help="Where everything is kept (or $M4REVIEW_HOME).")
@click.option(
    "--screenshot",
    "pictures",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Save pictures of the screens to DIR and exit; needs no display.",
)
@click.option(
    "--content",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Review the tasks/ and skills/ of this folder instead of the shipped ones.",
)
@click.version_option(__version__, prog_name="m4review")
@click.argument("address", metavar="[PATH-OR-LINK]", required=False)
def cli(home: str | None, pictures: Path | None, content: Path | None, address: str | None) -> None:
    """Review tasks, skills and agent runs.

    PATH-OR-LINK opens a thing in the app: m4review://task/NAME, m4review://run/RUN_ID,
    m4review://run/RUN_ID/diff, m4review://run/RUN_ID/row/12, a run's id, or a run's folder.
    """
    try:
        code = run(home, address, pictures, content)
    except M4Error as error:
        click.echo(f"{error.title}: {error}", err=True)
        code = error.exit_code
    sys.exit(code)


def entry() -> NoReturn:
    """Console script."""
    cli(prog_name="m4review")
    raise UsageError("unreachable")


if __name__ == "__main__":
    entry()
