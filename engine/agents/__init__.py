"""What has to be started so that an agent works on a task. Agents start nothing."""

from __future__ import annotations

from engine.agents.interface import (
    Agent,
    AgentRequest,
    Failure,
    Launch,
    Outcome,
)
from engine.agents.registry import agent_names, find_agent

__all__ = [
    "Agent",
    "AgentRequest",
    "Failure",
    "Launch",
    "Outcome",
    "agent_names",
    "find_agent",
]
