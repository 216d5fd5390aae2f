"""`m4bench score`: one output against its reference."""

from __future__ import annotations

import os
from pathlib import Path

import click

from engine.base.errors import UsageError
from engine.catalogue.task import Task, find_task
from engine.cli.context import CliContext, existing, pass_context
from engine.references import open_reference
from engine.scoring import Score, score_table

ONLY_MISMATCHES = ("--only", "mismatches", "--out", "rows.csv")
"""Options of `m4bench diff` as they are named to people."""


@click.command()
@click.argument("task")
@click.argument("output")
@click.option("--source", metavar="SOURCE", help="Score against this source's own reference.")
@click.option("--reference", metavar="FILE", help="Score against this Parquet or CSV(.gz) file.")
@click.option("--memory", metavar="SIZE", default="800MB", show_default=True, help="Memory limit.")
@pass_context
def command(
    context: CliContext,
    *,
    task: str,
    output: str,
    source: str | None,
    reference: str | None,
    memory: str,
) -> None:
    """Score OUTPUT (the CSV that an agent wrote) for TASK, a name or a task folder.

    An output that is missing or cannot be read is a score of 0 with the reason, and leaves with 0:
    it was judged. Only a reference that cannot be used leaves with 3.
    """
    found = find_task(task)
    against = reference_of(context, found, source, reference)
    with context.job() as job:
        score = score_table(
            found.evaluation,
            existing(output),
            against,
            job=job,
            memory_limit=memory,
            scratch=scratch_of(context, source),
        )
    if not os.path.lexists(output):
        context.say("There is no file of this name: scored as a run without an output.")
    context.result(score.as_dict(), text=report(found, score))
    if score.reward < 1 and os.path.lexists(output):
        against_it = ("--source", source) if source is not None else ("--reference", str(reference))
        context.next_steps(
            [
                ("what went wrong", ("diagnose", task, output, *against_it)),
                ("the rows that differ", ("diff", task, output, *against_it, *ONLY_MISMATCHES)),
            ]
        )


def reference_of(
    context: CliContext, task: Task, source: str | None, reference: str | None
) -> Path:
    """The reference's file: the source's own if it holds, or the one that was named.

    Raises:
        UsageError: neither or both were named.
        BadInput: the source's reference is absent, stale or changed.
    """
    if (source is None) == (reference is None):
        raise UsageError(
            "The output needs one reference to be scored against.",
            todo="Give either --source NAME or --reference FILE.",
        )
    if source is not None:
        return open_reference(context.home, source, task.target)
    return existing(str(reference))


def scratch_of(context: CliContext, source: str | None) -> Path | None:
    """Spill into the home where one is used anyway; else into the system's temporary folder."""
    return context.home.scratch if source is not None else None


def report(task: Task, score: Score) -> str:
    """The score as text for people."""
    figures = score.as_dict()
    passed = "strict pass" if score.strict_pass else "no strict pass"
    nmae = figures["ordered_nmae"]
    keys = ", ".join(
        f"{name} {figures[f'key_{name}']:.8f}" for name in ("precision", "recall", "f1")
    )
    rows = (
        f"{score.missing_keys} keys missing, {score.extra_keys} extra, "
        f"{score.duplicate_keys} duplicate rows"
    )
    lines = [
        f"{task.name}: reward {figures['reward']:.8f}, {passed}",
        "",
        f"  keys   {keys}",
        f"  rows   {score.total} in all: {rows}",
        f"  nMAE   {'none: no ordered column' if nmae is None else format(nmae, '.8f')}",
        "",
    ]
    width = max(len(name) for name in score.match_rates)
    lines += [
        f"  {name:{width}}  {rate:.8f}  {score.matched[name]} matched"
        f"{', as ' + score.compared_as[name] if name in score.compared_as else ''}"
        for name, rate in figures["match_rates"].items()
    ]
    lines.append("")
    lines += [
        f"  {'ok  ' if d.passed else 'FAIL'}  {d.name}: {d.detail}" for d in score.diagnostics
    ]
    lines += [f"  note  {notice.text}" for notice in score.warnings]
    return "\n".join(lines)
