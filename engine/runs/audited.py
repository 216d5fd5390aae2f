"""The store of runs that also tells the audit log when a run begins, ends and is deleted."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from filelock import FileLock

from engine import audit
from engine.base.errors import M4Error, UsageError
from engine.base.paths import Home
from engine.runs.records import RunSummary
from engine.runs.states import LIVE, State
from engine.runs.store import RunStore, StoredRun

_log = logging.getLogger(__name__)
_LATE = "Told later: the program was killed, or the log could not be written at that time."
_GONE = "The run is not in the state file any more."


class AuditedRuns(RunStore):
    """A `RunStore` whose runs are in the audit log. Any thread may use it."""

    def __init__(self, home: Home) -> None:
        super().__init__(home.state)
        self._home = home

    def add(
        self, summary: RunSummary, facts: Mapping[str, Any], *, ticket: str | None = None
    ) -> bool:
        """See `RunStore.add`; a run that cannot be recorded is not made."""
        if not super().add(summary, facts, ticket=ticket):
            return False
        try:
            self._note(summary, "begin", _asked(summary))
        except M4Error as error:
            super().enter(summary.run_id, State.FAILED, text=error.text)
            super().delete(summary.run_id)
            raise
        return True

    def enter(self, run_id: str, state: State, **more: Any) -> str:
        """See `RunStore.enter`."""
        at = super().enter(run_id, state, **more)
        if state not in LIVE:
            summary = self.find(run_id).summary
            try:
                self._note(summary, "end", _ended(summary))
            except M4Error as error:  # the run has ended; that it began is in the log
                _log.warning("the audit log misses a run's end: %s", error.text)
        return at

    def claim(self, run: StoredRun) -> bool:
        """See `RunStore.claim`; a run that was killed before the log heard of it is told now."""
        if not super().claim(run):
            return False
        try:
            if run.summary.run_id not in audit.begun(self._home, "run"):
                self._note(run.summary, "begin", {**_asked(run.summary), "note": _LATE})
        except M4Error as error:
            _log.warning("the audit log misses a run's begin: %s", error.text)
        return True

    def reconcile(self) -> int:
        """Tell the log of runs that ended without it: killed in between, or no room; how many.

        Runs of programs that still live are left to them.

        Raises:
            Busy, StorageFull, MissingPrerequisite: what was not told is told another time.
        """
        told = 0
        with FileLock(self._home.root / "audit-runs.lock"):  # two starts at once tell it once
            for run_id, is_open in audit.begun(self._home, "run").items():
                if not is_open:
                    continue
                try:
                    run = self.find(run_id)
                except UsageError:
                    gone = {"state": "unknown", "reason": None, "note": f"{_LATE} {_GONE}"}
                    audit.note(
                        self._home, "run", source=None, object=run_id, stage="end", facts=gone
                    )
                    told += 1
                    continue
                summary = run.summary
                if summary.live or (run.owner.alive and run.owner.pid != os.getpid()):
                    continue
                self._note(summary, "end", {**_ended(summary), "note": _LATE})
                told += 1
        return told

    def delete(self, run_id: str) -> None:
        """See `RunStore.delete`."""
        summary = self.find(run_id).summary
        super().delete(run_id)
        audit.note(self._home, "run.delete", source=summary.source or None, object=run_id)

    def _note(self, summary: RunSummary, stage: audit.Stage, facts: audit.Facts) -> None:
        audit.note(
            self._home, "run", source=summary.source, object=summary.run_id, stage=stage,
            facts=facts,
        )  # fmt: skip


def _asked(summary: RunSummary) -> dict[str, audit.Fact]:
    return {
        "task": summary.task,
        "condition": summary.condition,
        "agent": summary.agent,
        "model": summary.model,
        "schema": summary.schema,
        "trial": summary.trial,
    }


def _ended(summary: RunSummary) -> dict[str, audit.Fact]:
    return {"state": summary.state, "reason": summary.failure_reason}
