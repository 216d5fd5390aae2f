"""Steps of a trace in words, and which of them a filter lets through. No widget, no Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from engine.agents.traces import TraceStep
from engine.agents.traces.model import StepKind
from engine.agents.traces.packed import head_of, marks_of, went_wrong
from engine.base.text import neutralise
from m4review.trace.steps import Told, number_of, step_of

KINDS = {
    "start": "begin",
    "message": "says",
    "reasoning": "thinks",
    "command": "command",
    "file": "file",
    "skill": "skill",
    "tool": "tool",
    "web": "web",
    "usage": "tokens",
    "retry": "tries again",
    "error": "error",
    "output": "output",
    "end": "end",
    "other": "event",
}
"""What a step is, in a word."""
SHOWS = {
    "all": "All",
    "commands": "Commands",
    "sql": "SQL",
    "files": "Files",
    "errors": "Errors",
    "talk": "Messages",
}
"""What can be asked for."""
LINE = 300
"""Characters of a step that a row shows."""
_MARKS = {"commands": "c", "sql": "q", "files": "f", "errors": "e"}
_COUNTS = frozenset({"usage", "other"})
"""Kinds that only count, or that nobody knows: no rows of their own."""


@dataclass(frozen=True)
class StepFilter:
    """Which steps are shown."""

    show: str = "all"
    """A key of `SHOWS`."""
    words: str = ""
    """Every word of it must occur in the step."""

    @property
    def open(self) -> bool:
        """Does it let everything through that has a row?"""
        return self.show == "all" and not self.words.split()

    @property
    def looks(self) -> bool:
        """Does it ask for what is only known of steps that were looked into?"""
        return self.show in ("sql", "files")

    def fits(self, told: Told) -> bool:
        """Is this step shown?"""
        if isinstance(told, bytes):
            head = head_of(told)
            kind, marks = head.kind, head.marks
        else:
            kind, marks = told.kind, marks_of(told)
        if kind in _COUNTS or not _shown(kind, marks, self.show):
            return False
        words = self.words.casefold().split()
        if not words:
            return True
        text = searchable(step_of(told)).casefold()
        return all(word in text for word in words)

    def rows(self, steps: Iterable[Told]) -> list[int]:
        """The numbers of the steps that are shown."""
        return [number_of(told) for told in steps if self.fits(told)]


def _shown(kind: StepKind, marks: str, show: str) -> bool:
    if show == "talk":
        return kind in ("message", "reasoning")
    mark = _MARKS.get(show)
    return mark is None or mark in marks


def searchable(step: TraceStep) -> str:
    """Everything of a step that a search looks at."""
    parts = [step.text, step.command or "", step.output, step.tool or "", KINDS[step.kind]]
    parts += [file.path for file in step.writes]
    parts += step.reads
    if step.error is not None:
        parts.append(step.error.message)
    return "\n".join(parts)


def is_error(step: TraceStep) -> bool:
    """Did something go wrong in it?"""
    return went_wrong(step)


def one_line(step: TraceStep) -> str:
    """A step in one line, without control characters."""
    text = step.command if step.command is not None else step.text
    if not text and step.output:
        text = step.output
    if not text and step.error is not None:
        text = step.error.message
    if not text and step.kind == "start":
        text = "the agent's program starts"
    cut = " ".join(neutralise((text or "")[: 2 * LINE]).split())
    return cut if len(cut) <= LINE else cut[: LINE - 1] + "…"


def exit_words(step: TraceStep) -> str:
    """How it ended, with a sign that needs no colour."""
    if step.running:
        return "…"
    if step.exit_code is not None:
        return f"{'✓' if step.exit_code == 0 else '✗'} {step.exit_code}"
    return "✗" if is_error(step) else ""


def seconds_words(seconds: float | None) -> str:
    """How long it took."""
    if seconds is None:
        return ""
    if seconds < 10:  # noqa: PLR2004 - below that, tenths matter
        return f"{seconds:.1f} s"
    if seconds < 60:  # noqa: PLR2004 - seconds
        return f"{seconds:.0f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def moment(text: str | None) -> float | None:
    """An ISO time as seconds; None where it is none."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def since(begin: float | None, text: str | None) -> str:
    """The time of a step from the run's begin: ``0:42`` or ``1:02:03``."""
    at = moment(text)
    if at is None or begin is None:
        return ""
    seconds = max(0, int(at - begin))
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
