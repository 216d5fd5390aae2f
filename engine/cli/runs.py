"""`m4bench runs`: what was run, and what came out."""

from __future__ import annotations

import click

from engine.base.text import neutralise
from engine.cli.context import CliContext, pass_context
from engine.runs.records import RunRecord, RunSummary
from engine.workbench import Workbench


@click.group()
def command() -> None:
    """List, show and delete runs."""


@command.command(name="list")
@click.option("--task", metavar="TASK", help="Only runs of this task.")
@pass_context
def list_(context: CliContext, task: str | None) -> None:
    """All runs, newest first."""
    workbench = open_workbench(context)
    found = workbench.runs(task=task)
    context.result([_as_json(run) for run in found], rows=[_brief(run) for run in found])


@command.command()
@click.argument("run")
@click.option("--log", is_flag=True, help="Print the agent's output as well.")
@pass_context
def show(context: CliContext, run: str, log: bool) -> None:
    """The record of RUN."""
    workbench = open_workbench(context)
    record = workbench.run_record(run)
    show_record(context, record)
    if log:
        context.err.out(workbench.run_log(run), highlight=False)


@command.command()
@click.argument("run")
@pass_context
def delete(context: CliContext, run: str) -> None:
    """Delete RUN and its folder."""
    Workbench(context.home).delete_run(run)
    context.result({"deleted": run}, text=f"Deleted {run}.")


def open_workbench(context: CliContext) -> Workbench:
    """The workbench, after runs of killed programs have been finished or closed."""
    workbench = Workbench(context.home)
    for run in workbench.recover():
        end = run.failure_reason or run.state
        context.say(f"{run.run_id} was left by a program that was killed; it is now: {end}")
    return workbench


def show_record(context: CliContext, record: RunRecord) -> None:
    """Print a record: all of `result.json`, or the figures for people."""
    context.result({**record.raw, "folder": str(record.folder)}, text=_words(record))


def _words(record: RunRecord) -> str:
    run = record.summary
    lines = [run.run_id]

    def line(name: str, value: object) -> None:
        lines.append(f"  {name:<20} {value}")

    line("state", run.state if not run.failure_reason else f"{run.state}: {run.failure_reason}")
    if record.failure_detail:
        line("", neutralise(record.failure_detail))
    line("reward", "none" if run.reward is None else f"{run.reward:.8g}")
    if run.strict_pass is not None:
        line("strict pass", "yes" if run.strict_pass else "no")
    found = record.test_results
    if found is not None and not found.errors:
        for name, rate in found.match_rates.items():
            line(f"  {name}", f"{rate:.8g}")
        line(
            "keys",
            f"{found.missing_keys} missing, {found.extra_keys} extra, "
            f"{found.duplicate_keys} duplicate",
        )
        for check in found.diagnostics:
            line("passed" if check.passed else "FAILED", f"{check.name}: {check.detail}")
        for warning in found.warnings:
            line("note", warning)
    if record.agent_result is not None:
        line("agent's time", f"{record.agent_result.elapsed_seconds:.1f} s")
    line("sandbox", f"{record.backend}; {record.publishable_reason}")
    line("folder", record.folder)
    return "\n".join(lines)


def _brief(run: RunSummary) -> dict[str, object]:
    return {
        "run": run.run_id,
        "source": run.source,
        "state": run.failure_reason or run.state,
        "reward": None if run.reward is None else f"{run.reward:.4f}",
        "strict": {True: "yes", False: "no", None: None}[run.strict_pass],
        "started": run.started_at[:19].replace("T", " "),
    }


def _as_json(run: RunSummary) -> dict[str, object]:
    return dict(vars(run))
