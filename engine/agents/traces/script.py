"""The trace that a run writes itself, for agents whose program has no event stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engine.agents.traces.lines import LineReader, count, error_of, iso, preview, shown, string
from engine.agents.traces.model import Tokens

_MORE = ("stream", "returncode", "reason", "argv", "agent")


class ScriptReader(LineReader):
    """Reads ``{"at", "kind", "text", …}``; kinds: start, output, message, error, exit."""

    form: ClassVar[str] = "script"

    def event(self, data: Mapping[str, Any]) -> None:
        """See `LineReader.event`."""
        at, text = iso(data.get("at")), string(data.get("text"))
        more = {key: _plain(data[key]) for key in _MORE if key in data}
        match data.get("kind"):
            case "start":
                self.add("start", at=at, text=shown(text), data=more)
            case "output":
                whole = self.ref("text")
                self.add("output", at=at, output=preview(text), output_ref=whole, data=more)
            case "message":
                self.says(text)
                self.add("message", at=at, text=shown(text), data=more)
            case "error":
                error = error_of(text)
                self.add("error", at=at, text=error.message, error=error, data=more)
            case "exit":
                code = data.get("returncode")
                failed = code != 0 or data.get("reason") not in (None, "exited")
                self.closing = "error" if failed else "success"
                if failed:
                    self.error = error_of(text or more.get("reason") or "")
                self.add("end", at=at, text=shown(text), failed=failed, data=more)
            case other:
                self.unknown(other)

    def counts(self) -> Tokens | None:
        """See `LineReader.counts`."""
        return None

    def why_not_counted(self) -> str | None:
        """See `LineReader.why_not_counted`."""
        return "This agent asks no model."


def _plain(value: object) -> object:
    if isinstance(value, bool) or value is None:
        return value
    return (
        count(value)
        if isinstance(value, float)
        else value
        if isinstance(value, int)
        else (shown(value, 2000))
    )
