"""What a run had before it and what it wrote, for those who look for a fault in its output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.agents.traces.open import read_trace
from engine.base.files import os_error
from engine.catalogue.task import Task
from engine.runs import result
from engine.runs.folder import scripts_left, texts_given
from engine.runs.output import TRACE

_OUTPUT = "output.csv"


@dataclass(frozen=True)
class Had:
    """What led a run, and what it did."""

    given: frozenset[str]
    """The task's present texts that it was given (`texts_given`)."""
    statements: tuple[str, ...]
    """The SQL of its trace; of a script the script itself."""


def had_by(task: Task, folder: Path, record: Mapping[str, Any], *, own: bool = True) -> Had:
    """What the run in a folder had.

    Args:
        task: the task as it is now.
        folder: the run's folder.
        record: its `result.json`.
        own: was it made here? The trace of another program's tells itself whose it is.

    Raises:
        M4Error: the trace cannot be read. A run without one has no steps.
    """
    files, skills, version = (
        record.get(name) for name in ("given_files", "skills", "agent_version")
    )
    given = texts_given(
        task,
        str(record.get("condition")),
        folder,
        files if isinstance(files, Mapping) else {},
    )
    try:
        trace = read_trace(
            folder / TRACE,
            str(record.get("agent")) if own else None,
            skills=tuple(str(s) for s in skills) if isinstance(skills, list) else (),
            version=version if isinstance(version, str) else None,
        )
        statements = tuple(sql for step in trace.steps for sql in step.sql)
    except FileNotFoundError:
        statements = ()
    except OSError as error:
        raise os_error(error, "reading the run's trace") from error
    return Had(given, statements or tuple(text for _, text in scripts_left(folder)))


def had_beside(task: Task, output: Path) -> Had | None:
    """What the run had whose output a file is; None where it lies in no run's folder of ours.

    Copies of a run's folder (``--results``) are such folders too.

    Raises:
        M4Error: the trace cannot be read.
    """
    if output.name != _OUTPUT:
        return None
    record = result.read(output.parent)
    if record is None or "engine_version" not in record or record.get("task") != task.name:
        return None
    return had_by(task, output.parent, record)
