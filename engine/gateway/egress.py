"""`egress.jsonl`: one line per request that came to the gateway; no body, no key, no query."""

from __future__ import annotations

import datetime as dt
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PATH_MOST = 100
_MODEL_MOST = 100


def plain(text: str, most: int) -> str:
    """Hostile text made harmless: printable ASCII, and not long."""
    cut = text[:most].encode("unicode_escape").decode("ascii")
    return cut if len(text) <= most else cut + "…"


@dataclass(kw_only=True)
class Line:
    """One request."""

    method: str
    """As asked."""
    host: str
    """The endpoint's; of a request to another host, that."""
    port: int
    """The endpoint's."""
    path: str
    """As asked, without the query."""
    allowed: bool = False
    """Passed on (or answered here as harmless)."""
    status: int | None = None
    """What the agent got; None when it got no whole answer."""
    model: str | None = None
    """Named in the request."""
    bytes_in: int = 0
    """Of the answer's body."""
    bytes_out: int = 0
    """Of the request's body as passed on."""
    input_tokens: int | None = None
    """Cached ones included; None when it was not told."""
    cached_input_tokens: int | None = None
    """Of them, from the provider's cache."""
    output_tokens: int | None = None
    """Reasoning included."""
    seconds: float = 0.0
    """From the request's head to the answer's end."""
    why: str | None = None
    """A machine word: why it was refused, or what broke; None when all was well."""
    failed: int | None = None
    """HTTP status that an error within a stream means, which began with a good one."""
    retry_after: float | None = None
    """Seconds after which the endpoint wants to be asked again."""
    reset: str | None = None
    """When the endpoint's limit is reset, in its own words."""
    dropped: tuple[str, ...] = ()
    """Fields of the body that were left out."""

    def as_dict(self, now: dt.datetime) -> dict[str, Any]:
        """JSON-ready, with hostile text made harmless."""
        return {
            "ts": now.isoformat(timespec="milliseconds"),
            **vars(self),
            "method": plain(self.method, 20),
            "host": plain(self.host, _PATH_MOST),
            "path": plain(self.path.partition("?")[0], _PATH_MOST),
            "model": None if self.model is None else plain(self.model, _MODEL_MOST),
            "reset": None if self.reset is None else plain(self.reset, 60),
            "seconds": round(self.seconds, 3),
            "dropped": [plain(name, 40) for name in self.dropped],
        }


class EgressLog:
    """The open file; each line is written at once.

    Args:
        path: made if it is not there; lines are added.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._handle = os.open(path, flags, 0o600)

    def write(self, line: Line) -> None:
        """Add a line.

        Raises:
            OSError: it cannot be written (a full disk).
        """
        text = json.dumps(line.as_dict(dt.datetime.now(dt.UTC))) + "\n"
        data = text.encode()
        if os.write(self._handle, data) != len(data):
            raise OSError("the line was not written whole")

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)
