"""`m4bench campaign`: many runs from one file, started only when everything holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean

import click

from engine.base.errors import JudgedFailed, UsageError
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.queue import queue_json, queue_words, work
from engine.cli.runs import open_workbench
from engine.queue import ACTIVE, Item, ItemState, QueueState
from engine.queue.plan import read_plan
from engine.runs.records import RunRequest
from engine.workbench import Check, Estimate, Workbench


@click.group()
def command() -> None:
    """Plan campaigns, run them, look at them, go on with them, stop them."""


@command.command()
@click.argument("file")
@pass_context
def plan(context: CliContext, file: str) -> None:
    """Check the campaign in FILE and estimate it; nothing is kept or started.

    Ends with 1 where something does not hold.
    """
    workbench = Workbench(context.home)
    campaign, _ = read_plan(existing(file))
    requests = workbench.plan_requests(campaign)
    checks = workbench.preflight(requests, strict=True)
    found = workbench.estimate(requests, prices=campaign.price_list)
    failed = [check for check in checks if not check.ok]
    value = {
        "name": campaign.name,
        "runs": len(requests),
        "ok": not failed,
        "checks": [asdict(check) for check in checks],
        "estimate": asdict(found),
    }
    if failed and context.json:
        context.result(value)
        raise click.exceptions.Exit(JudgedFailed.exit_code)
    context.result(value, text=_plan_words(campaign.name, checks, found))
    if failed:
        raise click.exceptions.Exit(JudgedFailed.exit_code)


@command.command()
@click.argument("file")
@click.option("--no-wait", is_flag=True, help="Add it to the queue, and leave the work to others.")
@pass_context
def run(context: CliContext, file: str, no_wait: bool) -> None:
    """Run the campaign in FILE: checked, added to the queue, and worked on until it is done.

    Starts nothing (and ends with 1) where a check does not hold.
    """
    workbench = open_workbench(context)
    campaign, text = read_plan(existing(file))
    if any(batch.name == campaign.name for batch in workbench.queue().batches):
        raise UsageError(
            f"There is a campaign called {campaign.name} already.",
            todo=f"Go on with it by `m4bench campaign resume {campaign.name}`, or change the name.",
        )
    requests = workbench.plan_requests(campaign)
    _hold_or_fail(workbench, requests)
    workbench.enqueue(requests, name=campaign.name, campaign=text)
    if no_wait:
        _status(context, workbench.queue(), campaign.name)
    else:
        _work(context, workbench, campaign.name)


@command.command()
@click.argument("name", required=False)
@pass_context
def status(context: CliContext, name: str | None) -> None:
    """How far the campaign NAME is, by cells; all campaigns without a name."""
    state = Workbench(context.home).queue()
    if name is not None:
        _campaign(state, name)
        _status(context, state, name)
        return
    rows = [
        {"campaign": batch.name, **_counts(state.of(batch.name))}
        for batch in state.batches
        if batch.kind == "campaign"
    ]
    context.result(rows, rows=rows)


@command.command()
@click.argument("name")
@pass_context
def resume(context: CliContext, name: str) -> None:
    """Go on with the campaign NAME: what waits, and again what ended without a reward."""
    workbench = open_workbench(context)
    state = workbench.queue()
    _campaign(state, name)
    left = [i.request for i in state.of(name) if i.state not in (*ACTIVE, ItemState.DONE)]
    _hold_or_fail(workbench, left, begun=True)
    workbench.queue_control("retry", name)
    workbench.queue_control("release", name)
    if state.paused:
        workbench.queue_control("resume")
    _work(context, workbench, name)


@command.command()
@click.argument("name")
@pass_context
def cancel(context: CliContext, name: str) -> None:
    """Take what is left of the campaign NAME out, and stop what runs of it; `resume` goes on."""
    workbench = Workbench(context.home)
    _campaign(workbench.queue(), name)
    changed = workbench.queue_control("cancel", name)
    context.result({"campaign": name, "cancelled": changed}, text=f"Cancelled {changed} runs.")


def _hold_or_fail(
    workbench: Workbench, requests: Sequence[RunRequest], *, begun: bool = False
) -> None:
    checks = workbench.preflight(requests, strict=True) if requests else ()
    # Once begun, its own runs are in the folder for results.
    failed = [c for c in checks if not c.ok and not (begun and c.name == "Results folder")]
    if failed:
        raise JudgedFailed(
            " ".join(f"{check.name}: {check.why}" for check in failed),
            todo=" ".join(dict.fromkeys(check.todo for check in failed if check.todo)) or None,
        )


def _work(context: CliContext, workbench: Workbench, name: str) -> None:
    with context.job() as job:
        state = work(context, workbench, job, batch=name)
    _status(context, state, name)


def _campaign(state: QueueState, name: str) -> None:
    if not any(batch.name == name and batch.kind == "campaign" for batch in state.batches):
        raise UsageError(
            f"There is no campaign called {name}.", todo="`m4bench campaign status` lists them."
        )


def _status(context: CliContext, state: QueueState, name: str) -> None:
    cells: dict[tuple[str, ...], list[Item]] = defaultdict(list)
    for item in state.of(name):
        cells[item.task, item.agent, item.model or "", item.condition, item.schema].append(item)
    rows: list[dict[str, object]] = []
    for cell, items in sorted(cells.items()):
        rewards = [item.reward for item in items if item.reward is not None]
        names = ("task", "agent", "model", "condition", "schema")
        rows.append(
            dict(zip(names, cell, strict=True))
            | _counts(items)
            | {"mean_reward": round(fmean(rewards), 8) if rewards else None}
        )
    value = {
        "campaign": name,
        **_counts(state.of(name)),
        "cells": rows,
        "queue": queue_json(state, state.of(name)),
    }
    context.result(value, rows=rows)
    if not context.json:
        context.say(queue_words(state, name))


def _counts(items: Sequence[Item]) -> dict[str, int]:
    return {"runs": len(items)} | {
        word.value: sum(item.state == word for item in items) for word in ItemState
    }


def _plan_words(name: str, checks: Sequence[Check], found: Estimate) -> str:
    lines = [f"{name}: {found.runs} runs"]
    for check in checks:
        lines.append(f"  {'holds ' if check.ok else 'FAILS '} {check.name}: {check.why}")
        if check.todo and not check.ok:
            lines.append(f"         {check.todo}")
    lines += [f"  {line}" for line in estimate_words(found)]
    return "\n".join(lines)


def estimate_words(found: Estimate) -> list[str]:
    """An estimate for people."""
    if not found.known:
        return ["Nothing like these runs was run here yet, so there is no estimate."]
    minutes, of = f"{found.seconds / 60:.0f}", f"{found.known} of {found.runs} runs"
    lines = [f"about {minutes} minutes of run time (of {of}, by the medians of earlier ones)"]
    if found.with_tokens:
        lines.append(
            f"about {found.input_tokens:,} tokens in, {found.output_tokens:,} out "
            f"(of {found.with_tokens} runs)"
        )
    if found.cost is not None:
        lines.append(f"about {found.cost:,.2f} by the plan's prices (of {found.priced} runs)")
    return lines
