"""`m4bench diagnose`: what the mismatches of an output are consistent with."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from engine.catalogue.task import find_task
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.score import reference_of, scratch_of
from engine.diagnosis import Diagnosis, Signature, diagnose
from engine.diagnosis.exporting import count
from engine.scoring import judge_table


@click.command()
@click.argument("task")
@click.argument("output")
@click.option("--source", metavar="SOURCE", help="Compare with this source's own reference.")
@click.option("--reference", metavar="FILE", help="Compare with this Parquet or CSV(.gz) file.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=90.0,
    show_default=True,
    help="For trying changes of the reference's SQL, at most about.",
)
@click.option("--memory", metavar="SIZE", default="800MB", show_default=True, help="Memory limit.")
@pass_context
def command(
    context: CliContext,
    *,
    task: str,
    output: str,
    source: str | None,
    reference: str | None,
    seconds: float,
    memory: str,
) -> None:
    """Say what the mismatches of OUTPUT with the reference of TASK are consistent with.

    With --source the reference's SQL is computed again with one change at a time, and the stays
    with mismatches are described; with --reference only the values are looked at. What is printed
    holds no values and no keys; counts under 11 are not told.
    """
    found = find_task(task)
    against = reference_of(context, found, source, reference)
    scratch = scratch_of(context, source)
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
    with (
        context.job() as job,
        tempfile.TemporaryDirectory(prefix="diagnose-", dir=scratch) as folder,
    ):
        diff = Path(folder) / "diff.duckdb"
        score = judge_table(
            found.evaluation,
            existing(output),
            against,
            diff=diff,
            job=job,
            memory_limit=memory,
            scratch=scratch,
        )
        for diagnostic in score.diagnostics:
            if diagnostic.name == "output_exists" and not diagnostic.passed:
                context.say(f"{diagnostic.detail} Every row of the reference counts as missing.")
        diagnosis = diagnose(
            diff,
            task=found,
            home=context.home if source is not None else None,
            source=source,
            job=job,
            seconds=seconds,
            memory_limit=memory,
            scratch=scratch,
        )
    context.result(diagnosis.as_dict(), text=report(diagnosis))


def report(diagnosis: Diagnosis) -> str:
    """The diagnosis as text for people."""
    if not diagnosis.mismatches:
        return f"{diagnosis.task}: there are no mismatches."
    lines = [
        (
            f"{diagnosis.task}: {count(diagnosis.mismatches)} mismatching cells, "
            f"{count(diagnosis.unexplained)} of them unexplained"
        ),
        "",
    ]
    for number, s in enumerate(diagnosis.ranked, start=1):
        lines += _signature(number, s)
    if not diagnosis.ranked:
        lines.append("  No hypothesis fits.")
    keys = diagnosis.keys
    if keys.missing or keys.extra or keys.duplicates:
        lines += [
            "",
            (
                f"Keys: {count(keys.missing)} missing, {count(keys.extra)} extra, "
                f"{count(keys.duplicates)} duplicate rows"
            ),
        ]
    lines += ["", "By column"]
    for column in diagnosis.columns:
        best = column.signatures[0].title if column.signatures else "nothing fits"
        lines.append(f"  {column.column}: {count(column.mismatches)} mismatches; {best}")
    segments = diagnosis.as_dict()["segments"]
    if isinstance(segments, list) and segments:
        lines += ["", "Where they sit"]
        lines += [
            f"  {s['column'] or 'keys'}: {s['words']}: {s['share']:.1%} of {s['rows']} rows, "
            f"elsewhere {s['base']:.1%} (p {s['p']:.2g})"
            for s in segments[:10]
        ]
    if diagnosis.proposals:
        lines += ["", "Whose fault it may be (for you to decide)"]
        for p in diagnosis.proposals:
            lines.append(f"  {p.fault}: {p.words}")
            lines += [f"    {c.about}: {c.text} ({c.where})" for c in p.clues]
    lines += ["", *(f"note  {note}" for note in diagnosis.notes)]
    return "\n".join(lines).rstrip()


def _signature(number: int, s: Signature) -> list[str]:
    where = ", ".join(s.columns) if s.columns else "keys"
    fit = (
        f"explains {count(s.explained)} of {count(s.tested)} mismatches; "
        f"{count(s.broken)} matches speak against it"
    )
    if s.counter_example is not None:
        fit += f"; row {s.counter_example} is a counter-example"
    lines = [f"{number:3}. {s.title} ({where})", f"     {s.words}", f"     {fit}"]
    if s.change is not None:
        after = s.change.after or "left out"
        lines.append(f"     {s.change.query}: {s.change.before}  →  {after}")
    if s.alike:
        lines += ["     Just as consistent with:", *(f"       {words}" for words in s.alike)]
    return lines
