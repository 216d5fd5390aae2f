"""A kept run's trace for those who look at it: steps, whole outputs, and plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.agents.traces import OutputRef, TraceReader, TraceStep, TraceSummary
from engine.agents.traces.lines import read_output
from engine.agents.traces.open import TIMES, Trace, read_trace, sniff, trace_reader
from engine.base.errors import Busy
from engine.base.files import os_error
from engine.base.text import neutralise
from engine.runs.output import SHOWN_BYTES, TRACE, cut, shown_log
from engine.runs.records import RunRecord
from engine.runs.store import StoredRun

_READING = "reading the run's trace"
_PLAIN = ("script",)
"""Forms whose trace holds the output in its order."""


def trace_of(place: Path, run: StoredRun) -> Trace:
    """All steps of a run's trace so far, and what they come to.

    Raises:
        M4Error: it cannot be read. A run without a trace has no steps.
    """
    skills = run.facts.get("skills") or ()
    version = run.facts.get("agent_version")
    agent = run.summary.agent
    try:
        # Other programs' runs may call their agents otherwise: their traces tell what they are.
        named = agent if run.summary.origin == "own" else None
        return read_trace(place / TRACE, named, skills=skills, version=version)
    except FileNotFoundError:
        reader = trace_reader(agent, skills=skills, version=version)
        return Trace((), reader.summary())
    except OSError as error:
        raise os_error(error, _READING) from error


def output_of(place: Path, ref: OutputRef) -> str:
    """The whole output of a step, neutralised.

    Raises:
        Busy: the trace is another one than the step was read from.
        M4Error: it cannot be read.
    """
    try:
        return read_output(place / TRACE, ref)
    except LookupError as error:
        raise Busy("The trace has changed since it was read.", todo="Read it again.") from error
    except OSError as error:
        raise os_error(error, _READING) from error


def log_of(place: Path, run: StoredRun) -> str:
    """What the agent did, as text for people; at most 1 MiB, neutralised."""
    trace = trace_of(place, run)
    if trace.summary.form in _PLAIN:
        return shown_log(place)
    text = "\n".join(line for step in trace.steps for line in _words(step))
    try:
        with (place / "stderr.log").open("rb") as file:
            errors = file.read(SHOWN_BYTES).decode("utf-8", "replace")
    except OSError:
        errors = ""
    if errors.strip():
        text += f"\n\nstandard error:\n{errors}"
    return cut(neutralise(text))


def _words(step: TraceStep) -> Iterator[str]:
    """A step in lines for people; those that only count are passed over."""
    if step.kind in ("usage", "start", "other"):
        return
    if step.command is not None:
        yield f"[{step.number}] $ {step.command}"
        if step.output:
            yield step.output.rstrip("\n")
        if step.exit_code:
            yield f"[{step.number}] exit status {step.exit_code}"
        return
    if step.text:
        yield f"[{step.number}] {step.kind}: {step.text}"
    if step.error is not None and step.error.message not in step.text:
        yield f"[{step.number}] {step.error.message}"


@dataclass(frozen=True, kw_only=True)
class TraceOf:
    """Whose trace it is: what a reader has to know."""

    folder: str
    """The run's folder."""
    agent: str
    """The agent's name in the run's record."""
    named: bool
    """Is that the name of an adapter of ours? Else the trace tells whose it is."""
    skills: tuple[str, ...]
    """Skills that were on offer."""
    version: str | None
    """Of the agent's program."""

    @classmethod
    def run(cls, record: RunRecord) -> TraceOf:
        """That of a run."""
        skills, version = record.raw.get("skills"), record.raw.get("agent_version")
        return cls(
            folder=str(record.folder),
            agent=record.summary.agent,
            named=record.summary.origin == "own",
            skills=tuple(str(name) for name in skills) if isinstance(skills, list) else (),
            version=version if isinstance(version, str) else None,
        )

    @property
    def path(self) -> Path:
        """The trace."""
        return Path(self.folder) / TRACE


class TraceTail:
    """A run's trace, read piece by piece; goes on where it was while the run still writes it.

    For one thread at a time.
    """

    def __init__(self, of: TraceOf, *, looking: bool = True) -> None:
        """Start at the beginning; without `looking`, commands and files are not looked into."""
        self._of, self._looking = of, looking
        self._times: list[str] = []
        self._at = self._times_at = 0
        self._reader: TraceReader | None = None

    def more(self, most: int = 64 << 10, *, ended: bool = True) -> tuple[list[TraceStep], bool]:
        """The steps that the next bytes bring, new and changed; and is there more to read now?

        Args:
            most: bytes at once.
            ended: the trace will not grow any more: a last line without its end counts.

        Raises:
            M4Error: it cannot be read. A trace that is not there has no steps.
        """
        try:
            with self._of.path.open("rb") as file:
                file.seek(self._at)
                data = file.read(most)
            self._more_times()
        except FileNotFoundError:
            return [], False
        except OSError as error:
            raise os_error(error, _READING) from error
        if self._reader is None:
            if not data:
                return [], False
            form = (self._of.agent if self._of.named else sniff(data)) or "script"
            self._reader = self._new(form)
        self._at += len(data)
        steps = self._reader.feed(data) if data else []
        if not data and ended:
            steps = self._reader.close()
        return steps, bool(data)

    def _more_times(self) -> None:
        """When the lines arrived: whole lines that are new, for streams without times."""
        path = self._of.path.with_name(TIMES)
        if not path.is_file():
            return
        with path.open("rb") as file:
            file.seek(self._times_at)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._times_at += len(whole)
        self._times += whole.decode("utf-8", "replace").splitlines()

    @property
    def summary(self) -> TraceSummary:
        """What it comes to so far."""
        return (self._reader or self._new(self._of.agent)).summary()

    def _new(self, form: str) -> TraceReader:
        return trace_reader(
            form,
            skills=self._of.skills,
            version=self._of.version,
            times=self._times,
            looking=self._looking,
        )
