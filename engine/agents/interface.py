"""What a run asks of an agent adapter, and what the adapter answers.

An adapter is a pure description: it reads the user's script or settings and says which
program to start with which files. Whoever starts it (`engine.runs`) is not its business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from engine.agents.traces.model import TraceSummary
from engine.gateway.interface import Api, Stopped

JOB = "/job"
"""The work folder inside the sandbox; the agent starts in it."""
DATABASE = "database.duckdb"
"""The task's database, in the work folder, read-only."""
OUTPUT = "output.csv"
"""Where the table has to be written, in the work folder."""
HOME = "/tmp/home"  # noqa: S108 - the sandbox's own, in memory
"""The agent's HOME inside: empty at the start but for `Launch.home_files`, gone afterwards."""
PROGRAMS = "/opt/agents"
"""Inside: one folder per installed agent program, e.g. ``/opt/agents/codex``."""
INSTRUCTION = "instruction.md"
"""The whole instruction, in the work folder."""


@dataclass(frozen=True, kw_only=True)
class AgentRequest:
    """What an adapter needs to know of the run."""

    instruction: str
    """The whole instruction, notes included, with inside paths."""
    script: Path | None = None
    """The user's script (agent ``script``)."""
    model: str | None = None
    """The model asked for."""
    reasoning_effort: str | None = None
    """The effort asked for; None for the provider's default."""
    gateway: str | None = None
    """Base URL of the run's gateway as seen inside (``http://127.0.0.1:PORT``, no path); None for
    agents that need no model."""
    api: Api | None = None
    """The model API that the endpoint behind the gateway speaks; one of the agent's `apis`."""
    record: Path | None = None
    """The run folder to be replayed (agent ``replay``)."""
    memory_bytes: int | None = None
    """The sandbox's memory limit, so that a program can keep below it."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What to start inside the sandbox."""

    argv: tuple[str, ...]
    """Program and arguments; paths are inside paths."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The environment beside the sandbox's own; never a secret."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to put into the work folder before the start, by path relative to it."""
    home_files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to put into `HOME` before the start, by path relative to it."""
    model: str
    """The model's name for the record."""
    reasoning_effort: str | None = None
    """The effort that will really be used."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What else the run's record says of this launch, JSON-ready (agent ``replay``)."""


EndedBy = Literal["exited", "timeout", "memory", "processes", "disk", "cancelled"]
"""Why a program ended: by itself, or stopped by the sandbox."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the agent's program ended, as the sandbox and the gateway say."""

    returncode: int
    """Exit status, 0-255; 128 + N after signal N."""
    ended_by: EndedBy = "exited"
    """By itself, or the limit that ended it."""
    in_words: str = ""
    """The same in a sentence."""
    stopped: Stopped | None = None
    """Why the gateway ended the run; None when it did not."""
    stderr: str = ""
    """The end of what it wrote to stderr."""


FailureReason = Literal[
    "auth",
    "rate_limit",
    "model_error",
    "timeout",
    "budget",
    "disallowed_egress",
    "external_tool_use",
    "agent_nonzero_exit",
    "exception",
]
"""Reasons that a run's record knows, as far as an adapter can tell. `auth`, `rate_limit` and
`model_error` (an error, or no answer) are the endpoint's doing, `exception` is ours."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why an agent did not come to a proper end."""

    reason: FailureReason
    """For the record."""
    detail: str
    """In words; no key, no request body."""
    retry_at: datetime | None = None
    """With `rate_limit`: when the endpoint takes requests again (UTC), as far as it said."""


class Agent(Protocol):
    """One kind of agent."""

    @property
    def name(self) -> str:
        """As on the command line and in run ids."""

    @property
    def skills_folder(self) -> str:
        """Where it looks for skills, relative to the work folder."""

    @property
    def apis(self) -> tuple[Api, ...]:
        """The model APIs it can speak, best first; empty when it needs no model (no gateway)."""

    @property
    def program(self) -> str | None:
        """Its folder below `PROGRAMS`; None when the sandbox's own Python is enough."""

    def launch(self, request: AgentRequest) -> Launch:
        """Say what to start.

        Raises:
            UsageError: the request lacks something that this agent needs.
            BadInput: a file of the user's cannot be used.
        """

    def failure(
        self,
        outcome: Outcome,
        trace: TraceSummary | None = None,
        egress: Sequence[Mapping[str, Any]] = (),
    ) -> Failure | None:
        """Say why the agent did not come to a proper end; None when it did.

        Judged by the program's closing event first, by its exit status second. A missing output
        file is not its business.

        Args:
            outcome: how the program ended.
            trace: what its whole trace comes to (`closing` and `error` are looked at).
            egress: lines of the gateway's log, one per request: ``ts`` (ISO 8601), ``allowed``,
                ``status`` (HTTP, or None when there was no whole answer), ``why`` it was refused,
                ``retry_after`` (seconds) and ``reset`` (the endpoint's words), as far as known.
        """
