"""What a run needs beside data and sandbox: the agent's program, its model, the run it repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.agents import Agent, AgentRequest, find_agent
from engine.agents.replay import ReplayAgent
from engine.base.errors import BadInput, MissingPrerequisite, UsageError
from engine.base.paths import Home
from engine.gateway.endpoints import find_endpoint, list_endpoints, looks_local, own_names
from engine.gateway.interface import Api, Endpoint
from engine.gateway.keys import has_key
from engine.gateway.local import host_of, is_local
from engine.isolation.interface import Sandbox
from engine.runs import result
from engine.runs.records import CONDITIONS, SCHEMAS, RunRequest
from engine.runs.store import RunStore
from engine.runs.working import Way
from engine.sources.policy import permit
from engine.workbench.importing import place_of


@dataclass(frozen=True)
class Means:
    """Who works, how, and on what record."""

    request: RunRequest
    """The request; for a replay with condition and schema of the recorded run."""
    agent: Agent
    """The adapter."""
    record: Path | None
    """The run folder that is replayed."""
    way: Way | None
    """The way to the model; None for agents that need none."""


def means_of(home: Home, store: RunStore, request: RunRequest) -> Means:
    """Everything about agent, model and record that can be said before long work.

    Raises:
        UsageError, BadInput: the request cannot be carried out.
        MissingPrerequisite: the endpoint's key is missing, or its models may not see the source.
    """
    record = recorded(home, store, request)
    if record is not None:
        request, agent = as_recorded(request, record)
    else:
        agent = find_agent(request.agent)
    # What the program is given, and what it refuses, depends on the API that the endpoint speaks.
    api = _endpoint(home, request, agent).api if agent.apis else None
    agent.launch(
        AgentRequest(
            instruction="",
            script=request.script,
            model=request.model,
            reasoning_effort=request.reasoning_effort,
            gateway="http://127.0.0.1" if agent.apis else None,
            api=api if api in agent.apis else None,  # one that does not fit is told below
            record=record,
        )
    )
    way = way_of(home, request, agent)
    return Means(request, agent, record, way)


def way_of(home: Home, request: RunRequest, agent: Agent) -> Way | None:
    """The agent's way to a model: an endpoint that it can speak to and that may see the source.

    Raises:
        UsageError: no such endpoint, none that fits, or the agent uses no model.
        MissingPrerequisite: the source's policy does not let its models see the data, or its
            key is not in the keyring.
    """
    if not agent.apis:
        given = {"--endpoint": request.endpoint, "--effort": request.reasoning_effort}
        for option, value in given.items():
            if value is not None:
                raise UsageError(
                    f"The agent {agent.name} uses no model.", todo=f"Leave {option} away."
                )
        return None
    endpoint = _endpoint(home, request, agent)
    if endpoint.api not in agent.apis:
        raise UsageError(
            f"The agent {agent.name} speaks {' or '.join(agent.apis)}, the endpoint "
            f"{endpoint.name} {endpoint.api}.",
            todo="Choose another endpoint (m4bench endpoint list), or the agent pi.",
        )
    local = is_local(endpoint)
    decision = permit(home, request.source, endpoint.name, host=host_of(endpoint))
    if not (local or decision.allowed):
        raise MissingPrerequisite(decision.why)
    if endpoint.key is not None and not has_key(endpoint.key):
        raise MissingPrerequisite(
            f"The key of the endpoint {endpoint.name} is not in the keyring.",
            todo=f"Store it: m4bench endpoint key {endpoint.name}",
        )
    why = decision.why
    if local and not decision.allowed:
        why = permit(home, request.source, endpoint.name, host="", local=True).why
    return Way(endpoint, permit_remote=decision.allowed, local=local, why=why)


_USUAL: Mapping[Api, str] = {"responses": "openai", "messages": "anthropic", "generate": "google"}
"""The endpoint of those who made the API."""


def _endpoint(home: Home, request: RunRequest, agent: Agent) -> Endpoint:
    """The endpoint asked for, or the agent's usual one.

    That is the provider's whose API it speaks best, where the source's policy allows it; else
    the only one of the user's own on this machine that fits.
    """
    if request.endpoint is not None:
        return find_endpoint(home, request.endpoint)
    usual = _USUAL.get(agent.apis[0])
    if usual is not None:
        known = find_endpoint(home, usual)
        if permit(home, request.source, usual, host=host_of(known)).allowed:
            return known
    own = own_names(home)
    here = [
        endpoint
        for endpoint in list_endpoints(home)
        if endpoint.name in own and endpoint.api in agent.apis and looks_local(endpoint)
    ]
    if len(here) == 1:
        return here[0]
    if usual is not None:
        return find_endpoint(home, usual)
    raise UsageError(
        f"The agent {agent.name} has no usual endpoint.",
        todo="Name one with --endpoint; m4bench endpoint list shows them.",
    )


def recorded(home: Home, store: RunStore, request: RunRequest) -> Path | None:
    """The folder of the run that is to be replayed; None for other agents.

    Raises:
        UsageError: none is named, there is no such run, or another agent was asked for.
        BadInput: the folder is no run's.
    """
    if request.agent != ReplayAgent.name:
        if request.record is not None:
            raise UsageError(
                "Only the agent replay repeats a recorded run.", todo="Say --agent replay."
            )
        return None
    if request.record is None:
        raise UsageError(
            "The agent replay needs a recorded run.",
            todo="Name its id or its folder with --record.",
        )
    path = Path(request.record)
    if path.is_dir():
        return path.resolve()
    run = store.find(request.record)
    if run.summary.live:
        raise UsageError("That run has not ended yet.", todo="Wait for its end.")
    return place_of(home, run)


def as_recorded(request: RunRequest, record: Path) -> tuple[RunRequest, Agent]:
    """The request with condition and schema of the recorded run, and the agent that repeats it.

    Raises:
        UsageError: the record is of another task.
        BadInput: it has no result.json that can be read.
    """
    raw = result.read(record)
    if raw is None:
        raise BadInput(
            "The folder of the recorded run has no result.json that can be read.",
            todo="Name the folder of a run.",
        )
    name = request.task if isinstance(request.task, str) else request.task.name
    if raw.get("task") != name and Path(str(name)).name != raw.get("task"):
        raise UsageError(
            f"The recorded run is of the task {raw.get('task')}.", todo="Name that task."
        )
    condition, schema = raw.get("condition"), raw.get("schema")
    if condition in CONDITIONS:
        request = replace(request, condition=str(condition))
    if schema in SCHEMAS:
        request = replace(request, schema=str(schema))
    try:
        skills_folder = find_agent(str(raw.get("agent"))).skills_folder
    except UsageError:
        skills_folder = ReplayAgent.skills_folder
    return request, ReplayAgent(skills_folder)


def check_program(sandbox: Sandbox, agent: Agent) -> None:
    """The agent's program is there.

    Raises:
        MissingPrerequisite: it is not; says how to get it.
    """
    if agent.program is None or agent.program in sandbox.programs():
        return
    command = (
        f"m4bench sandbox image build --agents {agent.program}"
        if sandbox.name == "docker"
        else f"m4bench sandbox agents install {agent.program}"
    )
    raise MissingPrerequisite(
        f"The program of the agent {agent.name} is not in the sandbox {sandbox.name}.",
        todo=f"Put it there (it comes from npm): {command}",
    )
