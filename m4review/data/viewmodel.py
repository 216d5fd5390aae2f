"""The data screen without a widget."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.sources import SourceInfo
from m4review.app.jobs import JobHandle, JobRunner

if TYPE_CHECKING:
    from engine.workbench import Workbench

KINDS = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}
ACCESS = {
    "synthetic": "synthetic (invented)",
    "open": "open demo",
    "credentialed": "credentialed: stays on this machine",
}


def name_for(path: Path) -> str:
    """A source name from a folder's or file's name."""
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    return name[:40] or "source"


def size_words(size: int) -> str:
    """Bytes in words."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:  # noqa: PLR2004 - decimal units
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"  # noqa: PLR2004
        value /= 1000
    return f"{value:.1f} TB"


class DataViewModel(QObject):
    """Lists sources; adds, makes and removes them in jobs that can be cancelled."""

    changed = Signal()
    failed = Signal(object)
    added = Signal(str)
    """A source of this name is ready."""
    told = Signal(str)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.sources: tuple[SourceInfo, ...] = ()
        self.loaded = False
        self._refused: dict[str, M4Error] = {}
        self._working: set[str] = set()

    def state_words(self, source: SourceInfo) -> str:
        """Where a source stands."""
        if source.name in self._working:
            return "being imported…"
        return "✓ ready" if source.state == "ready" else source.state_words

    def trouble(self, source: SourceInfo) -> str:
        """Why a source is not whole and what to do about it; empty where nothing is to be done."""
        if source.state == "ready" or source.name in self._working:
            return ""
        refused = self._refused.get(source.name)
        if refused is None:
            why = "Its import was stopped or refused, or another program is at work on it."
        else:
            why = f"Its last import was refused: {refused}"
        return f"{source.name} is {source.state_words}. {why}\n{source.todo}"

    def reload(self) -> None:
        """Read the list again, in the background."""
        self._runner.start(
            "Read the sources",
            lambda _job: self._workbench.sources(),
            on_done=self._loaded,
            on_failed=self.failed.emit,
            quiet=True,
        )

    def _loaded(self, sources: tuple[SourceInfo, ...]) -> None:
        self.sources, self.loaded = sources, True
        self.changed.emit()

    def free_name(self, wanted: str) -> str:
        """`wanted`, or with a number where a source has that name."""
        names = {source.name for source in self.sources}
        if wanted not in names:
            return wanted
        return next(f"{wanted}-{n}" for n in range(2, 10_000) if f"{wanted}-{n}" not in names)

    def add(self, name: str, path: Path, kind: str = "auto") -> JobHandle:
        """Register and import a folder or file."""

        def work(job: Job) -> SourceInfo:
            return self._workbench.add_source(name, path, kind=kind, job=job)

        return self._begin(f"Import {name}", name, work)

    def make(self, name: str, *, kind: str, stays: int, seed: int) -> JobHandle:
        """Make a synthetic source."""

        def work(job: Job) -> SourceInfo:
            return self._workbench.synth_source(name, kind=kind, stays=stays, seed=seed, job=job)

        return self._begin(f"Make {name}", name, work)

    def _begin(self, title: str, name: str, work: object) -> JobHandle:
        self._refused.pop(name, None)
        self._working.add(name)

        def done(info: SourceInfo) -> None:
            self._working.discard(name)
            self.reload()
            self.added.emit(info.name)

        def failed(error: M4Error) -> None:
            self._working.discard(name)
            self._refused[name] = error
            self.reload()
            self.failed.emit(error)

        def cancelled() -> None:
            self._working.discard(name)
            self.reload()
            self.told.emit("Stopped. What was imported is kept; add it again to go on.")

        return self._runner.start(
            title,
            work,  # type: ignore[arg-type]
            on_done=done,
            on_failed=failed,
            on_cancelled=cancelled,
            lane=f"source {name}",
        )

    def remove(self, name: str) -> None:
        """Forget a source and delete what was built from it."""

        def done(_nothing: object) -> None:
            self.reload()
            self.told.emit(f"The source {name} is removed.")

        self._runner.start(
            f"Remove {name}",
            lambda _job: self._workbench.remove_source(name),
            on_done=done,
            on_failed=self.failed.emit,
            lane=f"source {name}",
        )
