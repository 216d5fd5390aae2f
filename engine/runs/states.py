"""The states of a run, which follows which, and the reasons of a failure."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a run stands. Entered in the state file before the work that it names begins."""

    PREPARED = "prepared"
    """Folder, instruction and database are being laid out."""
    CANARY = "canary"
    """The sandbox is being probed for private paths."""
    RUNNING = "running"
    """The agent is at work."""
    COLLECTING = "collecting"
    """What the agent left is being taken over."""
    LINTING = "linting"
    """Everything is collected; the contamination lint looks at it."""
    SCORING = "scoring"
    """The judge is at work."""
    DONE = "done"
    """Judged; the record is complete."""
    FAILED = "failed"
    """Ended early; the reason says whose fault it is."""


LIVE = frozenset(
    {
        State.PREPARED,
        State.CANARY,
        State.RUNNING,
        State.COLLECTING,
        State.LINTING,
        State.SCORING,
    }
)
"""States of a run that somebody is (or was, before a crash) working on."""

COLLECTED = frozenset({State.LINTING, State.SCORING})
"""States in which all that the agent left is in the run folder: what follows can be done again."""

NEXT: dict[State, frozenset[State]] = {
    State.PREPARED: frozenset({State.CANARY, State.FAILED}),
    State.CANARY: frozenset({State.RUNNING, State.FAILED}),
    State.RUNNING: frozenset({State.COLLECTING, State.FAILED}),
    State.COLLECTING: frozenset({State.LINTING, State.FAILED}),
    # Linting and scoring may be done again after a crash.
    State.LINTING: frozenset({State.LINTING, State.SCORING, State.FAILED}),
    State.SCORING: frozenset({State.LINTING, State.DONE, State.FAILED}),
    State.DONE: frozenset(),
    State.FAILED: frozenset(),
}
"""Which state may follow which."""


class Reason(StrEnum):
    """Why a run failed: the published values, and four of our own at the end."""

    FILESYSTEM_CANARY = "filesystem_canary"
    DISALLOWED_EGRESS = "disallowed_egress"
    EXTERNAL_TOOL_USE = "external_tool_use"
    CLAUDE_MEMORY_ESCAPE = "claude_memory_escape"
    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    AGENT_NONZERO_EXIT = "agent_nonzero_exit"
    CONTAMINATION_LINT = "contamination_lint"
    NO_OUTPUT = "no_output"
    EXCEPTION = "exception"
    MODEL_ERROR = "model_error"
    """The model's endpoint failed, or did not answer."""
    BUDGET = "budget"
    """The agent used up what it may of its model (requests, tokens, bytes, seconds)."""
    INTERRUPTED = "interrupted"
    """The program or the machine died before the artefacts were collected."""
    CANCELLED = "cancelled"
    """The user stopped it."""


WITHOUT_REWARD = frozenset(
    {
        Reason.EXCEPTION,
        Reason.INTERRUPTED,
        Reason.CANCELLED,
        Reason.AUTH,
        Reason.RATE_LIMIT,
        Reason.MODEL_ERROR,
    }
)
"""Not the agent's doing: such a run has no reward at all. Every other reason scores 0."""

VIOLATIONS = frozenset(
    {
        Reason.DISALLOWED_EGRESS,
        Reason.EXTERNAL_TOOL_USE,
        Reason.CLAUDE_MEMORY_ESCAPE,
        Reason.CONTAMINATION_LINT,
    }
)
"""The agent did what it must not: the record is kept, what it left is dropped."""
