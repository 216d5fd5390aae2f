"""Diagnoses in the background, remembered for the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.diagnosis.model import Diagnosis

if TYPE_CHECKING:
    from engine.workbench import Workbench

SECONDS = 90.0
"""For trying changes of the reference's SQL, where nobody asks for more."""
LONGER = 600.0
"""The same, where somebody does."""
Stamp = tuple[int, int]
"""Size and time of a diff file."""


class Known:
    """What was found out, by run; gone when its diff is made anew."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._found: dict[str, tuple[Stamp, Diagnosis]] = {}

    def of(self, run_id: str) -> Diagnosis | None:
        """What was found out of a run in this session."""
        found = self._found.get(run_id)
        return None if found is None else found[1]

    def diagnose(
        self,
        run_id: str,
        *,
        again: bool,
        on_found: Callable[[Diagnosis], object],
        seconds: float = SECONDS,
    ) -> Callable[[Job], Diagnosis]:
        """Work for the job runner: the diagnosis of a run, remembered unless `again`.

        `on_found` is told what is known so far, in the job's thread; `seconds` are for trying
        changes of the reference's SQL.
        """

        def work(job: Job) -> Diagnosis:
            job.progress("diff", 0, 0, "Reading the diff")
            diff = self._workbench.diff_of(run_id, job=job)
            if diff is None:
                raise UsageError(
                    "This run has no rows to look at: it left no output, or its reference is "
                    "gone or has changed.",
                    todo="The run page says why.",
                )
            facts = diff.stat()
            stamp = (facts.st_size, facts.st_mtime_ns)
            known = self._found.get(run_id)
            if known is not None and known[0] == stamp and not again:
                return known[1]
            found = self._workbench.diagnose_run(
                run_id, job=job, seconds=seconds, again=again, on_found=on_found
            )
            self._found[run_id] = (stamp, found)
            return found

        return work
