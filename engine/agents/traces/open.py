"""Which reader for which trace; whole traces from files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.agents.traces.claude import ClaudeReader
from engine.agents.traces.codex import CodexReader, CodexRolloutReader
from engine.agents.traces.gemini import GeminiReader
from engine.agents.traces.lines import LineReader
from engine.agents.traces.model import TraceReader, TraceStep, TraceSummary
from engine.agents.traces.pi import PiReader
from engine.agents.traces.script import ScriptReader

TIMES = "trace.times"
"""Beside a trace: when each of its lines arrived, one ISO 8601 time a line."""
_READERS: dict[str, type[LineReader]] = {
    "codex": CodexReader,
    "codex-rollout": CodexRolloutReader,
    "claude": ClaudeReader,
    "gemini": GeminiReader,
    "pi": PiReader,
    "script": ScriptReader,
    "replay": ScriptReader,
}
FORMS = tuple(_READERS)
"""Names that `trace_reader` knows."""
_PIECE = 1 << 20
_LOOKED_AT = 256 << 10


@dataclass(frozen=True)
class Trace:
    """A whole trace."""

    steps: tuple[TraceStep, ...]
    """In order of number."""
    summary: TraceSummary
    """What they come to."""


def trace_reader(
    agent: str,
    *,
    skills: Sequence[str] = (),
    version: str | None = None,
    times: Sequence[str] = (),
    looking: bool = True,
) -> TraceReader:
    """A reader at the beginning of a trace.

    Args:
        agent: the adapter's name, also with more behind it as in published runs (``pi-ollama``);
            one that is not known is read as ``script``.
        skills: names of the skills that were put where the agent looks for them.
        version: of the agent's program, as its image says.
        times: when each line arrived, for a trace that was kept with them.
        looking: see `LineReader`.
    """
    name = agent if agent in _READERS else agent.split("-", 1)[0]
    kind = _READERS.get(name, ScriptReader)
    return kind(skills=skills, version=version, times=times, looking=looking)


def sniff(head: bytes) -> str | None:
    """Whose trace begins like this; None when nothing tells it."""
    for line in head.splitlines()[:20]:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and (form := _form_of(event)):
            return form
    return "gemini" if b'"session_id"' in head and b'"stats"' in head else None


def read_trace(
    path: Path,
    agent: str | None = None,
    *,
    skills: Sequence[str] = (),
    version: str | None = None,
) -> Trace:
    """Read a whole trace; `TIMES` beside it is used when it is there.

    Args:
        path: the trace.
        agent: whose it is; told by its content when None.
        skills: see `trace_reader`.
        version: see `trace_reader`.

    Raises:
        OSError: it cannot be read.
    """
    times: list[str] = []
    if (beside := path.with_name(TIMES)).is_file():
        times = beside.read_text(encoding="utf-8", errors="replace").splitlines()
    with path.open("rb") as file:
        form = agent or sniff(file.read(_LOOKED_AT)) or "script"
        file.seek(0)
        reader = trace_reader(form, skills=skills, version=version, times=times)
        while piece := file.read(_PIECE):
            reader.feed(piece)
        reader.close()
    return Trace(reader.steps, reader.summary())


def _form_of(event: dict[str, object]) -> str | None:
    kind = event.get("type")
    if kind in ("thread.started", "turn.started", "item.completed", "item.started"):
        return "codex"
    if "payload" in event and kind in ("session_meta", "response_item", "event_msg"):
        return "codex-rollout"
    if kind == "system" or (kind == "result" and "subtype" in event):
        return "claude"
    if kind == "init" or (kind == "result" and "stats" in event):
        return "gemini"
    if kind in ("session", "agent_start", "turn_start"):
        return "pi"
    return "script" if "kind" in event and "at" in event else None
