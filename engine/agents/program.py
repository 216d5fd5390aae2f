"""What the adapters of installed agent programs share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from engine.agents.failures import model_failure
from engine.agents.interface import (
    HOME,
    PROGRAMS,
    AgentRequest,
    Failure,
    Outcome,
)
from engine.agents.traces.model import TraceSummary
from engine.base.errors import UsageError
from engine.gateway.interface import Api

EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
"""The reasoning efforts that can be asked for, least first."""

TOKEN = "run"  # noqa: S105 - says nothing; the gateway of the run adds the real key
"""What the program is given as its API key. It can be read inside, so it is none."""

RETRIES = 2
"""How often a program may repeat a request by itself; waiting is the gateway's business."""

LONGEST_PROMPT = 120_000
"""Bytes of one argument that Linux takes, with room to spare (its limit is 128 KiB)."""


class ProgramAgent:
    """Base of the adapters that start an installed program and talk to a gateway."""

    name: ClassVar[str]
    skills_folder: ClassVar[str]
    apis: ClassVar[tuple[Api, ...]]
    title: ClassVar[str]
    """The program's name for people."""

    @property
    def program(self) -> str | None:
        """See `Agent.program`."""
        return self.name

    def failure(
        self,
        outcome: Outcome,
        trace: TraceSummary | None = None,
        egress: Sequence[Mapping[str, Any]] = (),
    ) -> Failure | None:
        """See `Agent.failure`."""
        return model_failure(outcome, trace, egress)

    def argv(self, *arguments: str) -> tuple[str, ...]:
        """The program as it is called inside."""
        return (f"{PROGRAMS}/{self.name}/run", *arguments)

    def checked(self, request: AgentRequest) -> tuple[str, str, Api]:
        """The model's name, the gateway's base URL and its API.

        Raises:
            UsageError: one of them is missing or cannot be used.
        """
        if not request.model:
            raise UsageError(
                f"{self.title} needs the name of a model.",
                todo="Name it with --model, as the endpoint calls it.",
            )
        if request.model.startswith("-") or not request.model.isprintable():
            raise UsageError(f"This cannot be a model's name: {request.model!r}.")
        if request.gateway is None:
            raise UsageError(
                f"{self.title} needs a model endpoint.", todo="Name one with --endpoint."
            )
        api = request.api or self.apis[0]
        if api not in self.apis:
            raise UsageError(
                f"{self.title} cannot talk to this endpoint: it speaks "
                f"{' or '.join(API_WORDS[one] for one in self.apis)}, "
                f"the endpoint {API_WORDS[api]}.",
                todo="Choose another endpoint, or the agent pi, which speaks all of them.",
            )
        if len(request.instruction.encode()) > LONGEST_PROMPT:
            raise UsageError(
                f"The instruction is longer than {LONGEST_PROMPT} bytes; it cannot be handed over."
            )
        return request.model, request.gateway.rstrip("/"), api

    def effort(self, request: AgentRequest, supported: Sequence[str]) -> str | None:
        """The effort asked for, if it is one of `supported`; None for the program's default.

        Raises:
            UsageError: it is none of them.
        """
        asked = request.reasoning_effort
        if asked is None or asked in supported:
            return asked
        if asked not in EFFORTS:
            raise UsageError(
                f"There is no reasoning effort called {asked}.",
                todo=f"Use one of: {', '.join(EFFORTS)}.",
            )
        have = ", ".join(supported)
        raise UsageError(
            f"{self.title} cannot ask the model {request.model} for the reasoning effort {asked}.",
            todo=f"Use one of: {have}." if have else "Leave the reasoning effort out.",
        )


API_WORDS: Mapping[Api, str] = {
    "responses": "OpenAI Responses",
    "messages": "Anthropic Messages",
    "chat": "OpenAI chat completions",
    "generate": "Google generateContent",
}
"""The APIs for people."""


def environment(**more: str) -> dict[str, str]:
    """The environment of a program: its own HOME and a quiet terminal, and `more`."""
    return {
        "HOME": HOME,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "NO_COLOR": "1",
    } | more


def json_file(content: Mapping[str, Any]) -> bytes:
    """A settings file."""
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()
