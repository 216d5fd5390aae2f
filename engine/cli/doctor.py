"""`m4bench doctor`: what works on this machine and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import click

from engine.base.errors import Cancelled, M4Error, MissingPrerequisite
from engine.cli.context import CliContext, pass_context
from engine.isolation.machine import Finding, look_around
from engine.workbench.condition import data_care
from engine.workbench.reachable import agent_programs, endpoints


def _lines(finding: Finding) -> list[str]:
    """A finding for people; what to do stands below it."""
    lines = [f"{finding.state:8} {finding.name:13} {finding.detail}"]
    return [*lines, f"{'':8} {'':13} -> {finding.todo}"] if finding.todo else lines


@click.command(name="doctor")
@click.option(
    "--endpoints",
    "ask",
    is_flag=True,
    help="Ask each endpoint that is set up for its models; without it nothing is sent to anybody.",
)
@pass_context
def command(context: CliContext, ask: bool) -> None:
    """Say what works on this machine and what is missing.

    Exit status 4 if something is missing without which nothing can be run.
    """
    with context.job() as job:
        findings = [*look_around(context.home), *data_care(context.home)]
        looks: dict[str, Iterator[Finding]] = {
            "agents": agent_programs(context.home),
            "endpoints": endpoints(context.home, ask=ask, job=job),
        }
        for name, look in looks.items():
            try:
                findings += look
            except Cancelled:
                raise
            except M4Error as error:
                findings.append(Finding(name, "limited", error.text, error.todo))
    missing = [finding for finding in findings if finding.state == "missing"]
    context.result(
        {
            "ok": not missing,
            "home": str(context.home.root),
            "findings": [finding.as_dict() for finding in findings],
        },
        text="\n".join(line for finding in findings for line in _lines(finding)),
    )
    if missing:
        if context.json:
            raise click.exceptions.Exit(MissingPrerequisite.exit_code)
        raise MissingPrerequisite(
            f"Missing here: {', '.join(finding.name for finding in missing)}.",
            todo=missing[0].todo,
        )
