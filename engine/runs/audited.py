"""The store of runs that also tells the audit log when a run begins, ends and is deleted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from engine import audit
from engine.base.errors import M4Error
from engine.base.paths import Home
from engine.runs.records import RunSummary
from engine.runs.states import LIVE, State
from engine.runs.store import RunStore

_log = logging.getLogger(__name__)


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
            self._note(summary, "begin", {"task": summary.task, "condition": summary.condition,
                "agent": summary.agent, "model": summary.model, "schema": summary.schema,
                "trial": summary.trial})  # fmt: skip
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
            told: audit.Facts = {"state": state.value, "reason": summary.failure_reason}
            try:
                self._note(summary, "end", told)
            except M4Error as error:  # the run has ended; that it began is in the log
                _log.warning("the audit log misses a run's end: %s", error.text)
        return at

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
