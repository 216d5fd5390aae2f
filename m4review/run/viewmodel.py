"""The run page without a widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from engine.base.jobs import Job
from engine.runs.kept import egress_rows
from engine.workbench import Recomputed, RunRecord, RunSummary
from m4review.app.jobs import JobRunner
from m4review.run.words import REASONS

NMAE = "Ordered nMAE"
"""Name of the figure as it is shown."""

if TYPE_CHECKING:
    from engine.catalogue.task import Task
    from engine.workbench import Workbench

_QUICK_LOGS = ("script", "replay")
"""Agents whose log needs no reading of a trace."""
LOG_LIMIT = 300_000
"""Characters of the log that are shown: its end, which is where trouble stands."""


@dataclass(frozen=True)
class ColumnFigure:
    """One scored column of a run."""

    name: str
    """Column name."""
    rate: float
    """Match rate, 0 to 1."""
    tolerance: str
    """In words."""
    compared_as: str
    """number, time, text, or "–" when nobody said."""
    passed: bool | None
    """Did it reach the threshold of a strict pass? None when no diagnostic says."""


@dataclass(frozen=True)
class RunPage:
    """Everything that the page shows."""

    record: RunRecord
    """The run."""
    task: Task | None
    """Its task; None when the catalogue does not have it."""
    log: str | None
    """The agent's output (its end); None where it was not read yet."""
    log_cut: int
    """Characters left out at the beginning."""
    egress: tuple[Mapping[str, Any], ...] = ()
    """Requests that came to the run's gateway."""
    sources: tuple[str, ...] = ()
    """Sources with which an imported run can be scored again."""

    @property
    def summary(self) -> RunSummary:
        """The run in a line."""
        return self.record.summary

    @property
    def columns(self) -> tuple[ColumnFigure, ...]:
        """Figures by scored column."""
        results = self.record.test_results
        if results is None:
            return ()
        compared = _compared(self.record.raw)
        passed = {d.name.partition(":")[2]: d.passed for d in results.diagnostics if ":" in d.name}
        found = []
        for name, rate in results.match_rates.items():
            tolerance = self.task.evaluation.tolerance.get(name, 0.0) if self.task else 0.0
            how = compared.get(name, "–")
            unit = " s" if how == "time" else ""
            words = f"± {tolerance:g}{unit}" if tolerance else "exact"
            found.append(ColumnFigure(name, rate, words, how, passed.get(name)))
        return tuple(found)

    @property
    def figures(self) -> tuple[tuple[str, str, str], ...]:
        """Key figures as (name, value, what it means)."""
        results = self.record.test_results
        if results is None:
            return ()

        def share(value: float | None) -> str:
            return "–" if value is None else f"{value:.4f}"

        def number(value: int | None) -> str:
            return "–" if value is None else f"{value:,}"

        return (
            ("Key precision", share(results.key_precision), "agent keys that the reference has"),
            ("Key recall", share(results.key_recall), "reference keys that the agent has"),
            ("Key F1", share(results.key_f1), "harmonic mean of both"),
            ("Missing keys", number(results.missing_keys), "only in the reference"),
            ("Extra keys", number(results.extra_keys), "only in the agent's table"),
            ("Duplicate rows", number(results.duplicate_keys), "further rows of a key"),
            (NMAE, share(results.ordered_nmae), "mean normalised error, 0 is best"),
        )

    @property
    def reason(self) -> str:
        """Why it failed, in a sentence; empty when it did not."""
        reason = self.summary.failure_reason
        if not reason:
            return ""
        text = REASONS.get(reason, f"The run failed: {reason.replace('_', ' ')}.")
        agent = self.record.agent_result
        if agent is not None and agent.failure_detail:
            text += f" {agent.failure_detail}"
        return text

    @property
    def has_diff(self) -> bool:
        """Is there a table to compare with the reference?"""
        return "output.csv" in self.record.artefacts and not self.summary.live


def _compared(raw: Any) -> dict[str, str]:
    """What each column was compared as: one of the judge's own figures in the record."""
    found: Any = raw
    for part in ("test_results", "figures", "compared_as"):
        found = found.get(part) if isinstance(found, dict) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def load_page(workbench: Workbench, run_id: str, *, with_log: bool = True) -> RunPage:
    """Read a run; the log of an agent with a trace takes long, and is read where it is wanted.

    Raises:
        UsageError: there is no such run.
    """
    record = workbench.run_record(run_id)
    task = next((t for t in workbench.tasks() if t.name == record.summary.task), None)
    log = None
    if with_log or record.summary.agent in _QUICK_LOGS:
        log = workbench.run_log(run_id)
    cut = max(0, len(log or "") - LOG_LIMIT)
    published = record.summary.origin == "published"
    ready = workbench.sources_for(task) if published and task is not None else ()
    names = tuple(source.name for source in ready)
    log = None if log is None else log[cut:]
    return RunPage(record, task, log, cut, egress_rows(record.folder), names)


class RunViewModel(QObject):
    """Loads one run; deletes it."""

    changed = Signal()
    failed = Signal(object)
    deleted = Signal()
    scored = Signal(object)
    """An imported run was scored here: the `Recomputed`."""

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.run_id = ""
        self.page: RunPage | None = None
        self._with_log = False

    def want_log(self, wanted: bool) -> None:
        """Is the log looked at?"""
        self._with_log = wanted
        if wanted and self.page is not None and self.page.log is None:
            self.show(self.run_id)

    def show(self, run_id: str) -> None:
        """Read a run in the background."""
        if run_id != self.run_id:
            self.page = None
        self.run_id = run_id

        with_log = self._with_log

        def work(_job: Job) -> RunPage:
            return load_page(self._workbench, run_id, with_log=with_log)

        self._runner.start(
            "Read the run", work, on_done=self._done, on_failed=self.failed.emit, quiet=True
        )

    def _done(self, page: RunPage) -> None:
        if page.record.run_id == self.run_id:
            self.page = page
            self.changed.emit()

    def rescore(self, source: str) -> None:
        """Score an imported run's output with the data of a source."""
        run_id = self.run_id

        def work(job: Job) -> Recomputed:
            return self._workbench.rescore(run_id, source, job=job)

        def done(found: Recomputed) -> None:
            self.scored.emit(found)
            if run_id == self.run_id:
                self.show(run_id)

        self._runner.start("Score the run here", work, on_done=done, on_failed=self.failed.emit)

    def delete(self) -> None:
        """Delete it with its folder."""
        run_id = self.run_id
        self._runner.start(
            "Delete the run",
            lambda _job: self._workbench.delete_run(run_id),
            on_done=lambda _: self.deleted.emit(),
            on_failed=self.failed.emit,
        )
