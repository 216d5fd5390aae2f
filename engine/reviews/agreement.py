"""How far two reviewers agree: raw, Cohen's kappa, Gwet's AC1 and AC2, with intervals.

Standard errors by linearisation: the derivative of each figure with respect to one item. For kappa
that is the large-sample error of Fleiss, Cohen and Everitt (1969), for AC1 and AC2 Gwet's (2008),
both with n − 1. Items of one task are not independent: with `clusters` their contributions are
added up before they are squared (and Student's t has the number of clusters less one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from engine.reviews.state import State
from engine.reviews.verdicts import ANSWERS

LEVEL = 0.95
_ORDERED = ANSWERS[:3]
"""AC2 weighs how far answers are apart; "cannot judge" is on no scale and left out there."""
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """An estimate with its interval."""

    value: float | None
    """None where it is not defined (nothing to compare, or no variation)."""
    low: float | None
    """Lower end of the 95 % interval; None where too few items or tasks tell of variation."""
    high: float | None
    """Upper end."""
    standard_error: float | None
    """Of the value."""
    items: int
    """How many pairs of verdicts went in."""


@dataclass(frozen=True)
class Agreement:
    """The figures of one pair of reviewers, or of all pairs."""

    reviewers: tuple[str, ...]
    """Two authors; empty for all pairs together."""
    tasks: int
    """How many tasks."""
    raw: Figure
    """Share of items with the same verdict."""
    kappa: Figure
    """Cohen's, unweighted."""
    ac1: Figure
    """Gwet's, unweighted."""
    ac2: Figure
    """Gwet's, with linear weights on agree – concern – disagree."""


@dataclass(frozen=True)
class Pair:
    """Two first verdicts on one item."""

    reviewers: tuple[str, str]
    """Authors, sorted."""
    task: str
    """Its name."""
    item: str
    """Of the checklist."""
    answers: tuple[str, str]
    """Verdicts, in the order of `reviewers`."""


def pairs_of(state: State, task: str | None = None) -> tuple[Pair, ...]:
    """All pairs of revealed first verdicts that were given blind."""
    found = []
    for assignment in state.assignments.values():
        if not assignment.revealed or task not in (None, assignment.body.task):
            continue
        blind = {a: r.verdicts for a, r in assignment.reviews.items() if r.blind and r.verdicts}
        for one, two in combinations(sorted(blind), 2):
            found += [
                Pair(
                    (one, two),
                    assignment.body.task,
                    item,
                    (blind[one][item].verdict, blind[two][item].verdict),
                )
                for item in assignment.body.items
            ]
    return tuple(found)


def agreements(pairs: Sequence[Pair]) -> tuple[Agreement, ...]:
    """The figures of each pair of reviewers, and of all together (first).

    Over all pairs kappa is that of the pooled table: who is called first is by fingerprint.
    """
    everybody = sorted({pair.reviewers for pair in pairs})
    groups: list[tuple[tuple[str, ...], list[Pair]]] = [((), list(pairs))]
    groups += [(who, [p for p in pairs if p.reviewers == who]) for who in everybody]
    return tuple(_agreement(who, found) for who, found in groups)


def _agreement(who: tuple[str, ...], pairs: list[Pair]) -> Agreement:
    answers = [pair.answers for pair in pairs]
    tasks = [pair.task for pair in pairs]
    ordered = [pair for pair in pairs if set(pair.answers) <= set(_ORDERED)]
    linear = linear_weights(len(_ORDERED))
    return Agreement(
        who,
        len(set(tasks)),
        raw(answers, clusters=tasks),
        kappa(answers, ANSWERS, clusters=tasks),
        gwet(answers, ANSWERS, clusters=tasks),
        gwet(
            [p.answers for p in ordered],
            _ORDERED,
            weights=linear,
            clusters=[p.task for p in ordered],
        ),
    )


def linear_weights(categories: int) -> _Floats:
    """1 on the diagonal, falling to 0 for the categories farthest apart."""
    at = np.arange(categories)
    return np.asarray(1 - np.abs(at[:, None] - at[None, :]) / (categories - 1), dtype=np.float64)


def raw(answers: Sequence[tuple[str, str]], *, clusters: Sequence[str] = ()) -> Figure:
    """Share of items on which both say the same, with Wilson's interval.

    Where items of one task go together, it is that of as many independent items as tell as much.
    """
    n = len(answers)
    if not n:
        return Figure(None, None, None, None, 0)
    same = np.array([one == two for one, two in answers], dtype=np.float64)
    share = float(same.mean())
    error = _figure(share, same - share, clusters).standard_error
    size = min(n, share * (1 - share) / error**2) if error else float(n)
    z = float(ndtri((1 + LEVEL) / 2))
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return Figure(share, max(0.0, middle - half), min(1.0, middle + half), error, n)


def kappa(
    answers: Sequence[tuple[str, str]],
    categories: Sequence[str],
    *,
    weights: _Floats | None = None,
    clusters: Sequence[str] = (),
) -> Figure:
    """Cohen's kappa; undefined where chance alone would agree always."""
    if not answers:
        return Figure(None, None, None, None, 0)
    w = np.eye(len(categories)) if weights is None else weights
    one, two = _coded(answers, categories)
    first, second = _shares(one, len(categories)), _shares(two, len(categories))
    observed: _Floats = np.asarray(w[one, two], dtype=np.float64)
    chance = float(first @ w @ second)
    slope = (w @ second)[one] + (first @ w)[two] - 2 * chance
    return _corrected(observed, chance, slope, clusters)


def gwet(
    answers: Sequence[tuple[str, str]],
    categories: Sequence[str],
    *,
    weights: _Floats | None = None,
    clusters: Sequence[str] = (),
) -> Figure:
    """Gwet's AC1, or AC2 where weights are given."""
    if not answers:
        return Figure(None, None, None, None, 0)
    q = len(categories)
    w = np.eye(q) if weights is None else weights
    one, two = _coded(answers, categories)
    shares = (_shares(one, q) + _shares(two, q)) / 2
    scale = float(w.sum()) / (q * (q - 1))
    observed: _Floats = np.asarray(w[one, two], dtype=np.float64)
    chance = scale * float((shares * (1 - shares)).sum())
    tilt = 1 - 2 * shares
    slope = scale * ((tilt[one] + tilt[two]) / 2 - float(tilt @ shares))
    return _corrected(observed, chance, slope, clusters)


def _corrected(observed: _Floats, chance: float, slope: _Floats, clusters: Sequence[str]) -> Figure:
    """(observed − chance) / (1 − chance), and its linearisation per item."""
    if np.isclose(chance, 1.0):
        return Figure(None, None, None, None, len(observed))
    mean = float(observed.mean())
    value = (mean - chance) / (1 - chance)
    parts = (observed - mean) / (1 - chance) - (1 - value) / (1 - chance) * slope
    return _figure(value, parts, clusters)


def _figure(value: float, parts: _Floats, clusters: Sequence[str]) -> Figure:
    n = len(parts)
    groups = len(set(clusters))
    if groups > 1:
        _, where = np.unique(np.asarray(clusters), return_inverse=True)
        parts = np.asarray(np.bincount(where, weights=parts), dtype=np.float64)
    m = len(parts)
    if m < 2:  # noqa: PLR2004 - one says nothing of how it varies
        return Figure(value, None, None, None, n)
    error = float(np.sqrt(m / (m - 1) * np.square(parts).sum()) / n)
    if np.isclose(error, 0.0):  # all alike: how it varies cannot be told from these
        return Figure(value, None, None, None, n)
    reach = float(stdtrit(m - 1, (1 + LEVEL) / 2)) * error
    return Figure(value, max(-1.0, value - reach), min(1.0, value + reach), error, n)


def _coded(
    answers: Sequence[tuple[str, str]], categories: Sequence[str]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    at = {name: number for number, name in enumerate(categories)}
    one = np.array([at[a] for a, _ in answers], dtype=np.intp)
    two = np.array([at[b] for _, b in answers], dtype=np.intp)
    return one, two


def _shares(coded: npt.NDArray[np.intp], categories: int) -> _Floats:
    return np.asarray(np.bincount(coded, minlength=categories) / len(coded), dtype=np.float64)
