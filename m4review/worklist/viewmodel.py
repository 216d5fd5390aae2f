"""The worklist without a widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.base.jobs import Job
from engine.catalogue.task import Task
from engine.workbench import ReferenceState, RunSummary
from m4review.app.jobs import JobHandle, JobRunner

if TYPE_CHECKING:
    from engine.workbench import Workbench


@dataclass(frozen=True)
class WorkItem:
    """One task as the worklist shows it."""

    task: Task
    """The task."""
    sources: tuple[str, ...]
    """Names of the sources that it can be run on."""
    reference: ReferenceState | None
    """The best state that it has on one of these sources; None without a source."""
    last_run: RunSummary | None
    """The newest run."""
    runs: int
    """How many there are."""
    reference_source: str = ""
    """The source that has this reference."""

    @property
    def reference_words(self) -> str:
        """The reference in words."""
        if self.reference is None:
            return "needs a source"
        match self.reference.state:
            case "ready":
                rows = self.reference.rows
                return f"✓ ready{self._where}" + (f", {rows:,} rows" if rows is not None else "")
            case "stale":
                return f"⚠ stale{self._where}"
            case _:
                return "not built yet"

    @property
    def _where(self) -> str:
        return f" in {self.reference_source}" if len(self.sources) > 1 else ""

    @property
    def source_words(self) -> str:
        """The sources in words."""
        if self.sources:
            return ", ".join(self.sources)
        kind = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}[self.task.source_kind]
        return f"none ({kind})"


def load_items(workbench: Workbench, job: Job) -> list[WorkItem]:
    """Read everything that the worklist shows."""
    runs = workbench.runs()
    sources = workbench.sources()
    items = []
    for task in workbench.tasks():
        job.check()
        names = tuple(s.name for s in sources if s.kind == task.source_kind and s.state == "ready")
        of_task = [run for run in runs if run.task == task.name]
        source, reference = best_reference(
            {name: workbench.reference_state(task, name) for name in names}
        )
        last = of_task[0] if of_task else None
        items.append(WorkItem(task, names, reference, last, len(of_task), source))
    return items


def best_reference(states: Mapping[str, ReferenceState]) -> tuple[str, ReferenceState | None]:
    """The source with the most usable reference: ready before stale before absent.

    Args:
        states: the reference's state by source; among equals the first one counts.

    Returns:
        The source and the state; "" and None without a source.
    """
    order = ("ready", "stale", "absent")
    return min(states.items(), key=lambda each: order.index(each[1].state), default=("", None))


class WorklistViewModel(QObject):
    """Tasks, a filter, and what to do when there is no source."""

    changed = Signal()
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self._items: list[WorkItem] = []
        self._loading: JobHandle | None = None
        self.text = ""
        self.loaded = False

    def reload(self) -> None:
        """Read again, in the background."""
        if self._loading is not None:
            self._loading.cancel()
        handle = self._runner.start(
            "Read the worklist",
            lambda job: load_items(self._workbench, job),
            on_failed=self.failed.emit,
            quiet=True,
        )
        self._loading = handle
        handle.done.connect(lambda items: self._done(handle, items))

    def _done(self, handle: JobHandle, items: list[WorkItem]) -> None:
        if handle is self._loading:
            self._loading = None
            self._items = items
            self.loaded = True
            self.changed.emit()

    def set_text(self, text: str) -> None:
        """Show the tasks in which every word occurs."""
        self.text = text
        self.changed.emit()

    @property
    def without_source(self) -> bool:
        """Can no task be run because there is no source?"""
        return self.loaded and not any(item.sources for item in self._items)

    def families(self) -> dict[str, list[WorkItem]]:
        """The tasks that pass the filter, by family."""
        words = self.text.casefold().split()
        found: dict[str, list[WorkItem]] = {}
        for item in self._items:
            task = item.task
            text = " ".join(
                (task.name, task.family, task.description, task.mode, task.difficulty,
                 task.source_kind, task.category, *task.tags, item.reference_words)
            ).casefold()  # fmt: skip
            if all(word in text for word in words):
                found.setdefault(task.family, []).append(item)
        return dict(sorted(found.items()))
