"""`Workbench`: everything that a front end can ask for.

Every method may be called from any thread and opens connections of its own; nothing is
kept open between calls. Long ones take a `Job`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base.errors import HarnessFault
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task, list_tasks
from engine.runs.records import RunEvent, RunRecord, RunRequest, RunSummary
from engine.workbench.types import BackendInfo, ReferenceState

if TYPE_CHECKING:
    from engine.sources import SourceInfo


class Workbench:
    """The engine on one home folder.

    Errors are those of `engine.base.errors`; `Cancelled` when the job was stopped.
    """

    def __init__(self, home: Home) -> None:
        self.home = home

    def close(self) -> None:
        """Nothing can be asked afterwards; running work is not stopped by this."""

    # --- sources

    def sources(self) -> tuple[SourceInfo, ...]:
        """All registered sources, by name."""
        raise HarnessFault("not wired yet")

    def add_source(self, name: str, path: Path, *, kind: str = "auto", job: Job) -> SourceInfo:
        """Register and import a folder of CSV or Parquet files, or a DuckDB file."""
        raise HarnessFault("not wired yet")

    def synth_source(
        self, name: str, *, kind: str, stays: int, seed: int = 0, job: Job
    ) -> SourceInfo:
        """Make a synthetic source."""
        raise HarnessFault("not wired yet")

    def remove_source(self, name: str) -> None:
        """Forget a source and delete what was built from it; runs are kept."""
        raise HarnessFault("not wired yet")

    # --- tasks and references

    def tasks(self) -> tuple[Task, ...]:
        """The catalogue, by name."""
        return list_tasks()

    def sources_for(self, task: Task) -> tuple[SourceInfo, ...]:
        """The sources that a task can be run on."""
        return tuple(info for info in self.sources() if info.kind == task.source_kind)

    def reference_state(self, task: Task, source: str) -> ReferenceState:
        """Is the task's reference there, and does it hold?"""
        raise HarnessFault("not wired yet")

    def reference_notes(self, task: Task) -> str:
        """The reference's rules as Markdown."""
        raise HarnessFault("not wired yet")

    def reference_sql(self, task: Task) -> str:
        """The SQL that makes the reference."""
        raise HarnessFault("not wired yet")

    def build_reference(self, task: Task, source: str, *, job: Job) -> ReferenceState:
        """Build the task's reference (and the concepts it needs)."""
        raise HarnessFault("not wired yet")

    # --- runs

    def backends(self) -> tuple[BackendInfo, ...]:
        """The ways to isolate an agent, and which work here."""
        raise HarnessFault("not wired yet")

    def run(
        self,
        request: RunRequest,
        *,
        job: Job,
        on_event: Callable[[RunEvent], None] | None = None,
    ) -> RunRecord:
        """Run an agent and judge it; returns when the run has ended.

        Builds the reference and the workspace first where they are missing. `on_event` is
        called from worker threads. A run that the agent failed is a record with reward 0.

        Raises:
            UsageError, BadInput: the request cannot be carried out; no run is made.
            MissingPrerequisite: no sandbox works here, or no room; a run that had begun is
                closed as failed, without a reward.
            Cancelled: the user stopped it; the run is closed as cancelled.
        """
        raise HarnessFault("not wired yet")

    def runs(self, *, task: str | None = None) -> tuple[RunSummary, ...]:
        """All runs (of a task), newest first."""
        raise HarnessFault("not wired yet")

    def run_record(self, run_id: str) -> RunRecord:
        """Everything that is known of a run.

        Raises:
            UsageError: there is no such run.
        """
        raise HarnessFault("not wired yet")

    def run_log(self, run_id: str) -> str:
        """The agent's output, at most 1 MiB of it, control characters neutralised."""
        raise HarnessFault("not wired yet")

    def diff_of(self, run_id: str, *, job: Job) -> Path | None:
        """The run's `diff.duckdb`; made again when it is gone.

        None when it cannot be: no output was kept, or the reference is gone.
        """
        raise HarnessFault("not wired yet")

    def delete_run(self, run_id: str) -> None:
        """Delete a run that has ended, with its folder.

        Raises:
            Busy: it is still at work.
        """
        raise HarnessFault("not wired yet")

    def recover(self) -> tuple[RunSummary, ...]:
        """Finish or close what a killed program left; returns those runs.

        Call once at the start. Runs of other living programs are left alone.
        """
        raise HarnessFault("not wired yet")
