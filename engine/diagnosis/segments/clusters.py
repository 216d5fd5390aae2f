"""Rows of one patient are alike: how many independent ones do so many of them stand for?

A table with a row per hour has hundreds of rows of each patient; counted as independent they would
make any two patients with a mistake a finding. Counts are divided by the design effect
1 + (m - 1) r (Donner and Klar 2000), with m the size of the clusters weighted by size and r the
intracluster correlation of the column's mismatches (Fleiss' estimator from the analysis of
variance, as Ridout, Demétrio and Firth 1999 give it). With one row per patient nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """A group of rows and the rows outside it, by patient."""

    effects: tuple[float, float]
    """Design effects in the group and outside, 1 or more."""
    people: tuple[int, int, int, int]
    """Patients in the group, with mismatches in it, and the same outside."""


@dataclass(frozen=True)
class Clusters:
    """The rows of one column, by patient."""

    people: Codes
    """Number of the patient of each row, from 0."""
    wrong: Flags
    """Which rows mismatch."""
    correlation: float
    """The intracluster correlation of `wrong`, 0 to 1."""

    @staticmethod
    def of(people: Codes, wrong: Flags) -> Clusters:
        """Clusters with their correlation."""
        return Clusters(people, wrong, correlation(people, wrong))

    def split(self, inside: Flags) -> Split:
        """What the patients say of a group of rows."""
        sizes = np.bincount(self.people).astype(float)
        here = np.bincount(self.people, weights=inside, minlength=sizes.size).astype(float)
        guilty = self.people[self.wrong]
        bad = np.bincount(guilty, minlength=sizes.size).astype(float)
        bad_here = np.bincount(guilty, weights=inside[self.wrong], minlength=sizes.size)
        each = (here, bad_here, sizes - here, bad - bad_here)
        a, b, c, d = (int(np.count_nonzero(counts)) for counts in each)
        return Split((self._effect(here), self._effect(sizes - here)), (a, b, c, d))

    def _effect(self, sizes: npt.NDArray[np.floating[Any]]) -> float:
        total = sizes.sum()
        if not total:
            return 1.0
        return float(max(1.0, 1 + ((sizes**2).sum() / total - 1) * self.correlation))


def correlation(people: Codes, wrong: Flags) -> float:
    """The intracluster correlation of a yes or no, 0 to 1; 0 where each patient has one row."""
    sizes = np.bincount(people).astype(float)
    hits = np.bincount(people, weights=wrong.astype(float), minlength=sizes.size)
    sizes, hits = sizes[sizes > 0], hits[sizes > 0]
    rows, clusters = sizes.sum(), sizes.size
    if clusters < 2 or rows <= clusters:  # noqa: PLR2004 - nothing between, or nothing within
        return 0.0
    usual = (rows - (sizes**2).sum() / rows) / (clusters - 1)
    shares, whole = hits / sizes, hits.sum() / rows
    between = (sizes * (shares - whole) ** 2).sum() / (clusters - 1)
    within = (sizes * shares * (1 - shares)).sum() / (rows - clusters)
    spread = between + (usual - 1) * within
    return float(np.clip((between - within) / spread, 0, 1)) if spread > 0 else 0.0
