"""The state `running`: the agent at work, its way to the model open, its output kept."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.agents.interface import HOME, JOB, Agent, Failure, Launch, Outcome
from engine.agents.traces import TraceSummary
from engine.agents.traces.open import trace_reader
from engine.base.jobs import SimpleJob
from engine.gateway.gateway import FOLDER, open_gateway
from engine.gateway.interface import PORT, SOCKET, Budget, Endpoint, Stopped, Usage
from engine.isolation.interface import GATEWAY, Command, Ended, Limits, Sandbox
from engine.runs import folder
from engine.runs.live import LiveRun
from engine.runs.output import RunLog
from engine.runs.streamed import StreamLog
from engine.runs.usage import token_usage

EGRESS = "egress.jsonl"
"""The gateway's log of requests, in the run folder."""
START = ".m4/start.py"
"""What gives the agent its HOME and its port to the gateway, in the work folder."""
_PROGRAM = Path(__file__).parents[1] / "gateway" / "inside" / "start.py"


@dataclass(frozen=True)
class Way:
    """The one way out of a run's sandbox."""

    endpoint: Endpoint
    """The model endpoint."""
    permit_remote: bool = False
    """The source's policy lets its models see the data though it is another machine's."""
    local: bool = True
    """It was on this machine when it was chosen; the gateway looks again."""
    why: str = ""
    """Why its models may see the source, in words."""
    planted: tuple[str, ...] = ()
    """Secrets that were planted out of the agent's reach: none may be in a request."""


@dataclass(frozen=True)
class Worked:
    """How the agent's work ended."""

    ended: Ended
    """As the sandbox says."""
    stopped: Stopped | None
    """Why the gateway ended the run, if it did."""
    usage: Usage | None
    """What was used of the model; None without one."""
    trace: TraceSummary | None
    """What its trace comes to; None for agents without a trace of their own."""
    failure: Failure | None
    """Why the agent did not come to a proper end, if it did not."""
    stdout: str
    """The end of it."""
    stderr: str
    """The end of it."""

    @property
    def cancelled(self) -> bool:
        """Did the user stop it?"""
        return self.ended.reason == "cancelled" and self.stopped is None


def laid_out(agent: Agent, launch: Launch) -> dict[str, bytes]:
    """All files that the launch wants in the work folder."""
    files = dict(launch.files)
    if agent.apis or launch.home_files:
        files[START] = _PROGRAM.read_bytes()
        files |= {f".m4/home/{name}": content for name, content in launch.home_files.items()}
    return files


def argv(agent: Agent, launch: Launch) -> tuple[str, ...]:
    """What is started inside."""
    if START not in laid_out(agent, launch):
        return launch.argv
    words = ["python3", "-B", f"{JOB}/{START}"]
    if agent.apis:
        words += ["--socket", f"{GATEWAY}/{SOCKET}", "--port", str(PORT)]
    return (*words, "--home", HOME, "--", *launch.argv)


class _Stop:
    """A job that ends when the run's does, or when the gateway says so."""

    def __init__(self, run: LiveRun) -> None:
        self.job = SimpleJob()
        self.why: Stopped | None = None
        self._lock = threading.Lock()
        self._forget = run.job.on_cancel(self.job.cancel)

    def by_gateway(self, why: Stopped) -> None:
        """The gateway ends the run; called from its thread, the first reason counts."""
        with self._lock:
            self.why = self.why or why
        self.job.cancel()

    def close(self) -> None:
        self._forget()


def work(
    run: LiveRun,
    agent: Agent,
    launch: Launch,
    sandbox: Sandbox,
    *,
    way: Way | None,
    budget: Budget,
    mounts: Mapping[Path, str],
    limits: Limits,
    skills: Sequence[str] = (),
    version: str | None = None,
) -> Worked:
    """Let the agent work until it ends or is ended; nothing of it lives afterwards.

    The user's cancel, and a gateway that broke, are told in what is returned: what was used up
    to then belongs to the record.

    Raises:
        M4Error: the sandbox could not be started; there is no room for the log.
    """
    log = _log(run, agent, skills, version)
    with contextlib.ExitStack() as stack:
        stop = _Stop(run)
        stack.callback(stop.close)
        stack.enter_context(contextlib.closing(log))
        gateway = None
        if way is not None:
            gateway = stack.enter_context(
                open_gateway(
                    way.endpoint,
                    budget=budget,
                    folder=run.place / FOLDER,
                    egress=run.place / EGRESS,
                    permit_remote=way.permit_remote,
                    planted=way.planted,
                    on_stop=stop.by_gateway,
                    job=run.job,
                )
            )
        command = Command(
            argv=argv(agent, launch),
            job_folder=run.place / folder.WORK,
            env=launch.env,
            read_only=mounts,
            gateway=None if gateway is None else gateway.folder,
            programs=(agent.program,) if agent.program else (),
            limits=limits,
        )
        log.event("start", text=" ".join(launch.argv))
        ended = sandbox.run(command, job=stop.job, on_output=log.output)
        log.event(
            "exit",
            text=ended.in_words,
            returncode=ended.returncode,
            reason=ended.reason,
            seconds=round(ended.seconds, 3),
        )
    usage = None if gateway is None else gateway.usage()
    if way is None:
        (run.place / EGRESS).write_bytes(b"")  # there is no network to log
    trace = log.summary() if isinstance(log, StreamLog) else None
    outcome = Outcome(
        returncode=ended.returncode,
        ended_by=ended.reason,
        in_words=ended.in_words,
        stopped=stop.why,
        stderr=log.tail("stderr"),
    )
    failure = None
    if ended.reason != "cancelled" or stop.why is not None:
        failure = agent.failure(outcome, trace, egress_lines(run.place))
    return Worked(
        ended=ended,
        stopped=stop.why,
        usage=usage,
        trace=trace,
        failure=failure,
        stdout=log.tail("stdout"),
        stderr=log.tail("stderr"),
    )


def _log(
    run: LiveRun, agent: Agent, skills: Sequence[str], version: str | None
) -> RunLog | StreamLog:
    if not agent.apis:
        return RunLog(run.run_id, run.place, run.on_event)
    reader = trace_reader(agent.name, skills=skills, version=version)
    return StreamLog(run.run_id, run.place, reader, run.on_event)


def egress_lines(place: Path) -> list[dict[str, Any]]:
    """The gateway's log of a run; lines that are none are passed over."""
    lines = []
    try:
        content = (place / EGRESS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    for line in content.splitlines():
        try:
            data = json.loads(line)
        except ValueError:  # half a line of a killed gateway
            continue
        if isinstance(data, dict):
            lines.append(data)
    return lines


def facts_of(worked: Worked, skills: list[str]) -> dict[str, Any]:
    """What the record says of the agent's work."""
    ended, failure, trace = worked.ended, worked.failure, worked.trace
    retry_at = failure.retry_at if failure is not None else None
    facts: dict[str, Any] = {
        "agent_result": {
            "returncode": ended.returncode,
            "stdout": worked.stdout,
            "stderr": worked.stderr,
            "elapsed_seconds": round(ended.seconds, 3),
            "trace_file": "trace.jsonl",
            "failure_reason": failure.reason if failure else None,
            "failure_detail": failure.detail if failure else None,
            "retry_at": None if retry_at is None else retry_at.isoformat(),
            "ended_by": ended.reason if worked.stopped is None else "gateway",
            "output_cut": ended.output_cut,
            "peak_memory_bytes": ended.peak_memory_bytes,
        },
    }
    if worked.usage is None and trace is None:
        return facts
    facts["token_usage"] = token_usage(worked.usage, trace)
    facts["gateway"] = {
        "usage": None if worked.usage is None else dict(worked.usage.as_dict()),
        "stopped": None if worked.stopped is None else asdict(worked.stopped),
    }
    if trace is not None:
        facts["trace"] = _told(trace)
        facts["skills_listed"] = (
            None if trace.skills_offered is None else list(trace.skills_offered)
        )
        facts["skills_read"] = list(trace.skills_read)
        facts["skill_read"] = any(name in skills for name in trace.skills_read)
    return facts


def _told(trace: TraceSummary) -> dict[str, Any]:
    """What the record keeps of a trace's summary; the trace itself lies beside it."""
    return {
        "form": trace.form,
        "version": trace.version,
        "session": trace.session,
        "counted": trace.counted,
        "why_not_counted": trace.why_not,
        "turns": trace.turns,
        "models": list(trace.models),
        "closing": trace.closing,
        "error": None if trace.error is None else asdict(trace.error),
        "commands": trace.commands,
        "failed_commands": trace.failed_commands,
        "files_written": list(trace.files_written),
        "steps": trace.steps,
        "lines": trace.lines,
        "unreadable_lines": trace.unreadable_lines,
        "unknown_events": dict(trace.unknown_events),
    }
