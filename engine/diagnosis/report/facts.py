"""What a report says, as JSON-ready values that may leave the machine.

Nothing here is about single rows: no key, no cell value, no host path. A count from 1 to 10 is told
as ``"<11"``. Which other counts, rates and rewards are told as they are, as a range or not at all
is decided for all figures of the report together, so that no small count can be worked out
(`engine.base.disclosure`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine import __version__
from engine.base.disclosure import SMALL, Ledger, fraction
from engine.base.jobs import Job
from engine.base.text import neutralise
from engine.diagnosis.compare.exporting import told_comparison
from engine.diagnosis.compare.model import Comparison
from engine.diagnosis.exporting import DiagnosisCounts, count
from engine.diagnosis.judged import unmet
from engine.diagnosis.model import Diagnosis
from engine.runs.records import RunRecord, TestResults

FORMAT = 2
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
    ledger = Ledger()
    counts = None if diagnosis is None else DiagnosisCounts(ledger, diagnosis)
    figures = _Figures(ledger, record.test_results, None if counts is None else rows)
    reasons = _reasons(record, diagnosis)
    ledger.settle()
    return {
        "format": FORMAT,
        "kind": "run",
        "engine": __version__,
        "run": {**_about(record), "reward": figures.reward(summary.reward)},
        "failure": None
        if summary.failure_reason is None
        else {"reason": summary.failure_reason, "detail": neutralise(record.failure_detail or "")},
        "figures": figures.told(reasons),
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
        "diagnosis": None if counts is None else counts.told(rows=False),
    }


def comparison_facts(
    comparison: Comparison, records: Sequence[RunRecord], job: Job | None = None
) -> dict[str, Any]:
    """The report of a comparison; `records` in the order of `comparison.runs`."""
    counts, rewards = told_comparison(comparison, [r.summary.reward for r in records], job)
    return {
        "format": FORMAT,
        "kind": "comparison",
        "engine": __version__,
        "runs": [
            {**_about(record), "reward": reward}
            for record, reward in zip(records, rewards, strict=True)
        ],
        "comparison": counts,
    }


def _reasons(record: RunRecord, diagnosis: Diagnosis | None) -> dict[str, str]:
    """Why the output could not be compared; the words of another program may hold values."""
    if diagnosis is not None:
        return {item.name: item.detail for item in diagnosis.judged}
    if record.summary.origin != "own" or record.test_results is None:
        return {}
    return {item.name: item.detail for item in unmet(record.test_results.diagnostics)}


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
        "strict_pass": summary.strict_pass,
    }


class _Figures:
    """The figures of a score beside a diagnosis of the same run.

    Args:
        ledger: with the counts of the diagnosis, if there is one.
        results: the score; None where the run has none.
        rows: what rates are counted over; None where nothing was aligned.
    """

    def __init__(self, ledger: Ledger, results: TestResults | None, rows: int | None) -> None:
        self._ledger, self._results = ledger, results
        self._rows = rows if rows and results is not None and results.match_rates else None
        if self._rows is None or results is None:
            return
        # With few extra rows a rate of many digits would tell how many: the rows are its divisor.
        further = (results.extra_keys or 0, results.duplicate_keys or 0, sum(self._further()))
        coarse = any(0 < number < SMALL for number in further)
        ledger.count("rows", self._rows, public=True)
        ledger.count("keys", sum(self._further()), told=False)
        right = {name: round(rate * self._rows) for name, rate in results.match_rates.items()}
        for name, number in right.items():
            cell = ledger.count(f"right:{name}", number, keep=6, coarse=coarse)
            ledger.total("rows", [cell], rest=f"wrong:{name}")
            wrong = ledger.count(f"c:{name}", 0, told=False)
            ledger.total(f"wrong:{name}", [wrong, "keys"], rest=f"wrong:{name}:other")
        ledger.count("reward", sum(right.values()), keep=7, coarse=coarse)
        ledger.total("reward", [f"right:{name}" for name in right])

    def _further(self) -> tuple[int, int]:
        assert self._results is not None  # noqa: S101 - for the type checker
        return self._results.extra_keys or 0, self._results.duplicate_keys or 0

    def told(self, reasons: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """After the ledger was settled, with the reasons of some checks that do not hold."""
        results = self._results
        if results is None:
            return None
        return {
            "reward": self.reward(results.reward),
            "strict_pass": results.strict_pass,
            "match_rates": {
                neutralise(name): self._rate(name, rate)
                for name, rate in results.match_rates.items()
            },
            "extra_keys": self._counted("extra", results.extra_keys),
            "missing_keys": self._counted("missing", results.missing_keys),
            "duplicate_keys": self._counted("duplicates", results.duplicate_keys),
            "diagnostics": [
                {
                    "name": item.name,
                    "passed": item.passed,
                    "detail": None if item.passed else (reasons or {}).get(item.name),
                }
                for item in results.diagnostics
            ],
        }

    def reward(self, reward: float | None) -> float | str | None:
        """The reward, or a range."""
        if self._rows is None or self._results is None or reward is None:
            return reward
        if self._rows < SMALL:
            return None
        return fraction(self._ledger, "reward", self._rows * len(self._results.match_rates), reward)

    def _rate(self, name: str, rate: float) -> float | str | None:
        if self._rows is None or self._rows < SMALL:
            return None
        return fraction(self._ledger, f"right:{name}", self._rows, round(rate, 4))

    def _counted(self, name: str, number: int | None) -> int | str | None:
        if self._ledger.has(name):
            return self._ledger.told(name)
        return None if number is None else count(number)


def _passed(result: Any) -> bool | None:
    return None if result is None else bool(result.passed)
