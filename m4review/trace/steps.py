"""The steps of a trace by number; those of a long one stay packed until somebody looks at them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import overload

from engine.agents.traces.model import StepKind, TraceStep
from engine.agents.traces.packed import head_of, marks_of, unpack

Told = TraceStep | bytes
"""A step, or one that is packed."""


def number_of(told: Told) -> int:
    """The step's number."""
    return int(told[: told.index(b"\t")]) if isinstance(told, bytes) else told.number


def marks(told: Told) -> str:
    """Its marks; see `packed`."""
    return head_of(told).marks if isinstance(told, bytes) else marks_of(told)


def line_of(told: Told) -> int:
    """The line of the trace on which it begins."""
    return head_of(told).line if isinstance(told, bytes) else told.line


def step_of(told: Told) -> TraceStep:
    """The step itself."""
    return unpack(told) if isinstance(told, bytes) else told


@lru_cache(maxsize=256)  # what is painted is asked for cell by cell
def _seen(packed: bytes) -> TraceStep:
    return unpack(packed)


class Steps(Sequence[TraceStep]):
    """Steps in order of number, each once, in its newest state."""

    def __init__(self, told: Iterable[Told] = ()) -> None:
        self.numbers: list[int] = []
        self.told: list[Told] = []
        self.put(told)

    def put(self, told: Iterable[Told]) -> tuple[list[Told], list[Told]]:
        """Take new steps and newer states of old ones; of one number the last one holds.

        Returns:
            Those that took or found a place among the others, and those that came behind them
            all; in order of number.
        """
        latest = {number_of(one): one for one in told}
        last = self.numbers[-1] if self.numbers else 0
        within = [(number, latest[number]) for number in sorted(latest) if number <= last]
        behind = [(number, latest[number]) for number in sorted(latest) if number > last]
        for number, one in within:
            at = bisect_left(self.numbers, number)
            if self.numbers[at] == number:
                self.told[at] = one
            else:
                self.numbers.insert(at, number)
                self.told.insert(at, one)
        self.numbers += [number for number, _ in behind]
        self.told += [one for _, one in behind]
        return [one for _, one in within], [one for _, one in behind]

    def copy(self) -> Steps:
        """The same steps, apart from what comes later."""
        other = Steps()
        other.numbers, other.told = self.numbers[:], self.told[:]
        return other

    def numbered(self, number: int) -> TraceStep | None:
        """The step of a number."""
        at = bisect_left(self.numbers, number)
        if at < len(self.numbers) and self.numbers[at] == number:
            told = self.told[at]
            return _seen(told) if isinstance(told, bytes) else told
        return None

    def of_kind(self, kind: StepKind) -> Iterator[TraceStep]:
        """The steps of one kind."""
        named = kind.encode()
        for one in self.told:
            if (one.split(b"\t", 2)[1] == named) if isinstance(one, bytes) else one.kind == kind:
                yield step_of(one)

    def at_line(self, line: int) -> int | None:
        """Number of the last step that begins on a line of the trace, or before it."""
        at = bisect_right(self.told, line, key=line_of)  # steps are numbered as they begin
        return self.numbers[at - 1] if at else None

    @property
    def last_line(self) -> int:
        """The line on which the last step begins; 0 without a step."""
        return line_of(self.told[-1]) if self.told else 0

    def __len__(self) -> int:
        return len(self.told)

    @overload
    def __getitem__(self, index: int) -> TraceStep: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TraceStep]: ...
    def __getitem__(self, index: int | slice) -> TraceStep | Sequence[TraceStep]:
        if isinstance(index, slice):
            return [step_of(one) for one in self.told[index]]
        return step_of(self.told[index])
