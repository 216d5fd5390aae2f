"""The judge of each kind of task, behind the run machine's `Judge`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.base.files import write_json
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.runs.judge import Diagnostic, Judge, Verdict
from engine.scoring import judge_table

OUTPUT = "output.csv"
DIFF = "diff.duckdb"
"""The aligned rows, in the run folder."""
SCORE = "score.json"
"""The whole score, in the run folder."""


@dataclass(frozen=True)
class TableJudge:
    """One output table against its reference; leaves `score.json` and `diff.duckdb`."""

    home: Home
    """Where to spill."""

    def judge(
        self,
        task: Task,
        reference: Path,
        artefacts: Mapping[str, Path],
        folder: Path,
        *,
        job: Job,
    ) -> Verdict:
        """See `Judge.judge`."""
        score = judge_table(
            task.evaluation,
            artefacts.get(OUTPUT, folder / OUTPUT),
            reference,
            diff=folder / DIFF,
            job=job,
            scratch=self.home.scratch,
        )
        figures = score.as_dict()
        figures["agent_unique_keys"] = score.agent_rows - score.duplicate_keys
        write_json(folder / SCORE, figures, "writing the score")
        return Verdict(
            reward=figures["reward"],
            strict_pass=score.strict_pass,
            figures=figures,
            diagnostics=tuple(
                Diagnostic(item.name, item.passed, item.detail) for item in score.diagnostics
            ),
            warnings=tuple(f"{item.column}: {item.text}" for item in score.warnings),
        )


def judge_for(task: Task, home: Home) -> Judge:
    """The judge of the task's kind."""
    judges = {"table": TableJudge(home)}
    return judges[task.kind]
