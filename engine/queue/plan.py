"""A campaign: what a TOML file asks for, and the runs that this stands for.

::

    name = "pilot"
    sources = ["mimic", "eicu"]        # each task takes the one of its kind
    tasks = ["mimic-sofa-*"]           # names or patterns; or families = ["sofa"]
    conditions = ["no-skill", "with-skill"]
    trials = 3

    [[agents]]
    agent = "codex"
    models = ["gpt-5.5"]
    endpoint = "openai"
    reasoning_effort = "medium"

    [limits]
    time_seconds = 1800
    [budget]
    requests = 500

Instead of tasks, conditions, schemas and trials at the top there may be several `[[tiers]]`, each
with its own, and with `models` where it is not for all of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engine.base.errors import BadInput, UsageError, bad_file
from engine.catalogue.task import Task
from engine.gateway.interface import Budget
from engine.queue.estimate import Price
from engine.runs.records import CONDITIONS, EFFORTS, SCHEMAS, RunRequest

_MOST = 100_000
"""Runs of one campaign: more is a slip of the pen."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AgentPart(_Part):
    """One agent and the models that it is run with."""

    agent: str
    """Name of the adapter."""
    models: tuple[str, ...] = ()
    """Model names; the adapter's own choice when empty."""
    endpoint: str | None = None
    """Name of the model endpoint."""
    reasoning_effort: str | None = None
    """One of `EFFORTS`."""
    script: Path | None = None
    """The agent's script (``script``); relative to the file."""
    record: str | None = None
    """The run that is replayed (``replay``)."""


class Tier(_Part):
    """Tasks × conditions × schemas × trials."""

    name: str = ""
    """For people."""
    tasks: tuple[str, ...] = ()
    """Names, or patterns with ``*``."""
    families: tuple[str, ...] = ()
    """All tasks of these families."""
    conditions: tuple[str, ...] = ("no-skill",)
    """What the agent is given beside the instruction."""
    schemas: tuple[str, ...] = ("native",)
    """How tables and columns are named."""
    trials: int = Field(default=1, ge=1)
    """Runs of each cell."""
    models: tuple[str, ...] = ()
    """Only these of the agents' models; all when empty."""


class LimitPart(_Part):
    """What each run may use of the machine."""

    time_seconds: float = Field(default=1800, gt=0)
    """Wall time of the agent."""


class BudgetPart(_Part):
    """What each run may use of its model."""

    requests: int | None = Field(default=Budget().requests, ge=1)
    input_tokens: int | None = Field(default=None, ge=1)
    output_tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    bytes_out: int | None = Field(default=Budget().bytes_out, ge=1)


class PricePart(_Part):
    """What a model costs, in the user's currency, per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)


class Plan(Tier):
    """A campaign's file. Its own tasks and conditions are the only tier where no other is given."""

    name: str = Field(min_length=1)
    """Unique among the batches."""
    sources: tuple[str, ...] = Field(min_length=1)
    """Names of sources, at most one of each kind."""
    agents: tuple[AgentPart, ...] = Field(min_length=1)
    """Who is run."""
    tiers: tuple[Tier, ...] = ()
    """Instead of the tasks at the top."""
    backend: str | None = None
    """The sandbox; the best that works when not given."""
    results: Path | None = None
    """A folder, fresh, that gets a copy of each run's folder; relative to the file."""
    limits: LimitPart = LimitPart()
    """Of each run."""
    budget: BudgetPart = BudgetPart()
    """Of each run."""
    prices: Mapping[str, PricePart] = Field(default_factory=dict)
    """Per model, for the estimate."""

    @model_validator(mode="after")
    def _checked(self) -> Plan:
        if self.tiers and (self.tasks or self.families):
            raise ValueError("tasks stand either at the top or in [[tiers]], not in both")
        for tier in self.parts:
            if not tier.tasks and not tier.families:
                raise ValueError("no tasks and no families are named")
            _known("condition", tier.conditions, CONDITIONS)
            _known("schema", tier.schemas, SCHEMAS)
            models = [model for agent in self.agents for model in agent.models]
            _known("model of the agents", tier.models, models)
        efforts = [a.reasoning_effort for a in self.agents if a.reasoning_effort is not None]
        _known("reasoning effort", efforts, EFFORTS)
        return self

    @property
    def parts(self) -> tuple[Tier, ...]:
        """The tiers."""
        return self.tiers or (self,)

    @property
    def price_list(self) -> dict[str, Price]:
        """Model to price."""
        return {
            model: Price(part.input, part.output, part.cached_input)
            for model, part in self.prices.items()
        }


def read_plan(path: Path) -> tuple[Plan, str]:
    """A campaign's file, checked, and its text.

    Raises:
        BadInput: it cannot be read, or names every key that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_file(path, "The campaign's file cannot be read.") from error
    return parse_plan(text, path), text


def parse_plan(text: str, path: Path) -> Plan:
    """As `read_plan`, from the text; relative paths in it start at the file's folder."""
    try:
        data: dict[str, Any] = tomllib.loads(text)
        plan = Plan.model_validate(data)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise bad_file(path, f"This is not valid TOML: {error}.") from error
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'file'}: "
            f"{item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        )
        raise bad_file(path, f"{problems}.", todo="Mend the file.") from error
    base = path.absolute().parent
    agents = [
        agent.model_copy(update={"script": base / agent.script}) if agent.script else agent
        for agent in plan.agents
    ]
    results = base / plan.results if plan.results else None
    return plan.model_copy(update={"agents": tuple(agents), "results": results})


def requests_of(
    plan: Plan, tasks: Sequence[Task], kinds: Mapping[str, str]
) -> tuple[RunRequest, ...]:
    """Every run that a plan stands for, each once.

    First trials come first, so that early figures already cover everything.

    Args:
        plan: the campaign.
        tasks: the catalogue.
        kinds: the kind of every registered source, by name.

    Raises:
        UsageError: a task, family or source is not known.
        BadInput: a task has no source of its kind, or there are too many runs.
    """
    sources = _sources(plan, kinds)
    found: dict[RunRequest, None] = {}
    for trial in range(1, max(tier.trials for tier in plan.parts) + 1):
        for tier in plan.parts:
            if trial > tier.trials:
                continue
            for task in _tasks(tier, tasks):
                if task.source_kind not in sources:
                    raise BadInput(
                        f"The task {task.name} needs {task.source_kind} data, and the campaign "
                        "names no such source.",
                        todo="Add one to `sources`, or leave the task away.",
                    )
                cells = _cells(plan, tier, task.name, sources[task.source_kind], trial)
                found.update(dict.fromkeys(cells))
                if len(found) > _MOST:
                    raise BadInput(f"These are more than {_MOST} runs.", todo="Plan fewer.")
    return tuple(found)


def _cells(plan: Plan, tier: Tier, task: str, source: str, trial: int) -> list[RunRequest]:
    return [
        RunRequest(
            task=task,
            source=source,
            agent=agent.agent,
            script=agent.script,
            model=model,
            endpoint=agent.endpoint,
            reasoning_effort=agent.reasoning_effort,
            budget=Budget(**plan.budget.model_dump()),
            record=agent.record,
            condition=condition,
            schema=schema,
            trial=trial,
            backend=plan.backend,
            time_limit_seconds=plan.limits.time_seconds,
            results=plan.results,
        )
        for condition in tier.conditions
        for schema in tier.schemas
        for agent in plan.agents
        for model in agent.models or (None,)
        if not tier.models or model in tier.models
    ]


def _tasks(tier: Tier, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that a tier names, in the catalogue's order."""
    for pattern in tier.tasks:
        if not any(fnmatchcase(task.name, pattern) for task in tasks):
            raise UsageError(
                f"There is no task called {pattern}.", todo="See `m4bench tasks list`."
            )
    for family in tier.families:
        if not any(task.family == family for task in tasks):
            raise UsageError(
                f"There is no family called {family}.", todo="See `m4bench tasks list`."
            )
    return [
        task
        for task in tasks
        if task.family in tier.families
        or any(fnmatchcase(task.name, pattern) for pattern in tier.tasks)
    ]


def _sources(plan: Plan, kinds: Mapping[str, str]) -> dict[str, str]:
    """Kind to source."""
    found: dict[str, str] = {}
    for name in plan.sources:
        if name not in kinds:
            raise UsageError(
                f"There is no source called {name}.", todo="`m4bench source list` shows them."
            )
        if kinds[name] in found:
            raise BadInput(
                f"Two of the campaign's sources are {kinds[name]} data: "
                f"{found[kinds[name]]} and {name}.",
                todo="Plan one campaign for each.",
            )
        found[kinds[name]] = name
    return found


def _known(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"there is no {what} called {name}; known: {', '.join(known)}")
