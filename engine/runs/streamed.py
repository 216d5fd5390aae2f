"""The event stream of an agent's own program: kept byte by byte, stamped, told as steps.

`trace.jsonl` is what the program wrote to stdout, unchanged. Some programs put no time on their
events, so `trace.times` says when each line of it arrived: line N of the one belongs to line N
of the other.
"""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.agents.traces import TraceReader, TraceStep, TraceSummary
from engine.agents.traces.open import TIMES
from engine.base.files import os_error
from engine.base.text import neutralise
from engine.runs.output import EVENT_CHARS, TAIL_CHARS, TRACE, write_all
from engine.runs.records import RunEvent
from engine.runs.store import now

_MAX_STAMPS = 1_000_000
_STEPS_TOLD = 20_000


class StreamLog:
    """Takes the output of an agent's program in whatever thread it comes."""

    def __init__(
        self,
        run_id: str,
        folder: Path,
        reader: TraceReader,
        on_event: Callable[[RunEvent], None] | None = None,
    ) -> None:
        self._run_id = run_id
        self._reader = reader
        self._on_event = on_event
        self._lock = threading.Lock()
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")
        }
        self._tails = {"stdout": "", "stderr": ""}
        self._stamps = self._steps_told = self._chars_told = 0
        try:
            self._trace = (folder / TRACE).open("wb", buffering=0)
            self._times = (folder / TIMES).open("wb", buffering=0)
            self._stderr = (folder / "stderr.log").open("wb", buffering=0)
        except OSError as error:
            raise os_error(error, "opening the run's log") from error

    def output(self, stream: str, data: bytes) -> None:
        """A piece of what the program wrote.

        Raises:
            StorageFull: it cannot be kept; the run has to stop.
        """
        at = now()
        with self._lock:
            text = self._decoders[stream].decode(data)
            self._tails[stream] = (self._tails[stream] + text)[-TAIL_CHARS:]
            try:
                if stream == "stdout":
                    write_all(self._trace, data)
                    lines = min(data.count(b"\n"), _MAX_STAMPS - self._stamps)
                    self._stamps += lines
                    write_all(self._times, f"{at}\n".encode() * lines)
                else:
                    write_all(self._stderr, data)
            except OSError as error:
                raise os_error(error, "writing the run's log") from error
            if stream == "stdout":
                self._tell(self._reader.feed(data, at=at))
            elif text and self._on_event is not None and self._chars_told <= EVENT_CHARS:
                self._chars_told += len(text)
                self._on_event(RunEvent(self._run_id, at, "log", neutralise(text), stream))

    def event(self, kind: str, **values: object) -> None:
        """Nothing is added to somebody else's stream; the record has begin and end."""

    def tail(self, stream: str) -> str:
        """The last 64 KiB of a stream, neutralised."""
        with self._lock:
            return neutralise(self._tails[stream])[-TAIL_CHARS:]

    def summary(self) -> TraceSummary:
        """What the trace comes to; all of it once the log is closed."""
        with self._lock:
            return self._reader.summary()

    def close(self) -> None:
        """The stream has ended; nothing may be written afterwards."""
        with self._lock:
            self._tell(self._reader.close())
            for file in (self._trace, self._times, self._stderr):
                file.close()

    def _tell(self, steps: Iterable[TraceStep]) -> None:
        if self._on_event is None:
            return
        for step in steps:
            self._steps_told += 1
            if self._steps_told <= _STEPS_TOLD:
                at = step.at or now()
                self._on_event(RunEvent(self._run_id, at, "step", neutralise(step.text), step=step))
