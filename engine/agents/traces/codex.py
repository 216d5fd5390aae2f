"""The event stream of `codex exec --json`, and its rollout file."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, ClassVar

from engine.agents.traces.lines import (
    count,
    error_of,
    flat,
    listing,
    mapping,
    shown,
    string,
    sum_of,
)
from engine.agents.traces.model import Tokens, WrittenFile
from engine.agents.traces.toolsteps import ToolReader

_HOWS: Mapping[str, Any] = {"add": "add", "delete": "delete"}
_RECONNECT = re.compile(r"\bReconnecting\b|\bretry", re.IGNORECASE)


class CodexReader(ToolReader):
    """See the module. The stream has no times and no model name."""

    form: ClassVar[str] = "codex"
    known_versions: ClassVar[tuple[str, ...]] = ("0",)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._total: Tokens | None = None
        self._earlier: list[Tokens] = []
        self._answered = True

    def event(self, data: Mapping[str, Any]) -> None:
        """See `LineReader.event`."""
        match data.get("type"):
            case "thread.started":
                self.session = self.session or shown(data.get("thread_id"), 100) or None
                self.add("start", text=self.session or "")
            case "turn.started":
                self._answered = True
            case "item.started" | "item.updated" | "item.completed" as kind:
                self._item(mapping(data.get("item")), done=kind == "item.completed")
            case "turn.completed":
                self._usage(mapping(data.get("usage")))
                self.closing, self.error = "success", None
                self.add("end", text="completed")
            case "turn.failed":
                self.closing = "error"
                self.error = error_of(mapping(data.get("error")).get("message"))
                self.add("end", text=self.error.message, error=self.error, failed=True)
            case "error":
                error = error_of(data.get("message"))
                kind = "retry" if _RECONNECT.search(error.message) else "error"
                self.add("retry" if kind == "retry" else "error", text=error.message, error=error)
            case other:
                self.unknown(other)

    def counts(self) -> Tokens | None:
        """See `LineReader.counts`."""
        return self._total

    def _responds(self) -> None:
        """A new item of the model's: after the results of tools it is a new response."""
        if self._answered:
            self.turn += 1
            self._answered = False

    def _item(self, item: Mapping[str, Any], *, done: bool) -> None:
        key = string(item.get("id"))
        match item.get("type"):
            case "agent_message" if done:
                self._responds()
                self.says(string(item.get("text")))
                self.add("message", text=shown(item.get("text")))
            case "reasoning" if done:
                self._responds()
                self.add("reasoning", text=shown(item.get("text")))
            case "error" if done:
                self.add("error", text=shown(item.get("message"), 2000))
            case "command_execution":
                self._command(key, item, done=done)
            case "file_change":
                self._files(key, item, done=done)
            case "mcp_tool_call" | "web_search" | "todo_list" | "collab_tool_call" as kind:
                self._other(key, str(kind), item, done=done)
            case "agent_message" | "reasoning" | "error":
                pass
            case other:
                self.unknown(f"item {shown(other, 40)}")

    def _command(self, key: str, item: Mapping[str, Any], *, done: bool) -> None:
        if not self.is_open(key):
            self._responds()
            self.begin(key, "shell", {"command": inner_command(string(item.get("command")))})
        if done:
            code = item.get("exit_code")
            code = code if isinstance(code, int) and not isinstance(code, bool) else None
            self._answered = True
            self.end(
                key,
                string(item.get("aggregated_output")),
                ("item", "aggregated_output"),
                exit_code=code,
                failed=code not in (0, None) or item.get("status") in ("failed", "declined"),
            )

    def _files(self, key: str, item: Mapping[str, Any], *, done: bool) -> None:
        if not self.is_open(key):
            self._responds()
            files = tuple(
                WrittenFile(
                    path=shown(mapping(change).get("path"), 1000),
                    how=_HOWS.get(string(mapping(change).get("kind")), "edit"),
                )
                for change in listing(item.get("changes"))
            )
            self.begin_files(key, "apply_patch", files)
        if done:
            self._answered = True
            self.end(key, "", (), failed=item.get("status") == "failed")

    def _other(self, key: str, kind: str, item: Mapping[str, Any], *, done: bool) -> None:
        if not self.is_open(key):
            self._responds()
            name = string(item.get("tool")) or kind
            arguments = item.get("arguments") if kind == "mcp_tool_call" else item
            self.begin(key, name, arguments)
        if done:
            self._answered = True
            result = mapping(item.get("result"))
            failed = item.get("status") == "failed"
            self.end(key, flat(result.get("content")), ("item", "result", "content"), failed=failed)

    def _usage(self, usage: Mapping[str, Any]) -> None:
        """The counters run on over the whole thread; a smaller one is of a new thread."""
        now = tokens_of(usage)
        if now is None:
            return
        before = self._earlier[-1] if self._earlier else None
        if before is not None and (now.input or 0) < (before.input or 0):
            before = None
        self._earlier.append(now)
        step = now if before is None else _less(now, before)
        self._total = step if self._total is None else _more(self._total, step)
        self.add("usage", tokens=step)


class CodexRolloutReader(CodexReader):
    """The session file of codex: it has times, and tokens by response."""

    form: ClassVar[str] = "codex-rollout"

    def event(self, data: Mapping[str, Any]) -> None:  # noqa: C901 - a table of events
        """See `LineReader.event`."""
        payload = mapping(data.get("payload"))
        self._arrived = string(data.get("timestamp")) or None
        match data.get("type"), payload.get("type"):
            case "session_meta", _:
                self.session = shown(payload.get("id"), 100) or None
                self.version = self.version or shown(payload.get("cli_version"), 40) or None
                self.add("start", text=self.session or "")
            case "turn_context", _:
                if model := shown(payload.get("model"), 100):
                    self.models.setdefault(model)
            case "response_item", "function_call" | "custom_tool_call" | "local_shell_call":
                self._responds()
                self.begin(string(payload.get("call_id")), *_call_of(payload))
            case "response_item", "function_call_output" | "custom_tool_call_output":
                self._result(payload)
            case "response_item", "message" if payload.get("role") == "assistant":
                self._responds()
                self.says(flat(payload.get("content")))
                self.add("message", text=shown(flat(payload.get("content"))))
            case "response_item", "reasoning":
                self._responds()
                self.add("reasoning", text=shown(flat(payload.get("summary"))))
            case "event_msg", "token_count":
                self._usage(mapping(mapping(payload.get("info")).get("total_token_usage")))
            case "event_msg", "task_complete":
                self.closing = "success"
                self.says(string(payload.get("last_agent_message")))
                self.add("end", text="completed")
            case "event_msg", "turn_aborted" | "error":
                self.closing = "error"
                self.error = error_of(payload.get("message") or payload.get("reason"))
                self.add("end", text=self.error.message, error=self.error, failed=True)
            case "event_msg" | "response_item" | "token_usage_record" | "world_state", _:
                pass
            case other, _:
                self.unknown(other)

    def _result(self, payload: Mapping[str, Any]) -> None:
        output = payload.get("output")
        text = output if isinstance(output, str) else string(mapping(output).get("content"))
        found = re.search(r"Process exited with code (\d{1,3})", text)
        code = int(found[1]) if found else None
        self._answered = True
        self.end(
            string(payload.get("call_id")),
            text,
            ("payload", "output"),
            exit_code=code,
            failed=code not in (0, None),
        )


def _call_of(payload: Mapping[str, Any]) -> tuple[str, object]:
    name = string(payload.get("name")) or "shell"
    if isinstance(payload.get("input"), str):
        return name, {"input": payload["input"], "command": payload["input"]}
    try:
        arguments = json.loads(string(payload.get("arguments")))
    except (ValueError, RecursionError):
        arguments = {}
    command = mapping(arguments).get("command")
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        arguments = {"command": inner_command(shlex.join(words))}
    return name, arguments


def inner_command(text: str) -> str:
    """The command line without the ``/bin/bash -lc '…'`` that codex puts around it."""
    if not re.match(r"\S*\b(?:ba|z|da)?sh\s+-\w*c\s", text):
        return text
    # The usual case at once: splitting goes letter by letter, and programs are long.
    if plain := re.fullmatch(r"[\w/.]++\s+-\w*c\s+(?:'([^']*+)'|\"([^\"\\]*+)\")", text):
        return plain[1] if plain[1] is not None else plain[2]
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    return words[2] if len(words) == 3 else text  # noqa: PLR2004 - shell, option, command


def tokens_of(usage: Mapping[str, Any]) -> Tokens | None:
    """Codex's counts: cached tokens are within the input, reasoning within the output."""
    tokens = Tokens(
        input=count(usage.get("input_tokens")),
        cached_input=count(usage.get("cached_input_tokens")),
        output=count(usage.get("output_tokens")),
        reasoning=count(usage.get("reasoning_output_tokens")),
    )
    return None if tokens == Tokens() else tokens


def _less(now: Tokens, before: Tokens) -> Tokens:
    def less(one: int | None, other: int | None) -> int | None:
        return None if one is None else max(0, one - (other or 0))

    return Tokens(
        input=less(now.input, before.input),
        cached_input=less(now.cached_input, before.cached_input),
        output=less(now.output, before.output),
        reasoning=less(now.reasoning, before.reasoning),
    )


def _more(one: Tokens, other: Tokens) -> Tokens:
    return sum_of((one, other)) or Tokens()
