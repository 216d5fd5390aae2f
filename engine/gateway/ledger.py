"""What a run has used of its model, and whether that was enough."""

from __future__ import annotations

from dataclasses import replace

from engine.gateway.counting import Tokens
from engine.gateway.interface import Budget, BudgetKind, Stopped, Usage

_MODELS_MOST = 50
_REFUSED_MOST = 500
"""Refused requests that a run may make: beyond it somebody is trying doors."""

_WORDS: dict[BudgetKind, str] = {
    "requests": "requests to the model",
    "input_tokens": "tokens sent to the model",
    "output_tokens": "tokens from the model",
    "seconds": "seconds with the model",
    "bytes_out": "bytes sent to the model",
}


def spent(kind: BudgetKind, limit: float) -> Stopped:
    """The end of a run whose budget is used up."""
    return Stopped("budget", f"The budget of {limit:g} {_WORDS[kind]} is used up.", kind)


class Ledger:
    """Counts for one run.

    Args:
        budget: its limits; `seconds` is kept by whoever holds the clock.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._bytes = 0
        self._begun = 0
        self.usage = Usage()
        """So far."""

    def begin(self, model: str | None, size: int) -> Stopped | None:
        """A request of so many bytes is to be passed on; the end of the run if it may not."""
        budget, usage = self._budget, self.usage
        after: tuple[tuple[BudgetKind, float | None, float], ...] = (
            ("requests", budget.requests, self._begun + 1),
            ("bytes_out", budget.bytes_out, self._bytes + size),
            ("input_tokens", budget.input_tokens, usage.input_tokens + 1),
            ("output_tokens", budget.output_tokens, usage.output_tokens + 1),
        )
        for kind, limit, needed in after:
            if limit is not None and needed > limit:
                return spent(kind, limit)
        self._begun += 1
        self._bytes += size
        if model is not None and model not in usage.models and len(usage.models) < _MODELS_MOST:
            self.usage = replace(usage, models=(*usage.models, model))
        return None

    def end(self, tokens: Tokens | None, *, counted: bool) -> Stopped | None:
        """A request was answered; the end of the run if that was too much.

        Args:
            tokens: what the answer told.
            counted: whether it should have told (an answer of a model, without an error).
        """
        usage = replace(self.usage, requests=self.usage.requests + 1)
        if tokens is not None:
            usage = replace(
                usage,
                input_tokens=usage.input_tokens + tokens.input,
                cached_input_tokens=usage.cached_input_tokens + tokens.cached,
                output_tokens=usage.output_tokens + tokens.output,
            )
        elif counted:
            usage = replace(usage, uncounted=usage.uncounted + 1)
        self.usage = usage
        after: tuple[tuple[BudgetKind, int | None, int], ...] = (
            ("input_tokens", self._budget.input_tokens, usage.input_tokens),
            ("output_tokens", self._budget.output_tokens, usage.output_tokens),
        )
        for kind, limit, used in after:
            if limit is not None and used > limit:
                return spent(kind, limit)
        return None

    def refuse(self) -> Stopped | None:
        """A request was not passed on; the end of the run if there were too many."""
        self.usage = replace(self.usage, refused=self.usage.refused + 1)
        if self.usage.refused > _REFUSED_MOST:
            return Stopped("refused", "The agent went on asking for what it may not have.")
        return None
