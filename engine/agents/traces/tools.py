"""What the agents' own tools are, by their names, and what a call of one means as a step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.agents.traces.lines import listing, mapping, shown, skill_of, string
from engine.agents.traces.model import WrittenFile
from engine.agents.traces.programs import Known, Unlooked, look, patched

SHELL_TOOLS = {"Bash", "bash", "run_shell_command", "exec_command", "shell", "local_shell", "exec"}
WEB_TOOLS = {
    "WebFetch",
    "WebSearch",
    "web_fetch",
    "web_search",
    "web_search_call",
    "google_web_search",
    "googleSearch",
    "urlContext",
    "browser",
    "fetch",
}
"""Tools that leave the sandbox, or have the provider do it."""
_READ = {"Read", "read", "read_file", "NotebookRead", "view_image"}
_READ_MANY = {"read_many_files"}
_WRITE = {"Write", "write", "write_file"}
_EDIT = {"Edit", "MultiEdit", "edit", "replace", "NotebookEdit"}
_SKILL = {"Skill", "activate_skill"}
_PATCH = {"apply_patch"}
_PATHS = ("file_path", "path", "absolute_path", "notebook_path", "filePath", "filename")
_CONTENT = 256 << 10
_COMMAND = 1 << 20


def call_values(tool: str, arguments: object, known: Known) -> dict[str, Any]:
    """The step's values for a call of a tool.

    Args:
        tool: the tool's own name.
        arguments: what it was given, as in the trace.
        known: scripts that the agent has written so far; new ones are added.
    """
    given = mapping(arguments)
    path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), "")
    base: dict[str, Any] = {"tool": shown(tool, 100)}
    if tool in SHELL_TOOLS:
        command = string(given.get("command")) or string(given.get("cmd"))
        folder = _first(given, "workdir", "cwd", "directory", "dir_path")
        data = {"data": {"cwd": folder}} if folder else {}
        return base | data | command_values(command, known)
    if tool in WEB_TOOLS:
        words = _first(given, "query", "url", "prompt")
        return base | {"kind": "web", "text": shown(f"{tool} {words}".strip(), 2000)}
    if tool in _SKILL:
        skill = _first(given, "skill", "name", "command").removeprefix("/")
        return base | {"kind": "skill", "text": shown(skill, 200), "skill": shown(skill, 200)}
    if tool in _READ or tool in _READ_MANY:
        several = (*listing(given.get("paths")), *listing(given.get("include")))
        every = [path] if path else [one for one in several if isinstance(one, str)]
        return base | read_values(tool, tuple(every))
    if tool in _WRITE:
        content = given.get("content")
        file = WrittenFile(path=path, how="add", content=_kept(content))
        return base | file_values(tool, (file,), known)
    if tool in _EDIT:
        base["data"] = {"arguments": _bounded(given)}
        return base | file_values(tool, (WrittenFile(path=path, how="edit"),), known)
    if tool in _PATCH:
        patch = _first(given, "input", "patch")
        return base | file_values(tool, tuple(patched(patch)), known)
    text = json.dumps(given, ensure_ascii=False) if given else ""
    return (
        base
        | {"data": {"arguments": _bounded(given)}}
        | {"kind": "tool", "text": shown(f"{tool} {text}".strip(), 2000)}
    )


def command_values(command: str, known: Known) -> dict[str, Any]:
    """The step's values for a shell command."""
    command = command[:_COMMAND]
    plain = {"kind": "command", "text": shown(command), "command": command}
    return plain | ({"looked": False} if isinstance(known, Unlooked) else looked_at(command, known))


def looked_at(command: str, known: Known) -> dict[str, Any]:
    """What a shell command comes to, as values of its step."""
    found = look(command, known)
    return {
        "writes": found.writes,
        "sql": found.sql,
        "reads": tuple(shown(path, 1000) for path in found.reads),
        "skill": next((name for path in found.reads if (name := skill_of(path))), None),
    }


def read_values(tool: str, paths: tuple[str, ...]) -> dict[str, Any]:
    """The step's values for files that a tool read."""
    skill = next((name for path in paths if (name := skill_of(path))), None)
    return {
        "kind": "file" if skill is None else "skill",
        "text": shown(f"{tool} {' '.join(paths)}".strip(), 2000),
        "reads": tuple(shown(path, 1000) for path in paths),
        "skill": skill,
    }


def file_values(tool: str, files: tuple[WrittenFile, ...], known: Known) -> dict[str, Any]:
    """The step's values for files that a tool wrote."""
    plain = {
        "kind": "file",
        "text": shown(f"{tool} {' '.join(file.path for file in files)}".strip(), 2000),
        "writes": files,
    }
    later = isinstance(known, Unlooked)
    return plain | ({"looked": False} if later else {"sql": sql_in(files, known)})


def sql_in(files: tuple[WrittenFile, ...], known: Known) -> tuple[str, ...]:
    """The SQL in files that a tool wrote; they are known from then on."""
    return tuple(text for file in files for text in known.add(file))


def _kept(content: object) -> str | None:
    return content if isinstance(content, str) and len(content) <= _CONTENT else None


def _bounded(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as they are (not neutralised), or none where they are too long to keep."""
    return given if len(json.dumps(given)) <= _CONTENT else {}


def _first(given: Mapping[str, Any], *keys: str) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")
