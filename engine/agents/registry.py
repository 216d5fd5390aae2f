"""Agent adapters by name."""

from __future__ import annotations

from collections.abc import Callable

from engine.agents.interface import Agent
from engine.agents.replay import ReplayAgent
from engine.agents.script import ScriptAgent
from engine.base.errors import UsageError

_AGENTS: dict[str, Callable[[], Agent]] = {
    ScriptAgent.name: ScriptAgent,
    ReplayAgent.name: ReplayAgent,
}

KNOWN = ("script", "replay", "codex", "claude", "gemini", "pi")
"""Names that the command line knows."""


def agent_names() -> tuple[str, ...]:
    """The agents that can be run."""
    return tuple(_AGENTS)


def find_agent(name: str) -> Agent:
    """The adapter called `name`.

    Raises:
        UsageError: this version has none of that name.
    """
    if name in _AGENTS:
        return _AGENTS[name]()
    have = ", ".join(agent_names())
    if name in KNOWN:
        raise UsageError(
            f"This version has no adapter for the agent {name}.", todo=f"It can run: {have}."
        )
    raise UsageError(f"There is no agent called {name}.", todo=f"Use one of: {have}.")
