"""The texts of a trace, decoded, each with the step that it belongs to.

A trace's lines are JSON documents: in their raw bytes a word may stand behind an escape, so that
no search would know where it begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.agents.traces import read_trace
from engine.base.jobs import Job

TRACE = "trace.jsonl"
_MAX_LINE = 32 << 20
_EVERY = 500


@dataclass(frozen=True)
class TraceText:
    """All texts in one line of a trace."""

    text: bytes
    """UTF-8, one text after the other, a line break between."""
    line: int
    """Line of the trace, from 1."""
    step: int | None
    """Number of the step that begins or ends there."""


def trace_texts(trace: Path, agent: str, job: Job) -> Iterator[TraceText]:
    """The texts of a trace, line by line; a line that is no JSON comes as it stands.

    Args:
        trace: the file.
        agent: whose it is.
        job: looked at for Cancel.

    Raises:
        Cancelled: the user stopped it.
        OSError: it cannot be read.
    """
    steps: dict[int, int] = {}
    for step in read_trace(trace, agent).steps:
        steps.setdefault(step.line, step.number)
        if step.output_ref is not None:
            steps.setdefault(step.output_ref.line, step.number)
    with trace.open("rb") as file:
        number = 0
        while raw := file.readline(_MAX_LINE):
            number += 1
            if number % _EVERY == 0:
                job.check()
            try:
                texts = _texts(json.loads(raw.decode("utf-8", "replace")))
                text = "\n".join(texts).encode("utf-8", "replace")
            except (ValueError, RecursionError):
                text = raw
            yield TraceText(text, number, steps.get(number))


def _texts(document: Any) -> Iterator[str]:
    todo = [document]
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
