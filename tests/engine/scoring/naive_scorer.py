"""The scoring contract written down as simply as possible: pandas reads, loops do the rest.

Slow, and separate from the scorer on purpose: it shares no code with it.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from engine.catalogue.task import TableEvaluation

LOOKS_LIKE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}|T\d{2}:|\d:\d{2}", re.ASCII)


@dataclass
class Naive:
    reward: float = 0.0
    match_rates: dict[str, float] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    total: int = 0
    key_precision: float = 0.0
    key_recall: float = 0.0
    key_f1: float = 0.0
    extra_keys: int = 0
    duplicate_keys: int = 0
    missing_keys: int = 0
    ordered_nmae: float | None = None
    strict: list[bool] = field(default_factory=list)
    as_text: set[str] = field(default_factory=set)
    rows: list[tuple[str, list[str]]] = field(default_factory=list)
    """Key status and cell statuses: reference rows in order, extra ones, further ones."""


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)


def numbers(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return pd.Series(float("nan"), index=column.index)
    return pd.to_numeric(column, errors="coerce")


def times(column: pd.Series) -> pd.Series:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "could not infer format"
        try:
            return pd.to_datetime(column, errors="coerce", utc=True)
        except TypeError:  # booleans
            return pd.Series(pd.NaT, index=column.index)


def key_parts(column: pd.Series) -> list[Any]:
    """Each value as (kind, value); kind is decided over the whole column."""
    there = column.notna()
    if not there.any():
        return [None] * len(column)
    for kind, parsed in (("number", numbers(column)), ("time", times(column))):
        if parsed[there].notna().all():
            return [
                (kind, int(v) if kind == "number" and v == v // 1 else v) if ok else None
                for v, ok in zip(parsed.tolist(), there, strict=True)
            ]
    return [("text", str(v)) if ok else None for v, ok in zip(column.tolist(), there, strict=True)]


def keys_of(table: pd.DataFrame, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return list(zip(*(key_parts(table[name]) for name in names), strict=True))


def naive_score(evaluation: TableEvaluation, output: Path, reference: Path) -> Naive:
    truth, agent = read(reference), read(output)
    truth_keys = keys_of(truth, evaluation.key_columns)
    agent_keys = keys_of(agent, evaluation.key_columns)
    assert len(set(truth_keys)) == len(truth_keys)
    first: dict[tuple[Any, ...], int] = {}
    later: list[int] = []
    for position, key in enumerate(agent_keys):
        if key in first:
            later.append(position)
        else:
            first[key] = position
    extra = [key for key in first if key not in set(truth_keys)]
    found = [key for key in truth_keys if key in first]
    out = Naive()
    out.duplicate_keys, out.extra_keys = len(later), len(extra)
    out.missing_keys = len(truth_keys) - len(found)
    out.total = len(truth) + len(extra) + len(later)
    places = [first.get(key, -1) for key in truth_keys]
    statuses: dict[str, list[str]] = {}
    for name in evaluation.scored_columns:
        statuses[name] = column_statuses(out, evaluation, name, truth, agent, places)
        good = ("equal", "within tolerance", "both null")
        out.matched[name] = sum(s in good for s in statuses[name])
        out.match_rates[name] = out.matched[name] / out.total
    out.reward = sum(out.match_rates.values()) / len(out.match_rates)
    out.key_precision = len(found) / len(first) if first else 0.0
    out.key_recall = len(found) / len(truth_keys)
    if found:
        p, r = out.key_precision, out.key_recall
        out.key_f1 = 2 * p * r / (p + r)
    out.ordered_nmae = naive_nmae(evaluation, truth, agent, places)
    out.strict = [
        True,
        len(agent) > 0,
        all(name in agent.columns for name in evaluation.required),
        out.key_recall >= evaluation.row_coverage_threshold,
        *(rate >= evaluation.accuracy_threshold for rate in out.match_rates.values()),
    ]
    for i, place in enumerate(places):
        row = [statuses[name][i] for name in evaluation.scored_columns]
        out.rows.append(("missing" if place < 0 else "matched", row))
    nothing = ["no reference value"] * len(statuses)
    out.rows += [("extra", nothing)] * len(extra) + [("duplicate", nothing)] * len(later)
    return out


def column_statuses(  # noqa: C901, PLR0912, PLR0917  (the definition in one piece)
    out: Naive,
    evaluation: TableEvaluation,
    name: str,
    truth: pd.DataFrame,
    agent: pd.DataFrame,
    places: list[int],
) -> list[str]:
    if name not in agent.columns:
        return ["no agent value"] * len(truth)
    tolerance = evaluation.tolerance.get(name, 0.0)
    t = truth[name]
    a = agent[name].reindex(places).reset_index(drop=True)
    both = t.notna() & a.notna()
    t_numbers, a_numbers = numbers(t), numbers(a)
    kind = "text"
    if t_numbers[t.notna()].notna().all():
        if a_numbers[both].notna().all():
            kind = "number"
        else:
            out.as_text.add(name)
    elif any(LOOKS_LIKE_TIME.search(str(v)) for v in t.dropna().head(50)):
        t_times, a_times = times(t), times(a)
        if t_times[t.notna()].notna().all():
            if a_times[both].notna().all():
                kind = "time"
            else:
                out.as_text.add(name)
    result = []
    for i, place in enumerate(places):
        if place < 0:
            status = "no agent value"
        elif pd.isna(t[i]):
            status = "both null" if pd.isna(a[i]) else "reference null"
        elif pd.isna(a[i]):
            status = "agent null"
        elif kind == "text":
            status = "equal" if str(t[i]) == str(a[i]) else "different"
        else:
            if kind == "number":
                x, y = t_numbers[i], a_numbers[i]
                distance = 0.0 if x == y else abs(float(x) - float(y))
            else:
                distance = abs((t_times[i] - a_times[i]).total_seconds())
            status = "equal" if distance == 0 else "different"
            if 0 < distance <= tolerance:
                status = "within tolerance"
        result.append(status)
    return result


def naive_nmae(
    evaluation: TableEvaluation, truth: pd.DataFrame, agent: pd.DataFrame, places: list[int]
) -> float | None:
    means = []
    for name in evaluation.value_columns:
        t = numbers(truth[name])
        if name in ("ventilation_status", "specimen") or t.notna().sum() < truth[name].count():
            continue
        values = [float(v) for v in t.dropna()]
        scale = (max(values) - min(values)) if values else 0.0
        scale = scale or 1.0
        a = numbers(agent[name]) if name in agent.columns else None
        errors = []
        for i, place in enumerate(places):
            if place < 0:
                continue
            if a is None:
                errors.append(1.0)
                continue
            x, y = float(t[i]), float(a[place])
            if math.isnan(x) and math.isnan(y):
                errors.append(0.0)
            elif math.isnan(x) or math.isnan(y):
                errors.append(1.0)
            else:
                errors.append(0.0 if x == y else min(abs(x - y) / scale, 1.0))
        if errors:
            means.append(sum(errors) / len(errors))
    return sum(means) / len(means) if means else None
