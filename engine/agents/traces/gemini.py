"""The event stream of `gemini --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engine.agents.traces.lines import (
    add_up,
    count,
    error_of,
    iso,
    mapping,
    shown,
    string,
    sum_of,
)
from engine.agents.traces.model import Tokens
from engine.agents.traces.toolsteps import ToolReader


class GeminiReader(ToolReader):
    """See the module. Tokens stand only in the closing event; exit codes stand nowhere."""

    form: ClassVar[str] = "gemini"
    known_versions: ClassVar[tuple[str, ...]] = ("0",)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._total: Tokens | None = None
        self._answered = True
        self._message: tuple[int, str] | None = None

    def event(self, data: Mapping[str, Any]) -> None:
        """See `LineReader.event`."""
        at = iso(data.get("timestamp"))
        kind = data.get("type")
        if kind != "message":
            self._message = None
        match kind:
            case "init":
                self.session = shown(data.get("session_id"), 100) or None
                if model := shown(data.get("model"), 100):
                    self.models.setdefault(model)
                self.add("start", at=at, text=self.session or "")
            case "message":
                self._words(data, at)
            case "tool_use":
                self._responds()
                key, name = string(data.get("tool_id")), string(data.get("tool_name"))
                self.begin(key, name, data.get("parameters"), at=at)
            case "tool_result":
                self._tool_result(data, at)
            case "error":
                error = error_of(data.get("message") or mapping(data.get("error")).get("message"))
                self.add("error", at=at, text=error.message, error=error)
            case "result":
                self._result(data, at)
            case None if "stats" in data and "session_id" in data:
                self._document(data)
            case other:
                self.unknown(other)

    def counts(self) -> Tokens | None:
        """See `LineReader.counts`."""
        return self._total

    def _responds(self) -> None:
        if self._answered:
            self.turn += 1
            self._answered = False

    def _words(self, data: Mapping[str, Any], at: str | None) -> None:
        text = string(data.get("content"))
        if data.get("role") != "assistant":
            self._message = None
            return
        self._responds()
        if data.get("delta") is True and self._message is not None:
            number, before = self._message
            self._message = (number, before + text)
            self.change(number, text=shown(before + text))
        else:
            self._message = (self.add("message", at=at, text=shown(text)), text)
        self.says(self._message[1])

    def _tool_result(self, data: Mapping[str, Any], at: str | None) -> None:
        failed = data.get("status") == "error"
        error = error_of(mapping(data.get("error")).get("message")) if failed else None
        key = string(data.get("tool_id"))
        self._answered = True
        text = string(data.get("output"))
        self.end(key, text, ("output",), failed=failed, at=at, error=error)

    def _result(self, data: Mapping[str, Any], at: str | None) -> None:
        stats = mapping(data.get("stats"))
        self._total = _tokens_of(stats)
        for model in mapping(stats.get("models")):
            self.models.setdefault(shown(model, 100))
        if data.get("status") == "success":
            self.closing, self.error = "success", None
            if self._total is not None:
                self.add("usage", at=at, tokens=self._total)
            self.add("end", at=at, text="completed")
        else:
            self.closing = "error"
            self.error = error_of(mapping(data.get("error")).get("message"))
            self.add("end", at=at, text=self.error.message, error=self.error, failed=True)

    def _document(self, data: Mapping[str, Any]) -> None:
        """What ``--output-format json`` prints: one document, no steps."""
        self.session = shown(data.get("session_id"), 100) or None
        counts = []
        for model, values in mapping(mapping(data.get("stats")).get("models")).items():
            self.models.setdefault(shown(model, 100))
            tokens = mapping(mapping(values).get("tokens"))
            thoughts = count(tokens.get("thoughts"))
            counts.append(
                Tokens(
                    input=count(tokens.get("prompt")),
                    cached_input=count(tokens.get("cached")),
                    output=add_up(count(tokens.get("candidates")), thoughts),
                    reasoning=thoughts,
                )
            )
            self.turn += count(mapping(mapping(values).get("api")).get("totalRequests")) or 0
        self._total = sum_of(counts)
        self.says(string(data.get("response")))
        self.add("message", text=shown(data.get("response")))
        if data.get("error") is None:
            self.closing = "success"
        else:
            self.closing = "error"
            self.error = error_of(mapping(data.get("error")).get("message"))
        self.add("end", text="completed" if self.error is None else self.error.message)


def _tokens_of(stats: Mapping[str, Any]) -> Tokens | None:
    """Gemini's input has the cached tokens in it; thoughts are only in the sum of all."""
    read, written = count(stats.get("input_tokens")), count(stats.get("output_tokens"))
    every = count(stats.get("total_tokens"))
    if read is None or written is None:
        return None
    thoughts = None if every is None else max(0, every - read - written)
    return Tokens(
        input=read,
        cached_input=count(stats.get("cached")),
        output=add_up(written, thoughts),
        reasoning=thoughts,
    )
