"""What runs will take, by what runs like them took. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from engine.catalogue.task import Task
from engine.runs.records import RunRequest


@dataclass(frozen=True, kw_only=True)
class Past:
    """A run that ended with a reward."""

    task: str
    """Name of the task."""
    agent: str
    """Name of the adapter."""
    model: str
    """Name of the model."""
    condition: str
    """What it was given."""
    seconds: float
    """From its start to its end."""
    input_tokens: int | None = None
    """Cached ones included; None where they were not counted."""
    cached_input_tokens: int | None = None
    """Of them, read from the cache."""
    output_tokens: int | None = None
    """Tokens out."""


@dataclass(frozen=True)
class Price:
    """What a model costs per million tokens, in the user's currency."""

    input: float
    """Tokens in."""
    output: float
    """Tokens out."""
    cached_input: float | None = None
    """Tokens in that came from the cache; as `input` when None."""

    def of(self, fresh: float, cached: float, out: float) -> float:
        """The cost of so many tokens."""
        cheaper = self.input if self.cached_input is None else self.cached_input
        return (fresh * self.input + cached * cheaper + out * self.output) / 1e6


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a number of runs will take, as far as the past tells."""

    runs: int
    """How many."""
    known: int
    """Of them, those whose agent was seen before: the sums below are over these alone."""
    exact: int
    """Of them, those whose very task, agent, model and condition was seen."""
    seconds: float
    """Run time of all of them, one after the other."""
    longest_seconds: float
    """Of the longest one."""
    with_tokens: int
    """Runs whose tokens are known; the sums below are over these alone."""
    input_tokens: int
    """Cached ones included."""
    output_tokens: int
    """Tokens out."""
    priced: int
    """Runs whose cost is known."""
    cost: float | None
    """Of these; None when no price is known."""

    def wall_seconds(self, at_once: int) -> float | None:
        """How long it takes with so many at the same time; None when nothing is known.

        Runs that nothing is known of count as the mean of the others.
        """
        if not self.known:
            return None
        total = self.seconds * self.runs / self.known
        return max(total / max(1, at_once), self.longest_seconds)


_Key = tuple[str | None, ...]


def _keys(task: str, agent: str, model: str | None, condition: str) -> tuple[_Key, ...]:
    """What may stand for a run, likest first; no two are of one length."""
    return (agent, model, task, condition), (agent, model, task), (agent, model), (agent,)


def estimate(
    requests: Sequence[RunRequest],
    history: Iterable[Past],
    *,
    prices: Mapping[str, Price] | None = None,
) -> Estimate:
    """Sum of medians: of the same task, agent, model and condition, else of what is nearest.

    Args:
        requests: what is to be run.
        history: what was.
        prices: per model, as far as the user gave them.
    """
    seen: dict[_Key, list[Past]] = {}
    for past in history:
        for like in _keys(past.task, past.agent, past.model, past.condition):
            seen.setdefault(like, []).append(past)
    known = exact = with_tokens = priced = 0
    seconds: list[float] = []
    tokens_in = tokens_out = 0.0
    cost = 0.0
    medians: dict[_Key, tuple[float, tuple[float, ...] | None]] = {}
    for request in requests:
        task = request.task.name if isinstance(request.task, Task) else request.task
        model = request.model or (request.script.stem if request.script else None)
        keys = _keys(task, request.agent, model, request.condition)
        key = next((like for like in keys if like in seen), None)
        if key is None:
            continue
        if key not in medians:
            medians[key] = _medians(seen[key])
        took, tokens = medians[key]
        known += 1
        exact += key == keys[0]
        seconds.append(took)
        if tokens is not None:
            with_tokens += 1
            tokens_in += tokens[0]
            tokens_out += tokens[2]
            price = prices.get(model) if prices and model else None
            if price is not None:
                priced += 1
                cost += price.of(tokens[0] - tokens[1], tokens[1], tokens[2])
    return Estimate(
        runs=len(requests),
        known=known,
        exact=exact,
        seconds=sum(seconds),
        longest_seconds=max(seconds, default=0.0),
        with_tokens=with_tokens,
        input_tokens=round(tokens_in),
        output_tokens=round(tokens_out),
        priced=priced,
        cost=cost if priced else None,
    )


def _medians(runs: list[Past]) -> tuple[float, tuple[float, ...] | None]:
    """Median seconds; median tokens in, of them cached, and out."""
    counted = [
        (run.input_tokens, run.cached_input_tokens or 0, run.output_tokens)
        for run in runs
        if run.input_tokens is not None and run.output_tokens is not None
    ]
    tokens = tuple(float(median(column)) for column in zip(*counted, strict=True))
    return median(run.seconds for run in runs), tokens or None
