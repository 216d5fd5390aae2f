"""What every trace reader shares: lines out of bytes, steps by number, bounds, words of errors.

Nothing that stands in a trace makes a reader raise: it was written by a program that ran
whatever a model told it, and it may end anywhere.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

from engine.agents.traces.model import (
    Closing,
    ErrorKind,
    OutputRef,
    StepError,
    StepKind,
    Tokens,
    TraceStep,
    TraceSummary,
)
from engine.base.text import neutralise

MAX_LINE = 32 << 20
"""A longer line is passed over."""
MAX_STEPS = 100_000
"""Steps beyond are counted, not kept."""
PREVIEW = 4000
"""Characters of an output that a step holds."""
_TEXT = 64 << 10
_OTHERS = 200
_DOCUMENT = 4 << 20
_STATUS = re.compile(
    r"""(?:status:?\s+|"?code"?\s*[:=]\s*|^|API\ Error:\s*|Error:\s*|\bHTTP[ /]?)([45]\d\d)\b""",
    re.VERBOSE,
)
_NETWORK = re.compile(
    r"connection (?:refused|reset|error|closed)|econn|enotfound|fetch failed|network"
    r"|error sending request|stream disconnected|socket hang up|timed? ?out|unable to connect",
    re.IGNORECASE,
)
_SKILL_FILE = re.compile(r"(?:^|/)([^/]+)/SKILL\.md$")
_TOO_MANY = 429
_OVERLOADED = 529
_NOT_ALLOWED = (401, 403)


class LineReader:
    """The common part of the readers; each kind of trace says what its events mean."""

    form: ClassVar[str]
    known_versions: ClassVar[tuple[str, ...]] = ()
    """Major versions of the program whose stream is known; empty: any."""

    def __init__(
        self,
        *,
        skills: Sequence[str] = (),
        version: str | None = None,
        times: Sequence[str] = (),
        looking: bool = True,
    ) -> None:
        """Start at the beginning of a trace.

        Args:
            skills: names of the skills that were put where the agent looks for them.
            version: of the agent's program, as its image says.
            times: when each line arrived (ISO 8601, UTC), for a trace that was kept with them.
            looking: look into commands and files; else steps say that they are not `looked`, and
                the summary tells no skill or file that only a command names.
        """
        self.installed = tuple(skills)
        self.version = version
        self.looking = looking
        self._times = times
        self._arrived: str | None = None
        self._pending = bytearray()
        self._skipping = False
        self._offset = 0
        self._line = 0
        self._where = (0, 0, 0)
        self._unreadable = 0
        self._head: bytearray | None = bytearray()
        self._unknown: Counter[str] = Counter()
        self._steps: list[TraceStep] = []
        self._count = 0
        self._changed: set[int] = set()
        self.turn = 0
        self.session: str | None = None
        self.models: dict[str, None] = {}
        self.offered: tuple[str, ...] | None = None
        self.skills_read: dict[str, None] = {}
        self.closing: Closing = "missing"
        self.error: StepError | None = None
        self.last_message = ""

    # --- the protocol

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """See `TraceReader.steps`."""
        return tuple(self._steps)

    def feed(self, data: bytes, *, at: str | None = None) -> list[TraceStep]:
        """See `TraceReader.feed`."""
        self._arrived = at
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._take(data[start:end])
            self._end_line(broken=True)
            start = end + 1
        self._take(data[start:])
        return self._told()

    def close(self) -> list[TraceStep]:
        """See `TraceReader.close`."""
        if self._pending or self._skipping:
            self._end_line(broken=False)
        if self._head and not self._steps and (document := _document(bytes(self._head))):
            # One object over many lines: what a program prints that was asked for one document.
            self._where = (1, 0, len(self._head))
            self._unreadable = 0
            self.event(document)
        self._head = None
        return self._told()

    def summary(self) -> TraceSummary:
        """See `TraceReader.summary`."""
        tokens, why_not = self.tokens()
        commands = [step for step in self._steps if step.kind == "command"]
        files = {file.path: None for step in self._steps for file in step.writes}
        return TraceSummary(
            form=self.form,
            version=self.version,
            session=self.session,
            counted=why_not is None,
            why_not=why_not,
            tokens=tokens,
            turns=self.turn,
            models=tuple(self.models),
            closing=self.closing,
            error=self.error,
            last_message=self.last_message,
            skills_offered=self.offered,
            skills_read=tuple(self.skills_read),
            commands=len(commands),
            failed_commands=sum(step.failed for step in commands),
            files_written=tuple(files),
            steps=self._count,
            lines=self._line,
            unreadable_lines=self._unreadable,
            unknown_events=dict(self._unknown),
        )

    # --- what each kind of trace says

    def event(self, data: Mapping[str, Any]) -> None:
        """Take one event."""
        raise NotImplementedError

    def counts(self) -> Tokens | None:
        """The tokens that the trace has told so far, summed."""
        raise NotImplementedError

    def why_not_counted(self) -> str | None:
        """A reason of this kind of trace's own that the tokens are not the whole run's."""
        return None

    # --- for the kinds of trace

    def add(self, kind: StepKind, *, at: str | None = None, **values: Any) -> int:
        """A new step; its number."""
        self._count += 1
        if len(self._steps) < MAX_STEPS:
            values.setdefault("line", self._where[0])
            values.setdefault("turn", self.turn)
            step = TraceStep(number=self._count, kind=kind, at=at or self._now(), **values)
            self._steps.append(step)
            self._changed.add(step.number)
            self._note_skills(step)
        return self._count

    def _note_skills(self, step: TraceStep) -> None:
        names = [step.skill, *(skill_of(path) for path in step.reads)]
        for name in names:
            if name is not None and "*" in name:
                names += [one for one in self.installed if fnmatchcase(one, name)]
            elif name is not None:
                self.skills_read.setdefault(name)

    def step(self, number: int) -> TraceStep | None:
        """The step of that number; None when it was not kept."""
        return self._steps[number - 1] if 0 < number <= len(self._steps) else None

    def change(self, number: int, **values: Any) -> None:
        """A step in a newer state."""
        if (step := self.step(number)) is not None:
            self._steps[number - 1] = replace(step, **values)
            self._changed.add(number)

    def unknown(self, kind: object) -> None:
        """An event that this reader does not know; some are kept as steps."""
        name = shown(kind, 60) or "?"
        if name not in self._unknown and len(self._unknown) >= _OTHERS:
            name = "…"
        self._unknown[name] += 1
        if self._unknown.total() <= _OTHERS:
            self.add("other", text=name)

    def ref(self, *pointer: str | int) -> OutputRef:
        """The place of a text in the line that is being read."""
        return OutputRef(*self._where, pointer=pointer)

    def tokens(self) -> tuple[Tokens | None, str | None]:
        """What was counted, and why it is not the whole run's (None: it is)."""
        counts = self.counts()
        if self.known_versions and self.version and not _is_known(self.version, self):
            major = shown(self.version, 40)
            return counts, f"The stream of {self.form} {major} is not known to this program."
        if (why := self.why_not_counted()) is not None:
            return counts, why
        if self.closing == "missing":
            return counts, "The trace has no closing event: what was used last is not in it."
        if not self.turn and not (counts and counts.input):
            return None, "The model gave no answer."
        if counts is None or counts.input is None or counts.output is None:
            return counts, "The trace tells no token counts."
        if not counts.input or not counts.output:
            return None, "The trace tells no token counts: they all stand at zero."
        return counts, None

    def says(self, text: str) -> None:
        """The agent's newest words."""
        if text.strip():
            self.last_message = shown(text)

    # --- inside

    def _take(self, data: bytes) -> None:
        if self._skipping:
            self._offset += len(data)
        elif len(self._pending) + len(data) > MAX_LINE:
            self._offset += len(self._pending) + len(data)
            self._pending.clear()
            self._skipping = True
        else:
            self._pending += data

    def _end_line(self, *, broken: bool) -> None:
        raw = bytes(self._pending)
        self._pending.clear()
        start, self._offset = self._offset, self._offset + len(raw) + broken
        self._line += 1
        if self._head is not None:
            self._head += raw + b"\n"
            if self._steps or len(self._head) > _DOCUMENT:
                self._head = None
        if self._skipping:
            self._skipping = False
            self._unreadable += 1
            return
        if not raw.strip():
            return
        self._where = (self._line, start, start + len(raw))
        document = _document(raw)
        if document is None:
            self._unreadable += 1
        else:
            self.event(document)

    def _now(self) -> str | None:
        line = self._where[0]
        return iso(self._times[line - 1] if line <= len(self._times) else self._arrived)

    def _told(self) -> list[TraceStep]:
        changed = sorted(self._changed)
        self._changed.clear()
        return [self._steps[number - 1] for number in changed]


def read_output(trace: Path, ref: OutputRef) -> str:
    """The whole output that a step's `output_ref` points to, neutralised.

    Raises:
        OSError: the trace cannot be read.
        LookupError: the trace is another one than the one that was read.
    """
    with trace.open("rb") as file:
        file.seek(ref.start)
        document: Any = _document(file.read(ref.end - ref.start))
    for key in ref.pointer:
        try:
            document = document[key]
        except (TypeError, KeyError, IndexError) as error:
            raise LookupError("The trace has changed since it was read.") from error
    return neutralise(flat(document))


def _document(raw: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _is_known(version: str, reader: LineReader) -> bool:
    major = re.split(r"[.\s]", version.strip().removeprefix("v"), maxsplit=1)[0]
    return major in reader.known_versions


# --- values that may be anything


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: object) -> Sequence[Any]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else ()


def string(value: object) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """A count of tokens or the like: a whole number from 0 up; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if 0 <= value < 1 << 53 else None


def seconds_of(milliseconds: object) -> float | None:
    """Milliseconds as seconds; None for what is no count."""
    value = count(milliseconds)
    return None if value is None else value / 1000


def add_up(*values: int | None) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def sum_of(tokens: Iterable[Tokens]) -> Tokens | None:
    """Counts added up, each on its own; None when there are none."""
    every = list(tokens)
    if not every:
        return None
    return Tokens(
        input=add_up(*(one.input for one in every)),
        cached_input=add_up(*(one.cached_input for one in every)),
        output=add_up(*(one.output for one in every)),
        reasoning=add_up(*(one.reasoning for one in every)),
    )


def iso(value: object) -> str | None:
    """A time as ISO 8601 in UTC: from such a text, or from milliseconds since 1970."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value[:40])
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        elif (number := count(value)) is not None:
            time = datetime.fromtimestamp(number / 1000, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_between(begin: str | None, end: str | None) -> float | None:
    """From one time to the other, where both are known and in this order."""
    if begin is None or end is None:
        return None
    seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    return round(seconds, 3) if seconds >= 0 else None


def shown(value: object, limit: int = _TEXT) -> str:
    """Text to show: neutralised and bounded."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return neutralise(text if len(text) <= limit else text[: limit - 1] + "…")


def preview(text: str) -> str:
    """Begin and end of an output, neutralised."""
    if len(text) <= PREVIEW:
        return neutralise(text)
    half = PREVIEW // 2
    left_out = len(text) - 2 * half
    return neutralise(f"{text[:half]}\n… {left_out} characters …\n{text[-half:]}")


def flat(value: object) -> str:
    """The text of content that is a text, or blocks of which some hold text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = (item if isinstance(item, str) else mapping(item).get("text") for item in value)
        return "\n".join(text for text in texts if isinstance(text, str))
    return ""


def skill_of(path: str) -> str | None:
    """The skill whose description a path names; None for any other file."""
    found = _SKILL_FILE.search(path)
    return shown(found[1], 200) if found else None


def error_of(
    message: object, *, status: object = None, kind: ErrorKind | None = None, wait: object = None
) -> StepError:
    """A failure in the words of the agent's program, sorted.

    Args:
        message: the words.
        status: the HTTP status where it is told apart from the words.
        kind: what sort, where that is told apart from the words.
        wait: milliseconds until the next try.
    """
    words = shown(message, 2000)
    code = count(status)
    if code is None and kind is None and (found := _STATUS.search(words)):
        code = int(found[1])
    if kind is None:
        kind = _kind_of(code, words)
    return StepError(kind=kind, message=words, status=code, retry_seconds=seconds_of(wait))


def _kind_of(status: int | None, words: str) -> ErrorKind:
    if status in _NOT_ALLOWED:
        return "auth"
    if status in (_TOO_MANY, _OVERLOADED):
        return "rate_limit"
    if status is not None:
        return "model"
    return "network" if _NETWORK.search(words) else "other"
