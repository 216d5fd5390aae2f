"""The worklist's window side."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
)

from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import DATA, Place
from m4review.app.tips import as_written
from m4review.app.widgets import EmptyState, ErrorPanel, button, label, page_layout
from m4review.run.words import (
    MODES,
    reward_words,
    state_words,
    strict_tone,
    strict_words,
    when,
)
from m4review.worklist.viewmodel import WorkItem, WorklistViewModel

_TITLES = (
    "Task", "Mode", "Difficulty", "Source", "Reference", "Last run", "State", "Reward",
    "Strict pass",
)  # fmt: skip
_REWARD = 7


class WorklistScreen(Screen):
    """Tasks by family; Enter opens one."""

    _keys_wanted = False
    """The list takes the keys as soon as it is there."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = WorklistViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self.filter = QLineEdit(context.settings.get("worklist.filter"))
        self.model.text = self.filter.text()
        self.filter.setPlaceholderText("Filter tasks: name, family, raw, expert, eicu, ready…")
        self.filter.setAccessibleName("Filter tasks")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._filter)
        self.filter.returnPressed.connect(self._to_first)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName("Tasks by family")
        self.tree.setHeaderLabels(list(_TITLES))
        self.tree.setUniformRowHeights(True)
        self.tree.setAllColumnsShowFocus(True)
        self.tree.setRootIsDecorated(True)
        self.tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.tree.headerItem().setTextAlignment(
            _REWARD, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        )
        header = self.tree.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self.tree.itemActivated.connect(self._open)
        self.count = label("", "muted")
        self.empty = EmptyState(
            context,
            "database",
            "There is no data yet",
            "Texts can be read and reviewed without. To check their claims and to run agents add "
            "a folder of MIMIC-IV or eICU files (CSV, CSV.gz or Parquet) or a DuckDB file, or make "
            "synthetic data, invented from a seed.",
        )
        self.empty.buttons.addWidget(
            button(context, "Add a folder…", lambda: context.go(DATA), icon="folder-plus")
        )
        self.make = button(
            context, "Make synthetic data…", self._synthetic, icon="sparkles", main=True
        )
        self.empty.buttons.addWidget(self.make)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.tree)
        self._nothing = EmptyState(
            context, "search", "No task fits the filter", "Take a word away to see more."
        )
        self._stack.addWidget(self._nothing)
        self._reading = EmptyState(
            context, "list-checks", "Reading…", "Tasks, references and runs are being looked at."
        )
        self._stack.addWidget(self._reading)
        self._stack.setCurrentWidget(self._reading)
        self.count.setText("Reading…")
        page = page_layout(self, context)
        head = QHBoxLayout()
        head.addWidget(label("Worklist", "title"))
        head.addWidget(self.count)
        head.addStretch(1)
        head.addWidget(self.filter, 1)
        page.addLayout(head)
        page.addWidget(self.errors)
        page.addWidget(self.empty)
        page.addWidget(self._stack, 1)
        self.empty.hide()
        self.model.changed.connect(self._fill)
        self.model.failed.connect(self.errors.show_error)
        context.theme_changed.connect(self._fill)
        context.announced.connect(self._announced)

    @property
    def title(self) -> str:
        return "Worklist"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self.model.reload()

    def bind(self, actions: Actions) -> None:
        actions.bind("app.find", self._find)
        self.tree.setFocus()
        self._keys_wanted = not self.tree.hasFocus()

    def leave(self, actions: Actions) -> None:
        actions.bind("app.find", None)
        self._keys_wanted = False

    def _synthetic(self) -> None:
        self.context.go(DATA)
        self.context.synthetic_asked.emit()

    def _find(self) -> None:
        self.filter.setFocus()
        self.filter.selectAll()

    def _announced(self, _what: str) -> None:
        if self.isVisible():
            self.model.reload()

    def _filter(self, text: str) -> None:
        self.context.settings.set("worklist.filter", text)
        self.model.set_text(text)

    def _to_first(self) -> None:
        self.tree.setFocus()
        top = self.tree.topLevelItem(0)
        if top is not None and top.childCount():
            self.tree.setCurrentItem(cast("QTreeWidgetItem", top.child(0)))

    def _fill(self) -> None:
        current = self.tree.currentItem()
        before = current.data(0, Qt.ItemDataRole.UserRole) if current else None
        self.tree.clear()
        families = self.model.families()
        number = sum(len(items) for items in families.values())
        if self.model.loaded:
            self.count.setText(f"{number} task{'s' if number != 1 else ''}")
            self._stack.setCurrentWidget(self.tree if families else self._nothing)
            if self._keys_wanted and families:  # a tree that was not shown yet took no keys
                self._keys_wanted = False
                if not self.filter.hasFocus():
                    self.tree.setFocus()
        self.empty.setVisible(self.model.without_source)
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        chosen: QTreeWidgetItem | None = None
        for family, items in families.items():
            about = items[0].task.description
            top = QTreeWidgetItem(self.tree, [f"{family}  ({len(items)})   {about}".rstrip()])
            top.setFirstColumnSpanned(True)
            top.setFont(0, bold)
            top.setFlags(top.flags() & ~Qt.ItemFlag.ItemIsSelectable)
            for item in items:
                row = self._row(top, item)
                if chosen is None or item.task.name == before:
                    chosen = row
            top.setExpanded(True)
        if chosen is not None:
            self.tree.setCurrentItem(chosen)

    def _row(self, top: QTreeWidgetItem, item: WorkItem) -> QTreeWidgetItem:
        task, run, theme = item.task, item.last_run, self.context.theme
        row = QTreeWidgetItem(
            top,
            [
                task.name,
                task.mode,
                task.difficulty,
                item.source_words,
                item.reference_words,
                when(run.started_at) if run else "–",
                state_words(run) if run else "not run yet",
                reward_words(run.reward) if run else "–",
                strict_words(run.strict_pass) if run else "–",
            ],
        )
        row.setData(0, Qt.ItemDataRole.UserRole, task.name)
        row.setToolTip(0, as_written(task.description))
        row.setToolTip(1, as_written(MODES[task.mode]))
        row.setTextAlignment(_REWARD, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        reference = item.reference
        tone = {"ready": "good", "stale": "warn"}.get(reference.state if reference else "", "muted")
        row.setForeground(4, QColor(getattr(theme, tone)))
        if reference is not None and reference.why:
            row.setToolTip(4, as_written(reference.why))
        strict = strict_tone(run.strict_pass) if run else ""
        row.setForeground(8, QColor(getattr(theme, strict or "muted")))
        if run is None:
            for column in (5, 6, 7):
                row.setForeground(column, QColor(theme.muted))
        return row

    def _open(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        name = item.data(0, Qt.ItemDataRole.UserRole)
        if name:
            self.context.go(Place("task", str(name)))
        else:
            item.setExpanded(not item.isExpanded())
