"""Which of the changes that were tried on a few patients are tried on many."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from engine.diagnosis.recompute.mutation import Mutation

FINALISTS = 6
"""Changes of a column that come into the second round."""
OWN = 2
"""Mismatches that no better change explains, from which on a change is looked at too."""


@dataclass(frozen=True)
class Scored:
    """How a change did on a few patients."""

    mutation: Mutation
    number: int
    """Its place among those that are tried."""
    cells: Set[tuple[int, int]]
    """Position and row of what it explains."""
    broken: int
    """Cells that were right and would not be any more."""

    @property
    def score(self) -> int:
        """Cells explained less cells broken."""
        return len(self.cells) - self.broken


@dataclass
class Promoted:
    """Which changes come into the second round."""

    best: int = 0
    """The best score so far."""
    covered: set[tuple[int, int]] = field(default_factory=set)
    """What those that were taken explain."""

    def take(self, scored: Sequence[Scored]) -> list[Mutation]:
        """Those that do at least half as well as the best, or explain what no other does."""
        chosen: list[Mutation] = []
        for one in sorted(scored, key=lambda s: (-s.score, s.number)):
            new = len(one.cells - self.covered)
            if len(chosen) < FINALISTS and (one.score * 2 >= self.best or new - one.broken >= OWN):
                chosen.append(one.mutation)
                self.best = max(self.best, one.score)
                self.covered |= one.cells
        return chosen
