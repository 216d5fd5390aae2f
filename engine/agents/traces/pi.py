"""The event stream of `pi --mode json`."""

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
    seconds_of,
    shown,
    string,
    sum_of,
)
from engine.agents.traces.model import Tokens
from engine.agents.traces.toolsteps import ToolReader

_QUIET = {
    "agent_start",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "tool_execution_update",
    "compaction_start",
    "compaction_end",
    "queue_update",
    "entry_appended",
    "session_info_changed",
    "configuration_update",
    "thinking_level_changed",
    "summarization_retry_attempt_start",
}


class PiReader(ToolReader):
    """See the module. Tokens are told by response; only messages have times."""

    form: ClassVar[str] = "pi"
    known_versions: ClassVar[tuple[str, ...]] = ("0", "1")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tokens: list[Tokens] = []
        self._failed = False

    def event(self, data: Mapping[str, Any]) -> None:  # noqa: C901 - a table of events
        """See `LineReader.event`."""
        match data.get("type"):
            case "session":
                self.session = shown(data.get("id"), 100) or None
                self.add("start", at=iso(data.get("timestamp")), text=self.session or "")
            case "message_end":
                self._message(mapping(data.get("message")))
            case "tool_execution_start":
                key, name = string(data.get("toolCallId")), string(data.get("toolName"))
                self.begin(key, name, data.get("args"))
            case "tool_execution_end":
                self._tool_end(data)
            case "auto_retry_start":
                error = error_of(data.get("errorMessage"), wait=data.get("delayMs"))
                self.add("retry", text=error.message, error=error)
            case "auto_retry_end":
                if data.get("success") is not True:
                    error = error_of(data.get("finalError"))
                    self.add("error", text=error.message, error=error)
            case "agent_end":
                # Old versions end with this; newer ones may try again after it.
                if data.get("willRetry") is not True:
                    self._close(told=False)
            case "agent_settled":
                self._close(told=True, aborted=data.get("aborted") is True)
            case kind if kind in _QUIET:
                pass
            case other:
                self.unknown(other)

    def counts(self) -> Tokens | None:
        """See `LineReader.counts`."""
        return sum_of(self._tokens)

    def _message(self, message: Mapping[str, Any]) -> None:
        at = iso(message.get("timestamp"))
        match message.get("role"):
            case "assistant":
                self._response(message, at)
            case "system":
                listed = string(mapping(message.get("sections")).get("skills"))
                names = re.findall(r"<name>\s*([^<\s]{1,200})\s*</name>", listed)
                if names:
                    self.offered = tuple(shown(name, 200) for name in names)
            case "user":
                # A skill that the prompt names comes whole in the user's message.
                text = flat(message.get("content"))
                for name in re.findall(r"<skill name=\"([^\"\n]{1,200})\"", text):
                    self.skills_read.setdefault(shown(name, 200))

    def _response(self, message: Mapping[str, Any], at: str | None) -> None:
        self.turn += 1
        if model := shown(message.get("model"), 100):
            self.models.setdefault(model)
        for item in listing(message.get("content")):
            block = mapping(item)
            if block.get("type") == "text":
                self.says(string(block.get("text")))
                self.add("message", at=at, text=shown(block.get("text")))
            elif block.get("type") == "thinking":
                self.add("reasoning", at=at, text=shown(block.get("thinking")))
        self._failed = message.get("stopReason") in ("error", "aborted")
        if self._failed:
            # It was no response of the model's; the next try is told apart.
            self.turn -= 1
            self.error = error_of(message.get("errorMessage") or message.get("stopReason"))
            self.add("error", at=at, text=self.error.message, error=self.error)
            return
        self.error = None
        tokens = _tokens_of(mapping(message.get("usage")))
        if tokens is not None:
            self._tokens.append(tokens)
            self.add("usage", at=at, tokens=tokens)

    def _tool_end(self, data: Mapping[str, Any]) -> None:
        result = mapping(data.get("result"))
        structured = mapping(result.get("structuredContent"))
        code = structured.get("exit_code")
        code = code if isinstance(code, int) and not isinstance(code, bool) else None
        text = flat(result.get("content"))
        pointer: tuple[str, ...] = ("result", "content")
        if not text and isinstance(structured.get("output"), str):
            text, pointer = structured["output"], ("result", "structuredContent", "output")
        self.end(
            string(data.get("toolCallId")),
            text,
            pointer,
            failed=data.get("isError") is True or code not in (0, None),
            exit_code=code,
            seconds=seconds_of(data.get("durationMs")),
        )

    def _close(self, *, told: bool, aborted: bool = False) -> None:
        if self.closing != "missing":
            return
        if self._failed or aborted:
            self.closing = "error"
            self.error = self.error or error_of("aborted")
            text = self.error.message
            self.add("end", text=text, error=self.error, failed=True)
        elif self.turn:
            self.closing = "success"
            self.add("end", text="completed")
        elif told:
            self.closing = "error"
            self.error = error_of("The agent ended without a response of the model's.")
            self.add("end", text=self.error.message, error=self.error, failed=True)


def _tokens_of(usage: Mapping[str, Any]) -> Tokens | None:
    """Pi's input leaves out the cached tokens; its output has the reasoning in it."""
    cached = count(usage.get("cacheRead"))
    tokens = Tokens(
        input=add_up(count(usage.get("input")), cached, count(usage.get("cacheWrite"))),
        cached_input=cached,
        output=count(usage.get("output")),
        reasoning=count(usage.get("reasoning")),
    )
    return None if not tokens.input and not tokens.output else tokens
