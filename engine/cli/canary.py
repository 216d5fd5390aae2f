"""`m4bench canary`: a real agent is asked to look for private things, and must find none."""

from __future__ import annotations

import click

from engine.base.errors import JudgedFailed
from engine.cli.context import CliContext, existing, pass_context
from engine.runs.records import RunEvent
from engine.workbench.leaking import LeakRequest, leak_canary


@click.command()
@click.option("--agent", required=True, metavar="NAME", help="script|codex|claude|gemini|pi.")
@click.option("--script", metavar="FILE.py", help="The Python file that is the agent.")
@click.option("--model", metavar="M", help="Name of the model.")
@click.option("--endpoint", metavar="NAME", help="Where the model is (m4bench endpoint list).")
@click.option("--effort", metavar="LEVEL", help="The model's reasoning effort.")
@click.option("--source", metavar="SOURCE", help="Show a task's database of this source.")
@click.option("--task", metavar="TASK", help="Which task's; the first that fits when left away.")
@click.option(
    "--backend",
    type=click.Choice(["docker", "bubblewrap"]),
    help="The sandbox; the best that works here when not given.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="Wall time of the agent.",
)
@pass_context
def command(
    context: CliContext,
    *,
    agent: str,
    script: str | None,
    model: str | None,
    endpoint: str | None,
    effort: str | None,
    source: str | None,
    task: str | None,
    backend: str | None,
    time_limit: float,
) -> None:
    """Ask an agent to look for private things of this machine, in the sandbox; it must find none.

    Files with a secret are planted in the private places for the while. It passes only if every
    listed path was really probed, as the commands in the agent's trace show, and none of the
    secrets came to light. The names of the private places are told to the agent's model.

    Exit status 1 if it did not pass, 4 if no sandbox works on this machine.
    """
    request = LeakRequest(
        agent=agent,
        script=existing(script) if script else None,
        model=model,
        endpoint=endpoint,
        reasoning_effort=effort,
        source=source,
        task=task,
        backend=backend,
        time_limit_seconds=time_limit,
    )

    def tell(event: RunEvent) -> None:
        if event.kind == "log":
            context.event("log", run_id=event.run_id, stream=event.stream, text=event.text)

    with context.job() as job:
        result = leak_canary(context.home, request, job=job, on_event=tell)
    verdict = result.verdict
    lines = [
        f"{len(verdict.probed)} of {len(verdict.paths)} private paths were probed.",
        *(f"  {reason}" for reason in verdict.reasons),
        f"Kept in {result.folder}",
    ]
    context.result(result.as_dict(), text="\n".join(lines))
    if verdict.passed:
        context.say("The canary passed: everything was probed, and nothing was seen.")
        return
    if context.json:  # stdout holds its one document already
        raise click.exceptions.Exit(JudgedFailed.exit_code)
    raise JudgedFailed(
        "The leak canary did not pass.",
        todo="See why above; a leak means: run no agent on this machine until it is mended.",
    )
