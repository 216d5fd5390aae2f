"""`m4bench run`: one run of an agent on a task."""

from __future__ import annotations

from pathlib import Path

import click

from engine.agents.program import EFFORTS
from engine.agents.traces import TraceStep
from engine.cli.context import CliContext, existing, pass_context
from engine.cli.runs import open_workbench, show_record
from engine.gateway.interface import Budget
from engine.runs.records import CONDITIONS, SCHEMAS, RunEvent, RunRequest


@click.command()
@click.argument("task")
@click.argument("source")
@click.option(
    "--agent",
    default="script",
    show_default=True,
    metavar="NAME",
    help="script, replay, codex, claude, gemini or pi.",
)
@click.option("--script", metavar="FILE", help="The .sql or .py file that is the agent.")
@click.option("--record", metavar="RUN|DIR", help="The run that the agent replay repeats.")
@click.option("--model", metavar="M", help="The model that the agent uses, or its name alone.")
@click.option(
    "--endpoint",
    metavar="NAME",
    help="The model endpoint; the agent's usual one, or the only local one, when not given.",
)
@click.option(
    "--effort",
    type=click.Choice(EFFORTS),
    help="Reasoning effort; the provider's default when not given.",
)
@click.option(
    "--max-requests",
    type=click.IntRange(min=1),
    default=Budget().requests,
    show_default=True,
    metavar="N",
    help="Requests to the model; one more ends the run.",
)
@click.option(
    "--max-tokens-in",
    type=click.IntRange(min=1),
    metavar="N",
    help="Tokens that may go to the model in all.",
)
@click.option(
    "--max-tokens-out",
    type=click.IntRange(min=1),
    metavar="N",
    help="Tokens that may come from the model in all.",
)
@click.option(
    "--condition",
    type=click.Choice(CONDITIONS),
    default="no-skill",
    show_default=True,
    help="What the agent is given beside the instruction.",
)
@click.option(
    "--schema",
    type=click.Choice(SCHEMAS),
    default="native",
    show_default=True,
    help="How the database's tables and columns are named.",
)
@click.option(
    "--trial",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of the attempt, for the record.",
)
@click.option(
    "--backend",
    type=click.Choice(["docker", "bubblewrap"]),
    help="The sandbox; the best that works here when not given.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=1800,
    show_default=True,
    metavar="SECONDS",
    help="Wall time of the agent.",
)
@click.option("--results", metavar="DIR", help="A folder that gets a copy of the run's folder.")
@pass_context
def command(
    context: CliContext,
    *,
    task: str,
    source: str,
    agent: str,
    script: str | None,
    record: str | None,
    model: str | None,
    endpoint: str | None,
    effort: str | None,
    max_requests: int,
    max_tokens_in: int | None,
    max_tokens_out: int | None,
    condition: str,
    schema: str,
    trial: int,
    backend: str | None,
    time_limit: float,
    results: str | None,
) -> None:
    """Run an agent on TASK with the data of SOURCE in the sandbox, score it, print the record.

    TASK is a name or a task folder. Builds the reference and the agent's database first where
    they are missing. Ends with 0 when the run was scored, whatever its reward.
    """
    request = RunRequest(
        task=task,
        source=source,
        agent=agent,
        script=existing(script) if script else None,
        model=model,
        endpoint=endpoint,
        reasoning_effort=effort,
        budget=Budget(
            requests=max_requests, input_tokens=max_tokens_in, output_tokens=max_tokens_out
        ),
        record=record,
        condition=condition,
        schema=schema,
        trial=trial,
        backend=backend,
        time_limit_seconds=time_limit,
        results=Path(results).absolute() if results else None,
    )
    workbench = open_workbench(context)

    with context.job() as job:
        done = workbench.run(request, job=job, on_event=Told(context))
    show_record(context, done)


class Told:
    """Tells what a run tells: NDJSON events, or its output and steps for people."""

    def __init__(self, context: CliContext) -> None:
        self._context = context
        self._begun: set[int] = set()

    def __call__(self, event: RunEvent) -> None:
        """Tell one event; called from the run's threads, one at a time."""
        context = self._context
        if event.kind == "state":
            context.event("state", run_id=event.run_id, state=event.text)
        elif event.step is not None:
            self._step(event, event.step)
        else:
            context.event("log", run_id=event.run_id, stream=event.stream, text=event.text)
            if context.events is None:
                context.err.out(event.text, end="", highlight=False)

    def _step(self, event: RunEvent, step: TraceStep) -> None:
        context = self._context
        context.event(
            "step",
            run_id=event.run_id,
            number=step.number,
            step=step.kind,
            text=event.text,
            running=step.running,
            failed=step.failed,
            exit_code=step.exit_code,
        )
        if context.events is not None or step.kind not in _SHOWN:
            return
        if step.number not in self._begun:
            self._begun.add(step.number)
            sign = "$ " if step.command is not None else ""
            context.err.out(f"[{step.number}] {sign}{event.text}", highlight=False)
        elif step.exit_code:
            context.err.out(f"[{step.number}] exit status {step.exit_code}", highlight=False)


_SHOWN = ("message", "command", "file", "skill", "tool", "web", "retry", "error", "end")
