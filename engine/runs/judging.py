"""The last two states of a run, linting and scoring; they can be done again after a crash."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.agents.traces import Finding
from engine.agents.traces.external import EGRESS, in_words
from engine.base.errors import HarnessFault
from engine.catalogue.task import Task
from engine.runs import external, lint, replayed
from engine.runs.folder import WORK
from engine.runs.judge import Judge
from engine.runs.live import LiveRun
from engine.runs.records import LintResult
from engine.runs.states import VIOLATIONS, Reason, State


def judge_collected(run: LiveRun, task: Task, reference: Path, judge: Judge) -> None:
    """Lint and score what was collected, and end the run.

    The run stands in `linting`. It ends as `done`, or as `failed` through the agent's fault.

    Raises:
        Cancelled, M4Error: nothing was judged; the run is not closed by this.
    """
    facts = run.facts()
    given = lint.Given(
        run_id=run.run_id,
        private=tuple(facts["_private"]),
        files=facts["given_files"],
        database_sha256=facts["agent_db"]["sha256"],
        reference=reference,
        reference_csv_sha256=str(facts["reference"].get("csv_sha256", "")),
        agent=run.store.find(run.run_id).summary.agent,
        shown=(str(run.place / WORK), *facts.get("_shown", ())),
    )
    found = lint.lint(run.place, given, job=run.job)
    run.note({"contamination_lint": asdict(found)})
    fault = facts["_fault"]
    outside = external.look(run.place, facts, agent=run.store.find(run.run_id).summary.agent)
    run.note({"external_tools": external.told(outside)})
    violation = _violation(found, outside, fault)
    if violation is not None:
        _drop(run)
        run.close(*violation)
        return
    if fault is not None:
        _compare_replayed(run, facts, None)
        run.close(Reason(fault[0]), fault[1])
        return
    run.enter(State.SCORING)
    artefacts = {name: run.place / name for name in facts["artefacts"]}
    verdict = judge.judge(task, reference, artefacts, run.place, job=run.job)
    if verdict.reward is None:
        raise HarnessFault("The judge gave no reward.")
    _compare_replayed(run, facts, verdict.reward)
    run.done(verdict)


def _violation(
    found: LintResult, outside: tuple[Finding, ...], fault: tuple[str, str] | None
) -> tuple[Reason, str] | None:
    """What the agent did that it must not, worst first."""
    if outside:
        # What the gateway refused is surer than what a trace tells.
        worst = min(outside, key=lambda finding: finding.file != EGRESS)
        more = f", and {len(outside) - 1} more" if len(outside) > 1 else ""
        return Reason(worst.reason), f"The agent used {in_words(worst)}{more}."
    if fault is not None and Reason(fault[0]) in VIOLATIONS:
        return Reason(fault[0]), fault[1]
    if not found.passed:
        rules = sorted({lint.RULES[item.pattern] for item in found.violations})
        return Reason.CONTAMINATION_LINT, f"The agent's folder holds {'; '.join(rules)}."
    return None


def _drop(run: LiveRun) -> None:
    """Delete what the agent left; the record, the trace and the logs stay."""
    for name in run.facts()["artefacts"]:
        (run.place / name).unlink(missing_ok=True)
    shutil.rmtree(run.place / "agent", ignore_errors=True)
    run.note({"artefacts": []})


def _compare_replayed(run: LiveRun, facts: Mapping[str, Any], reward: float | None) -> None:
    if facts.get("_record") is not None:
        run.note({"replay": replayed.compared(run.place, facts, reward)})
