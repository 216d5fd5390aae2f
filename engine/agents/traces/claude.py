"""The event stream of `claude -p --output-format stream-json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from engine.agents.traces.lines import (
    add_up,
    count,
    error_of,
    flat,
    iso,
    listing,
    mapping,
    shown,
    string,
    sum_of,
)
from engine.agents.traces.model import Tokens
from engine.agents.traces.toolsteps import ToolReader

_SYNTHETIC = "<synthetic>"
_SKILL_BODY = re.compile(r"Base directory for this skill: \S*?([^/\s]+)/?\s")
_QUIET = {
    "status",
    "stream_event",
    "task_started",
    "task_notification",
    "task_progress",
    "hook_started",
    "hook_response",
    "compact_boundary",
    "thinking_tokens",
}


class ClaudeReader(ToolReader):
    """See the module. One event is one block of a response; a response's id is repeated."""

    form: ClassVar[str] = "claude"
    known_versions: ClassVar[tuple[str, ...]] = ("2",)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._responses: dict[str, Tokens] = {}
        self._total: Tokens | None = None

    def event(self, data: Mapping[str, Any]) -> None:
        """See `LineReader.event`."""
        at = iso(data.get("timestamp"))
        match data.get("type"):
            case "system":
                self._system(data, at)
            case "assistant":
                self._assistant(data, at)
            case "user":
                self._user(data, at)
            case "result":
                self._result(data, at)
            case "stream_event" | "rate_limit_event" | "tool_progress":
                pass
            case other:
                self.unknown(other)

    def counts(self) -> Tokens | None:
        """See `LineReader.counts`.

        Until the closing event only the input is known: the output that a response's blocks tell
        is that of its first token.
        """
        return self._total if self._total is not None else sum_of(self._responses.values())

    def _system(self, data: Mapping[str, Any], at: str | None) -> None:
        match data.get("subtype"):
            case "init":
                self.session = shown(data.get("session_id"), 100) or None
                self.version = shown(data.get("claude_code_version"), 40) or self.version
                self._model(data.get("model"))
                skills = data.get("skills")
                if isinstance(skills, list):
                    # Without a description a skill stands only among the commands.
                    commands = listing(data.get("slash_commands"))
                    more = [name for name in commands if name in self.installed]
                    names = (shown(one, 200) for one in (*skills, *more) if isinstance(one, str))
                    self.offered = tuple(dict.fromkeys(names))
                self.add("start", at=at, text=self.session or "")
            case "api_retry":
                status = data.get("error_status")
                error = error_of(data.get("error"), status=status, wait=data.get("retry_delay_ms"))
                self.add("retry", at=at, text=error.message, error=error)
            case "permission_denied":
                tool = shown(data.get("tool_name"), 100)
                words = string(data.get("message")) or f"{tool} was not permitted"
                error = error_of(words, kind="denied")
                self.add("error", at=at, text=error.message, tool=tool or None, error=error)
            case subtype if subtype in _QUIET:
                pass
            case other:
                self.unknown(f"system {shown(other, 40)}")

    def _assistant(self, data: Mapping[str, Any], at: str | None) -> None:
        message = mapping(data.get("message"))
        if data.get("error") is not None or data.get("is_api_error_message"):
            words = flat(message.get("content")) or data.get("error")
            error = error_of(words, status=data.get("api_error_status"))
            self.add("error", at=at, text=error.message, error=error)
            return
        model = string(message.get("model"))
        if model != _SYNTHETIC:
            self._model(model)
            self._response(message, at)
        for block in listing(message.get("content")):
            self._block(mapping(block), at)

    def _response(self, message: Mapping[str, Any], at: str | None) -> None:
        key = string(message.get("id"))
        if key in self._responses:
            return
        self.turn += 1
        tokens = _input_of(mapping(message.get("usage")))
        self._responses[key] = tokens
        if tokens.input:
            self.add("usage", at=at, tokens=tokens)

    def _block(self, block: Mapping[str, Any], at: str | None) -> None:
        match block.get("type"):
            case "text":
                self.says(string(block.get("text")))
                self.add("message", at=at, text=shown(block.get("text")))
            case "thinking" | "redacted_thinking":
                self.add("reasoning", at=at, text=shown(block.get("thinking")))
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                key, name = string(block.get("id")), string(block.get("name"))
                self.begin(key, name, block.get("input"), at=at)
            case other if string(other).endswith("_tool_result"):
                self.end(string(block.get("tool_use_id")), "", (), at=at)
            case other:
                self.unknown(f"block {shown(other, 40)}")

    def _user(self, data: Mapping[str, Any], at: str | None) -> None:
        content = mapping(data.get("message")).get("content")
        for index, item in enumerate(listing(content)):
            block = mapping(item)
            if block.get("type") == "tool_result":
                pointer = ("message", "content", index, "content")
                self._tool_result(block, pointer, mapping(data.get("tool_use_result")), at)
            elif data.get("isSynthetic"):
                body = _SKILL_BODY.match(string(block.get("text")))
                if body:
                    self.skills_read.setdefault(shown(body[1], 200))

    def _tool_result(
        self,
        block: Mapping[str, Any],
        pointer: tuple[str | int, ...],
        more: Mapping[str, Any],
        at: str | None,
    ) -> None:
        key, text = string(block.get("tool_use_id")), flat(block.get("content"))
        step = self.step(self._open.get(key, 0))
        failed = block.get("is_error") is True
        code = None
        if step is not None and step.kind == "command":
            # The code is told by words, and only when it is not 0.
            found = re.match(r"(?:Error: )?Exit code (\d{1,3})\b", text)
            interrupted = more.get("interrupted") is True
            in_background = "backgroundTaskId" in more
            if found:
                code = int(found[1])
            elif not (failed or interrupted or in_background):
                code = 0
        self.end(key, text, pointer, failed=failed, exit_code=code, at=at)

    def _result(self, data: Mapping[str, Any], at: str | None) -> None:
        usage = mapping(data.get("usage"))
        read = _input_of(usage)
        thoughts = mapping(usage.get("output_tokens_details")).get("thinking_tokens")
        total = Tokens(
            input=read.input,
            cached_input=read.cached_input,
            output=count(usage.get("output_tokens")),
            reasoning=count(thoughts),
        )
        self._total = None if total == Tokens() else total
        for model in mapping(data.get("modelUsage")):
            self._model(model)
        # "success" is said of failed runs too.
        if data.get("is_error") is True or data.get("subtype") != "success":
            words = data.get("result") or data.get("subtype")
            reached = string(data.get("subtype")) == "error_max_turns"
            status = data.get("api_error_status")
            self.error = error_of(words, status=status, kind="limit" if reached else None)
            self.closing = "error"
            self.add("end", at=at, text=self.error.message, error=self.error, failed=True)
        else:
            self.closing, self.error = "success", None
            self.says(string(data.get("result")))
            self.add("end", at=at, text="completed", tokens=self._total)

    def _model(self, name: object) -> None:
        if isinstance(name, str) and name and name != _SYNTHETIC:
            self.models.setdefault(shown(name, 100))


def _input_of(usage: Mapping[str, Any]) -> Tokens:
    """Claude's input leaves out what was read from or written to the cache."""
    cached = count(usage.get("cache_read_input_tokens"))
    fresh = count(usage.get("input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    return Tokens(input=add_up(fresh, cached, written), cached_input=cached)
