"""Setting up a leak canary: which agent, sandbox, model and database."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from engine import audit
from engine.agents import find_agent
from engine.agents.interface import Agent
from engine.agents.replay import ReplayAgent
from engine.base.duck import connect
from engine.base.errors import MissingPrerequisite, UsageError
from engine.base.files import os_error
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import find_task, list_tasks
from engine.gateway.endpoints import find_endpoint
from engine.gateway.interface import Budget
from engine.gateway.keys import has_key
from engine.gateway.local import host_of, is_local
from engine.isolation.backends import choose_backend
from engine.isolation.interface import Limits
from engine.runs.leak.attempt import LeakAssignment, LeakResult, run_leak_canary
from engine.runs.live import OnEvent
from engine.runs.working import Way
from engine.sources import find_source, permit
from engine.workbench.ways import check_program
from engine.workspaces import build_workspace

_MEMORY = 4 << 30
_SHARE_OF_MEMORY = 0.6


@dataclass(frozen=True, kw_only=True)
class LeakRequest:
    """What a leak canary is asked for."""

    agent: str
    """Name of the adapter."""
    script: Path | None = None
    """The Python file of the agent ``script``."""
    model: str | None = None
    """The model."""
    endpoint: str | None = None
    """Where it is; needed for agents with a model."""
    reasoning_effort: str | None = None
    """The effort."""
    source: str | None = None
    """Whose task database is shown to the agent; an empty one when None."""
    task: str | None = None
    """Which task's; the first that the source can be used for when None."""
    backend: str | None = None
    """The sandbox; the best that works when None."""
    time_limit_seconds: float = 900.0
    """Wall time of the agent."""
    budget: Budget = field(default_factory=Budget)
    """What it may use of the model."""


def leak_canary(
    home: Home, request: LeakRequest, *, job: Job, on_event: OnEvent | None = None
) -> LeakResult:
    """Run a leak canary and judge it.

    Raises:
        UsageError: the request cannot be carried out.
        MissingPrerequisite: no sandbox works here, the agent's program or its key is missing, or
            the source's policy does not let the model see it.
        Cancelled: stopped by the user.
        M4Error: the sandbox or the gateway failed; nothing is judged.
    """
    agent = find_agent(request.agent)
    if agent.name == ReplayAgent.name:
        raise UsageError("A recorded run cannot be a leak canary.", todo="Name another agent.")
    way = _way(home, request, agent)
    sandbox = choose_backend(home, request.backend)
    check_program(sandbox, agent)
    with _database(home, request, job) as database:
        assignment = LeakAssignment(
            agent=agent,
            sandbox=sandbox,
            database=database,
            limits=Limits(
                wall_seconds=request.time_limit_seconds,
                memory_bytes=min(_MEMORY, int(psutil.virtual_memory().total * _SHARE_OF_MEMORY)),
            ),
            budget=request.budget,
            way=way,
            script=request.script,
            model=request.model,
            reasoning_effort=request.reasoning_effort,
        )
        told: audit.Facts = {"agent": agent.name, "endpoint": request.endpoint}
        with audit.recorded(home, "canary", source=request.source, facts=told) as found:
            result = run_leak_canary(home, assignment, job=job, on_event=on_event)
            found["passed"] = result.verdict.passed
    return result


def _way(home: Home, request: LeakRequest, agent: Agent) -> Way | None:
    if not agent.apis:
        if request.endpoint is not None:
            raise UsageError(
                f"The agent {agent.name} uses no model.", todo="Leave --endpoint away."
            )
        return None
    if request.endpoint is None:
        raise UsageError(
            f"The agent {agent.name} needs a model.",
            todo="Name its endpoint with --endpoint (m4bench endpoint list).",
        )
    endpoint = find_endpoint(home, request.endpoint)
    if endpoint.api not in agent.apis:
        raise UsageError(
            f"The agent {agent.name} speaks {' or '.join(agent.apis)}, the endpoint "
            f"{endpoint.name} {endpoint.api}.",
            todo="Choose another endpoint (m4bench endpoint list).",
        )
    local = is_local(endpoint)
    remote, why = True, "No source is shown."
    if request.source is not None:
        decision = permit(home, request.source, endpoint.name, host=host_of(endpoint))
        remote, why = decision.allowed, decision.why
        if not (local or remote):
            raise MissingPrerequisite(why)
    if endpoint.key is not None and not has_key(endpoint.key):
        raise MissingPrerequisite(
            f"The key of the endpoint {endpoint.name} is not in the keyring.",
            todo=f"Store it: m4bench endpoint key {endpoint.name}",
        )
    return Way(endpoint, permit_remote=remote, local=local, why=why)


@contextlib.contextmanager
def _database(home: Home, request: LeakRequest, job: Job) -> Iterator[Path]:
    """What is shown as the task's database."""
    if request.source is None:
        if request.task is not None:
            raise UsageError("A task's database needs a source.", todo="Name it with --source.")
        with _empty(home) as path:
            yield path
        return
    info = find_source(home, request.source)
    if request.task is not None:
        task = find_task(request.task)
    else:
        fitting = [task for task in list_tasks() if task.source_kind == info.kind]
        task = fitting[0]
    yield build_workspace(home, task, request.source, job=job).path


@contextlib.contextmanager
def _empty(home: Home) -> Iterator[Path]:
    """A database with one empty table."""
    try:
        home.scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="canary-", dir=home.scratch) as folder:
            path = Path(folder) / "database.duckdb"
            with connect(path) as con:
                con.execute("CREATE TABLE nothing (stay_id INTEGER)")
            path.chmod(0o644)
            yield path
    except OSError as error:
        raise os_error(error, "making the canary's database") from error
