"""Which counts may be told together, so that no small one can be worked out from the others.

A count from 1 to 10 is told as ``<11``. That alone hides nothing where it is what is missing from a
sum, or where a part and its whole are told and the rest is small. So whoever tells counts enters
them here with the sums that hold between them, those that are not told included; for every small
count the range that a reader could work out from all that is told is computed (by integer
programming), and where it is narrower than 1 to 10 a count beside it is told as a range, or not at
all, until it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALL = 11
"""Counts from 1 up to here - 1 are not told."""
BLOCK = 20
"""Width of the range that is told instead of a count."""

_HUNDRED = 100
_NEAR = 1e-6
"""Of a whole number."""
_WAYS = 400
"""In which the counts could be, that are kept."""

Told = int | str | None
"""A count, ``"<11"``, a range such as ``"120–139"``, or None where it is not told."""
_EXACT, _RANGE, _WITHHELD = range(3)


@dataclass
class _Cell:
    value: int
    is_told: bool
    keep: int
    may_range: bool
    is_public: bool
    is_slack: bool = False
    level: int = _EXACT
    least: int = _EXACT
    """It is never told more exactly than this level."""

    @property
    def is_small(self) -> bool:
        return 0 < self.value < SMALL and not self.is_public and not self.is_slack

    @property
    def range(self) -> tuple[float, float]:
        """What a reader knows of it."""
        if not self.is_told or self.level == _WITHHELD:
            return 0, np.inf
        if self.is_small:
            return 1, SMALL - 1
        if self.level == _RANGE:
            low = self.value // BLOCK * BLOCK
            return low, low + BLOCK - 1
        return self.value, self.value


class Ledger:
    """Counts that are told together, and what sums hold between them."""

    def __init__(self) -> None:
        self._cells: dict[str, _Cell] = {}
        self._sums: list[dict[str, int]] = []
        self._by_name: dict[str, list[int]] = {}
        self._is_whole = False
        self._place: dict[str, int] = {}
        self._seen: list[np.ndarray[Any, np.dtype[np.float64]]] = []
        """Ways in which all counts could be: what they show need not be worked out again."""
        self._ranges = np.zeros((0, 2))
        self._check: Callable[[], object] = bool

    def count(
        self,
        name: str,
        value: int,
        *,
        told: bool = True,
        keep: int = 1,
        ranged: bool = True,
        coarse: bool = False,
        public: bool = False,
        slack: bool = False,
    ) -> str:
        """Enter a count; the same name again is the same count.

        Args:
            name: its name in here.
            value: the count, from 0.
            told: it is to be told; else it only stands in sums.
            keep: of the counts that could be held back, those with the least go first; under 0
                they are not given back.
            ranged: it may be told as a range; else it is told or not.
            coarse: it is told as a range at best, whatever else is told.
            public: it is known anyway: never held back, however small.
            slack: it counts nothing and only fills up a sum that is an inequality.
        """
        if name not in self._cells:
            cell = _Cell(value, told or public, keep, ranged, public, slack)
            cell.least = _EXACT if not coarse else _RANGE if ranged else _WITHHELD
            cell.level = cell.least
            self._cells[name] = cell
        return name

    def total(
        self, whole: str, parts: Mapping[str, int] | Iterable[str], *, rest: str = ""
    ) -> None:
        """Say that a count is the sum of others; nothing where it was not entered itself.

        Args:
            whole: the sum.
            parts: the parts, perhaps with how often each counts; what was not entered is 0.
            rest: name of a further part, which is not told and makes up for what is missing;
                not entered where nothing is.
        """
        listed = dict(parts) if isinstance(parts, Mapping) else dict.fromkeys(parts, 1)
        weights = {name: times for name, times in listed.items() if name in self._cells}
        if whole not in self._cells:
            return
        missing = self._cells[whole].value - sum(
            self._cells[name].value * times for name, times in weights.items()
        )
        if rest and missing > 0:  # where nothing is missing, a reader may know it
            weights[self.count(rest, missing, told=False)] = 1
            missing = 0
        if missing == 0:
            self._sums.append({**weights, whole: -1})

    def settle(self, check: Callable[[], object] = bool) -> None:
        """Hold back what must be held back, and no more.

        Args:
            check: called every now and then; what it raises ends the work.
        """
        self._check = check
        small = [name for name, cell in self._cells.items() if cell.is_small]
        self._place = {name: number for number, name in enumerate(self._cells)}
        self._ranges = np.array([cell.range for cell in self._cells.values()], dtype=float)
        self._by_name = {name: [] for name in self._cells}
        for number, weights in enumerate(self._sums):
            for name in weights:
                self._by_name[name].append(number)
        held = self._hold_back(small)
        for victim in sorted(set(held), key=lambda n: -self._cells[n].keep):
            self._give_back(victim, small)
        # Until here counts could be any numbers, which is quicker; now they are whole.
        self._is_whole = True
        self._hold_back(small)

    def _hold_back(self, small: Iterable[str]) -> list[str]:
        """Hold back until every small count is hidden; returns what was held back."""
        held: list[str] = []
        for name in small:
            # What is held back later can only hide more: one pass is enough.
            while not self._is_hidden(name):
                victim = self._victim(name)
                if victim is None:
                    break  # nothing is left that tells of it
                beside = self._cells[victim]
                can_range = beside.level == _EXACT and beside.may_range and not beside.is_small
                self._tell(victim, _RANGE if can_range else _WITHHELD)
                held.append(victim)
        return held

    def _give_back(self, victim: str, small: Iterable[str]) -> None:
        """Tell a count more exactly after all, where the others that are held back are enough."""
        cell = self._cells[victim]
        if cell.keep < 0:
            return
        beside = self._by_name[victim]
        levels = (_EXACT, _RANGE) if cell.may_range and not cell.is_small else (_EXACT,)
        for level in levels:
            before = cell.level
            if level < before and level >= cell.least:
                self._tell(victim, level)
                around = set(self._around(victim)[0])
                asked = [name for name in small if name in around]
                # What is beside it is what it gives away first.
                asked.sort(key=lambda name: not any(name in self._sums[n] for n in beside))
                if all(self._is_hidden(name) for name in asked):
                    return
                self._tell(victim, before)

    def _tell(self, name: str, level: int) -> None:
        cell = self._cells[name]
        cell.level = level
        self._ranges[self._place[name]] = cell.range

    def told(self, name: str) -> Told:
        """How a count is told."""
        cell = self._cells[name]
        if not cell.is_told or cell.level == _WITHHELD:
            return None
        if cell.is_small:
            return f"<{SMALL}"
        if cell.level == _RANGE:
            low, high = cell.range
            return f"{int(low)}–{int(high)}"
        return cell.value

    def value(self, name: str) -> int:
        """The count itself."""
        return self._cells[name].value

    def has(self, name: str) -> bool:
        """Was it entered?"""
        return name in self._cells

    def is_exact(self, name: str) -> bool:
        """Is it told as it is?"""
        return isinstance(self.told(name), int)

    def range(self, name: str) -> tuple[float, float]:
        """What is told of it, as the least and the most."""
        return self._cells[name].range

    def known(self, name: str) -> tuple[float, float]:
        """The least and the most that a count can be for all that is told."""
        return self._bounds(name)

    def _is_hidden(self, name: str) -> bool:
        self._check()
        if self._is_seen_hidden(name):
            return True
        low = self._end(name, 1)
        if low > 1 and self._cells[name].range == (1, SMALL - 1):
            return False
        return self._end(name, -1) - low >= SMALL - 2

    def _is_seen_hidden(self, name: str) -> bool:
        """Do two of the ways seen so far, which what is told allows, differ enough?"""
        if not self._seen:
            return False
        ways = np.array(self._seen)
        fit = ((ways >= self._ranges[:, 0]) & (ways <= self._ranges[:, 1])).all(axis=1)
        values = ways[fit, self._place[name]]
        return bool(values.size) and bool(np.ptp(values) >= SMALL - 2)

    def _see(self, names: Sequence[str], values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        """Keep a way in which the counts could be; those that are not named are as they are."""
        whole = np.round(values)
        if np.abs(values - whole).max() > _NEAR:
            return
        way = np.array([cell.value for cell in self._cells.values()], dtype=float)
        way[[self._place[one] for one in names]] = whole
        self._seen = [*self._seen[-_WAYS:], way]

    def _bounds(self, name: str) -> tuple[float, float]:
        return self._end(name, 1), self._end(name, -1)

    def _end(self, name: str, sign: int) -> float:
        """The least (1) or the most (-1) that a count can be for all that is told."""
        # Only here: it takes 35 MB, and a window that never reports has no use for it.
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

        names, sums = self._around(name)
        at = {one: number for number, one in enumerate(names)}
        ranges = np.array([self._cells[one].range for one in names], dtype=float)
        matrix = np.zeros((len(sums), len(names)))
        for row, weights in enumerate(sums):
            for one, times in weights.items():
                matrix[row, at[one]] = times
        # Where every part counts once, the ends are whole numbers by themselves.
        whole = np.full(len(names), int(self._is_whole and np.abs(matrix).max(initial=0) > 1))
        wanted = np.zeros(len(names))
        wanted[at[name]] = sign
        found = milp(
            wanted,
            integrality=whole,
            bounds=Bounds(ranges[:, 0], ranges[:, 1]),
            constraints=LinearConstraint(matrix, 0, 0) if sums else (),
        )
        # Without an end (status 3), or not solved in its time: no end.
        end = float(found.fun) * sign if found.success else sign * -np.inf
        if found.success and self._place:
            self._see(names, found.x)
        if sign < 0:
            return end
        return max(0.0, round(end) if np.isfinite(end) else 0.0)

    def _around(self, name: str) -> tuple[list[str], list[dict[str, int]]]:
        """What hangs together with a count through counts that are not told exactly."""
        names, sums, edge = [name], [], [name]
        seen = {name}
        taken: set[int] = set()
        while edge:
            now = edge.pop()
            for number in self._by_name.get(now, ()):
                if number in taken:
                    continue
                taken.add(number)
                weights = self._sums[number]
                sums.append(weights)
                for other in weights:
                    if other not in seen:
                        seen.add(other)
                        names.append(other)
                        low, high = self._cells[other].range
                        if low < high:
                            edge.append(other)
        return names, sums

    def _victim(self, name: str) -> str | None:
        """The count to hold back next: beside the small one first, then farther away."""
        _, sums = self._around(name)
        near = [weights for weights in sums if name in weights]
        for some, is_small in ((near, False), (sums, False), (near, True), (sums, True)):
            offered = {
                other
                for weights in some
                for other in weights
                if other != name
                and self._cells[other].is_told
                and self._cells[other].level < _WITHHELD
                and self._cells[other].is_small == is_small
                and not self._cells[other].is_public
            }
            if offered:
                return min(
                    offered,
                    key=lambda o: (
                        self._cells[o].keep,
                        self._cells[o].level,
                        -self._cells[o].value,
                        o,
                    ),
                )
        own = self._cells[name]
        return name if own.is_told and own.level < _WITHHELD else None


def fraction(ledger: Ledger, name: str, whole: float, exact: float) -> float | str | None:
    """A count by a whole, as its count is told: as it is, as a range in hundredths, or None.

    Args:
        ledger: where the count stands.
        name: its name.
        whole: what it is divided by.
        exact: what is told where the count is.
    """
    told = ledger.told(name)
    if isinstance(told, int):
        return exact
    if told is None or whole <= 0:
        return None
    low, high = (end / whole * _HUNDRED for end in ledger.range(name))
    return f"{math.floor(low) / _HUNDRED:.2f}–{min(_HUNDRED, math.ceil(high)) / _HUNDRED:.2f}"
