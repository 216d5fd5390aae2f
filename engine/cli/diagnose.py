"""`m4bench diagnose`: what the mismatches of an output are consistent with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from engine.base.disclosure import SMALL
from engine.base.errors import BadInput, UsageError
from engine.catalogue.task import Task, find_task
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.score import reference_of, scratch_of
from engine.diagnosis import Diagnosis, diagnose, unmet
from engine.runs.had import had_beside
from engine.runs.records import RunRecord
from engine.scoring import judge_table
from engine.workbench import Workbench

_NOT_TOLD = "(not told)"


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

    OUTPUT is a file, or a run as `runs list` names it. Of a run, and of the file in a run's folder,
    it is known what the agent was given; of other files it is not, and then all texts of the task
    are taken as given.

    With --source the reference's SQL is computed again with one change at a time, and the stays
    with mismatches are described; with --reference only the values are looked at. What is printed
    holds no values and no keys; counts under 11 are not told.
    """
    found = find_task(task)
    record = None if os.path.lexists(output) else _run(context, found, output)
    told: list[str] = []

    def say_first(so_far: Diagnosis) -> None:
        _say_first(context, so_far, told)

    if record is not None and reference is None and source in (None, record.summary.source):
        with context.job() as job:
            diagnosis = Workbench(context.home).diagnose_run(
                record.run_id, job=job, seconds=seconds, on_found=say_first
            )
        context.result(diagnosis.as_dict(), text=report(diagnosis))
        return
    path = existing(output) if record is None else record.folder / "output.csv"
    against = reference_of(context, found, source, reference)
    with context.job() as job:
        scratch = scratch_of(context, source)
        if scratch is not None:
            scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="diagnose-", dir=scratch) as folder:
            diff = Path(folder) / "diff.duckdb"
            score = judge_table(
                found.evaluation,
                path,
                against,
                diff=diff,
                job=job,
                memory_limit=memory,
                scratch=scratch,
            )
            had = had_beside(found, path)
            diagnosis = diagnose(
                diff,
                task=found,
                home=context.home if source is not None else None,
                source=source,
                job=job,
                seconds=seconds,
                memory_limit=memory,
                scratch=scratch,
                agent_sql=() if had is None else had.statements,
                given=None if had is None else had.given,
                judged=unmet(score.diagnostics),
                on_found=say_first,
            )
    context.result(diagnosis.as_dict(), text=report(diagnosis))


def _run(context: CliContext, task: Task, name: str) -> RunRecord:
    """The run of that name, where there is no such file.

    Raises:
        BadInput: there is none either, or it is one of another task.
    """
    try:
        record = Workbench(context.home).run_record(name)
    except UsageError as error:
        raise BadInput(
            f"There is no file {name}, and no run of that name.",
            todo="Name the CSV that the agent wrote (output.csv in the run's folder: see the "
            "folder in `m4bench runs show RUN`), or a run of `m4bench runs list`.",
        ) from error
    if record.summary.task != task.name:
        raise BadInput(
            f"The run {name} is one of {record.summary.task}, not of {task.name}.",
            todo=f"Say m4bench diagnose {record.summary.task} {name}.",
        )
    return record


def _say_first(context: CliContext, found: Diagnosis, told: list[str]) -> None:
    """Tell what is best so far, when it is another than before."""
    if found.ranked and found.ranked[0].words not in told:
        told.append(found.ranked[0].words)
        context.say(f"So far: {found.ranked[0].words}")


def report(diagnosis: Diagnosis) -> str:
    """The diagnosis as text for people; counts as they may be told outside."""
    if not diagnosis.mismatches:
        return f"{diagnosis.task}: there are no mismatches."
    told = diagnosis.as_dict()
    lines = [
        (
            f"{diagnosis.task}: {_number(told['mismatches'])} cells mismatch, those of missing, "
            "extra and repeated rows included;"
        ),
        f"the signatures below leave {_number(told['unexplained'])} of them unexplained.",
        *(f"FAIL  {j.name}: {j.detail}" for j in diagnosis.judged),
        "",
    ]
    for number, s in enumerate(_listed(told, "signatures"), start=1):
        lines += _signature(number, s)
    if not diagnosis.ranked:
        lines.append("  No hypothesis fits.")
    keys: Any = told["keys"]
    if diagnosis.keys.missing or diagnosis.keys.extra or diagnosis.keys.duplicates:
        lines += [
            "",
            (
                f"Rows: {_number(keys['missing'])} of the reference are missing, "
                f"{_number(keys['extra'])} are extra, {_number(keys['duplicates'])} repeat a key"
            ),
        ]
    lines += ["", "By column, in rows that both sides have"]
    for column in _listed(told, "columns"):
        best = column["signatures"][0]["title"] if column["signatures"] else "nothing fits"
        lines.append(
            f"  {column['column']}: {_number(column['mismatches'])} cells mismatch; {best}"
        )
    segments = _listed(told, "segments")
    if segments:
        lines += ["", "Where they sit"]
        lines += [
            f"  {s['column'] or 'keys'}: {s['words']}: {s['share']:.1%} of these {s['rows']:,} "
            f"rows mismatch, elsewhere {s['base']:.1%} (p {s['p']:.2g})"
            for s in segments[:10]
        ]
    if diagnosis.proposals:
        lines += ["", "Whose fault it may be (for you to decide)"]
        for p in diagnosis.proposals:
            lines.append(f"  {p.fault}: {p.words}")
            lines += [f"    {c.about}: {c.text} ({c.where})" for c in p.clues]
    lines += ["", *(f"note  {note}" for note in diagnosis.notes)]
    if _NOT_TOLD in "\n".join(lines):
        lines.append(
            f"note  A count is {_NOT_TOLD}, or a range, where it would tell another that is "
            f"under {SMALL}."
        )
    return "\n".join(lines).rstrip()


def _listed(told: Mapping[str, object], name: str) -> list[dict[str, Any]]:
    found: Any = told[name]
    return list(found)


def _number(told: object) -> str:
    if told is None:
        return _NOT_TOLD
    return f"{told:,}" if isinstance(told, int) else str(told)


def _signature(number: int, s: Mapping[str, Any]) -> list[str]:
    columns = ", ".join(s["columns"]) or "keys"
    what = (
        "mismatching cells of these columns" if s["columns"] else "missing, extra or repeated rows"
    )
    where = "the reference computed again with it" if s["evidence"] == "source" else "both values"
    fit = (
        f"{_number(s['explained'])} of the {_number(s['tested'])} {what} it was tested on are as "
        f"it predicts ({where})"
    )
    lines = [f"{number:3}. {s['title']} ({columns})", f"     {s['words']}", f"     {fit}"]
    if s["broken"] == 0:
        lines.append("     no matching cell contradicts it")
    else:
        against = (
            f"     {_number(s['broken'])} matching cells contradict it: it predicts another value"
        )
        if s["counter_example"] is not None:
            against += f"; one of them is in row {s['counter_example']} of the diff"
        lines.append(against)
    change = s["change"]
    if change is not None:
        after = change["after"] or "left out"
        lines.append(f"     {change['query']}: {change['before']}  →  {after}")
    if s["alike"]:
        lines += ["     Just as consistent with:", *(f"       {words}" for words in s["alike"])]
    return lines
