"""The agent's output while it comes: raw into files, harmless to the eye, and as a trace."""

from __future__ import annotations

import codecs
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine.base.files import os_error
from engine.base.text import neutralise
from engine.runs.records import RunEvent
from engine.runs.store import now

TRACE = "trace.jsonl"
"""The run's event stream, one JSON document a line."""
SHOWN_BYTES = 1 << 20
"""Of a log, at most, when it is shown."""
TAIL_CHARS = 64 << 10
"""Of each stream, in the record."""
_TRACE_CHARS = 16 << 20
EVENT_CHARS = 4 << 20
"""Of a run's output, about, that is told while it lives."""


class RunLog:
    """Takes a run's output in whatever thread it comes and keeps it, bounded."""

    def __init__(
        self, run_id: str, folder: Path, on_event: Callable[[RunEvent], None] | None = None
    ) -> None:
        self._run_id = run_id
        self._on_event = on_event
        self._lock = threading.Lock()
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")
        }
        self._tails = {"stdout": "", "stderr": ""}
        self._traced = self._told = 0
        try:
            self._raw = {
                name: (folder / f"{name}.log").open("wb", buffering=0) for name in self._tails
            }
            self._trace = (folder / TRACE).open("wb", buffering=0)
        except OSError as error:
            raise os_error(error, "opening the run's log") from error

    def output(self, stream: str, data: bytes) -> None:
        """A piece of the agent's output.

        Raises:
            StorageFull: the log cannot be written; the run has to stop.
        """
        with self._lock:
            text = self._decoders[stream].decode(data)
            try:
                write_all(self._raw[stream], data)
                if text and self._traced <= _TRACE_CHARS:
                    self._traced += len(text)
                    self._line("output", {"stream": stream, "text": text})
                    if self._traced > _TRACE_CHARS:
                        words = "further output is only in stdout.log and stderr.log"
                        self._line("message", {"text": words})
            except OSError as error:
                raise os_error(error, "writing the run's log") from error
            self._tails[stream] = (self._tails[stream] + text)[-TAIL_CHARS:]
            tell = self._on_event if text and self._told <= EVENT_CHARS else None
            self._told += len(text)
        if tell is not None:
            tell(RunEvent(self._run_id, now(), "log", neutralise(text), stream))

    def event(self, kind: str, **values: object) -> None:
        """A line of the trace that is not output."""
        with self._lock:
            try:
                self._line(kind, values)
            except OSError as error:
                raise os_error(error, "writing the run's trace") from error

    def tail(self, stream: str) -> str:
        """The last 64 KiB of a stream, neutralised."""
        with self._lock:
            return neutralise(self._tails[stream])[-TAIL_CHARS:]

    def close(self) -> None:
        """Close the files; nothing may be written afterwards."""
        for file in (*self._raw.values(), self._trace):
            file.close()

    def _line(self, kind: str, values: Mapping[str, Any]) -> None:
        line = json.dumps({"at": now(), "kind": kind, **values})
        write_all(self._trace, line.encode() + b"\n")


def write_all(file: Any, data: bytes) -> None:
    """Write to an unbuffered file until all of it is written."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def shown_log(folder: Path) -> str:
    """What the agent wrote, both streams in the order in which it came; at most 1 MiB.

    A longer log is shown with its beginning and its end.
    """
    try:
        lines = (folder / TRACE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise os_error(error, "reading the run's log") from error
    pieces = []
    for line in lines:
        try:
            data = json.loads(line)
        except ValueError:  # half a line of a killed run
            continue
        if isinstance(data, dict) and data.get("kind") in ("output", "message"):
            pieces.append(str(data.get("text", "")))
    return cut(neutralise("".join(pieces)))


def cut(text: str) -> str:
    """At most 1 MiB of a text: its beginning and its end."""
    if len(text) <= SHOWN_BYTES:
        return text
    half = SHOWN_BYTES // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
