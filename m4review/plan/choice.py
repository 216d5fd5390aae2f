"""What the user plans, as plain values that can be kept and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.base.errors import UsageError
from engine.queue.plan import Plan


@dataclass(frozen=True)
class AgentChoice:
    """One agent and how it is run."""

    agent: str = "script"
    """Name of the adapter."""
    models: str = ""
    """Model names, separated by commas."""
    endpoint: str = ""
    """Name of the endpoint; empty for the agent's usual one."""
    effort: str = ""
    """Reasoning effort; empty for the provider's default."""
    script: str = ""
    """File of the agent ``script``."""
    record: str = ""
    """Run that the agent ``replay`` repeats: its id or its folder."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models, each once."""
        return tuple(dict.fromkeys(name for m in self.models.split(",") if (name := m.strip())))


@dataclass(frozen=True)
class PlanChoice:
    """Everything that is chosen."""

    name: str = ""
    """Of the batch; made from the time when empty."""
    tasks: tuple[str, ...] = ()
    """Names."""
    sources: tuple[str, ...] = ()
    """Names, at most one of each kind."""
    conditions: tuple[str, ...] = ("no-skill",)
    """What the agent is given."""
    schemas: tuple[str, ...] = ("native",)
    """How the database's tables and columns are named."""
    agents: tuple[AgentChoice, ...] = (AgentChoice(),)
    """Who is run."""
    trials: int = 1
    """Runs of each cell."""
    minutes: int = 30
    """Time limit of each run."""
    requests: int = 1000
    """Budget of each run: requests to its model."""
    input_tokens: int = 0
    """Budget: tokens in; 0 for none."""
    output_tokens: int = 0
    """Budget: tokens out; 0 for none."""
    backend: str = ""
    """The sandbox; empty for the best that works."""

    @property
    def words(self) -> str:
        """How many runs this is, as a product."""
        cells = sum(max(1, len(agent.names)) for agent in self.agents)
        parts = [
            _many(len(self.tasks), "task"),
            _many(len(self.conditions), "condition"),
            _many(len(self.schemas), "schema"),
            _many(cells, "agent and model", "agents and models"),
            _many(self.trials, "trial"),
        ]
        return " × ".join(parts)

    def as_plan(self) -> Plan:
        """What the engine makes runs of.

        Raises:
            UsageError: something is missing or cannot be.
        """
        if not self.tasks:
            raise UsageError("No task is chosen.", todo="Choose at least one.")
        if not self.conditions or not self.schemas:
            what = "condition" if not self.conditions else "schema"
            raise UsageError(f"No {what} is chosen.", todo="Choose at least one.")
        if not self.sources:
            raise UsageError("No source is chosen.", todo="Add data first (Data).")
        for agent in self.agents:
            if agent.agent == "script" and not agent.script:
                raise UsageError(
                    "No file is chosen for the agent script.", todo="Choose a .sql or .py file."
                )
        try:
            return Plan.model_validate(self._values())
        except ValidationError as error:
            words = "; ".join(str(each["msg"]) for each in error.errors())
            raise UsageError(f"This cannot be planned: {words}.") from error

    def _values(self) -> dict[str, Any]:
        return {
            "name": self.name or "runs",
            "sources": self.sources,
            "tasks": self.tasks,
            "conditions": self.conditions,
            "schemas": self.schemas,
            "trials": self.trials,
            "backend": self.backend or None,
            "limits": {"time_seconds": self.minutes * 60.0},
            "budget": {
                "requests": self.requests or None,
                "input_tokens": self.input_tokens or None,
                "output_tokens": self.output_tokens or None,
            },
            "agents": [
                {
                    "agent": agent.agent,
                    "models": agent.names,
                    "endpoint": agent.endpoint or None,
                    "reasoning_effort": agent.effort or None,
                    "script": Path(agent.script) if agent.script else None,
                    "record": agent.record or None,
                }
                for agent in self.agents
            ],
        }

    def kept(self) -> dict[str, Any]:
        """For the settings; the batch's name is not kept, it must be a new one."""
        return {**asdict(self), "name": "", "agents": [asdict(agent) for agent in self.agents]}


def from_kept(values: Mapping[str, Any]) -> PlanChoice:
    """What `kept` gave; whatever does not fit any more has its default."""
    default = PlanChoice()
    found: dict[str, Any] = {}
    for field in fields(PlanChoice):
        value, usual = values.get(field.name), getattr(default, field.name)
        if field.name == "agents" and isinstance(value, list):
            found["agents"] = tuple(map(_agent, value)) or usual
        elif isinstance(usual, tuple) and isinstance(value, list | tuple):
            found[field.name] = tuple(map(str, value))
        elif isinstance(value, type(usual)) and not isinstance(value, bool):
            found[field.name] = value
    return PlanChoice(**found)


def _agent(values: object) -> AgentChoice:
    if not isinstance(values, Mapping):
        return AgentChoice()
    names = {field.name for field in fields(AgentChoice)}
    return AgentChoice(**{str(k): str(v) for k, v in values.items() if k in names})


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"
