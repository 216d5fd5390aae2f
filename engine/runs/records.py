"""What is asked of a run, what is told while it lives, and what remains of it.

Plain frozen dataclasses. `RunRecord` mirrors `result.json`; fields that it does not name are
kept in `raw`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from engine.agents.program import EFFORTS as EFFORTS  # noqa: PLC0414 - one list for all
from engine.agents.traces import Finding, TraceStep
from engine.catalogue.task import Task
from engine.gateway.interface import Budget
from engine.runs.judge import Diagnostic

CONDITIONS = (
    "no-skill",
    "with-skill",
    "with-skill-all",
    "with-skill-decoy",
    "with-skill-rawsql",
    "operational-spec",
)
"""What the agent is given beside the instruction."""

SCHEMAS = ("native", "obfuscated", "restructured")
"""How the database's tables and columns are named."""


@dataclass(frozen=True)
class RunRequest:
    """One run as the user asks for it."""

    task: Task | str
    """The task, or its name."""
    source: str
    """Name of a registered source."""
    agent: str = "script"
    """Name of an agent adapter."""
    script: Path | None = None
    """The .sql or .py file that is the agent (agent ``script``)."""
    model: str | None = None
    """Model name; for ``script`` the file's name without suffix when not given."""
    endpoint: str | None = None
    """Name of a model endpoint; the agent's usual one when None. Only for agents with a model."""
    reasoning_effort: str | None = None
    """One of `EFFORTS`; None for the provider's default."""
    budget: Budget = field(default_factory=Budget)
    """What the run may use of its model; reaching one of its limits ends it."""
    record: str | None = None
    """The run that is replayed (agent ``replay``): its id, or the path of its folder."""
    condition: str = "no-skill"
    """One of `CONDITIONS`."""
    schema: str = "native"
    """One of `SCHEMAS`."""
    trial: int = 1
    """Counted from 1."""
    backend: str | None = None
    """``docker`` or ``bubblewrap``; the best that works when None."""
    time_limit_seconds: float = 1800
    """Wall time of the agent in seconds."""
    results: Path | None = None
    """A folder that gets a copy of the run folder when the run ends."""
    ticket: str | None = None
    """What whoever asks knows the run by before it has an id; one run can be made with it."""


@dataclass(frozen=True)
class RunEvent:
    """Something that a living run tells. Comes from worker threads."""

    run_id: str
    """Which run."""
    at: str
    """ISO 8601 in UTC with milliseconds."""
    kind: Literal["state", "log", "step"]
    """A new state, a piece of the agent's output, or a step of its trace (new, or changed)."""
    text: str
    """The state's name; output or a step's words with control characters neutralised."""
    stream: str | None = None
    """``stdout`` or ``stderr`` for output."""
    step: TraceStep | None = None
    """The step, for kind ``step``; one with the same number replaces an earlier one."""


@dataclass(frozen=True)
class RunSummary:
    """A line in a list of runs."""

    run_id: str
    """``{task}_{condition}[_{schema}]_{agent}_{model}_t{trial}_{YYYYMMDD_HHMMSS}``."""
    task: str
    """Name of the task."""
    source: str
    """Name of the source."""
    agent: str
    """Name of the agent adapter."""
    model: str
    """Name of the model (for ``script``: of the script)."""
    condition: str
    """One of `CONDITIONS`."""
    schema: str
    """One of `SCHEMAS`."""
    trial: int
    """Counted from 1."""
    state: str
    """A `State` value."""
    failure_reason: str | None
    """A `Reason` value of a failed run."""
    reward: float | None
    """0 to 1; None while it lives and where the failure is not the agent's."""
    strict_pass: bool | None
    """None where there is no reward."""
    started_at: str
    """ISO 8601 in UTC."""
    ended_at: str | None
    """ISO 8601 in UTC; None while it lives."""
    live: bool
    """Is somebody working on it?"""
    origin: Literal["own", "published"] = "own"
    """Made here, or by the published harness and imported; the latter is never changed."""


@dataclass(frozen=True)
class AgentDb:
    """The database that the agent got."""

    path: str
    """File name (never a path of this machine)."""
    sha256: str
    """Of its bytes."""
    size_bytes: int
    """Its size."""


@dataclass(frozen=True)
class AgentResult:
    """How the agent's program ended."""

    returncode: int | None
    """Exit code; negative for a signal; None when it never ended by itself."""
    stdout: str
    """The last 64 KiB, control characters neutralised."""
    stderr: str
    """The same of standard error."""
    elapsed_seconds: float
    """Wall time."""
    trace_file: str | None
    """Name of the trace in the run folder."""
    failure_reason: str | None
    """A `Reason` value."""
    failure_detail: str | None
    """More in words; no cell value."""


@dataclass(frozen=True)
class TestResults:
    """What the judge found, under the published names."""

    __test__: ClassVar[bool] = False

    passed: int
    """Diagnostics that hold."""
    failed: int
    """Diagnostics that do not."""
    errors: int
    """1 when nothing could be judged."""
    total: int
    """All of them."""
    reward: float | None
    """0 to 1, 8 decimals."""
    strict_pass: bool
    """Every diagnostic holds."""
    match_rates: Mapping[str, float]
    """Per scored column, in order."""
    key_precision: float | None
    """Agent keys in the reference / distinct agent keys."""
    key_recall: float | None
    """Agent keys in the reference / reference rows."""
    key_f1: float | None
    """Harmonic mean of the two."""
    extra_keys: int | None
    """Distinct agent keys that the reference lacks."""
    missing_keys: int | None
    """Reference keys that the agent lacks."""
    duplicate_keys: int | None
    """Further agent rows of a key."""
    agent_unique_keys: int | None
    """Distinct agent keys."""
    ordered_nmae: float | None
    """Mean normalised absolute error over the ordered value columns."""
    diagnostics: tuple[Diagnostic, ...]
    """The named checks."""
    warnings: tuple[str, ...]
    """What the reader must know about the figures."""


@dataclass(frozen=True)
class CanaryResult:
    """What the probe inside the sandbox found before the run."""

    passed: bool
    """No private path could be read."""
    required: bool
    """Was it asked for? (always, here)"""
    checks: int
    """Paths probed."""
    failures: tuple[str, ...]
    """What could be read, as names without host paths."""


@dataclass(frozen=True)
class Violation:
    """One finding of the contamination lint."""

    pattern: str
    """Which rule."""
    file: str
    """Name below the work folder."""
    line: int | None
    """Counted from 1; None for a whole file."""
    step: int | None = None
    """Number of the trace's step, for finds in the trace."""


@dataclass(frozen=True)
class LintResult:
    """What the contamination lint found."""

    passed: bool
    """No violation."""
    violations: tuple[Violation, ...]
    """Each with its place."""
    patterns: tuple[str, ...]
    """The rules that were applied."""
    identical_output: bool = False
    """The output has the very bytes of the reference's CSV form. No violation: a right script
    that sorts by key writes just these; but somebody should look."""


@dataclass(frozen=True)
class ExternalResult:
    """What was found of an agent that left its sandbox, or tried to."""

    passed: bool
    """Nothing was."""
    violations: tuple[Finding, ...]
    """Each with its place."""


@dataclass(frozen=True)
class Difference:
    """A figure that came out otherwise when a run was scored again."""

    figure: str
    """Its name, e.g. ``reward`` or ``match_rates.charlson``."""
    recorded: float | None
    """What the run's record says; None when it has no such figure."""
    now: float | None
    """What was found now."""


@dataclass(frozen=True)
class Recomputed:
    """An imported run's output scored here, beside what its record says."""

    source: str
    """The source whose reference it was scored against."""
    at: str
    """ISO 8601 in UTC."""
    reward_recorded: float | None
    """As in the record."""
    reward_now: float | None
    """As found here."""
    strict_recorded: bool | None
    """As in the record."""
    strict_now: bool
    """As found here."""
    same: bool
    """Reward and every recorded figure agree at 8 decimals."""
    differences: tuple[Difference, ...]
    """Those that do not."""


@dataclass(frozen=True)
class RunRecord:
    """All of `result.json`."""

    summary: RunSummary
    """The line that lists show."""
    folder: Path
    """The run's folder."""
    isolated: bool
    """Did it run inside a sandbox?"""
    publishable: bool
    """May its figures be published?"""
    publishable_reason: str
    """Why, or why not."""
    backend: str
    """Name of the sandbox."""
    failure_detail: str | None
    """Why it failed, in words for people; no cell value."""
    agent_db: AgentDb | None
    """The database given; None when the run ended before."""
    agent_result: AgentResult | None
    """None when the agent never started."""
    test_results: TestResults | None
    """None when nothing was judged and no reward is due."""
    filesystem_canary: CanaryResult | None
    """None when the run ended before."""
    contamination_lint: LintResult | None
    """None when the run ended before."""
    external_tools: ExternalResult | None
    """None when the run ended before."""
    artefacts: tuple[str, ...]
    """Files that were collected and kept."""
    raw: Mapping[str, Any] = field(repr=False)
    """`result.json` as it is; for a living run what is known so far."""
    recomputed: Recomputed | None = None
    """Of an imported run that was scored here as well."""

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.summary.run_id
