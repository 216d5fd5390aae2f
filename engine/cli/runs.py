"""`m4bench runs`: what was run, and what came out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import click

from engine.agents.traces.external import RULES, in_words
from engine.base.errors import BadInput
from engine.base.text import neutralise
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.score import ONLY_MISMATCHES
from engine.cli.trace import trace
from engine.diagnosis.compare import CHANGES, Comparison, RunChanges
from engine.runs.records import Recomputed, RunRecord, RunSummary
from engine.workbench import Workbench
from engine.workbench.judges import OUTPUT


@click.group()
def command() -> None:
    """List, show, import and delete runs."""


command.add_command(trace)


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


@command.command(name="import")
@click.argument("path")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Score the outputs again with this source's references; once for each kind of data.",
)
@pass_context
def import_(context: CliContext, path: str, sources: tuple[str, ...]) -> None:
    """Take the runs of another harness from PATH, a folder or a .tar, .tar.zst or .tar.gz.

    A folder stays where it is and is only read; an archive is unpacked into the home.
    """
    workbench = open_workbench(context)
    with context.job() as job:
        report = workbench.import_runs(existing(path), sources=sources, job=job)
    for item in (*report.problems, *report.not_scored):
        context.say(neutralise(f"{item.name}: {item.text}"))
    runs = [workbench.run_record(run.run_id) for run in report.imported]
    value = {
        "imported": [_imported(record) for record in runs],
        "already": list(report.already),
        "problems": [vars(item) for item in report.problems],
        "not_scored": [vars(item) for item in report.not_scored],
    }
    scored = [record.recomputed for record in runs if record.recomputed is not None]
    differ = sum(not found.same for found in scored)
    text = (
        f"{len(runs)} runs imported, {len(report.already)} were here already, "
        f"{len(report.problems)} not taken."
    )
    if scored:
        text += f" {len(scored)} scored again: {differ} with other figures than recorded."
    context.result(value, text=text)
    if report.problems and not (runs or report.already):
        raise BadInput("None of the runs could be taken.", todo="See what is said of each.")


@command.command()
@click.argument("run")
@click.option("--source", required=True, metavar="SOURCE", help="Whose reference is used.")
@pass_context
def rescore(context: CliContext, run: str, source: str) -> None:
    """Score the output of the imported RUN again and compare it with its record."""
    workbench = open_workbench(context)
    with context.job() as job:
        workbench.rescore(run, source, job=job)
    show_record(context, workbench.run_record(run))


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
    value = {**record.raw, "folder": str(record.folder)}
    if record.recomputed is not None:
        value["recomputed"] = asdict(record.recomputed)
    context.result(value, text=_words(record))
    context.next_steps(list(_next(record)))


def _next(record: RunRecord) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What may be asked of a run that has ended."""
    run, output = record.summary, record.folder / OUTPUT
    if run.live:
        return
    if run.reward is not None and run.reward < 1 and output.is_file():
        yield "what went wrong", ("diagnose", run.task, run.run_id)
        if run.source:
            source = ("--source", run.source)
            yield "the rows that differ", ("diff", run.task, str(output), *source, *ONLY_MISMATCHES)
    elif run.failure_reason is not None:
        yield "what it printed", ("runs", "show", run.run_id, "--log")
    if run.reward is not None:
        yield "a report without rows", ("runs", "report", run.run_id, "--out", "report.html")


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
    lines += [f"  {name:<20} {value}" for name, value in _used(record)]
    lines += _again(record.recomputed) if record.recomputed is not None else []
    line("sandbox", f"{record.backend}; {record.publishable_reason}")
    line("folder", record.folder)
    return "\n".join(lines)


def _used(record: RunRecord) -> Iterator[tuple[str, str]]:
    """What an agent with a model used, whether it read its skill, how a replay compares."""
    raw = record.raw
    endpoint, usage = raw.get("endpoint"), raw.get("token_usage")
    if raw.get("agent_version"):
        yield "agent's program", f"{record.summary.agent} {neutralise(str(raw['agent_version']))}"
    if isinstance(endpoint, dict):
        where = "this machine" if endpoint.get("local") else "elsewhere"
        yield "endpoint", f"{neutralise(str(endpoint.get('name')))} ({where})"
    if isinstance(usage, dict) and isinstance(usage.get("input_tokens"), int):
        least = "at least " if usage.get("lower_bound") else ""
        into, out, turns = (_count(usage.get(name)) for name in _COUNTS)
        yield "tokens", f"{least}{into} in, {out} out, {turns} turns"
    if raw.get("skills") and "skill_read" in raw:
        yield "skill", "read" if raw["skill_read"] else "on offer, not read"
    for finding in record.external_tools.violations if record.external_tools else ():
        yield "VIOLATION", neutralise(in_words(finding) if finding.rule in RULES else finding.rule)
    for violation in record.contamination_lint.violations if record.contamination_lint else ():
        at = "" if violation.line is None else f", line {violation.line}"
        yield "VIOLATION", neutralise(f"{violation.pattern} ({violation.file}{at})")
    replay = raw.get("replay")
    if isinstance(replay, dict) and record.summary.origin == "own":
        same = {True: "the same output", False: "ANOTHER output", None: "no output to compare"}
        done, over = replay.get("commands"), len(replay.get("skipped") or ())
        found = same[replay.get("same_output")]
        yield "replayed", f"{done} commands, {over} steps passed over: {found}"


_COUNTS = ("input_tokens", "output_tokens", "turns")


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


def _again(found: Recomputed) -> list[str]:
    """What came out when an imported run was scored here, in words."""
    whether = "as recorded" if found.same else "NOT as recorded"
    now = "none" if found.reward_now is None else f"{found.reward_now:.8g}"
    lines = [f"  {'scored again':<20} {now} with {found.source}: {whether}"]
    return lines + [
        f"  {'':<20} {neutralise(item.figure)}: {item.recorded} recorded, {item.now} now"
        for item in found.differences
    ]


def _brief(run: RunSummary) -> dict[str, object]:
    return {
        "run": run.run_id,
        "source": run.source,
        "from": "here" if run.origin == "own" else run.origin,
        "state": run.failure_reason or run.state,
        "reward": None if run.reward is None else f"{run.reward:.4f}",
        "strict": {True: "yes", False: "no", None: None}[run.strict_pass],
        "started": run.started_at[:19].replace("T", " "),
    }


def _imported(record: RunRecord) -> dict[str, object]:
    again = record.recomputed
    return {
        **_as_json(record.summary),
        "folder": str(record.folder),
        "recomputed": None if again is None else asdict(again),
    }


def _as_json(run: RunSummary) -> dict[str, object]:
    return dict(vars(run))


@command.command()
@click.argument("runs", nargs=-1, required=True)
@pass_context
def compare(context: CliContext, runs: tuple[str, ...]) -> None:
    """Hold two to eight RUNS of one task against the first: what is mended, what is broken."""
    workbench = open_workbench(context)
    with context.job() as job:
        comparison, rows = workbench.compare_runs(runs, job=job)
    rows.unlink(missing_ok=True)
    table = [row for other in comparison.others for row in _changes(comparison, other)]
    context.result(comparison.as_dict(), rows=table)


def _changes(comparison: Comparison, other: RunChanges) -> Iterator[dict[str, object]]:
    """A run beside the first one: by column, then the rows that the reference does not have."""
    for column in other.columns:
        cells = {str(c): column.cells[c] for c in CHANGES}
        yield {"run": other.run, "column": column.column, **cells}
    repeated, before = other.duplicates, comparison.first_duplicates
    for name, mended, broken, wrong in (
        ("(extra keys)", other.gone_extra, other.new_extra, other.extra - other.new_extra),
        (
            "(repeated rows)",
            max(0, before - repeated),
            max(0, repeated - before),
            min(before, repeated),
        ),
    ):
        counts = {"mended": mended, "broken": broken, "wrong": wrong}
        yield {"run": other.run, "column": name, **{c: counts.get(c) for c in CHANGES}}


@command.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--out", required=True, metavar="FILE.html", help="The file to write.")
@pass_context
def report(context: CliContext, runs: tuple[str, ...], out: str) -> None:
    """Write a report of one of the RUNS, or of several beside each other, without row-level data.

    It is one HTML file that opens without a network, and a JSON file of the same name beside it.
    """
    workbench = open_workbench(context)
    with context.job() as job:
        page, data = workbench.report(runs, existing(out), job=job)
    context.result({"html": str(page), "json": str(data)}, text=f"{page}\n{data}")
