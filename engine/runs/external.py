"""Did the agent leave its sandbox, or try to? Looked for in all that was kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.agents.traces import Finding
from engine.agents.traces.external import EGRESS, RULES, external_use, read_egress
from engine.agents.traces.open import read_trace
from engine.base.files import os_error
from engine.runs.output import TRACE

_SCRIPTS = (".py", ".sh", ".bash", ".sql")
_MAX_SCRIPT_BYTES = 4 << 20


def look(place: Path, facts: Mapping[str, Any], *, agent: str) -> tuple[Finding, ...]:
    """Everything in a run's trace, scripts and egress log that led out or was to lead out.

    Args:
        place: the run's folder; everything is collected.
        facts: what is known of the run.
        agent: name of the adapter.

    Raises:
        M4Error: a file cannot be read.
    """
    try:
        trace = read_trace(
            place / TRACE,
            agent,
            skills=facts.get("skills") or (),
            version=facts.get("agent_version"),
        )
        egress = place / EGRESS
        lines = read_egress(egress.read_bytes() if egress.is_file() else b"")
        return external_use(
            trace.steps, trace.summary, files=_scripts(place / "agent"), egress=lines
        )
    except OSError as error:
        raise os_error(error, "looking through the run's trace") from error


def told(found: tuple[Finding, ...]) -> dict[str, Any]:
    """The same for the record."""
    return {
        "passed": not found,
        "violations": [asdict(finding) for finding in found],
        "rules": list(RULES),
    }


def _scripts(folder: Path) -> dict[str, str]:
    """The agent's own scripts by name."""
    if not folder.is_dir():
        return {}
    return {
        path.name: path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.iterdir())
        if path.suffix in _SCRIPTS and path.stat().st_size <= _MAX_SCRIPT_BYTES
    }
