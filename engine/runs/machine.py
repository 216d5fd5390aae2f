"""The run machine: from an assignment to a closed record, one state after the other.

Each state is entered in the state file before its work begins, so that whatever dies in
between is known at the next start. The agent's faults end in a reward of 0 with a reason;
ours, and the user's Cancel, end without a reward and are raised to the caller as well.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from engine import __version__
from engine.agents.interface import DATABASE, INSTRUCTION, JOB, Agent, AgentRequest, Launch
from engine.base.errors import Cancelled, HarnessFault, StorageFull
from engine.base.files import sha256_of
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.gateway.interface import PORT
from engine.isolation.canary import run_canary
from engine.isolation.interface import Limits, Sandbox
from engine.runs import collect, folder, hostile, working
from engine.runs.judge import Judge
from engine.runs.judging import judge_collected
from engine.runs.live import LiveRun, OnEvent
from engine.runs.records import AgentDb, RunRequest, RunSummary
from engine.runs.states import WITHOUT_REWARD, Reason, State
from engine.runs.store import RunStore, now
from engine.runs.working import Way, Worked

LEAST_ROOM = 1 << 20
"""With fewer free bytes than this after the agent's end, nothing that it wrote can be trusted."""

_OURS = ".m4/"


@dataclass(frozen=True)
class Assignment:
    """All that a run needs; found, checked and built before the run is made."""

    request: RunRequest
    """What the user asked for."""
    task: Task
    """The task."""
    agent: Agent
    """The adapter."""
    sandbox: Sandbox
    """Where it runs; probed."""
    database: Path
    """The task's database, on this machine."""
    agent_db: AgentDb
    """The same for the record."""
    reference: Path
    """The reference that it will be judged against; checked to be fresh."""
    reference_facts: Mapping[str, Any]
    """What the record says of the reference (key, hash, rows)."""
    private: tuple[Path, ...]
    """Folders of this machine that must be out of reach inside; canary files go into them."""
    answers: tuple[Path, ...]
    """Further folders whose paths no agent can have seen (shipped content: not written to)."""
    limits: Limits
    """What the agent may use."""
    way: Way | None = None
    """Its way to a model; None for agents that need none."""
    record: Path | None = None
    """The run folder that is replayed."""

    @property
    def agent_version(self) -> str | None:
        """Of the agent's program, as the sandbox has it; None for agents without one."""
        program = self.agent.program
        return None if program is None else self.sandbox.programs().get(program)

    @property
    def mounts(self) -> dict[Path, str]:
        """What is shown read-only in the work folder."""
        return {self.database: f"{JOB}/{DATABASE}"}

    @property
    def given(self) -> frozenset[str]:
        """What is ours in the work folder (folders end in "/"); the agent's script is not."""
        return frozenset({DATABASE, INSTRUCTION, _OURS, f"{self.agent.skills_folder}/"})

    def launch(self, instruction: str) -> Launch:
        """What is started.

        Raises:
            UsageError, BadInput: as `Agent.launch`.
        """
        request = self.request
        return self.agent.launch(
            AgentRequest(
                instruction=instruction,
                script=request.script,
                model=request.model,
                reasoning_effort=request.reasoning_effort,
                gateway=f"http://127.0.0.1:{PORT}" if self.way is not None else None,
                api=None if self.way is None else self.way.endpoint.api,
                record=self.record,
                memory_bytes=self.limits.memory_bytes,
            )
        )


class RunMachine:
    """Carries out runs on one home. Stateless: any thread may use it."""

    def __init__(self, home: Home, store: RunStore) -> None:
        self._home = home
        self._store = store

    @property
    def runs(self) -> Path:
        """The folder of all runs."""
        return self._home.runs

    def run(
        self, assignment: Assignment, judge: Judge, *, job: Job, on_event: OnEvent | None = None
    ) -> str:
        """Carry out a run to its end; returns its id.

        Raises:
            UsageError, BadInput: the assignment cannot be carried out; no run is made.
            Cancelled: stopped by the user; the run is closed as `cancelled`.
            M4Error: our machinery failed; the run is closed as `exception`, without reward.
        """
        request, task = assignment.request, assignment.task
        skills = folder.skills_for(task, request.condition)
        instruction = folder.instruction_for(task, request.condition)
        launch = assignment.launch(instruction)
        run_id = self._enter_new(assignment, launch, [path.name for path in skills])
        run = self.live(run_id, job, on_event)
        with run.closing():
            run.tell(State.PREPARED)
            folder.make(run.place)
            work = run.place / folder.WORK
            folder.lay_out(
                work,
                instruction=instruction,
                files=working.laid_out(assignment.agent, launch),
                skills=skills,
                skills_folder=assignment.agent.skills_folder,
            )
            proven = folder.prove_given(work, skills, assignment.agent.skills_folder)
            folder.keep_given(run.place, work, assignment.agent.skills_folder, proven)
            (run.place / INSTRUCTION).write_text(instruction, encoding="utf-8")
            given = {"given_files": _hashes(work, assignment.given), "skill_files": list(proven)}
            if _canary(run, assignment, given):
                worked = self._agent(run, assignment, launch, [skill.name for skill in skills])
                _collect(run, assignment, worked)
                judge_collected(run, task, assignment.reference, judge)
        return run_id

    def finish(self, run: LiveRun, task: Task, reference: Path, judge: Judge) -> None:
        """Lint and score a collected run of a dead program (claimed before).

        Raises:
            Cancelled, M4Error: as `run`; the run is closed.
        """
        with run.closing():
            run.enter(State.LINTING)
            judge_collected(run, task, reference, judge)

    def live(self, run_id: str, job: Job, on_event: OnEvent | None) -> LiveRun:
        """A handle on a run of ours."""
        return LiveRun(self._store, run_id, self._home.runs / run_id, job, on_event)

    def _enter_new(self, assignment: Assignment, launch: Launch, skills: list[str]) -> str:
        request, task = assignment.request, assignment.task
        at = datetime.now(UTC)
        facts = {
            "engine_version": __version__,
            "reasoning_effort": launch.reasoning_effort,
            "reasoning_effort_requested": request.reasoning_effort,
            "model_requested": request.model,
            "agent_version": assignment.agent_version,
            "endpoint": _endpoint(assignment.way),
            "budget": asdict(request.budget) if assignment.way is not None else None,
            **launch.notes,
            "time_limit_seconds": assignment.limits.wall_seconds,
            "backend": assignment.sandbox.name,
            "skills": skills,
            "reference": dict(assignment.reference_facts),
            "agent_db": asdict(assignment.agent_db),
            "_record": None if assignment.record is None else str(assignment.record),
            "_private": [str(path) for path in (*assignment.private, *assignment.answers)],
            "_shown": [str(path) for path in (self._home.sandbox, *assignment.mounts)],
        }
        while True:
            run_id = folder.run_id(
                task=task.name,
                condition=request.condition,
                schema=request.schema,
                agent=request.agent,
                model=launch.model,
                trial=request.trial,
                at=at,
            )
            summary = RunSummary(
                run_id=run_id,
                task=task.name,
                source=request.source,
                agent=request.agent,
                model=launch.model,
                condition=request.condition,
                schema=request.schema,
                trial=request.trial,
                state=State.PREPARED.value,
                failure_reason=None,
                reward=None,
                strict_pass=None,
                started_at=now(),
                ended_at=None,
                live=True,
            )
            taken = (self._home.runs / run_id).exists()
            if not taken and self._store.add(summary, facts, ticket=request.ticket):
                return run_id
            # Two runs in one second: the name takes the next free second.
            at += timedelta(seconds=1)

    def _agent(
        self, run: LiveRun, assignment: Assignment, launch: Launch, skills: list[str]
    ) -> Worked:
        run.enter(State.RUNNING)
        worked = working.work(
            run,
            assignment.agent,
            launch,
            assignment.sandbox,
            way=assignment.way,
            budget=assignment.request.budget,
            mounts=assignment.mounts,
            limits=assignment.limits,
            skills=skills,
            version=assignment.agent_version,
        )
        facts = working.facts_of(worked, skills)
        if worked.cancelled:
            with contextlib.suppress(StorageFull):  # the cancel matters more
                run.note(facts)
            raise Cancelled
        if shutil.disk_usage(self._home.runs).free < LEAST_ROOM:
            raise StorageFull(
                "The disk became full while the agent was at work, so its result counts for "
                "nothing.",
                todo="Free some space (or move the home folder with --home) and run it again.",
            )
        if worked.failure is not None and worked.failure.reason == "exception":
            run.note(facts)
            raise HarnessFault("The run's way to its model broke.", details=worked.failure.detail)
        run.enter(State.COLLECTING, facts)
        return worked


def _canary(run: LiveRun, assignment: Assignment, given: Mapping[str, Any]) -> bool:
    sandbox = assignment.sandbox
    facts = {
        "isolated": True,
        "publishable": sandbox.publishable,
        "publishable_reason": sandbox.publishable_reason,
        "sandbox": sandbox.describe(),
        **given,
    }
    run.enter(State.CANARY, facts)
    report = run_canary(
        sandbox,
        job_folder=run.place / folder.WORK,
        read_only=assignment.mounts,
        private=assignment.private,
        gateway=assignment.way is not None,
        programs=(assignment.agent.program,) if assignment.agent.program else (),
        limits=assignment.limits,
        job=run.job,
    )
    run.note({"filesystem_canary": report.as_dict()})
    if not report.passed:
        detail = "The sandbox let a private place be read, so the agent was not started."
        run.close(Reason.FILESYSTEM_CANARY, detail)
    return report.passed


def _collect(run: LiveRun, assignment: Assignment, worked: Worked) -> None:
    """Take over what the agent left; ends with entering `linting`."""
    got = collect.collect(
        run.place / folder.WORK,
        run.place,
        artefacts=assignment.task.artefacts,
        leave=assignment.given,
    )
    fault = _missing(assignment.task, got)
    failure = worked.failure
    if failure is not None and (fault is not None or Reason(failure.reason) not in WITHOUT_REWARD):
        # Whoever left what was asked for is judged by it, whatever the endpoint did afterwards.
        fault = Reason(failure.reason), failure.detail
    facts = {
        "artefacts": sorted(got.artefacts),
        "agent_files": {"kept": got.files, "left_out": got.left_out},
        "_fault": [fault[0].value, fault[1]] if fault else None,
    }
    run.enter(State.LINTING, facts)


def _hashes(work: Path, given: frozenset[str]) -> dict[str, str]:
    """SHA-256 of what is given, by name."""
    folders = tuple(name for name in given if name.endswith("/"))
    return {
        entry.name: sha256_of(work / entry.name)
        for entry in hostile.walk(work)
        if entry.name in given or entry.name.startswith(folders)
    }


def _endpoint(way: Way | None) -> dict[str, Any] | None:
    """What the record says of the endpoint: never its address, which may be a private one."""
    if way is None:
        return None
    endpoint = way.endpoint
    return {
        "name": endpoint.name,
        "api": endpoint.api,
        "local": way.local,
        "permitted_because": way.why,
    }


def _missing(task: Task, got: collect.Collected) -> tuple[Reason, str] | None:
    """The first artefact that is not there, with the reason."""
    for name in task.artefacts:
        if name in got.refused:
            return Reason.NO_OUTPUT, got.refused[name]
        if name not in got.artefacts:
            return Reason.NO_OUTPUT, f"The agent left no {name}."
    return None
