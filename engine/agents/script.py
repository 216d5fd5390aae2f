"""The agent that is a file: a `.sql` or `.py` script, run as it is inside the sandbox.

- `.py` is started with Python in the work folder; ``database.duckdb`` and ``output.csv`` are
  there, and their whole paths are in ``M4_DB_PATH`` and ``M4_OUTPUT_PATH``.
- `.sql` is run against the database, opened read-only; the rows of its last SELECT become
  ``output.csv``, unless the script writes that file itself with COPY.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from engine.agents.failures import script_failure
from engine.agents.interface import (
    DATABASE,
    JOB,
    OUTPUT,
    AgentRequest,
    Failure,
    Launch,
    Outcome,
)
from engine.agents.traces.model import TraceSummary
from engine.base.errors import UsageError, bad_file
from engine.gateway.interface import Api

MAX_SCRIPT_BYTES = 4 << 20
"""A script is text that somebody wrote; what is larger is a mistake."""

_RUNNER = ".m4/run_sql.py"
_RESOURCES = Path(__file__).parent / "resources"


class ScriptAgent:
    """See the module."""

    name: ClassVar[str] = "script"
    skills_folder: ClassVar[str] = ".skills"
    apis: ClassVar[tuple[Api, ...]] = ()
    program: ClassVar[str | None] = None

    def launch(self, request: AgentRequest) -> Launch:
        """See `Agent.launch`."""
        if request.script is None:
            raise UsageError(
                "The agent `script` needs a file to run.",
                todo="Name a .sql or .py file with --script.",
            )
        suffix = request.script.suffix.lower()
        content = _read(request.script, suffix)
        inside = f"script{suffix}"
        files = {inside: content}
        argv: tuple[str, ...] = ("python3", "-u", "-B", inside)
        if suffix == ".sql":
            files[_RUNNER] = (_RESOURCES / "run_sql.py").read_bytes()
            argv = ("python3", "-u", "-B", _RUNNER, inside)
        env = {"M4_DB_PATH": f"{JOB}/{DATABASE}", "M4_OUTPUT_PATH": f"{JOB}/{OUTPUT}"}
        if request.memory_bytes is not None:
            env["M4_MEMORY_BYTES"] = str(request.memory_bytes)
        return Launch(
            argv=argv,
            env=env,
            files=files,
            model=request.model or model_name(request.script.stem),
            reasoning_effort=None,
        )

    def failure(
        self,
        outcome: Outcome,
        trace: TraceSummary | None = None,
        egress: Sequence[Mapping[str, Any]] = (),
    ) -> Failure | None:
        """See `Agent.failure`."""
        return script_failure(outcome)


def model_name(text: str) -> str:
    """A name fit for run ids and file names: lower case letters, digits, dot and dash."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60] or "script"


def _read(path: Path, suffix: str) -> bytes:
    if suffix not in (".sql", ".py"):
        raise bad_file(
            path, "A script must be a .sql or a .py file.", todo="Rename it or name another one."
        )
    try:
        if not path.is_file():
            raise bad_file(path, "There is no such file.", todo="Check the path after --script.")
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            raise bad_file(path, "The script is larger than 4 MiB.", todo="Name another file.")
        content = path.read_bytes()
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise bad_file(
            path, "The script is not UTF-8 text.", line=line, todo="Save it as UTF-8."
        ) from error
    except OSError as error:
        raise bad_file(
            path, f"The script cannot be read: {error.strerror}.", todo="Check its permissions."
        ) from error
    return content
