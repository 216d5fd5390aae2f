"""What a report says, as JSON-ready values that may leave the machine.

Nothing here is about single rows: no key, no cell value, no host path. Counts from 1 to 10 are told
as ``"<11"``; a rate whose count would be one of these is told as a bound. The reward is told as
it is: it is the run's published figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import __version__
from engine.base.text import neutralise
from engine.diagnosis.compare.model import Comparison
from engine.diagnosis.exporting import count
from engine.diagnosis.model import SMALL, Diagnosis
from engine.runs.records import RunRecord, TestResults

FORMAT = 1
"""Raised when a field changes its meaning."""


def run_facts(record: RunRecord, rows: int | None, diagnosis: Diagnosis | None) -> dict[str, Any]:
    """A run's report.

    Args:
        record: the run.
        rows: what a match rate is counted over (reference rows, extra keys and duplicates); None
            where nothing was aligned: then rates are left out.
        diagnosis: what its mismatches are consistent with; None where there is none.
    """
    summary = record.summary
    return {
        "format": FORMAT,
        "kind": "run",
        "engine": __version__,
        "run": _about(record),
        "failure": None
        if summary.failure_reason is None
        else {"reason": summary.failure_reason, "detail": neutralise(record.failure_detail or "")},
        "figures": None if record.test_results is None else _figures(record.test_results, rows),
        "care": {
            "isolated": record.isolated,
            "sandbox": record.backend,
            "publishable": record.publishable,
            "publishable_reason": record.publishable_reason,
            "filesystem_canary": _passed(record.filesystem_canary),
            "contamination_lint": _passed(record.contamination_lint),
            "external_tools": _passed(record.external_tools),
        },
        "tokens": record.raw.get("token_usage"),
        "diagnosis": None if diagnosis is None else diagnosis.as_dict(),
    }


def comparison_facts(comparison: Comparison, records: Sequence[RunRecord]) -> dict[str, Any]:
    """The report of a comparison; `records` in the order of `comparison.runs`."""
    return {
        "format": FORMAT,
        "kind": "comparison",
        "engine": __version__,
        "runs": [_about(record) for record in records],
        "comparison": comparison.as_dict(),
    }


def _about(record: RunRecord) -> dict[str, Any]:
    summary = record.summary
    seconds = record.agent_result.elapsed_seconds if record.agent_result else None
    return {
        "run_id": summary.run_id,
        "task": summary.task,
        "condition": summary.condition,
        "schema": summary.schema,
        "agent": summary.agent,
        "model": neutralise(summary.model),
        "trial": summary.trial,
        "state": summary.state,
        "started_at": summary.started_at,
        "agent_seconds": None if seconds is None else round(seconds, 1),
        "reward": summary.reward,
        "strict_pass": summary.strict_pass,
    }


def _figures(results: TestResults, rows: int | None) -> dict[str, Any]:
    return {
        "reward": results.reward,
        "strict_pass": results.strict_pass,
        "match_rates": {
            neutralise(name): bounded(rate, rows) for name, rate in results.match_rates.items()
        },
        "extra_keys": _counted(results.extra_keys),
        "missing_keys": _counted(results.missing_keys),
        "duplicate_keys": _counted(results.duplicate_keys),
        "diagnostics": [{"name": item.name, "passed": item.passed} for item in results.diagnostics],
    }


def bounded(rate: float, rows: int | None) -> float | str | None:
    """The rate, or a bound where the rate would tell a small count.

    Args:
        rate: 0 to 1.
        rows: what it is counted over; nothing can be told without it.
    """
    if rows is None or rows < SMALL:
        return None
    right = round(rate * rows)
    edge = SMALL / rows
    if 0 < right < SMALL:
        return f"< {edge:.3f}"
    if 0 < rows - right < SMALL:
        return f"> {1 - edge:.3f}"
    return round(rate, 4)


def _counted(number: int | None) -> int | str | None:
    return None if number is None else count(number)


def _passed(result: Any) -> bool | None:
    return None if result is None else bool(result.passed)
