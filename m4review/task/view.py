"""The task page's window side: what is asked on the left, how and by which rules on the right."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import Place
from m4review.app.markdown import SafeBrowser
from m4review.app.tables import ListTable
from m4review.app.tips import as_written
from m4review.app.widgets import ElidedLabel, ErrorPanel, badge, button, clear, label, page_layout
from m4review.run.table import runs_model
from m4review.run.words import MODES
from m4review.task.sql_view import SqlView
from m4review.task.viewmodel import TaskViewModel, Text

EDITED = {
    "task.edit": "",
    "text.instruction": "instruction",
    "text.skill": "skill",
    "text.operational-spec": "operational-spec",
    "text.task": "task.toml",
    "text.reference-notes": "reference-notes",
    "text.provenance": "provenance",
}
"""Commands that open a text of the task, and the text's name."""
_NARROW = 1000
"""Pixels at 100 %."""
_NO_LIMIT = 16_777_215
"""Qt's own greatest height of a widget."""
_SOURCES = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}


class TaskScreen(Screen):
    """One task."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = TaskViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self._title = ElidedLabel("", "title")
        self._badges = QHBoxLayout()
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._description = label("", "muted", wrap=True)
        self.run_button = button(
            context, "Run…", self._run, icon="play", main=True, tip="Run an agent on it (Ctrl+R)"
        )
        self.value_button = button(
            context,
            "Where a value comes from…",
            lambda: context.go(Place("timeline", self.model.name)),
            icon="history",
            tip="Follow a value of the reference back to the source's rows",
        )
        self.edit_button = button(
            context,
            "Edit…",
            lambda: self._edit(""),
            icon="file-text",
            tip="Edit the texts of this task (F2)",
        )
        self.evidence_button = button(
            context,
            "Evidence",
            self._evidence,
            icon="stethoscope",
            tip="What the data say of each claim of the skill (Ctrl+E)",
        )
        self.review_button = button(
            context,
            "Review…",
            lambda: context.go(Place("review", self.model.name)),
            icon="clipboard-list",
            tip="The double review of this task (Ctrl+Shift+V)",
        )
        self.asked = QTabWidget()
        self.asked.setAccessibleName("What is asked")
        self.rules = QTabWidget()
        self.rules.setAccessibleName("How it is done, and the reference's rules")
        self.runs = ListTable(context, "Runs of this task")
        self.runs_model = runs_model(lambda: context.theme, with_task=False)
        self.runs.setModel(self.runs_model)
        self.runs.opened.connect(self._open_run)
        self.no_runs = label("No run of this task yet. Run… starts one.", "muted")
        self.no_runs.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._build()
        self.model.changed.connect(self._fill)
        self.model.runs_changed.connect(self._fill_runs)
        self.model.failed.connect(self._failed)
        context.announced.connect(self._announced)

    def _build(self) -> None:
        page = page_layout(self, self.context)
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addSpacing(self.context.px(8))
        head.addLayout(self._badges)
        head.addStretch(1)
        actions = QHBoxLayout()
        for each in (
            self.value_button, self.edit_button, self.evidence_button, self.review_button,
            self.run_button,
        ):  # fmt: skip
            actions.addWidget(each)
        self._head.addLayout(head, 1)
        self._head.addLayout(actions)
        page.addLayout(self._head)
        page.addWidget(self._description)
        page.addWidget(self.errors)
        texts = QSplitter(Qt.Orientation.Horizontal)
        texts.setChildrenCollapsible(False)
        texts.addWidget(self.asked)
        texts.addWidget(self.rules)
        texts.setSizes([500, 500])
        self._below = QWidget()
        rows = QVBoxLayout(self._below)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(label("Runs", "heading"))
        rows.addWidget(self.no_runs)
        rows.addWidget(self.runs, 1)
        rows.addStretch(0)
        self._halves = QSplitter(Qt.Orientation.Vertical)
        self._halves.setChildrenCollapsible(False)
        self._halves.addWidget(texts)
        self._halves.addWidget(self._below)
        self._halves.setStretchFactor(0, 1)
        page.addWidget(self._halves, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window, or a large zoom, the buttons have a line of their own."""
        super().resizeEvent(event)
        narrow = self.width() < self.context.px(_NARROW)
        way = QBoxLayout.Direction
        self._head.setDirection(way.TopToBottom if narrow else way.LeftToRight)

    @property
    def title(self) -> str:
        return self.model.name

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        if place.name != self.model.name:
            self._title.setText(place.name)
        self.model.show(place.name)

    def bind(self, actions: Actions) -> None:
        actions.bind("task.run", self._run)
        for name, text in EDITED.items():
            actions.bind(name, partial(self._edit, text))
        actions.bind("task.evidence", self._evidence)
        self.run_button.setFocus()

    def leave(self, actions: Actions) -> None:
        actions.bind("task.run", None)
        for name in EDITED:
            actions.bind(name, None)
        actions.bind("task.evidence", None)

    def _announced(self, _what: str) -> None:
        if self.isVisible() and self.model.name:
            self.model.show(self.model.name)

    def _failed(self, error: M4Error) -> None:
        self.errors.show_error(error)

    def _run(self) -> None:
        self.context.go(Place("launch", self.model.name))

    def _evidence(self) -> None:
        self.context.go(Place("evidence", self.model.name))

    def _edit(self, text: str) -> None:
        self.context.go(Place("edit", self.model.name, text=text))

    def _open_run(self, row: int) -> None:
        run = self.runs_model.record(row)
        if run is not None:
            self.context.go(Place("run", run.run_id))

    def _fill(self) -> None:
        page = self.model.page
        if page is None:
            return
        task = page.task
        self._title.setText(task.name)
        self._description.setText(task.description)
        self._description.setVisible(bool(task.description))
        clear(self._badges)
        mode = badge(task.mode, "plain")
        mode.setToolTip(as_written(MODES[task.mode]))
        self._badges.addWidget(mode)
        self._badges.addWidget(badge(task.difficulty, "plain"))
        self._badges.addWidget(badge(_SOURCES[task.source_kind], "plain"))
        self._tabs(self.asked, page.asked)
        self.asked.setTabToolTip(
            0,
            "{db_path} and {output_path} stand for the paths of the agent's database and of the "
            "file that it writes; a run puts the real ones in their place.",
        )
        self._tabs(self.rules, page.rules)
        if page.sql_parts:
            self.rules.addTab(SqlView(self.context, page.sql_parts), "Reference SQL")
        self._fill_runs()
        self.title_changed.emit()

    def _tabs(self, tabs: QTabWidget, texts: tuple[Text, ...]) -> None:
        at = tabs.currentIndex()
        while tabs.count():
            old = tabs.widget(0)
            tabs.removeTab(0)
            if old is not None:
                old.deleteLater()
        for text in texts:
            browser = SafeBrowser(self.context, text.title)
            browser.show_markdown(text.markdown)
            tabs.addTab(browser, text.title)
        if 0 <= at < tabs.count():
            tabs.setCurrentIndex(at)

    def _fill_runs(self) -> None:
        page = self.model.page
        runs = page.runs if page else ()
        self.runs_model.set_records(runs)
        if bool(runs) == self.runs.isHidden():
            self._make_room(bool(runs))
        self.runs.setVisible(bool(runs))
        self.no_runs.setVisible(not runs)

    def _make_room(self, for_runs: bool) -> None:
        """Without runs the texts get the whole height."""
        px = self.context.px
        self._below.setMaximumHeight(_NO_LIMIT if for_runs else px(56))
        self._halves.setSizes([px(460), px(190)] if for_runs else [px(594), px(56)])
