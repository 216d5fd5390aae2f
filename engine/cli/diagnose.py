"""`m4bench diagnose`: what the mismatches of an output are consistent with."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from engine.base.errors import BadInput, UsageError
from engine.catalogue.task import Task, find_task
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.diagnosis_words import report
from engine.cli.score import reference_of, scratch_of
from engine.diagnosis import Diagnosis, diagnose, unmet
from engine.runs.had import had_beside
from engine.runs.records import RunRecord
from engine.scoring import judge_table
from engine.workbench import Workbench
from engine.workbench.judges import OUTPUT


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

    left = record is not None and (record.folder / OUTPUT).is_file()
    if record is not None and not left and reference is None:
        source = source or record.summary.source or None
    if (
        record is not None
        and left
        and reference is None
        and source in (None, record.summary.source)
    ):
        with context.job() as job:
            diagnosis = Workbench(context.home).diagnose_run(
                record.run_id, job=job, seconds=seconds, on_found=say_first
            )
        context.result(diagnosis.as_dict(), text=report(diagnosis))
        return
    path = existing(output) if record is None else record.folder / OUTPUT
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
