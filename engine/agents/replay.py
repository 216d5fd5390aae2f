"""The agent that repeats a recorded run: the same commands in a fresh sandbox, with no model.

What the recorded agent did to its folder is taken from its trace, in order: shell commands, files
that it wrote with a tool, texts that it replaced in them. Where the trace names a file but does not
hold what was written, the file's last state that the run kept stands in for it, and that is told.
What is nowhere cannot be repeated; it is passed over and told. A recorded run of the agent
``script`` is repeated by running its script.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from engine.agents.failures import script_failure
from engine.agents.interface import (
    DATABASE,
    HOME,
    JOB,
    OUTPUT,
    AgentRequest,
    Failure,
    Launch,
    Outcome,
)
from engine.agents.script import MAX_SCRIPT_BYTES, ScriptAgent, model_name
from engine.agents.traces import TraceStep, TraceSummary, WrittenFile
from engine.agents.traces.open import FORMS, Trace, read_trace
from engine.base.errors import BadInput, UsageError, bad_file
from engine.base.files import os_error
from engine.gateway.interface import Api

MAX_PLAN_BYTES = 64 << 20
"""Of all commands and texts together."""
REPORT = "replay.jsonl"
"""What came of each action, one JSON document a line, in the work folder."""
_RUNNER = ".m4/replay.py"
_RESOURCES = Path(__file__).parent / "resources"
_KEEPS_FOLDER = ("claude",)
"""Agents whose shell stays in the folder to which a command changed."""
_REPLACES = (("old_string", "new_string"), ("oldText", "newText"))


class ReplayAgent:
    """See the module.

    Args:
        skills_folder: where the recorded agent looked for skills, so that commands find them.
    """

    name: ClassVar[str] = "replay"
    skills_folder: str = ".skills"
    apis: ClassVar[tuple[Api, ...]] = ()
    program: ClassVar[str | None] = None

    def __init__(self, skills_folder: str = skills_folder) -> None:
        self.skills_folder = skills_folder

    def launch(self, request: AgentRequest) -> Launch:
        """See `Agent.launch`."""
        if request.record is None:
            raise UsageError(
                "The agent `replay` needs a recorded run.",
                todo="Name its id or its folder with --record.",
            )
        folder = request.record
        record = _record(folder)
        name = str(record.get("run_id") or folder.name)
        model = request.model or model_name(str(record.get("model") or "unknown"))
        recorded_agent = str(record.get("agent") or "")
        env = {"HOME": HOME, "M4_DB_PATH": f"{JOB}/{DATABASE}", "M4_OUTPUT_PATH": f"{JOB}/{OUTPUT}"}
        if recorded_agent == ScriptAgent.name:
            return _script(folder, request, name, model)
        trace = _trace(folder, recorded_agent)
        actions, skipped = plan(trace.steps, _Kept(folder / "agent"))
        if not actions:
            raise bad_file(
                folder, "The run's trace holds no command that could be repeated.",
                todo="Choose a run with a trace.jsonl in which the agent did something.",
            )  # fmt: skip
        content = json.dumps(
            {
                "cwd": JOB,
                "keeps_folder": trace.summary.form in _KEEPS_FOLDER,
                "actions": actions,
            }
        ).encode()
        if len(content) > MAX_PLAN_BYTES:
            raise bad_file(folder, "The run's commands are more than 64 MiB together.")
        return Launch(
            argv=("python3", "-u", "-B", _RUNNER),
            env=env,
            files={_RUNNER: (_RESOURCES / "replay.py").read_bytes(), ".m4/replay.json": content},
            model=model,
            notes={
                "replay": {
                    "of": name,
                    "agent": recorded_agent,
                    "commands": sum("command" in action for action in actions),
                    "files": sum("command" not in action for action in actions),
                    "from_last_state": sum(bool(action.get("kept")) for action in actions),
                    "skipped": skipped,
                }
            },
        )

    def failure(
        self,
        outcome: Outcome,
        trace: TraceSummary | None = None,
        egress: Sequence[Mapping[str, Any]] = (),
    ) -> Failure | None:
        """See `Agent.failure`."""
        return script_failure(outcome)


def _trace(folder: Path, agent: str) -> Trace:
    """The whole recorded trace."""
    try:
        found = read_trace(folder / "trace.jsonl", agent or None)
    except FileNotFoundError as error:
        raise bad_file(
            folder, "The recorded run kept no trace.", todo="Choose a run with a trace.jsonl."
        ) from error
    except OSError as error:
        raise os_error(error, "reading the recorded trace") from error
    if found.summary.form not in FORMS or found.summary.form == ScriptAgent.name:
        raise BadInput(
            f"The trace of the agent {agent or '(unknown)'} cannot be repeated: its form is "
            "not known.",
            todo="Choose a run of codex, claude, gemini, pi or script.",
        )
    return found


class _Kept:
    """The recorded agent's own files in their last state, as the run kept them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def text(self, path: str) -> str | None:
        """The text of the file that the agent called `path`; None where it was not kept."""
        name = posixpath.normpath(path.removeprefix(f"{JOB}/")).replace("/", "__")
        file = self._folder / name.lstrip(".")
        try:
            if file.is_symlink() or not 0 <= file.stat().st_size <= MAX_SCRIPT_BYTES:
                return None
            return file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None


def plan(
    steps: Iterable[TraceStep], kept: _Kept | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What can be repeated of a trace, and what cannot (step number and why), both in order.

    Args:
        steps: the recorded steps.
        kept: the files that the recorded run kept.
    """
    actions: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for step in steps:
        if step.command is not None:
            action: dict[str, Any] = {"step": step.number, "command": step.command}
            if step.exit_code is not None:
                action["exit_code"] = step.exit_code
            cwd = step.data.get("cwd") or step.data.get("workdir")
            if isinstance(cwd, str):
                action["cwd"] = cwd
            actions.append(action)
            continue
        if step.kind != "file" or step.failed:
            continue
        for written in step.writes:
            found = _write(step, written)
            last = None if found is not None or kept is None else kept.text(written.path)
            if last is not None:
                action = {"step": step.number, "path": written.path, "how": "write"}
                found = [{**action, "content": last, "kept": True}]
            if found is None:
                why = f"the trace does not hold what it wrote to a file ({written.how})"
                skipped.append({"step": step.number, "why": why})
            else:
                actions += found
    return actions, skipped


def _write(step: TraceStep, written: WrittenFile) -> list[dict[str, Any]] | None:
    """The actions that repeat what a file tool did; None where the trace does not tell it."""
    base = {"step": step.number, "path": written.path}
    if written.how == "delete":
        return [{**base, "how": "delete"}]
    if written.content is not None:
        return [{**base, "how": "write", "content": written.content}]
    if written.how != "edit":
        return None
    given = step.data.get("arguments", step.data)
    pieces = given.get("edits") if isinstance(given, Mapping) else None
    if not isinstance(pieces, list):
        pieces = [given]
    found = []
    for piece in pieces:
        if not isinstance(piece, Mapping):
            return None
        pair = next(
            (
                (piece[old], piece[new])
                for old, new in _REPLACES
                if isinstance(piece.get(old), str) and isinstance(piece.get(new), str)
            ),
            None,
        )
        if pair is None:
            return None
        every = bool(piece.get("replace_all"))
        found.append({**base, "how": "replace", "old": pair[0], "new": pair[1], "all": every})
    return found


def _record(folder: Path) -> dict[str, Any]:
    """`result.json` of the recorded run."""
    path = folder / "result.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise bad_file(
            path, "The recorded run has no result.json that can be read.",
            todo="Name the folder of a run.",
        ) from error  # fmt: skip
    except (ValueError, RecursionError) as error:
        raise bad_file(path, "The recorded run's result.json is no JSON.") from error
    if not isinstance(record, dict):
        raise bad_file(path, "The recorded run's result.json is no JSON object.")
    return record


def _script(folder: Path, request: AgentRequest, name: str, model: str) -> Launch:
    """Repeat a recorded run of the agent ``script``."""
    scripts = [folder / "agent" / f"script{suffix}" for suffix in (".sql", ".py")]
    script = next((path for path in scripts if path.is_file()), None)
    if script is None:
        raise bad_file(folder, "The recorded run kept no script.", todo="Choose another run.")
    again = AgentRequest(
        instruction=request.instruction,
        script=script,
        model=model,
        memory_bytes=request.memory_bytes,
    )
    found = ScriptAgent().launch(again)
    told = {
        "of": name,
        "agent": ScriptAgent.name,
        "commands": 1,
        "files": 0,
        "from_last_state": 0,
        "skipped": [],
    }
    return Launch(
        argv=found.argv, env=found.env, files=found.files, model=model, notes={"replay": told}
    )
