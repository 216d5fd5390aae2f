"""`result.json`: written with the published fields, read into a `RunRecord`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.agents.traces import Finding
from engine.base.files import write_json
from engine.runs.judge import Diagnostic, Verdict
from engine.runs.records import (
    AgentDb,
    AgentResult,
    CanaryResult,
    Difference,
    ExternalResult,
    LintResult,
    Recomputed,
    RunRecord,
    RunSummary,
    TestResults,
    Violation,
)

RESULT = "result.json"
"""Name of the record in the run folder."""
FORMAT = 1
"""Raised when our own fields change their meaning."""


def test_results(verdict: Verdict) -> dict[str, Any]:
    """A judge's verdict under the published names; `figures` holds all that it gave."""
    figures = dict(verdict.figures)
    passed = sum(item.passed for item in verdict.diagnostics)
    total = len(verdict.diagnostics)
    lines = [
        f"{'PASSED' if item.passed else 'FAILED'} {item.name}"
        + (f": {item.detail}" if item.detail else "")
        for item in verdict.diagnostics
    ]
    return {
        "passed": passed,
        "failed": total - passed,
        "errors": 0,
        "total": total,
        "reward": verdict.reward,
        "reward_uncapped": verdict.reward,
        "match_rates": figures.get("match_rates") or {},
        "key_precision": figures.get("key_precision"),
        "key_recall": figures.get("key_recall"),
        "key_f1": figures.get("key_f1"),
        "extra_keys": figures.get("extra_keys"),
        "missing_keys": figures.get("missing_keys"),
        "duplicate_keys": figures.get("duplicate_keys"),
        "agent_unique_keys": figures.get("agent_unique_keys"),
        "ordered_nmae": figures.get("ordered_nmae"),
        "strict_pass": verdict.strict_pass,
        "diagnostics_failed": passed < total,
        "diagnostics": [asdict(item) for item in verdict.diagnostics],
        "warnings": list(verdict.warnings),
        "pytest_output": "\n".join(lines),
        "figures": figures,
    }


def no_results(reason: str, detail: str) -> dict[str, Any]:
    """The figures of a run that scores 0 because of what its agent did."""
    return {
        "passed": 0,
        "failed": 0,
        "errors": 1,
        "total": 1,
        "reward": 0.0,
        "reward_uncapped": None,
        "match_rates": {},
        "key_precision": None,
        "key_recall": 0.0,
        "key_f1": 0.0,
        "extra_keys": None,
        "missing_keys": None,
        "duplicate_keys": None,
        "agent_unique_keys": None,
        "ordered_nmae": None,
        "strict_pass": False,
        "diagnostics_failed": False,
        "diagnostics": [{"name": reason, "passed": False, "detail": detail}],
        "warnings": [],
        "pytest_output": f"ERROR {reason}: {detail}",
        "figures": {},
    }


def compose(summary: RunSummary, facts: Mapping[str, Any]) -> dict[str, Any]:
    """All fields of a run's record. Fields that do not apply are null or empty."""
    known = {key: value for key, value in facts.items() if not key.startswith("_")}
    return {
        "format": FORMAT,
        "engine_version": None,
        "run_id": summary.run_id,
        "task": summary.task,
        "source": summary.source,
        "condition": summary.condition,
        "schema": summary.schema,
        "agent": summary.agent,
        "model": summary.model,
        "reasoning_effort": None,
        "reasoning_effort_requested": None,
        "trial": summary.trial,
        "timestamp": summary.started_at,
        "ended_at": summary.ended_at,
        "state": summary.state,
        "failure_reason": summary.failure_reason,
        "failure_detail": None,
        "reward": summary.reward,
        "strict_pass": summary.strict_pass,
        "isolated": False,
        "publishable": False,
        "publishable_reason": "the run ended before the sandbox was started",
        "backend": "",
        "sandbox": {},
        "skills": [],
        "given_files": {},
        "reference": None,
        "agent_db": None,
        "agent_result": None,
        "test_results": None,
        "filesystem_canary": None,
        "contamination_lint": None,
        "external_tools": None,
        "token_usage": {
            "input_tokens": None,
            "cached_input_tokens": None,
            "output_tokens": None,
            "turns": None,
            "model_strings": [],
        },
        "artefacts": [],
    } | known


def write(folder: Path, record: Mapping[str, Any]) -> None:
    """Write `result.json`, whole or not at all.

    Raises:
        StorageFull, Busy, MissingPrerequisite: in words.
    """
    write_json(folder / RESULT, dict(record), "writing the run's record")


def read(folder: Path) -> dict[str, Any] | None:
    """`result.json` as it is, or None where there is none or it is no JSON object."""
    try:
        data = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def parse(
    summary: RunSummary,
    folder: Path,
    raw: Mapping[str, Any],
    recomputed: Mapping[str, Any] | None = None,
) -> RunRecord:
    """The record as a dataclass; unknown fields stay in `raw`."""
    return RunRecord(
        summary=summary,
        folder=folder,
        isolated=bool(raw.get("isolated")),
        publishable=bool(raw.get("publishable")),
        publishable_reason=str(raw.get("publishable_reason") or ""),
        backend=str(raw.get("backend") or ""),
        failure_detail=raw.get("failure_detail"),
        agent_db=_part(raw, "agent_db", _agent_db),
        agent_result=_part(raw, "agent_result", _agent_result),
        test_results=_part(raw, "test_results", _test_results),
        filesystem_canary=_part(raw, "filesystem_canary", _canary),
        contamination_lint=_part(raw, "contamination_lint", _lint),
        external_tools=_part(raw, "external_tools", _external),
        artefacts=_names(raw.get("artefacts")),
        raw=raw,
        recomputed=None if recomputed is None else _recomputed(recomputed),
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _part(raw: Mapping[str, Any], name: str, make: Any) -> Any:
    """A part of the record; None where it has not the form that we know (another program's)."""
    value = raw.get(name)
    try:
        return make(value) if isinstance(value, dict) else None
    except (KeyError, TypeError, ValueError):
        return None


def _recomputed(value: Mapping[str, Any]) -> Recomputed:
    differences = (Difference(**item) for item in value["differences"])
    return Recomputed(**{**value, "differences": tuple(differences)})


def _agent_db(value: Mapping[str, Any]) -> AgentDb:
    return AgentDb(str(value["path"]), str(value["sha256"]), int(value["size_bytes"]))


def _agent_result(value: Mapping[str, Any]) -> AgentResult:
    return AgentResult(
        returncode=value.get("returncode"),
        stdout=str(value.get("stdout") or ""),
        stderr=str(value.get("stderr") or ""),
        elapsed_seconds=float(value.get("elapsed_seconds") or 0),
        trace_file=value.get("trace_file"),
        failure_reason=value.get("failure_reason"),
        failure_detail=value.get("failure_detail"),
    )


def _test_results(value: Mapping[str, Any]) -> TestResults:
    return TestResults(
        passed=int(value.get("passed") or 0),
        failed=int(value.get("failed") or 0),
        errors=int(value.get("errors") or 0),
        total=int(value.get("total") or 0),
        reward=value.get("reward"),
        strict_pass=bool(value.get("strict_pass")),
        match_rates={
            str(name): float(rate)
            for name, rate in (value.get("match_rates") or {}).items()
            if isinstance(rate, int | float)
        },
        key_precision=value.get("key_precision"),
        key_recall=value.get("key_recall"),
        key_f1=value.get("key_f1"),
        extra_keys=value.get("extra_keys"),
        missing_keys=value.get("missing_keys"),
        duplicate_keys=value.get("duplicate_keys"),
        agent_unique_keys=value.get("agent_unique_keys"),
        ordered_nmae=value.get("ordered_nmae"),
        diagnostics=tuple(
            Diagnostic(str(d["name"]), bool(d["passed"]), str(d.get("detail") or ""))
            for d in value.get("diagnostics") or ()
        ),
        warnings=tuple(str(text) for text in value.get("warnings") or ()),
    )


def _canary(value: Mapping[str, Any]) -> CanaryResult:
    checks = value.get("checks")
    return CanaryResult(
        passed=bool(value.get("passed")),
        required=bool(value.get("required")),
        checks=len(checks) if isinstance(checks, list) else int(checks or 0),
        failures=tuple(str(item) for item in value.get("failures") or ()),
    )


def _external(value: Mapping[str, Any]) -> ExternalResult:
    found = (Finding(**item) for item in value["violations"])
    return ExternalResult(passed=bool(value["passed"]), violations=tuple(found))


def _lint(value: Mapping[str, Any]) -> LintResult:
    return LintResult(
        passed=bool(value.get("passed")),
        violations=tuple(
            Violation(str(v.get("pattern")), str(v.get("file")), v.get("line"), v.get("step"))
            for v in value.get("violations") or ()
            if isinstance(v, dict)
        ),
        patterns=tuple(str(item) for item in value.get("patterns") or ()),
        identical_output=bool(value.get("identical_output")),
    )
