"""`m4bench runs trace`: what an agent did, step by step; and as a file for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from engine.agents.interface import INSTRUCTION
from engine.agents.traces import Trace, TraceStep
from engine.agents.traces.atif import from_atif, to_atif
from engine.agents.traces.inspect_log import read_inspect, write_inspect
from engine.base.errors import Busy, bad_file
from engine.base.files import os_error, write_json
from engine.cli.context import CliContext, existing, pass_context
from engine.runs.output import TRACE
from engine.runs.records import RunRecord
from engine.workbench import Workbench

_TEXT = 100
_LARGEST = 256 << 20


@click.command()
@click.argument("run")
@click.option(
    "--atif",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the trace with all outputs to FILE, in the interchange format ATIF 1.8.",
)
@click.option(
    "--inspect",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.eval",
    help="Write the trace to FILE.eval as a log of Inspect (needs the extra `inspect`).",
)
@pass_context
def trace(context: CliContext, *, run: str, atif: Path | None, inspect: Path | None) -> None:
    """What the agent of RUN did, step by step.

    RUN may also be a file of another program: an ATIF document (.json) or an Inspect log (.eval).
    """
    if run.endswith((".json", ".eval")):
        found = tuple(_of_file(existing(run)))
        told = [_told(one) for one in found]
        context.result(told, rows=[_brief(step) for one in found for step in one.steps])
        return
    workbench = Workbench(context.home)
    own = workbench.run_trace(run)
    if atif is None and inspect is None:
        context.result(_told(own), rows=[_brief(step) for step in own.steps])
        return
    record = workbench.run_record(run)
    document = _document(record, own)
    if atif is not None:
        write_json(atif, document, "writing the trace")
    if inspect is not None:
        write_inspect(document, inspect, task=record.summary.task, reward=record.summary.reward)
    written = [str(path) for path in (atif, inspect) if path is not None]
    context.result(
        {"written": written[0] if len(written) == 1 else written},
        text=f"Written to {' and '.join(written)}.",
    )


def _told(found: Trace) -> dict[str, Any]:
    return {"summary": asdict(found.summary), "steps": [_as_json(one) for one in found.steps]}


def _of_file(path: Path) -> tuple[Trace, ...]:
    if path.suffix == ".eval":
        return read_inspect(path)
    try:
        if path.stat().st_size > _LARGEST:
            raise bad_file(path, "The document is larger than 256 MiB.", todo="Use a part of it.")
        return (from_atif(json.loads(path.read_bytes())),)
    except OSError as error:
        raise bad_file(path, f"It cannot be read: {error.strerror}.", todo="Check it.") from error
    except ValueError as error:
        raise bad_file(path, "This is no JSON.", todo="Name an ATIF document.") from error


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
