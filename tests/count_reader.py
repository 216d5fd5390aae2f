"""Somebody who knows how counts hang together, and asks how far small ones are pinned down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from engine.base.disclosure import SMALL


@dataclass
class Reader:
    """What somebody can make of counts that are told."""

    names: dict[str, int] = field(default_factory=dict)
    truth: list[int] = field(default_factory=list)
    ranges: list[tuple[float, float]] = field(default_factory=list)
    sums: list[dict[str, int]] = field(default_factory=list)

    def sees(self, name: str, truth: int, told: object = None, *, silent: bool = False) -> None:
        """A count; `silent` where nothing is told of it."""
        low, high = (0.0, np.inf) if silent or told is None else read(told)
        assert low <= truth <= high, (name, truth, told)
        if not silent and isinstance(told, int):
            assert told == 0 or told >= SMALL, name
        self.names[name] = len(self.truth)
        self.truth.append(truth)
        self.ranges.append((low, high))

    def adds(self, whole: str, parts: Sequence[str], *, rest: str = "") -> None:
        """A sum that the reader knows of."""
        missing = self.truth[self.names[whole]] - sum(self.truth[self.names[p]] for p in parts)
        listed = list(parts)
        if rest:
            assert missing >= 0, whole
            self.sees(rest, missing, silent=True)
            listed.append(rest)
        else:
            assert missing == 0, whole
        weights: dict[str, int] = {whole: -1}
        for part in listed:
            weights[part] = weights.get(part, 0) + 1
        self.sums.append(weights)

    def pinned(self) -> dict[str, tuple[int, float, float]]:
        """Small counts that are known too well: truth, least, most."""
        matrix = np.zeros((len(self.sums), len(self.names)))
        for row, weights in enumerate(self.sums):
            for name, times in weights.items():
                matrix[row, self.names[name]] = times
        ranges = np.array(self.ranges)
        found: dict[str, tuple[int, float, float]] = {}
        for name, at in self.names.items():
            if not 0 < self.truth[at] < SMALL:
                continue
            ends = []
            for sign in (1, -1):
                wanted = np.zeros(len(self.names))
                wanted[at] = sign
                solved = milp(
                    wanted,
                    integrality=np.ones(len(self.names)),
                    bounds=Bounds(ranges[:, 0], ranges[:, 1]),
                    constraints=LinearConstraint(matrix, 0, 0),
                )
                ends.append(sign * solved.fun if solved.success else np.inf)
            if ends[1] - ends[0] < SMALL - 2:
                found[name] = (self.truth[at], ends[0], ends[1])
        return found


def read(told: object) -> tuple[float, float]:
    """What a told count says."""
    if isinstance(told, int):
        return told, told
    text = str(told)
    if text.startswith("<"):
        return 1, int(text[1:]) - 1
    low, high = text.split("–")
    return int(low), int(high)
