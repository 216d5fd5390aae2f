"""`m4bench sandbox`: is isolation possible here, and does it hold."""

from __future__ import annotations

import click

from engine.base.errors import JudgedFailed
from engine.cli.context import CliContext, pass_context
from engine.cli.sandbox_image import agents, image
from engine.isolation.backends import choose_backend
from engine.isolation.promises.conformance import check_promises


@click.group(name="sandbox")
def command() -> None:
    """Is isolation possible here, and does it hold."""


command.add_command(image)
command.add_command(agents)


@command.command()
@click.option(
    "--backend", metavar="NAME", help="docker or bubblewrap; the best that works when left away."
)
@click.option("--only", metavar="PROMISE", multiple=True, help="Try only this promise (repeat).")
@pass_context
def check(context: CliContext, backend: str | None, only: tuple[str, ...]) -> None:
    """Try to break out of the sandbox in every known way.

    Exit status 1 if a promise is broken, 4 if no sandbox works on this machine.
    """
    with context.job() as job:
        sandbox = choose_backend(context.home, backend)
        sandbox.remove_leftovers()
        outcomes = check_promises(sandbox, context.home, only=only or None, job=job)
    broken = [outcome for outcome in outcomes if not outcome.kept]
    context.result(
        {
            "backend": sandbox.name,
            "passed": not broken,
            "sandbox": sandbox.describe(),
            "promises": [outcome.as_dict() for outcome in outcomes],
            "broken": [outcome.name for outcome in broken],
        },
        rows=[
            {
                "kept": "yes" if outcome.kept else "BROKEN",
                "promise": outcome.name,
                "claim": outcome.claim,
                "detail": "" if outcome.kept else outcome.detail,
            }
            for outcome in outcomes
        ],
    )
    if broken:
        text = f"{len(broken)} of {len(outcomes)} promises of the {sandbox.name} sandbox are broken"
        if context.json:
            context.say(text + ".")  # stdout holds its one document already
            raise click.exceptions.Exit(JudgedFailed.exit_code)
        raise JudgedFailed(
            f"{text}: {', '.join(outcome.name for outcome in broken)}.",
            todo="Do not run agents on this machine until this is mended.",
        )
    context.say(f"All {len(outcomes)} promises of the {sandbox.name} sandbox were kept.")
