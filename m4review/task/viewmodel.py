"""The task page without a widget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from engine.base.errors import M4Error, UsageError
from engine.base.jobs import Job
from engine.catalogue.task import Task
from engine.workbench import RunSummary, SqlPart
from m4review.app.jobs import JobHandle, JobRunner

if TYPE_CHECKING:
    from engine.workbench import Workbench

TEXT_LIMIT = 400_000
"""Characters of one text that are shown; what is cut is said."""


@dataclass(frozen=True)
class Text:
    """One Markdown text of a task."""

    title: str
    """Name of its tab."""
    markdown: str
    """The text."""


@dataclass(frozen=True)
class TaskPage:
    """Everything that the page shows."""

    task: Task
    """The task."""
    asked: tuple[Text, ...]
    """Instruction, operational spec, evaluation."""
    rules: tuple[Text, ...]
    """Skills and reference rules."""
    sql_parts: tuple[SqlPart, ...]
    """The queries that make the reference, its own first; empty when they cannot be had."""
    runs: tuple[RunSummary, ...]
    """Its runs, newest first."""
    sources: tuple[str, ...]
    """Sources that it can be run on."""


def cut(text: str) -> str:
    """A text that is not longer than can be shown; says so when something is left out."""
    if len(text) <= TEXT_LIMIT:
        return text
    return text[:TEXT_LIMIT] + f"\n\n*({len(text) - TEXT_LIMIT:,} further characters not shown)*"


def evaluation_text(task: Task) -> str:
    """The scoring rules of a task as Markdown."""
    evaluation = task.evaluation
    lines = [
        f"- **Key** (together they name a row): {_names(evaluation.key_columns)}.",
        (
            f"- **Strict pass:** at least {evaluation.row_coverage_threshold:.0%} of the "
            f"reference's keys, and at least {evaluation.accuracy_threshold:.0%} matches in "
            "every scored column."
        ),
        f"- **Required columns:** {_names(evaluation.required)}.",
        "",
        "| scored column | tolerance |",
        "|---|---|",
    ]
    for name in evaluation.scored_columns:
        tolerance = evaluation.tolerance.get(name, 0)
        lines.append(f"| `{name}` | {f'± {tolerance:g}' if tolerance else 'exact'} |")
    if task.drop_tables:
        lines += ["", "**Taken out of the agent's database:** "]
        lines.append(_names(task.drop_tables) + ".")
    return "\n".join(lines)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def load_page(workbench: Workbench, name: str) -> TaskPage:
    """Read the texts of a task; a text that cannot be read says why in its place.

    Raises:
        UsageError: there is no such task.
    """
    task = next((task for task in workbench.tasks() if task.name == name), None)
    if task is None:
        raise UsageError(f"There is no task called {name}.", todo="Choose one from the worklist.")
    asked = [Text("Instruction", cut(task.instruction))]
    if task.operational_spec is not None:
        text = task.operational_spec.read_text(encoding="utf-8")
        asked.append(Text("Operational spec", cut(text)))
    asked.append(Text("Scoring", evaluation_text(task)))
    rules = []
    for folder in task.skill_folders:
        try:
            text = (folder / "SKILL.md").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            text = "*This skill cannot be read: its SKILL.md is missing or is no UTF-8 text.*"
        rules.append(Text(f"Skill: {folder.name}", cut(text)))
    try:
        rules.append(Text("Reference rules", cut(workbench.reference_notes(task))))
    except M4Error as error:
        rules.append(Text("Reference rules", f"*{error}*"))
    try:
        sql = workbench.reference_parts(task)
    except M4Error:
        sql = ()
    sources = tuple(s.name for s in workbench.sources_for(task) if s.state == "ready")
    return TaskPage(task, tuple(asked), tuple(rules), sql, workbench.runs(task=name), sources)


class TaskViewModel(QObject):
    """Loads one task's page."""

    changed = Signal()
    runs_changed = Signal()
    failed = Signal(object)

    def __init__(
        self, workbench: Workbench, runner: JobRunner, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workbench, self._runner = workbench, runner
        self.name = ""
        self.page: TaskPage | None = None

    def show(self, name: str) -> None:
        """Read a task's page in the background."""
        if name != self.name:
            self.page = None
        self.name = name

        def work(_job: Job) -> TaskPage:
            return load_page(self._workbench, name)

        handle: JobHandle = self._runner.start(
            "Read the task", work, on_failed=self.failed.emit, quiet=True
        )
        handle.done.connect(self._done)

    def _done(self, page: TaskPage) -> None:
        if page.task.name != self.name:
            return
        before, self.page = self.page, page
        if before is None or (before.asked, before.rules) != (page.asked, page.rules):
            self.changed.emit()
        else:
            self.runs_changed.emit()
