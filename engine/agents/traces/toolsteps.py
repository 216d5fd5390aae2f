"""Steps that begin with a call of a tool and end with its result, paired by the call's id."""

from __future__ import annotations

from typing import Any

from engine.agents.traces.lines import LineReader, preview, seconds_between
from engine.agents.traces.model import StepError, WrittenFile
from engine.agents.traces.programs import Known, Unlooked
from engine.agents.traces.tools import call_values, file_values


class ToolReader(LineReader):
    """A reader of traces in which tools are called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.known = Known() if self.looking else Unlooked()
        self._open: dict[str, int] = {}

    def is_open(self, key: str) -> bool:
        """Has a call begun, and not ended?"""
        return key in self._open

    def begin(self, key: str, tool: str, arguments: object, *, at: str | None = None) -> None:
        """A tool is called."""
        self._open[key] = self.add(at=at, running=True, **call_values(tool, arguments, self.known))

    def begin_files(self, key: str, tool: str, files: tuple[WrittenFile, ...]) -> None:
        """A tool that writes files is called."""
        values = file_values(tool, files, self.known)
        self._open[key] = self.add(running=True, tool=tool, **values)

    def end(
        self,
        key: str,
        output: str,
        pointer: tuple[str | int, ...],
        *,
        failed: bool = False,
        exit_code: int | None = None,
        seconds: float | None = None,
        at: str | None = None,
        error: StepError | None = None,
    ) -> None:
        """A tool has ended; a result without a call is passed over.

        Args:
            key: the call's id.
            output: the whole of what came back.
            pointer: where it stands in the line being read.
            failed: the trace says so.
            exit_code: of a command, where it is told.
            seconds: how long it took; by the times when not given.
            at: when it ended.
            error: more of a failure.
        """
        number = self._open.pop(key, None)
        step = None if number is None else self.step(number)
        if number is None or step is None:
            return
        if seconds is None:
            seconds = seconds_between(step.at, at or self._now())
        self.change(
            number,
            running=False,
            failed=failed,
            exit_code=exit_code,
            seconds=seconds,
            output=preview(output),
            output_ref=self.ref(*pointer) if output else None,
            error=error,
        )
