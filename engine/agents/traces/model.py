"""The one form in which every agent's trace is read, shown, counted and searched.

A trace is the event stream that an agent's program writes, one JSON document a line. A reader
turns it into steps and a summary, also while the run still lives: a step that is told again
under its number (a command that has ended meanwhile) replaces the earlier one.

All text in here is neutralised and bounded; the raw bytes stay in the trace, and an `OutputRef`
leads back to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

StepKind = Literal[
    "start",
    "message",
    "reasoning",
    "command",
    "file",
    "skill",
    "tool",
    "web",
    "usage",
    "retry",
    "error",
    "output",
    "end",
    "other",
]
"""What a step is: the session's begin; words; thoughts; a shell command; a file tool (read, write,
edit); a skill that was opened; any other tool; a tool that leaves the sandbox; tokens of one model
response; a request that is tried again; a warning or failure; output that belongs to no command
(agent ``script``); the closing event; an event that the reader does not know."""

ErrorKind = Literal["auth", "rate_limit", "model", "network", "limit", "denied", "other"]
"""401 or 403; 429 or 529; any other answer of the model's server; no connection; the agent's own
limit of turns; a tool that was not permitted; anything else."""

Closing = Literal["success", "error", "missing"]
"""What the closing event says; `missing` when there is none (killed, crashed, half a file)."""


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens of one model response or a whole run. None is unknown, never zero."""

    input: int | None = None
    """In, those read from a cache included."""
    cached_input: int | None = None
    """Of `input`: read from the provider's cache."""
    output: int | None = None
    """Out, those of reasoning included."""
    reasoning: int | None = None
    """Of `output`: reasoning."""


@dataclass(frozen=True)
class OutputRef:
    """Where in the raw trace the whole of something stands."""

    line: int
    """Line of the trace, from 1."""
    start: int
    """Byte at which that line begins."""
    end: int
    """Byte after it, the line break not included."""
    pointer: tuple[str | int, ...]
    """Keys and indices that lead to the text within the line's JSON document."""


@dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """A file that a step wrote, or said it would."""

    path: str
    """As the agent named it (inside path, absolute or relative to where it stood)."""
    how: Literal["add", "edit", "delete", "redirect", "copy", "call"]
    """By a file tool or patch, a shell redirect, SQL's ``COPY … TO``, or a call in a program."""
    content: str | None = None
    """The text, raw, where the step holds it whole and it is at most 256 KiB."""


@dataclass(frozen=True, kw_only=True)
class StepError:
    """What went wrong, as the agent's program tells it."""

    kind: ErrorKind
    """What sort."""
    message: str
    """Its words, neutralised, at most 2000 characters."""
    status: int | None = None
    """HTTP status where it is told."""
    retry_seconds: float | None = None
    """How long the program waits before it tries again, where it says so."""


@dataclass(frozen=True, kw_only=True)
class TraceStep:
    """One step of a run."""

    number: int
    """From 1, in order of begin; the same number replaces an earlier state of the step."""
    kind: StepKind
    """What it is."""
    at: str | None = None
    """ISO 8601 in UTC; of its begin; None when neither the trace nor the arrival says."""
    turn: int = 0
    """Which model response it belongs to, from 1; 0 before the first."""
    line: int
    """Line of the trace on which it begins, from 1."""
    text: str = ""
    """Words to show: the message, the tool and what it was given, the warning."""
    tool: str | None = None
    """The tool's own name (``Bash``, ``run_shell_command``, ``read`` …)."""
    command: str | None = None
    """The shell's command text, without the ``/bin/bash -lc`` around it; raw, at most 1 MiB."""
    exit_code: int | None = None
    """None while it runs and where the trace does not tell it."""
    running: bool = False
    """It has begun and not ended (yet)."""
    failed: bool = False
    """The trace says that it failed."""
    seconds: float | None = None
    """How long it took, where it is told or follows from the times."""
    output: str = ""
    """What came back: begin and end of it, at most 4000 characters."""
    output_ref: OutputRef | None = None
    """Where the whole output stands; None when there is none."""
    reads: tuple[str, ...] = ()
    """Files that a file tool read."""
    writes: tuple[WrittenFile, ...] = ()
    """Files that it wrote."""
    sql: tuple[str, ...] = ()
    """SQL statements found in it, as the agent wrote them."""
    looked: bool = True
    """Was it looked into? Else `sql`, and a command's `reads`, `writes` and `skill`, come from a
    `Looker`."""
    skill: str | None = None
    """The skill that it opened."""
    tokens: Tokens | None = None
    """Of this response (kind ``usage``); cumulative counters are told as differences."""
    error: StepError | None = None
    """For kinds ``error``, ``retry``, ``end``, and tools that failed."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """What else is worth keeping, by kind: the tool's arguments, ``stream`` of output."""


@dataclass(frozen=True, kw_only=True)
class TraceSummary:
    """What the whole trace (so far) comes to."""

    form: str
    """Which reader: ``codex``, ``claude``, ``gemini``, ``pi`` or ``script``."""
    version: str | None = None
    """Of the program or its stream, where the trace tells it."""
    session: str | None = None
    """The session's or thread's id."""
    counted: bool = False
    """Are the tokens those of the whole run? Only then may they be shown as its count."""
    why_not: str | None = None
    """Why not, in words."""
    tokens: Tokens | None = None
    """Summed; a lower bound where not `counted`; None when nothing is known."""
    turns: int = 0
    """Model responses, as far as the stream shows them."""
    models: tuple[str, ...] = ()
    """The models' names, as the trace tells them."""
    closing: Closing = "missing"
    """The closing event."""
    error: StepError | None = None
    """The failure of a run whose closing event is none of success."""
    last_message: str = ""
    """The agent's last words."""
    skills_offered: tuple[str, ...] | None = None
    """Names that the trace lists as on offer (built-in ones too); None when it has no list."""
    skills_read: tuple[str, ...] = ()
    """Names of the skills that were opened, in order."""
    commands: int = 0
    """Shell commands."""
    failed_commands: int = 0
    """Of them, known to have failed."""
    files_written: tuple[str, ...] = ()
    """Paths, each once, in order."""
    steps: int = 0
    """All steps, those beyond the reader's bound included."""
    lines: int = 0
    """Whole lines of the trace."""
    unreadable_lines: int = 0
    """Of them, no JSON object, or longer than a reader takes."""
    unknown_events: Mapping[str, int] = field(default_factory=dict)
    """Events that the reader does not know, by type."""

    def published(self) -> dict[str, Any] | None:
        """`token_usage` of a run record; None when the tokens were not counted."""
        if not self.counted or self.tokens is None:
            return None
        return {
            "input_tokens": self.tokens.input,
            "cached_input_tokens": self.tokens.cached_input,
            "output_tokens": self.tokens.output,
            "turns": self.turns,
            "model_strings": list(self.models),
        }


FindingReason = Literal["external_tool_use", "disallowed_egress", "claude_memory_escape"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that an agent must not do, with its place; never the text that was found."""

    reason: FindingReason
    """The failure that it means."""
    rule: str
    """Which rule found it (a key of `external.RULES`)."""
    step: int | None = None
    """Number of the step."""
    line: int | None = None
    """Line of the trace, or of `file` where that is another one."""
    file: str
    """``trace.jsonl``, ``egress.jsonl``, or the agent's file by its name in the work folder."""


class TraceReader(Protocol):
    """Reads one kind of trace, bit by bit. Not thread-safe: one thread at a time."""

    @property
    def form(self) -> str:
        """``codex``, ``claude``, ``gemini``, ``pi`` or ``script``."""

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """All steps so far, each in its newest state, ordered by number."""

    def feed(self, data: bytes, *, at: str | None = None) -> list[TraceStep]:
        """Take the next bytes of the stream, cut anywhere.

        Args:
            data: any piece; half a line waits for its rest.
            at: when it arrived (ISO 8601, UTC), for streams that have no times of their own.

        Returns:
            New steps and changed ones, ordered by number. Never raises on any content.
        """

    def close(self) -> list[TraceStep]:
        """The stream has ended: take a last line that has no line break."""

    def summary(self) -> TraceSummary:
        """What it comes to so far."""
