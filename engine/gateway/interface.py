"""What the rest of the program knows of gateways: endpoints, budgets, what was used, why it ended.

Nothing in here opens a connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Api = Literal["responses", "messages", "chat", "generate"]
"""The model APIs: OpenAI Responses, Anthropic Messages, OpenAI chat completions, Google
generateContent."""

SOCKET = "gateway.sock"
"""Name of the Unix socket in the run's gateway folder."""
PORT = 18080
"""Where the bridge inside the sandbox listens, on 127.0.0.1."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One model endpoint that a gateway may talk to."""

    name: str
    """As in settings and on the command line, e.g. ``openai``, ``ollama``."""
    api: Api
    """What it speaks."""
    url: str
    """Base URL without the API's own path: ``https://api.openai.com``,
    ``http://127.0.0.1:11434``."""
    key: str | None = None
    """Name of its key in the keyring; None when it needs none."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one run may use of a model; None is no limit. Reaching one ends the run."""

    requests: int | None = 1000
    """Requests that are passed on."""
    input_tokens: int | None = None
    """Tokens in, cached ones included, as the endpoint counts them."""
    output_tokens: int | None = None
    """Tokens out."""
    seconds: float | None = None
    """Time from the first request."""
    bytes_out: int | None = 1 << 30
    """Bytes of request bodies."""


BudgetKind = Literal["requests", "input_tokens", "output_tokens", "seconds", "bytes_out"]


@dataclass(frozen=True)
class Stopped:
    """Why a gateway ended a run."""

    kind: Literal["budget", "refused", "fault"]
    """A budget was used up; the agent asked for something forbidden (a provider-side tool, another
    host); or the gateway itself broke (never the agent's fault)."""
    detail: str
    """In words; no key, no body."""
    budget: BudgetKind | None = None
    """Which one."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a run used, counted at the gateway (also for runs that failed or were killed)."""

    requests: int = 0
    """Passed on and answered, whatever the status."""
    refused: int = 0
    """Not passed on."""
    input_tokens: int = 0
    """Cached ones included."""
    cached_input_tokens: int = 0
    """Of them, read from the provider's cache."""
    output_tokens: int = 0
    """Reasoning included."""
    models: tuple[str, ...] = ()
    """Model names in requests, in order of first use."""
    uncounted: int = 0
    """Answers that told no token count: the sums are then lower bounds."""

    def as_dict(self) -> Mapping[str, Any]:
        """JSON-ready."""
        return {**vars(self), "models": list(self.models)}
