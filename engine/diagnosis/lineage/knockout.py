"""Rows that are in no value, but whose being there keeps another out.

A device takes its place before another of the same minute; a score that is charted stops an older
one from being carried on. No list of rows that made a value has them, so they are found by trying:
the cell is computed again without some of the rows that are told as refused. The patient is copied
for each trial, with identifiers of its own, so that many trials cost about as much as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from engine.base.jobs import Job
from engine.base.paths import Home
from engine.diagnosis.lineage.extract import Extract
from engine.diagnosis.lineage.model import Value

KEEPS_OUT = "without it the value would be another"
"""Of a row that is in no value; then what refuses the row itself."""
_ALONE = 24
"""Up to so many rows are each left out alone as well."""
_ROUNDS = 12
"""Times that one more such row is looked for."""
_EXACT = 1e-9
"""Relative difference up to which two numbers are the same."""
_AT_ONCE = 2_000_000
"""Rows of a patient and its copies, at most about."""
_WAYS = 16
"""Parts that rows are divided into to find the one that matters."""


@dataclass(frozen=True)
class Trials:
    """Computes one cell again without some of its patient's rows."""

    home: Home
    """Where to spill."""
    part: Extract
    """The patient's rows."""
    others: Set[int]
    """Addresses of other patients' rows, which are always there."""
    key: Mapping[str, Value]
    """The cell's row."""
    column: str
    """The cell's column."""
    value: Value
    """The cell's value."""
    job: Job
    """Its cancel is looked for."""

    def needed(self, refused: Set[int]) -> set[int]:
        """Those rows without each of which the cell has another value, or is not there.

        Any two rows are parted by some of the groups that are left out together, so that a row is
        found although another, which it keeps out, is among the rows. Rows that change the cell
        only when several are gone are not told: each is refused for a reason that holds.
        """
        found: set[int] = set()
        left = set(refused)
        for _ in range(_ROUNDS):
            groups = list(_groups(sorted(left)))
            changed = self.changing(groups)
            if not changed:
                break
            # The fewest rows that do it are soonest found in the smallest group.
            smallest = min(changed, key=lambda number: len(groups[number]))
            least = self._least(sorted(groups[smallest]))
            if not least:
                break
            found |= {least[number] for number in self.changing([{row} for row in least])}
            left -= set(least)
        return found

    def _least(self, group: Sequence[int]) -> list[int]:
        """As few rows of a group as still change the cell; empty where that cannot be told."""
        kept: list[int] = []
        left = list(group)
        while left:
            # The shortest beginning of what is left that, with the rows kept so far, changes it.
            low, high = 0, len(left)
            while high - low > 1:
                steps = sorted({low + (high - low) * n // _WAYS for n in range(1, _WAYS)} - {low})
                changed = self.changing([{*kept, *left[:n]} for n in steps])
                if changed:
                    high = steps[changed[0]]
                    low = max([low, *steps[: changed[0]]])
                else:
                    low = steps[-1]
            kept.append(left[high - 1])
            if self.changing([set(kept)]):
                return kept
            left = left[: high - 1]
        return []

    def changing(self, groups: Sequence[Set[int]]) -> list[int]:
        """Numbers of the groups that, each left out alone, change the cell."""
        rows = sum(1 for _ in self.part.addresses())
        at_once = max(1, _AT_ONCE // max(1, rows))
        return [
            first + number
            for first in range(0, len(groups), at_once)
            for number in self._changing(groups[first : first + at_once])
        ]

    def _changing(self, groups: Sequence[Set[int]]) -> list[int]:
        with self.part.copies(self.home, groups, once=self.others) as con:
            self.part.build(con, mode=None, job=self.job)
            same = {int(copy) for (copy,) in con.execute(*self._asking(len(groups))).fetchall()}
        return [number for number in range(len(groups)) if number not in same]

    def _asking(self, copies: int) -> tuple[str, list[Value]]:
        """SQL for the numbers of the copies in which the cell is the same."""
        of_copy = {
            name: f"?{self.part.shifted(name, 'c.copy')}" for name in (*self.key, self.column)
        }
        same = [f"t.{name} IS NOT DISTINCT FROM {of_copy[name]}" for name in self.key]
        if isinstance(self.value, float):  # sums depend on the order of their rows
            same.append(f"abs(t.{self.column} - ?) <= {_EXACT} * greatest(1, abs(?))")
        else:
            same.append(f"t.{self.column} IS NOT DISTINCT FROM {of_copy[self.column]}")
        values = [self.value] * (2 if isinstance(self.value, float) else 1)
        query = (
            f"SELECT c.copy FROM range({copies}) AS c(copy) "  # noqa: S608 - our own names
            f"WHERE EXISTS (SELECT 1 FROM main.target AS t WHERE {' AND '.join(same)})"
        )
        return query, [*self.key.values(), *values]


def _groups(rows: Sequence[int]) -> Iterator[set[int]]:
    """Groups of rows of which, for any two rows, one has the first and not the second."""
    if not rows:
        return
    if len(rows) <= _ALONE:
        yield from ({row} for row in rows)
    for bit in range((len(rows) - 1).bit_length()):
        for side in (0, 1):
            yield {row for number, row in enumerate(rows) if number >> bit & 1 == side}
    yield set(rows)
