"""The evidence panel without a widget: what is kept, what is looked up anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from engine.claims import Evidence
from m4review.app.jobs import JobHandle, JobRunner
from m4review.evidence.groups import Section, sections_of

if TYPE_CHECKING:
    from engine.workbench import Workbench


@dataclass(frozen=True)
class Kept:
    """What is known of a task and a source."""

    texts: dict[str, str]
    """The texts as they are on the disk, by name."""
    evidence: Evidence | None
    """The newest that is kept."""
    stale: tuple[str, ...]
    """What has changed since."""
    sections: tuple[Section, ...] = ()
    """The evidence by text, heading and line."""


class EvidenceModel(QObject):
    """Shows kept evidence at once, and looks again when it is told to."""

    sources_changed = Signal()
    changed = Signal()
    """Other evidence, or none."""
    working_changed = Signal()
    """Checking began or ended."""
    progressed = Signal(object)
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self._asked = 0
        self._job: JobHandle | None = None
        self.task, self.source = "", ""
        self.sources: tuple[str, ...] = ()
        self.texts: dict[str, str] = {}
        self.evidence: Evidence | None = None
        self.stale: tuple[str, ...] = ()
        self.sections: tuple[Section, ...] = ()
        self.loading = False

    @property
    def working(self) -> bool:
        """Is it being checked?"""
        return self._job is not None

    def show(self, task: str, source: str = "") -> None:
        """Show what is kept of a task; with no source named, of the one last looked at or first."""
        if task != self.task:
            self.cancel()
            self._take(Kept({}, None, ()))
        self.task, self.loading = task, True

        def work(_job: Job) -> tuple[tuple[str, ...], str, Kept]:
            sources = _sources(self._workbench, task)
            for name in (source, self.source, *sources):
                if name in sources:
                    return sources, name, _kept(self._workbench, task, name)
            return sources, "", Kept(_texts(self._workbench, task), None, ())

        def done(found: tuple[tuple[str, ...], str, Kept]) -> None:
            self.sources, self.source, kept = found
            self.loading = False
            self.sources_changed.emit()
            self._take(kept)

        self._read("Read the evidence that is kept", work, done)

    def choose(self, source: str) -> None:
        """Look at another source."""
        if source != self.source:
            self.cancel()
            self.show(self.task, source)

    def check(self, *, fresh: bool = False) -> None:
        """Hold every claim against the data; `fresh`: also where nothing has changed."""
        task, source = self.task, self.source
        if self._job is not None or not source:
            return

        def work(job: Job) -> Kept:
            found = self._workbench.check_evidence(task, source, job=job, fresh=fresh)
            return _read(_texts(self._workbench, task), found, ())

        def done(kept: Kept) -> None:
            if (task, source) == (self.task, self.source):
                self._take(kept)

        handle = self._runner.start(
            f"Check the claims of {task} on {source}",
            work,
            on_done=done,
            on_failed=self.failed.emit,
        )
        self._job = handle
        handle.progressed.connect(self.progressed.emit)
        handle.over.connect(lambda: self._over(handle))
        self.working_changed.emit()

    def cancel(self) -> None:
        """Stop checking; what was kept stays."""
        if self._job is not None:
            self._job.cancel()

    def read(
        self, title: str, work: Callable[[Job], Any], done: Callable[[Any], object]
    ) -> JobHandle:
        """Something short beside the window, e.g. a copy."""
        return self._runner.start(title, work, on_done=done, on_failed=self.failed.emit, quiet=True)

    def _over(self, handle: JobHandle) -> None:
        if self._job is handle:
            self._job = None
            self.working_changed.emit()

    def _read(self, title: str, work: Callable[[Job], Any], done: Callable[[Any], object]) -> None:
        self._asked += 1
        mine = self._asked

        def finish(found: Any) -> None:
            if mine == self._asked:
                done(found)

        def fail(error: M4Error) -> None:
            if mine == self._asked:
                self.loading = False
                self.failed.emit(error)

        self._runner.start(title, work, on_done=finish, on_failed=fail, quiet=True)

    def _take(self, kept: Kept) -> None:
        self.texts, self.evidence, self.stale = kept.texts, kept.evidence, kept.stale
        self.sections = kept.sections
        self.changed.emit()


def _sources(workbench: Workbench, name: str) -> tuple[str, ...]:
    task = next((task for task in workbench.tasks() if task.name == name), None)
    if task is None:
        raise UsageError(f"There is no task called {name}.", todo="Choose one from the worklist.")
    return tuple(source.name for source in workbench.sources_for(task))


def _kept(workbench: Workbench, task: str, source: str) -> Kept:
    texts = _texts(workbench, task)
    found = workbench.kept_evidence(task, source)
    return _read(texts, *found) if found is not None else Kept(texts, None, ())


def _read(texts: dict[str, str], evidence: Evidence, stale: tuple[str, ...]) -> Kept:
    return Kept(texts, evidence, stale, sections_of(evidence, texts))


def _texts(workbench: Workbench, name: str) -> dict[str, str]:
    task = next(task for task in workbench.tasks() if task.name == name)
    files: dict[str, Path] = {f"skill/{f.name}": f / "SKILL.md" for f in task.skill_folders}
    if task.operational_spec is not None:
        files["operational-spec"] = task.operational_spec
    files["instruction"] = task.folder / "instruction.md"
    found = {}
    for key, path in files.items():
        try:
            found[key] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            found[key] = ""  # said by the check itself
    return found
