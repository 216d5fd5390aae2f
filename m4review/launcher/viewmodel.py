"""The launcher without a widget: what is asked, whether it can work, what the run tells."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from engine.catalogue.task import Task
from engine.workbench import (
    BackendInfo,
    ReferenceState,
    RunEvent,
    RunRecord,
    RunRequest,
)
from m4review.app.jobs import JobHandle, JobRunner
from m4review.app.settings import Settings

if TYPE_CHECKING:
    from engine.workbench import Workbench

CONDITIONS = {
    "no-skill": "No skill: the instruction only",
    "with-skill": "With the skill",
    "with-skill-all": "With all skills of the benchmark",
    "with-skill-decoy": "With a skill of another family (decoy)",
    "with-skill-rawsql": "With the reference's SQL as the skill",
    "operational-spec": "With the operational spec instead of the skill",
}
"""The conditions that a task of ours can be run in, in words."""
DATA_STAGE = "data"
"""Before a run's own states: its reference and the agent's database are built where missing."""
STAGES = (DATA_STAGE, "prepared", "canary", "running", "collecting", "linting", "scoring", "done")
"""States in their order."""
LOG_LIMIT = 200_000
"""Characters of live log that are kept on screen; the whole is in the run's folder."""
_NAMED = 6
"""So many missing tables are named."""
_FLUSH = 100
"""Milliseconds between two updates of the log: an agent may write thousands of lines a second."""


@dataclass(frozen=True)
class Check:
    """One line of the preflight list."""

    name: str
    """What is looked at."""
    state: str
    """``good``, ``bad`` (no run), ``wait`` (not known yet) or ``warn`` (works, takes longer)."""
    words: str
    """What was found."""
    todo: str = ""
    """What to do about it."""


@dataclass(frozen=True)
class Facts:
    """What the engine says before a run."""

    task: Task
    """The task."""
    sources: tuple[str, ...]
    """Ready sources that it can be run on."""
    references: dict[str, ReferenceState]
    """By source."""
    lacking: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By source that cannot do: the tables that it lacks for this task."""

    @property
    def proposed_source(self) -> str:
        """The first source with a reference that holds, else one that lacks nothing, else any.

        "" when there is none.
        """
        holds = (
            name
            for name in self.sources
            if name in self.references and self.references[name].state == "ready"
        )
        whole = next((name for name in self.sources if name not in self.lacking), "")
        return next(holds, whole or (self.sources[0] if self.sources else ""))


@dataclass
class Choice:
    """What the user chose."""

    source: str = ""
    """Name of a source."""
    script: Path | None = None
    """The agent's file."""
    condition: str = "no-skill"
    """One of `CONDITIONS`."""
    minutes: int = 30
    """Time limit."""


@dataclass
class _Buffer:
    """Output that worker threads wrote and the window has not shown yet."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    events: list[RunEvent] = field(default_factory=list)

    def put(self, event: RunEvent) -> None:
        with self.lock:
            self.events.append(event)

    def take(self) -> list[RunEvent]:
        with self.lock:
            events, self.events = self.events, []
        return events


def load_facts(workbench: Workbench, name: str) -> Facts:
    """Ask the engine what stands ready for a task.

    Raises:
        UsageError: there is no such task.
    """
    task = next((task for task in workbench.tasks() if task.name == name), None)
    if task is None:
        raise UsageError(f"There is no task called {name}.", todo="Choose one from the worklist.")
    sources = tuple(s.name for s in workbench.sources_for(task) if s.state == "ready")
    references = {source: workbench.reference_state(task, source) for source in sources}
    lacking = {
        source: lost
        for source in sources
        if references[source].state != "ready" and (lost := _lacking(workbench, task, source))
    }
    return Facts(task, sources, references, lacking)


def _lacking(workbench: Workbench, task: Task, source: str) -> tuple[str, ...]:
    """What the source lacks; nothing when it cannot be looked at now (the run will tell)."""
    try:
        return workbench.lacking_for(task, source)
    except M4Error:
        return ()


class LauncherViewModel(QObject):
    """One run at a time from this screen; others can be started from other tasks meanwhile."""

    facts_changed = Signal()
    checks_changed = Signal()
    state_changed = Signal(str)
    """The run's state (`STAGES`, or "failed")."""
    log_added = Signal(str)
    """More of the agent's output."""
    running_changed = Signal(bool)
    finished = Signal(object)
    """The `RunRecord` of a run that has ended."""
    failed = Signal(object)
    stopped = Signal()

    def __init__(
        self,
        workbench: Workbench,
        runner: JobRunner,
        settings: Settings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner, self._settings = workbench, runner, settings
        self.name = ""
        self.facts: Facts | None = None
        self.backends: tuple[BackendInfo, ...] | None = None
        self._asking_backends = False
        self.choice = Choice()
        self.handle: JobHandle | None = None
        self.run_id = ""
        self.states: list[str] = []
        self._buffer = _Buffer()
        self._timer = QTimer(self)
        self._timer.setInterval(_FLUSH)
        self._timer.timeout.connect(self._flush)

    # --- before

    def show(self, name: str) -> None:
        """Get ready for a task; keeps a run that is at work for the same task."""
        if self.running:
            return
        self.name = name
        scripts = self._settings.get("launcher.scripts")
        remembered = Path(scripts[name]) if scripts.get(name) else None
        self.choice = Choice(
            source=self._settings.get("launcher.source"),
            script=remembered,
            condition=self._settings.get("launcher.condition"),
            minutes=self._settings.get("launcher.minutes"),
        )
        self.states = []
        self.run_id = ""
        self.reload()

    def reload(self) -> None:
        """Ask the engine again what stands ready."""
        name = self.name

        def done(facts: Facts) -> None:
            if facts.task.name != self.name:
                return
            self.facts = facts
            if self.choice.source not in facts.sources:
                self.choice.source = facts.proposed_source
            self.facts_changed.emit()
            self.checks_changed.emit()

        self._runner.start(
            "Look what is ready",
            lambda _job: load_facts(self._workbench, name),
            on_done=done,
            on_failed=self.failed.emit,
            quiet=True,
        )
        self._ask_backends()

    def _ask_backends(self) -> None:
        """Try the sandboxes; takes seconds the first time, so nothing else waits for it."""
        if self._asking_backends or any(backend.works for backend in self.backends or ()):
            return
        self._asking_backends = True

        def done(backends: tuple[BackendInfo, ...]) -> None:
            self._asking_backends = False
            self.backends = backends
            self.checks_changed.emit()

        def failed(error: M4Error) -> None:
            self._asking_backends = False
            self.failed.emit(error)

        self._runner.start(
            "Try the sandbox",
            lambda _job: self._workbench.backends(),
            on_done=done,
            on_failed=failed,
            quiet=True,
        )

    def choose(
        self,
        *,
        source: str | None = None,
        script: Path | None = None,
        condition: str | None = None,
        minutes: int | None = None,
    ) -> None:
        """Change the given parts of the choice; they are remembered."""
        choice, settings = self.choice, self._settings
        if source is not None:
            choice.source = source
            settings.set("launcher.source", source)
        if script is not None:
            choice.script = script
            scripts = settings.get("launcher.scripts")
            scripts[self.name] = str(script)
            settings.set("launcher.scripts", scripts)
        if condition is not None:
            choice.condition = condition
            settings.set("launcher.condition", condition)
        if minutes is not None:
            choice.minutes = minutes
            settings.set("launcher.minutes", minutes)
        self.checks_changed.emit()

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions that this task offers, in words."""
        task = self.facts.task if self.facts else None
        found = dict(CONDITIONS)
        if task is None or task.operational_spec is None:
            found.pop("operational-spec")
        if task is None or not task.skill_folders:
            found.pop("with-skill")
        return found

    @property
    def checks(self) -> tuple[Check, ...]:
        """The preflight list."""
        if self.facts is None:
            return ()
        return (
            self._check_script(),
            self._check_source(),
            self._check_reference(),
            self._check_sandbox(),
        )

    def _check_script(self) -> Check:
        script = self.choice.script
        name = "Agent script"
        if script is None:
            return Check(name, "bad", "none chosen", "Choose a .sql or .py file, or drop one here.")
        if not script.is_file():
            return Check(name, "bad", "the file is not there any more", "Choose it again.")
        if script.suffix.lower() not in (".sql", ".py"):
            return Check(name, "bad", "neither .sql nor .py", "Choose a .sql or .py file.")
        if script.stat().st_size == 0:
            return Check(name, "bad", "the file is empty", "Choose another one.")
        return Check(name, "good", script.name)

    def _check_source(self) -> Check:
        if self.choice.source:
            return Check("Source", "good", self.choice.source)
        kind = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}
        of = kind[self.facts.task.source_kind] if self.facts else ""
        return Check(
            "Source", "bad", f"no {of} source is ready", "Add one, or make synthetic data (Data)."
        )

    def _check_reference(self) -> Check:
        state = self.facts.references.get(self.choice.source) if self.facts else None
        if state is None:
            return Check("Reference", "warn", "needs a source first")
        if state.state == "ready":
            rows = f"{state.rows:,} rows" if state.rows is not None else "ready"
            return Check("Reference", "good", rows)
        lost = self.facts.lacking.get(self.choice.source, ()) if self.facts else ()
        if lost:
            more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
            return Check(
                "Reference",
                "bad",
                f"cannot be built: the source lacks {', '.join(lost[:_NAMED])}{more}",
                "Choose another source, or add one whose folder holds these tables (Data).",
            )
        words = "not built yet" if state.state == "absent" else "stale"
        return Check("Reference", "warn", f"{words}; it is built first, which takes a while")

    def _check_sandbox(self) -> Check:
        if self.backends is None:
            return Check("Sandbox", "wait", "being tried…")
        working = [backend for backend in self.backends if backend.works]
        if not working:
            todo = "; ".join(b.todo for b in self.backends if b.todo)
            return Check("Sandbox", "bad", "none works here; nothing runs without one", todo)
        best = working[0]
        if best.publishable:
            return Check("Sandbox", "good", best.name)
        return Check(
            "Sandbox", "good", f"{best.name} (fine for trying out, not for published figures)"
        )

    @property
    def ready(self) -> bool:
        """Can a run be started?"""
        checks = self.checks
        good = bool(checks) and all(check.state in ("good", "warn") for check in checks)
        return good and not self.running

    # --- the run

    @property
    def running(self) -> bool:
        """Is a run of this screen at work?"""
        return self.handle is not None and not self.handle.state.over

    def start(self) -> None:
        """Start the run; what it tells comes as signals."""
        if not self.ready or self.facts is None:
            return
        choice = self.choice
        request = RunRequest(
            task=self.facts.task,
            source=choice.source,
            agent="script",
            script=choice.script,
            condition=choice.condition,
            time_limit_seconds=choice.minutes * 60.0,
        )
        self.states = [DATA_STAGE]
        self.run_id = ""
        buffer = self._buffer = _Buffer()

        def work(job: Job) -> RunRecord:
            return self._workbench.run(request, job=job, on_event=buffer.put)

        self.handle = self._runner.start(f"Run {self.facts.task.name}", work)
        self.handle.done.connect(self._done)
        self.handle.failed.connect(self._failed)
        self.handle.cancelled.connect(self._cancelled)
        self._timer.start()
        self.running_changed.emit(True)

    def cancel(self) -> None:
        """Stop the run."""
        if self.handle is not None:
            self.handle.cancel()

    def _flush(self) -> None:
        text: list[str] = []
        for event in self._buffer.take():
            self.run_id = event.run_id
            if event.kind == "state":
                self.states.append(event.text)
                self.state_changed.emit(event.text)
            else:
                text.append(event.text)
        if text:
            self.log_added.emit("".join(text))

    def _end(self) -> None:
        self._flush()
        self._timer.stop()
        self.running_changed.emit(False)
        self.reload()  # the reference may have been built

    def _done(self, record: RunRecord) -> None:
        self._end()
        self.finished.emit(record)

    def _failed(self, error: M4Error) -> None:
        self._end()
        self.failed.emit(error)

    def _cancelled(self) -> None:
        self._end()
        self.stopped.emit()

    def close_down(self) -> None:
        """The window closes."""
        self._timer.stop()
