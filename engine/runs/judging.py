"""The last two states of a run, linting and scoring; they can be done again after a crash."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

from engine.base.errors import HarnessFault
from engine.catalogue.task import Task
from engine.runs import lint
from engine.runs.folder import WORK
from engine.runs.judge import Judge
from engine.runs.live import LiveRun
from engine.runs.states import Reason, State


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
        shown=(str(run.place / WORK), *facts.get("_shown", ())),
    )
    found = lint.lint(run.place, given, job=run.job)
    run.note({"contamination_lint": asdict(found)})
    if not found.passed:
        for name in facts["artefacts"]:
            (run.place / name).unlink(missing_ok=True)
        shutil.rmtree(run.place / "agent", ignore_errors=True)
        run.note({"artefacts": []})
        rules = sorted({lint.RULES[item.pattern] for item in found.violations})
        run.close(Reason.CONTAMINATION_LINT, f"The agent's folder holds {'; '.join(rules)}.")
        return
    if facts["_fault"] is not None:
        reason, detail = facts["_fault"]
        run.close(Reason(reason), detail)
        return
    run.enter(State.SCORING)
    artefacts = {name: run.place / name for name in facts["artefacts"]}
    verdict = judge.judge(task, reference, artefacts, run.place, job=run.job)
    if verdict.reward is None:
        raise HarnessFault("The judge gave no reward.")
    run.done(verdict)
