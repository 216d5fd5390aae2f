"""Steps that were read without looking into their commands: looked into one by one, when wanted.

Looking takes most of the time of reading, and few of many thousand steps are ever opened. What
comes out is what a reader that looks at once would have told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from engine.agents.traces.model import TraceStep
from engine.agents.traces.programs import Known
from engine.agents.traces.tools import looked_at, sql_in

_WRITES = re.compile(r">|\btee\b|apply_patch")
"""Without one of these a command leaves no script whose text is known."""


class _Asked(Known):
    """Knows no script, and remembers whether it was asked for one."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = False

    def text(self, path: str) -> str | None:
        """See `Known.text`."""
        self.asked = True
        return super().text(path)


class _Written(Known):
    """Knows the scripts up to a place of the trace."""

    def __init__(self) -> None:
        super().__init__()
        self.place = 0
        self.writing = False

    def put(self, path: str, text: str) -> None:
        """A script; one that may write scripts itself makes every later command worth a look."""
        self.writing |= _WRITES.search(text) is not None
        super().put(path, text)


class Looker:
    """Looks into steps, in any order. For one thread at a time."""

    def __init__(self) -> None:
        self._written = _Written()

    def look(self, step: TraceStep, before: Sequence[TraceStep]) -> TraceStep:
        """The step, looked into.

        Args:
            step: which.
            before: the steps that were told before it (later ones do no harm), by number.
        """
        if step.looked:
            return step
        alone = _Asked()
        found = _looked(step, alone)
        return found if not alone.asked else _looked(step, self._known(step.number, before))

    def _known(self, number: int, before: Sequence[TraceStep]) -> Known:
        """The scripts that earlier steps wrote."""
        if self._written.place >= number:
            self._written = _Written()
        written = self._written
        for step in before:
            if not written.place < step.number < number:
                continue
            if step.command is None or written.writing or _WRITES.search(step.command):
                _looked(step, written)
            written.place = step.number
        return written.copy()  # the step itself may write as well


def _looked(step: TraceStep, known: Known) -> TraceStep:
    if step.command is not None:
        return replace(step, looked=True, **looked_at(step.command, known))
    return replace(step, looked=True, sql=sql_in(step.writes, known))
