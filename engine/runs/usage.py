"""What a run used of its model: counted at the gateway, and told by the agent's own trace."""

from __future__ import annotations

from typing import Any

from engine.agents.traces import TraceSummary
from engine.gateway.interface import Usage

_COUNTED = ("input_tokens", "cached_input_tokens", "output_tokens")


def token_usage(usage: Usage | None, trace: TraceSummary | None) -> dict[str, Any]:
    """`token_usage` of the record: the trace's count where it has one, else the gateway's.

    Beside the published fields: ``counted_by`` (``trace``, ``gateway`` or None), ``lower_bound``
    (some answer told no count), and ``disagreement``: both counts, per field in which they differ.
    """
    told = trace.published() if trace is not None else None
    seen = _of_gateway(usage, trace)
    found = told or seen
    if found is None:
        return {
            **dict.fromkeys(_COUNTED),
            "turns": trace.turns if trace is not None else None,
            "model_strings": list(trace.models) if trace is not None else [],
        }
    if usage is not None and not found["model_strings"]:
        found["model_strings"] = list(usage.models)
    differ = {}
    if told is not None and seen is not None:
        differ = {
            name: {"trace": told[name], "gateway": seen[name]}
            for name in _COUNTED
            if told[name] != seen[name]
        }
    return {
        **found,
        "counted_by": "trace" if told is not None else "gateway",
        "lower_bound": told is None and usage is not None and usage.uncounted > 0,
        "disagreement": differ or None,
    }


def _of_gateway(usage: Usage | None, trace: TraceSummary | None) -> dict[str, Any] | None:
    """The gateway's count under the published names; None where no answer told any."""
    if usage is None or (usage.requests and usage.uncounted >= usage.requests):
        return None
    return {
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "output_tokens": usage.output_tokens,
        "turns": trace.turns if trace is not None and trace.turns else usage.requests,
        "model_strings": list(usage.models),
    }
