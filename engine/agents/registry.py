"""Agent adapters by name."""

from __future__ import annotations

from collections.abc import Callable

from engine.agents.claude import ClaudeAgent
from engine.agents.codex import CodexAgent
from engine.agents.gemini import GeminiAgent
from engine.agents.interface import Agent
from engine.agents.pi import PiAgent
from engine.agents.replay import ReplayAgent
from engine.agents.script import ScriptAgent
from engine.base.errors import UsageError

_AGENTS: dict[str, Callable[[], Agent]] = {
    ScriptAgent.name: ScriptAgent,
    ReplayAgent.name: ReplayAgent,
    CodexAgent.name: CodexAgent,
    ClaudeAgent.name: ClaudeAgent,
    GeminiAgent.name: GeminiAgent,
    PiAgent.name: PiAgent,
}

KNOWN = tuple(_AGENTS)
"""Names that the command line knows."""


def agent_names() -> tuple[str, ...]:
    """The agents that can be run."""
    return KNOWN


def find_agent(name: str) -> Agent:
    """The adapter called `name`.

    Raises:
        UsageError: there is none of that name.
    """
    if name in _AGENTS:
        return _AGENTS[name]()
    have = ", ".join(KNOWN)
    raise UsageError(f"There is no agent called {name}.", todo=f"Use one of: {have}.")
