"""`m4bench evidence-check`: the claims of a task's skill against the data."""

from __future__ import annotations

import click

from engine.catalogue.task import find_task
from engine.cli.context import CliContext, pass_context

_ORDER = ("disagrees", "look", "cannot tell", "agrees")


@click.command()
@click.argument("task")
@click.argument("source")
@click.option("--local", is_flag=True, help="Show small counts too; not to be given away.")
@click.option("--all", "everything", is_flag=True, help="List what agrees too.")
@click.option("--fresh", is_flag=True, help="Look again even if nothing has changed.")
@click.option("--memory", metavar="SIZE", help="Memory limit of the queries, e.g. 2GB.")
@pass_context
def command(
    context: CliContext,
    *,
    task: str,
    source: str,
    local: bool,
    everything: bool,
    fresh: bool,
    memory: str | None,
) -> None:
    """Hold the claims of TASK's skills against SOURCE, the reference and the other texts."""
    # Reads all the SQL: only here.
    from engine.claims import check_evidence, evidence_document  # noqa: PLC0415

    found = find_task(task)
    with context.job() as job:
        evidence = check_evidence(
            context.home, found, source, job=job, memory_limit=memory, fresh=fresh
        )
    shown = [c for c in evidence.checks if everything or c.verdict in _ORDER[:2]]
    rows = [
        {
            "verdict": check.verdict,
            "text": check.skill or check.text,
            "line": check.line,
            "check": check.name,
            "found": check.words,
        }
        for check in sorted(shown, key=lambda check: _ORDER.index(check.verdict))
    ]
    context.result(evidence_document(evidence, local=local), rows=rows)
    told = ", ".join(f"{len(evidence.of(verdict))} {_said(verdict)}" for verdict in _ORDER)  # type: ignore[arg-type]
    context.say(
        f"{len(evidence.claims)} claims, {len(evidence.checks)} checks: {told}. "
        f"{len(evidence.unread)} numbers could not be read."
    )


def _said(verdict: str) -> str:
    return {
        "disagrees": "disagree", "look": "to look at", "cannot tell": "cannot be told",
        "agrees": "agree",
    }[verdict]  # fmt: skip
