"""`m4bench runs trace`: what an agent did, step by step; and as a file for other programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from engine.agents.interface import INSTRUCTION
from engine.agents.traces import Trace, TraceStep
from engine.agents.traces.atif import to_atif
from engine.base.errors import Busy
from engine.base.files import os_error, write_json
from engine.cli.context import CliContext, pass_context
from engine.runs.output import TRACE
from engine.runs.records import RunRecord
from engine.workbench import Workbench

_TEXT = 100


@click.command()
@click.argument("run")
@click.option(
    "--atif",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the trace with all outputs to FILE, in the interchange format ATIF 1.8.",
)
@pass_context
def trace(context: CliContext, run: str, atif: Path | None) -> None:
    """What the agent of RUN did, step by step."""
    workbench = Workbench(context.home)
    found = workbench.run_trace(run)
    if atif is None:
        told = {"summary": asdict(found.summary), "steps": [_as_json(one) for one in found.steps]}
        context.result(told, rows=[_brief(one) for one in found.steps])
        return
    write_json(atif, _document(workbench.run_record(run), found), "writing the trace")
    context.result({"written": str(atif)}, text=f"Written to {atif}.")


def _document(record: RunRecord, found: Trace) -> dict[str, Any]:
    instruction = record.folder / INSTRUCTION
    raw = record.folder / TRACE
    version = record.raw.get("agent_version")
    try:
        asked = instruction.read_text(encoding="utf-8", errors="replace")
    except OSError:
        asked = ""
    try:
        return to_atif(
            found,
            agent=record.summary.agent,
            version=version if isinstance(version, str) else None,
            instruction=asked,
            run_id=record.run_id,
            file=raw if raw.is_file() else None,
        )
    except LookupError as error:
        raise Busy("The trace has changed since it was read.", todo="Try again.") from error
    except OSError as error:
        raise os_error(error, "reading the run's trace") from error


def _as_json(step: TraceStep) -> dict[str, Any]:
    told = asdict(step)
    told.pop("data")
    return told


def _brief(step: TraceStep) -> dict[str, object]:
    words = " ".join((step.text or step.output).split())
    return {
        "step": step.number,
        "at": (step.at or "")[11:19],
        "turn": step.turn or "",
        "kind": step.kind,
        "exit": "" if step.exit_code is None else step.exit_code,
        "what": words if len(words) <= _TEXT else words[: _TEXT - 1] + "…",
    }
