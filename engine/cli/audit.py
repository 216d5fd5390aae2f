"""`m4bench audit`: what touched the sources, and whether the record of it holds."""

from __future__ import annotations

import json
from typing import Any

import click

from engine import audit
from engine.base.errors import JudgedFailed
from engine.cli.context import CliContext, existing, pass_context


@click.group(name="audit")
def command() -> None:
    """What touched the sources, and whether the record of it holds."""


@command.command(name="list")
@click.option("--source", metavar="SOURCE", help="Only what concerns this source.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N entries.")
@pass_context
def list_(context: CliContext, source: str | None, last: int | None) -> None:
    """Every entry, oldest first."""
    entries = audit.read_log(context.home, source=source)
    if last is not None:
        entries = entries[-last:]
    context.result([entry.model_dump() for entry in entries], rows=[_row(e) for e in entries])


@command.command()
@pass_context
def verify(context: CliContext) -> None:
    """Check every entry of the log.

    Exit status 1 if it was tampered with. Keep the last hash elsewhere (a paper, a mail to
    yourself): who has it can prove later that nothing before it was changed.
    """
    verdict = audit.verify(context.home, thorough=True)
    begun = audit.unfinished(context.home)
    lines = [verdict.words, *(f"  {problem.text}" for problem in verdict.problems)]
    lines += [
        f"  Entry {entry.sequence}: {entry.what} of {entry.source or 'nothing'} began and has no "
        "end: it is at work, or was killed."
        for entry in begun
    ]
    if verdict.last_hash:
        lines.append(f"last hash {verdict.last_hash}")
    told = {**verdict.as_dict(), "unfinished": [entry.model_dump() for entry in begun]}
    context.result(told, text="\n".join(lines))
    _fail_if_broken(context, verdict)


@command.command()
@click.argument("file")
@pass_context
def export(context: CliContext, file: str) -> None:
    """Copy the log to FILE, as it is: one JSON document a line.

    It holds names of users, sources, tasks and runs, counts and hashes; no row and no value of
    the data. Exit status 1 if the log was tampered with; it is copied all the same.
    """
    target = existing(file)
    verdict = audit.export_log(context.home, target)
    context.result({"out": str(target), **verdict.as_dict()}, text=verdict.words)
    _fail_if_broken(context, verdict)


def _fail_if_broken(context: CliContext, verdict: audit.Verdict) -> None:
    if verdict.ok:
        return
    if context.json:  # stdout holds its one document already
        raise click.exceptions.Exit(JudgedFailed.exit_code)
    raise JudgedFailed(
        "The audit log was tampered with, or the disk damaged it.",
        todo="Keep a copy (m4bench audit export FILE) and find out who wrote to the home folder.",
    )


def _row(entry: audit.Entry) -> dict[str, Any]:
    stage = "" if entry.stage == "done" else f" {entry.stage}"
    facts = ", ".join(f"{name}={json.dumps(value)}" for name, value in entry.facts.items())
    return {
        "n": entry.sequence,
        "at": entry.at[:19].replace("T", " "),
        "actor": entry.actor,
        "what": f"{entry.what}{stage}",
        "source": entry.source,
        "object": entry.object.encode("ascii", "backslashreplace").decode(),
        "facts": facts,
    }
