"""`Workbench`: everything that a front end can ask for.

Every method may be called from any thread and opens connections of its own; nothing is
kept open between calls. Long ones take a `Job`.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from engine import audit
from engine.agents.traces import TraceStep
from engine.agents.traces.open import Trace
from engine.base.content import content_folder
from engine.base.errors import BadInput, M4Error, UsageError
from engine.base.files import os_error
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task, list_tasks
from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED
from engine.isolation.backends import (
    available_backends,
    backend_names,
    choose_backend,
    make_backend,
)
from engine.isolation.interface import Limits
from engine.references import (
    build_references,
    find_target,
    open_reference,
    reference_state,
    targets_left_out,
)
from engine.references.needs import with_needs
from engine.runs import folder, hostile, result
from engine.runs.audited import AuditedRuns
from engine.runs.machine import Assignment, RunMachine
from engine.runs.records import (
    SCHEMAS,
    AgentDb,
    Recomputed,
    RunEvent,
    RunRecord,
    RunRequest,
    RunSummary,
)
from engine.runs.recovery import Means, recover
from engine.runs.store import StoredRun
from engine.runs.tracing import log_of, output_of, trace_of
from engine.scoring import align
from engine.sources import SourceInfo, add_source, find_source, list_sources, remove_source
from engine.sources.synthetic import synthesize_source
from engine.workbench.care import Care
from engine.workbench.explaining import Explaining
from engine.workbench.importing import import_runs, place_of, rescore
from engine.workbench.judges import DIFF, OUTPUT, judge_for
from engine.workbench.queueing import Queueing
from engine.workbench.reviewing import Reviewing
from engine.workbench.texts import Texts
from engine.workbench.types import BackendInfo, ImportReport, ReferenceState, SqlPart
from engine.workbench.versions import Versions
from engine.workbench.ways import check_program, means_of
from engine.workspaces import build_workspace

_log = logging.getLogger(__name__)
_MEMORY = 4 << 30
_SHARE_OF_MEMORY = 0.6


class Workbench(Queueing, Care, Explaining, Reviewing, Texts, Versions):
    """The engine on one home folder.

    Errors are those of `engine.base.errors`; `Cancelled` when the job was stopped.
    """

    def __init__(self, home: Home, *, content: Path | None = None) -> None:
        """Put the parts together.

        Args:
            home: where everything is kept.
            content: a folder with `tasks/` and `skills/` that is reviewed; the shipped content
                when None.
        """
        self.home = home
        self.content = content
        self._store = AuditedRuns(home)
        self._machine = RunMachine(home, self._store)
        self._building = threading.Lock()

    def close(self) -> None:
        """The front end is done. Nothing is open between calls, so nothing is to be freed."""

    # --- sources

    def sources(self) -> tuple[SourceInfo, ...]:
        """All registered sources, by name."""
        return tuple(with_needs(info) for info in list_sources(self.home))

    def add_source(self, name: str, path: Path, *, kind: str = "auto", job: Job) -> SourceInfo:
        """Register and import a folder of CSV or Parquet files, or a DuckDB file."""
        return add_source(self.home, name, path, kind=kind, job=job)

    def synth_source(
        self, name: str, *, kind: str, stays: int, seed: int = 1, job: Job
    ) -> SourceInfo:
        """Make a synthetic source."""
        return synthesize_source(self.home, name, kind=kind, stays=stays, seed=seed, job=job)

    def remove_source(self, name: str) -> None:
        """Forget a source and delete what was built from it; runs are kept."""
        remove_source(self.home, name)

    # --- tasks and references

    def tasks(self) -> tuple[Task, ...]:
        """The catalogue, by name."""
        return list_tasks()

    def sources_for(self, task: Task) -> tuple[SourceInfo, ...]:
        """The finished sources that a task can be run on."""
        return tuple(
            info
            for info in self.sources()
            if info.kind == task.source_kind and info.state == "ready"
        )

    def reference_state(self, task: Task, source: str) -> ReferenceState:
        """Is the task's reference there, and does it hold? Cheap: fit for lists."""
        found = reference_state(self.home, source, task.target)
        manifest = found.manifest
        return ReferenceState(
            state=found.state,
            rows=manifest.rows if manifest else None,
            built_at=manifest.built_at if manifest else None,
            why=found.why,
        )

    def lacking_for(self, task: Task, source: str) -> tuple[str, ...]:
        """The source's tables (or ``table (columns)``) that the task's reference needs and lacks.

        Raises:
            UsageError: unknown source.
            Busy, BadInput: its database cannot be looked at now.
        """
        left_out = targets_left_out(self.home, source)
        return next((left.missing for left in left_out if left.key == task.target), ())

    def reference_notes(self, task: Task) -> str:
        """The reference's rules as Markdown: facts of its SQL, then the family's notes."""
        target = find_target(task.target)
        facts = [
            f"**{target.purpose}**",
            "",
            f"- Grain: {target.grain}",
            f"- Key: {', '.join(target.key)}",
            f"- Reads: {', '.join(f'`{table}`' for table in target.reads)}",
            f"- Deviations from the public code: {target.deviations}",
            "",
        ]
        notes = task.folder.parent / "reference-notes.md"
        text = notes.read_text(encoding="utf-8") if notes.is_file() else ""
        return "\n".join(facts) + text

    def reference_parts(self, task: Task) -> tuple[SqlPart, ...]:
        """The query that makes the reference, then each derived table that it rests on.

        The derived tables come in the order in which they are built, needed ones first.
        """
        target = find_target(task.target)
        tables = concept_graph().order(target.concepts)
        named = [
            (f"reference {target.name}", target),
            *((f"{DERIVED}.{query.name}", query) for query in tables),
        ]
        return tuple(
            SqlPart(title, query.purpose, query.deviations, query.text) for title, query in named
        )

    def reference_sql(self, task: Task) -> str:
        """All of `reference_parts` as one text, each under a line that names it."""
        parts = self.reference_parts(task)
        return "\n\n".join(
            f"-- {number} of {len(parts)}: {part.title} {'-' * 20}\n{part.text.strip()}"
            for number, part in enumerate(parts, start=1)
        )

    def build_reference(self, task: Task, source: str, *, job: Job) -> ReferenceState:
        """Build the task's reference (and the concepts it needs), if it does not hold."""
        with self._turn(job):
            build_references(self.home, source, [task.target], job=job)
        return self.reference_state(task, source)

    # --- runs

    def backends(self) -> tuple[BackendInfo, ...]:
        """The ways to isolate an agent, and which work here (really tried: some seconds)."""
        return tuple(
            BackendInfo(
                name=info.name,
                works=info.works,
                publishable=info.publishable,
                detail=info.why_not or "A trivial program was run in it.",
                todo=info.todo,
            )
            for info in available_backends(self.home)
        )

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
        task, means = self._checked(request), means_of(self.home, self._store, request)
        request = means.request
        sandbox = choose_backend(self.home, request.backend)
        check_program(sandbox, means.agent)
        with self._turn(job):
            if reference_state(self.home, request.source, task.target).state != "ready":
                build_references(self.home, request.source, [task.target], job=job)
            reference = open_reference(self.home, request.source, task.target)
            database = build_workspace(
                self.home, task, request.source, schema=request.schema, job=job
            )
        assignment = Assignment(
            request=request,
            task=task,
            agent=means.agent,
            sandbox=sandbox,
            database=database.path,
            agent_db=AgentDb("database.duckdb", database.sha256, database.size_bytes),
            reference=reference,
            reference_facts=self._reference_facts(task, request.source),
            private=self._private(),
            answers=(content_folder("tasks").resolve(),),
            limits=self.limits_of(request),
            way=means.way,
            record=means.record,
        )
        job.check()
        run_id = self._machine.run(
            assignment, judge_for(task, self.home), job=job, on_event=on_event
        )
        record = self.run_record(run_id)
        self._deliver(request, run_id)
        return record

    def limits_of(self, request: RunRequest) -> Limits:
        """What the run's agent may use of this machine."""
        return Limits(
            wall_seconds=request.time_limit_seconds,
            memory_bytes=min(_MEMORY, int(psutil.virtual_memory().total * _SHARE_OF_MEMORY)),
        )

    def runs(self, *, task: str | None = None) -> tuple[RunSummary, ...]:
        """All runs (of a task), newest first."""
        return self._store.list(task)

    def run_record(self, run_id: str) -> RunRecord:
        """Everything that is known of a run.

        Raises:
            UsageError: there is no such run.
        """
        run = self._store.find(run_id)
        place = place_of(self.home, run)
        raw = None if run.summary.live else result.read(place)
        again = run.facts.get("recomputed")
        return result.parse(
            run.summary, place, raw or result.compose(run.summary, run.facts), again
        )

    def run_events(self, run_id: str) -> tuple[tuple[str, str, str], ...]:
        """The run's way through its states: (time, state, words), oldest first."""
        return self._store.events(run_id)

    def run_log(self, run_id: str) -> str:
        """The agent's output, at most 1 MiB of it, control characters neutralised."""
        run = self._store.find(run_id)
        return log_of(place_of(self.home, run), run)

    def run_trace(self, run_id: str) -> Trace:
        """The steps of a run's trace and what they come to, also while it lives.

        Raises:
            UsageError: there is no such run.
            M4Error: the trace cannot be read. A run without one has no steps.
        """
        run = self._store.find(run_id)
        return trace_of(place_of(self.home, run), run)

    def step_output(self, run_id: str, step: TraceStep) -> str:
        """The whole output of a step, control characters neutralised; empty when there is none.

        Raises:
            UsageError: there is no such run.
            M4Error: the trace cannot be read (any more).
        """
        place = place_of(self.home, self._store.find(run_id))
        return "" if step.output_ref is None else output_of(place, step.output_ref)

    def diff_of(self, run_id: str, *, job: Job) -> Path | None:
        """The run's `diff.duckdb`; made again when it is gone.

        None when it cannot be: the run still lives, no output was kept, or the reference that
        it was judged against is gone or has changed.
        """
        run = self._store.find(run_id)
        # That of an imported run lies in the home too: its own folder is never written to.
        path, output = self.home.runs / run_id / DIFF, place_of(self.home, run) / OUTPUT
        if run.summary.live or output.is_symlink() or not output.is_file():
            return None
        if not path.is_file():
            try:
                means = self._means(run)
                path.parent.mkdir(mode=0o700, exist_ok=True)
            except M4Error:
                return None
            align(
                means.task.evaluation,
                output,
                means.reference,
                to=path,
                job=job,
                scratch=self.home.scratch,
            )
        return path

    def delete_run(self, run_id: str) -> None:
        """Delete a run that has ended, with its folder; of an imported one only what is ours.

        Raises:
            UsageError: there is no such run.
            Busy: it is still at work.
        """
        self._store.delete(run_id)
        try:
            hostile.remove(self.home.runs / run_id)
        except OSError as error:
            raise os_error(error, "deleting the run's folder") from error

    def import_runs(self, path: Path, *, sources: Sequence[str] = (), job: Job) -> ImportReport:
        """Take runs of the published harness into the list, to be opened and never changed.

        Args:
            path: a folder with any number of run folders, which stays where it is; or a
                ``.tar``, ``.tar.zst`` or ``.tar.gz`` of one, which is unpacked into the home.
            sources: runs whose output and reference are there are scored again, each with the
                first source that fits its task.
            job: progress and cancel; what was taken before a cancel stays.

        Raises:
            UsageError: neither folder nor archive; an unknown source.
            BadInput: no run folder in it; a damaged or hostile archive (nothing is taken).
            StorageFull: no room for what the archive holds.
        """
        return import_runs(self.home, self._store, path, sources=sources, job=job)

    def rescore(self, run_id: str, source: str, *, job: Job) -> Recomputed:
        """Score an imported run's output with the data of `source`; kept with the run.

        Raises:
            UsageError: no such run, not an imported one, unknown task or source.
            BadInput: no output was kept, or the reference is absent or stale.
        """
        return rescore(self.home, self._store, run_id, source, job=job)

    def recover(
        self, *, on_event: Callable[[RunEvent], None] | None = None
    ) -> tuple[RunSummary, ...]:
        """Finish or close what a killed program left; returns those runs, oldest first.

        Call once at the start. Runs of other living programs are left alone.
        """
        found = recover(
            self._store,
            self._machine,
            [make_backend(self.home, name) for name in backend_names()],
            self._means,
            job=SimpleJob(),
            on_event=on_event,
        )
        try:
            AuditedRuns(self.home).reconcile()
        except M4Error as error:
            _log.warning("the audit log misses ends of runs: %s", error.text)
        return found

    # --- helpers

    @contextlib.contextmanager
    def _turn(self, job: Job) -> Iterator[None]:
        """One thread builds at a time: two runs may want the same reference."""
        while not self._building.acquire(timeout=0.2):
            job.check()
        try:
            yield
        finally:
            self._building.release()

    def _checked(self, request: RunRequest) -> Task:
        """Everything about a request that can be said before long work."""
        task = find_task(request.task) if isinstance(request.task, str) else request.task
        info = find_source(self.home, request.source)
        if info.kind != task.source_kind:
            raise UsageError(
                f"The task {task.name} needs {task.source_kind} data; {info.name} is {info.kind}.",
                todo="Name another source; `m4bench source list` shows them.",
            )
        if request.schema not in SCHEMAS:
            raise UsageError(
                f"There is no schema called {request.schema}.",
                todo=f"Use one of: {', '.join(SCHEMAS)}.",
            )
        if request.trial < 1:
            raise UsageError("Trials are counted from 1.", todo="Say --trial 1 or higher.")
        if not request.time_limit_seconds > 0:
            raise UsageError("The time limit must be more than 0 seconds.")
        means = means_of(self.home, self._store, request)
        folder.skills_for(task, means.request.condition)
        if request.results is not None:
            try:
                request.results.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise os_error(error, "making the folder for results") from error
        return task

    def _deliver(self, request: RunRequest, run_id: str) -> None:
        """A copy of the ended run where the user wants it, whole; one that is there stays."""
        if request.results is not None and not (request.results / run_id).exists():
            with audit.recorded(self.home, "export.run", source=request.source, object=run_id):
                _copy(self.home.runs / run_id, request.results / run_id)

    def _private(self) -> tuple[Path, ...]:
        home = self.home
        return (home.root, home.sources, home.references, home.workspaces, home.runs)

    def _reference_facts(self, task: Task, source: str) -> dict[str, Any]:
        manifest = reference_state(self.home, source, task.target).manifest
        if manifest is None:
            raise BadInput("The reference vanished while the run was made.", todo="Try again.")
        return {
            "key": manifest.key,
            "rows": manifest.rows,
            "built_at": manifest.built_at,
            "source_digest": manifest.source_digest,
            "sql_sha256": manifest.sql_sha256,
            "parquet_sha256": manifest.parquet_sha256,
            "csv_sha256": manifest.content_sha256,
        }

    def _means(self, run: StoredRun) -> Means:
        """What a run is judged with, if it is still what it was."""
        task = find_task(run.summary.task)
        reference = open_reference(self.home, run.summary.source, task.target)
        facts = self._reference_facts(task, run.summary.source)
        if facts["csv_sha256"] != run.facts.get("reference", {}).get("csv_sha256"):
            raise BadInput(
                "The reference is not the one any more that the run was to be judged against.",
                todo="Run it again.",
            )
        return Means(task, reference, judge_for(task, self.home))


def _copy(place: Path, to: Path) -> None:
    """A copy of a run folder where the user wants it."""
    part = to.with_name(f".{to.name}.part")  # a copy that a kill cut short is begun anew
    try:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(place, part)
        part.rename(to)
    except OSError as error:
        raise os_error(error, "copying the run's folder") from error
    except shutil.Error as error:
        raise BadInput(
            "The run's folder could not be copied whole.", todo="See the folder for results."
        ) from error
