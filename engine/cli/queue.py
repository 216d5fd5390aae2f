"""`m4bench queue`: runs that are to be made, one after the other or several at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.runs import open_workbench
from engine.gateway.interface import Budget
from engine.queue import Item, ItemState, QueueState
from engine.runs.records import CONDITIONS, EFFORTS, SCHEMAS, RunEvent, RunRequest
from engine.workbench import Workbench
from engine.workbench.queueing import Control

_TARGET = "An item's number or a batch's name."


@click.group()
def command() -> None:
    """Add runs to the queue, steer it and work on it."""


@command.command()
@click.argument("tasks", nargs=-1, required=True)
@click.option("--source", required=True, metavar="SOURCE", help="The source of the data.")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="script (default), codex, … May be repeated.",
)
@click.option("--model", "models", multiple=True, metavar="M", help="May be repeated.")
@click.option("--script", metavar="FILE", help="The .sql or .py file that is the agent script.")
@click.option(
    "--endpoint", metavar="NAME", help="The model endpoint; the agent's usual one if not given."
)
@click.option("--effort", type=click.Choice(EFFORTS), help="Reasoning effort.")
@click.option(
    "--condition", "conditions", multiple=True, type=click.Choice(CONDITIONS),
    help="What the agent is given beside the instruction. May be repeated.",
)  # fmt: skip
@click.option(
    "--schema", "schemas", multiple=True, type=click.Choice(SCHEMAS),
    help="How tables and columns are named. May be repeated.",
)  # fmt: skip
@click.option(
    "--trials", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Runs of each combination.",
)  # fmt: skip
@click.option(
    "--name", metavar="NAME", help="Name of the batch; made from the time when not given."
)
@click.option("--backend", type=click.Choice(["docker", "bubblewrap"]), help="The sandbox.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), default=1800, show_default=True,
    metavar="SECONDS", help="Wall time of each agent.",
)  # fmt: skip
@click.option(
    "--max-requests", type=click.IntRange(min=1), default=Budget().requests, show_default=True,
    metavar="N", help="Requests of each run to its model.",
)  # fmt: skip
@click.option(
    "--max-tokens-in", type=click.IntRange(min=1), metavar="N", help="Tokens of each run, in."
)
@click.option("--max-tokens-out", type=click.IntRange(min=1), metavar="N", help="And out.")
@click.option("--results", metavar="DIR", help="A folder that gets a copy of each run's folder.")
@pass_context
def add(context: CliContext, /, tasks: tuple[str, ...], **given: Any) -> None:
    """Add a run for every combination of TASKS and the options; nothing is started by this."""
    results, script = given["results"], given["script"]
    requests = [
        RunRequest(
            task=task,
            source=given["source"],
            agent=agent,
            script=existing(script) if script else None,
            model=model,
            endpoint=given["endpoint"],
            reasoning_effort=given["effort"],
            budget=Budget(
                requests=given["max_requests"],
                input_tokens=given["max_tokens_in"],
                output_tokens=given["max_tokens_out"],
            ),
            condition=condition,
            schema=schema,
            trial=trial,
            backend=given["backend"],
            time_limit_seconds=given["time_limit"],
            results=Path(results).absolute() if results else None,
        )
        for trial in range(1, given["trials"] + 1)
        for task in tasks
        for condition in given["conditions"] or ("no-skill",)
        for schema in given["schemas"] or ("native",)
        for agent in given["agents"] or ("script",)
        for model in given["models"] or (None,)
    ]
    name = Workbench(context.home).enqueue(requests, name=given["name"])
    context.result(
        {"batch": name, "runs": len(requests)},
        text=f"Added {len(requests)} runs as {name}. `m4bench queue run` works on them.",
    )


@command.command(name="list")
@click.option("--batch", metavar="NAME", help="Only this batch.")
@click.option("--all", "everything", is_flag=True, help="What has ended as well.")
@pass_context
def list_(context: CliContext, batch: str | None, everything: bool) -> None:
    """What is at work, then what waits in the order of its turns."""
    state = Workbench(context.home).queue()
    ended = {ItemState.DONE, ItemState.FAILED, ItemState.CANCELLED}
    items = [item for item in state.of(batch) if everything or item.state not in ended]
    context.result(queue_json(state, items), rows=[_brief(item) for item in items])
    if not context.json:
        context.say(queue_words(state, batch))


@command.command()
@click.argument("target")
@pass_context
def show(context: CliContext, target: str) -> None:
    """All about TARGET, an item's number or a batch's name."""
    workbench = Workbench(context.home)
    state = workbench.queue()
    items = [item for item in state.items if target in (str(item.item), item.batch)]
    if not items:
        raise UsageError(
            "There is no such item or batch in the queue.", todo="`m4bench queue list` shows them."
        )
    if not target.isdigit():
        context.result(queue_json(state, items), rows=[_brief(item) for item in items])
        return
    events = [
        dict(zip(("at", "state", "attempt", "run_id", "text"), event, strict=True))
        for event in workbench.queue_events(items[0].item)
    ]
    context.result({**item_json(items[0]), "events": events}, rows=events)


@command.command()
@click.option("--batch", metavar="NAME", help="End when this batch has nothing left.")
@click.option("--keep", is_flag=True, help="Do not end: carry out what is added later as well.")
@click.option(
    "--at-once",
    metavar="N",
    help="Most runs at the same time, kept for later; `auto` leaves it to the machine.",
)
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Runs of one item that may end by a rate limit, a crash or the like (5).",
)
@pass_context
def run(
    context: CliContext,
    batch: str | None,
    keep: bool,
    at_once: str | None,
    attempts: int | None,
) -> None:
    """Work on the queue until it is empty, or watch the program that does.

    Ctrl-C stops the runs at work and ends with 5; they stay in the queue. Ends with 0 also where
    runs failed.
    """
    workbench = open_workbench(context)
    if at_once is not None:
        workbench.queue_limit(_at_once(at_once))
    with context.job() as job:
        state = work(context, workbench, job, batch=batch, keep=keep, attempts=attempts)
    context.result(queue_json(state, state.of(batch)), text=queue_words(state, batch))


def _control(name: Control, text: str, *, required: bool = False) -> None:
    """Define `m4bench queue NAME [TARGET]`."""

    @command.command(name=name, help=text)
    @click.argument("target", required=required)
    @pass_context
    def steer(context: CliContext, target: str | None) -> None:
        changed = Workbench(context.home).queue_control(name, target)
        what = "batch" if name == "clear" else "item"
        plural = {"batch": "batches", "item": "items"}[what] if changed != 1 else what
        context.result({"action": name, "target": target, "changed": changed},
                       text=f"{name}: {changed} {plural}.")  # fmt: skip


_control("pause", "Start nothing new; what runs goes on. With TARGET: put that on hold.")
_control("resume", "Start again. With TARGET: take that off hold.")
_control("retry", "Let what ended without a reward (of TARGET) wait again.")
_control("clear", "Forget batches (or TARGET) in which everything has ended; runs stay.")


@command.command()
@click.argument("target", required=False)
@click.option("--all", "everything", is_flag=True, help="Everything in the queue.")
@pass_context
def cancel(context: CliContext, target: str | None, everything: bool) -> None:
    """Take TARGET out of the queue, and stop it where it runs."""
    if (target is None) == (not everything):
        raise UsageError("What is to be cancelled?", todo=f"{_TARGET} Or say --all.")
    changed = Workbench(context.home).queue_control("cancel", target)
    context.result(
        {"action": "cancel", "target": target, "changed": changed}, text=f"cancel: {changed} items."
    )


@command.command()
@click.argument("target")
@click.argument("where", type=click.Choice(["up", "down", "top", "bottom"]))
@pass_context
def move(context: CliContext, target: str, where: Control) -> None:
    """Move TARGET in the order: past its neighbour, or before or after everything that waits."""
    changed = Workbench(context.home).queue_control(where, target)
    context.result(
        {"action": where, "target": target, "changed": changed}, text=f"{where}: {changed} items."
    )


def work(
    context: CliContext,
    workbench: Workbench,
    job: Job,
    *,
    batch: str | None = None,
    keep: bool = False,
    attempts: int | None = None,
) -> QueueState:
    """Work on the queue and tell the runs' states."""

    def tell(event: RunEvent) -> None:
        if event.kind == "state":
            context.event("state", run_id=event.run_id, state=event.text)
            if context.events is None and event.text in ("done", "failed"):
                context.say(f"{event.run_id}: {event.text}")

    return workbench.work_queue(job, batch=batch, keep=keep, attempts=attempts, on_event=tell)


def queue_words(state: QueueState, batch: str | None = None) -> str:
    """The queue in a line or two."""
    parts = [
        f"{count} {word.value}" for word in ItemState if (count := state.count(word, batch=batch))
    ]
    lines = [", ".join(parts) or "The queue is empty."]
    if state.paused:
        lines.append(f"It is paused. {state.why}".strip())
    lines += [f"{lane.lane} is left alone until {lane.until}: {lane.why}" for lane in state.lanes]
    if state.owner is not None:
        lines.append(f"Process {state.owner.pid} works on it.")
    return "\n".join(lines)


def queue_json(state: QueueState, items: list[Item] | tuple[Item, ...]) -> dict[str, object]:
    """The queue as JSON."""
    return {
        "paused": state.paused,
        "why": state.why,
        "at_once": state.at_once,
        "owner": state.owner.pid if state.owner else None,
        "lanes": [dict(vars(lane)) for lane in state.lanes],
        "batches": [
            {"name": batch.name, "kind": batch.kind, "added_at": batch.added_at}
            for batch in state.batches
        ],
        "items": [item_json(item) for item in items],
    }


def item_json(item: Item) -> dict[str, object]:
    """An item as JSON."""
    left_out = ("stored", "needs", "served", "place")
    values = {name: value for name, value in vars(item).items() if name not in left_out}
    return {**values, "memory_bytes": item.needs.memory_bytes, "cpus": item.needs.cpus}


def _brief(item: Item) -> dict[str, object]:
    words = "on hold" if item.held else "stopping" if item.cancelling else item.state.value
    return {
        "item": item.item,
        "batch": item.batch,
        "task": item.task,
        "agent": " ".join(filter(None, (item.agent, item.model))),
        "condition": item.condition,
        "trial": item.trial,
        "state": words,
        "reward": None if item.reward is None else f"{item.reward:.4f}",
        "why": item.why,
    }


def _at_once(given: str) -> int | None:
    if given == "auto":
        return None
    if given.isdigit() and int(given) > 0:
        return int(given)
    raise UsageError("--at-once takes a number from 1, or `auto`.")
