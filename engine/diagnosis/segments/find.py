"""Groups of stays in which mismatches are commoner than elsewhere.

Numbers are cut at their quintiles; of pairs only those are tried whose single groups stand out or
hold many mismatches. The interval is Newcombe's for the difference of two proportions (the hybrid
of Wilson's), at a level divided by the number of groups tested (Bonferroni); p is Fisher's exact
test, adjusted after Benjamini and Yekutieli, since groups overlap and depend on each other. Both
rest on counts divided by a design effect, since rows of one patient are alike (`clusters`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from engine.base.jobs import Job
from engine.diagnosis.model import Rows, Segment
from engine.diagnosis.segments.clusters import Clusters, Split
from engine.diagnosis.segments.features import Feature
from engine.diagnosis.signatures.candidate import RowList, ranges
from engine.diagnosis.table import Table

LEVEL = 0.05
"""Of all tests together."""
MOST = 12
"""Groups told per column."""
_LEAST_ROWS = 5
"""Rows, and patients, of a group that is tested."""
_LEAST_WRONG = 3
"""Of these, with mismatches."""
_LEVELS = 12
_BINS = 5
_SINGLES = 12
"""Groups that pairs are made of."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Group:
    names: tuple[str, ...]
    levels: tuple[str, ...]
    inside: Flags


@dataclass(frozen=True)
class _Tested:
    group: _Group
    wrong: int
    size: int
    split: Split
    p: float


def find_segments(
    table: Table, features: Sequence[Feature], job: Job | None
) -> tuple[Segment, ...]:
    """The groups of every column with mismatches, and of the keys; ``memory.features`` is there."""
    if not features:
        return ()
    fetched = table.con.execute("SELECT * FROM memory.features ORDER BY row").df()
    rows = fetched["row"].to_numpy(dtype=np.int64)
    people = np.unique(fetched["person"].astype(str).to_numpy(dtype=str), return_inverse=True)[1]
    groups = [
        group for n, feature in enumerate(features) for group in _groups(feature, fetched[f"f{n}"])
    ]
    found: list[Segment] = []
    questions: list[tuple[str | None, str, str]] = [
        (c.name, f"s{c.position} IN (2, 3, 4) AND key_status = 0", "key_status = 0")
        for c in table.columns
        if c.wrong and not c.lacking
    ]
    if any(table.by_key[1:]):
        questions.append((None, "key_status > 0", "true"))
    for number, (column, wrong, asked) in enumerate(questions):
        if job is not None:
            job.check()
            job.progress("segments", number, len(questions), column or "keys")
        answered = table.con.execute(
            f"SELECT row, ({wrong}) AS wrong FROM diff WHERE {asked} ORDER BY row"  # noqa: S608 - our own SQL
        ).fetchnumpy()
        at = np.searchsorted(rows, answered["row"])
        at = np.minimum(at, max(0, rows.size - 1))
        known = rows[at] == answered["row"] if rows.size else np.zeros(0, dtype=bool)
        is_wrong = np.asarray(answered["wrong"], dtype=bool)[known]
        clusters = Clusters.of(people[at[known]], is_wrong)
        found += _column(column, rows[at[known]], is_wrong, _picked(groups, at[known]), clusters)
    return tuple(sorted(found, key=lambda s: (s.p, -s.covered)))


def _picked(groups: Sequence[_Group], at: npt.NDArray[np.intp]) -> list[_Group]:
    return [_Group(g.names, g.levels, g.inside[at]) for g in groups]


def _groups(feature: Feature, column: pd.Series[Any]) -> list[_Group]:
    known = column.notna().to_numpy(dtype=bool)
    name = (feature.name,)
    groups: list[_Group] = []
    if feature.kind == "flag":
        yes = known.copy()
        yes[known] = column[known].to_numpy(dtype=bool)
        groups = [_Group(name, ("yes",), yes), _Group(name, ("no",), known & ~yes)]
    elif feature.kind == "category":
        texts = column.astype(str).to_numpy(dtype=str)
        levels, counts = np.unique(texts[known], return_counts=True)
        for level in levels[np.argsort(-counts)][:_LEVELS]:
            groups.append(_Group(name, (str(level),), known & (texts == level)))
    else:
        numbers = np.full(known.size, np.nan)
        numbers[known] = column[known].to_numpy(dtype=float)
        if known.any():
            edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, _BINS + 1)))
            for low, high in itertools.pairwise(edges):
                last = high == edges[-1]
                inside = known & (numbers >= low) & ((numbers <= high) if last else numbers < high)
                # The lowest and the highest value are somebody's: they are not said.
                said = f"{low:.3g} to under {high:.3g}"
                if last:
                    said = f"{low:.3g} or more"
                elif low == edges[0]:
                    said = f"under {high:.3g}"
                groups.append(_Group(name, (said,), inside))
    if not known.all():
        groups.append(_Group(name, ("unknown",), ~known))
    return groups


def _column(
    column: str | None,
    rows: RowList,
    wrong: Flags,
    groups: Sequence[_Group],
    clusters: Clusters,
) -> list[Segment]:
    total, bad = int(wrong.size), int(wrong.sum())
    if bad < _LEAST_WRONG or bad == total:
        return []
    tested = [t for g in groups if (t := _test(g, wrong, clusters)) is not None]
    leading = sorted(tested, key=lambda t: (t.p, -t.wrong))[:_SINGLES]
    pairs = [
        _Group((*a.group.names, *b.group.names), (*a.group.levels, *b.group.levels), both)
        for a, b in itertools.combinations(leading, 2)
        if a.group.names != b.group.names
        and (both := a.group.inside & b.group.inside).sum() not in (a.size, b.size)
    ]
    tested += [t for g in pairs if (t := _test(g, wrong, clusters)) is not None]
    if not tested:
        return []
    from scipy import stats  # noqa: PLC0415 - takes 20 MB, only here

    adjusted = stats.false_discovery_control([t.p for t in tested], method="by")
    found = []
    for t, p in zip(tested, adjusted, strict=True):
        share, base = t.wrong / t.size, (bad - t.wrong) / (total - t.size)
        if p > LEVEL or share <= base:
            continue
        inside = t.group.inside
        found.append(
            Segment(
                column=column,
                features=t.group.names,
                levels=t.group.levels,
                words=" and ".join(
                    _said(n, level) for n, level in zip(t.group.names, t.group.levels, strict=True)
                ),
                rows=ranges(rows[inside]),
                mismatches=ranges(rows[inside & wrong]),
                share=share,
                base=base,
                ratio=share / base if base else None,
                covered=t.wrong / bad,
                difference=_interval(t, bad, total, LEVEL / len(tested)),
                p=float(p),
                people=t.split.people,
            )
        )
    return _plainest(found)[:MOST]


def _said(name: str, level: str) -> str:
    if level in ("yes", "no"):
        is_event = name.startswith(("first ", "died ", "elective "))
        return name if level == "yes" else f"not {name}" if is_event else f"no {name}"
    return f"{name} {level}"


def _plainest(found: list[Segment]) -> list[Segment]:
    """Without pairs that say no more than one of their two groups."""
    singles = {(s.features, s.levels): s for s in found if len(s.features) == 1}
    kept = []
    for s in sorted(found, key=lambda s: (s.p, -s.covered)):
        parts = [
            singles.get(((name,), (level,)))
            for name, level in zip(s.features, s.levels, strict=True)
        ]
        better = all(one is None or s.p < one.p for one in parts)
        if len(s.features) == 1 or better:
            kept.append(s)
    return kept


def _interval(t: _Tested, bad: int, total: int, level: float) -> tuple[float, float]:
    here, there = t.split.effects
    return newcombe(
        t.wrong / here, t.size / here, (bad - t.wrong) / there, (total - t.size) / there, level
    )


def _test(group: _Group, wrong: Flags, clusters: Clusters) -> _Tested | None:
    size = int(group.inside.sum())
    if size < _LEAST_ROWS or size == wrong.size:
        return None
    bad = int((group.inside & wrong).sum())
    if bad < _LEAST_WRONG:
        return None
    split = clusters.split(group.inside)
    if split.people[0] < _LEAST_ROWS or split.people[1] < _LEAST_WRONG:
        return None
    from scipy import stats  # noqa: PLC0415 - as above

    rest, rest_bad = int(wrong.size) - size, int(wrong.sum()) - bad
    here, there = split.effects
    table = [
        [round(bad / here), round((size - bad) / here)],
        [round(rest_bad / there), round((rest - rest_bad) / there)],
    ]
    return _Tested(group, bad, size, split, float(stats.fisher_exact(table).pvalue))


def wilson(part: float, whole: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a proportion at the error `level`."""
    z = float(ndtri(1 - level / 2))
    share = part / whole
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = (
        z
        * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
        / (1 + z * z / whole)
    )
    return middle - half, middle + half


def newcombe(a: float, n: float, b: float, m: float, level: float) -> tuple[float, float]:
    """Newcombe's interval of a/n - b/m at the error `level`."""
    p, q = a / n, b / m
    low_p, high_p = wilson(a, n, level)
    low_q, high_q = wilson(b, m, level)
    difference = p - q
    return (
        difference - math.hypot(p - low_p, high_q - q),
        difference + math.hypot(high_p - p, q - low_q),
    )


__all__ = ["Rows", "find_segments", "newcombe", "wilson"]
