"""Planning runs, the window side: tasks, settings and agents; at the right whether they can go."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.catalogue.task import Task
from engine.workbench import SCHEMAS
from m4review.app import icons
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import QUEUE, Place
from m4review.app.widgets import (
    ColumnScroll,
    ErrorPanel,
    button,
    card,
    clear,
    label,
    page_layout,
    spin_box,
)
from m4review.launcher.viewmodel import CONDITIONS
from m4review.plan.agents import AgentRow
from m4review.plan.choice import AgentChoice
from m4review.plan.viewmodel import PlanViewModel, estimate_words
from m4review.queue.viewmodel import QueueDesk

_SCHEMAS = {
    "native": "native: names as in the public database",
    "obfuscated": "obfuscated: other names, so that nothing is known by heart",
    "restructured": "restructured: the same facts in other tables",
}
_KINDS = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}
_NAME = Qt.ItemDataRole.UserRole


class PlanScreen(Screen):
    """Chooses many runs at once."""

    def __init__(self, context: Context, desk: QueueDesk) -> None:
        super().__init__(context)
        self.model = PlanViewModel(context.workbench, context.runner, context.settings, desk, self)
        self.errors = ErrorPanel(context)
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter tasks…")
        self.filter.setAccessibleName("Filter tasks")
        self.filter.setClearButtonEnabled(True)
        self.tree = QTreeWidget()
        self.tree.setHeaderHidden(True)
        self.tree.setAccessibleName("Tasks")
        self.chosen = label("", "muted")
        self.conditions = {name: QCheckBox(words) for name, words in CONDITIONS.items()}
        self.schemas = {name: QCheckBox(_SCHEMAS[name]) for name in SCHEMAS}
        self.sources: dict[str, QComboBox] = {}
        self._sources = QGridLayout()
        self.agents: list[AgentRow] = []
        self._agents = QVBoxLayout()
        self.trials = spin_box(context, 1, 100, "Trials of each")
        self.minutes = spin_box(context, 1, 24 * 60, "Time limit of a run in minutes")
        self.minutes.setSuffix(" min")
        self.requests = spin_box(context, 0, 1_000_000, "Requests to the model that a run may make")
        self.tokens_in = spin_box(context, 0, 2_000_000_000, "Tokens in that a run may use")
        self.tokens_out = spin_box(context, 0, 2_000_000_000, "Tokens out that a run may use")
        for budget in (self.requests, self.tokens_in, self.tokens_out):
            budget.setSpecialValueText("no limit")
        self.backend = QComboBox()
        self.backend.setAccessibleName("Sandbox")
        for value, words in (("", "the best that works"), ("docker", "Docker"),
                             ("bubblewrap", "bubblewrap")):  # fmt: skip
            self.backend.addItem(words, value)
        self.name = QLineEdit()
        self.name.setAccessibleName("Name of the batch")
        self.name.setPlaceholderText("made from the time")
        self.number = label("–", "figure")
        self.product = label("", "muted", wrap=True)
        self.estimate = label("", wrap=True)
        self._checks = QGridLayout()
        self.check_button = button(
            context, "Check again", self._check, icon="refresh-cw", tip="Look at everything anew"
        )
        self.add_button = button(
            context, "Add to the queue", lambda: self._add(now=False), icon="plus",
            tip="Ctrl+Shift+Enter",
        )  # fmt: skip
        self.run_button = button(
            context, "Run now", lambda: self._add(now=True), icon="play", main=True,
            tip="Ctrl+Enter: add to the queue and work on it",
        )  # fmt: skip
        self._build()
        self._wire()

    # --- building

    def _build(self) -> None:
        page = page_layout(self, self.context)
        page.addWidget(label("Plan runs", "title"))
        page.addWidget(self.errors)
        inner = QWidget()
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight, inner)
        self._columns.setContentsMargins(0, 0, 0, 0)
        self._columns.addWidget(self._tasks_card(), 3)
        middle = QVBoxLayout()
        middle.addWidget(self._agents_card())
        middle.addWidget(self._given_card())
        middle.addWidget(self._limits_card())
        middle.addStretch(1)
        self._columns.addLayout(middle, 5)
        right = QVBoxLayout()
        right.addWidget(self._result_card())
        right.addStretch(1)
        self._columns.addLayout(right, 4)
        page.addWidget(ColumnScroll(inner), 1)

    def _tasks_card(self) -> QWidget:
        rows = QVBoxLayout()
        rows.addWidget(label("Tasks", "heading"))
        rows.addWidget(self.filter)
        rows.addWidget(self.tree, 1)
        row = QHBoxLayout()
        row.addWidget(self.chosen, 1)
        row.addWidget(button(self.context, "All", lambda: self._check_all(on=True)))
        row.addWidget(button(self.context, "None", lambda: self._check_all(on=False)))
        rows.addLayout(row)
        self.tree.setMinimumHeight(self.context.px(260))
        self.tree.setMinimumWidth(self.context.px(200))
        return card(rows)

    def _agents_card(self) -> QWidget:
        rows = QVBoxLayout()
        rows.addWidget(label("Agents and models", "heading"))
        rows.addLayout(self._agents)
        row = QHBoxLayout()
        row.addWidget(button(self.context, "Add an agent", self._add_agent, icon="plus"))
        row.addStretch(1)
        rows.addLayout(row)
        return card(rows)

    def _given_card(self) -> QWidget:
        rows = QVBoxLayout()
        rows.setSpacing(self.context.px(3))
        rows.addWidget(label("Data", "heading"))
        self._sources.setColumnStretch(1, 1)
        rows.addLayout(self._sources)
        rows.addSpacing(self.context.px(6))
        rows.addWidget(label("What the agent is given", "heading"))
        for box in self.conditions.values():
            rows.addWidget(box)
        rows.addSpacing(self.context.px(6))
        rows.addWidget(label("Names of tables and columns", "heading"))
        for box in self.schemas.values():
            rows.addWidget(box)
        return card(rows)

    def _limits_card(self) -> QWidget:
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.addWidget(label("How often, how long, how much", "heading"), 0, 0, 1, 2)
        fields: tuple[tuple[str, QWidget], ...] = (
            ("Trials of each", self.trials),
            ("Time limit of a run", self.minutes),
            ("Requests of a run", self.requests),
            ("Tokens in of a run", self.tokens_in),
            ("Tokens out of a run", self.tokens_out),
            ("Sandbox", self.backend),
            ("Name of the batch", self.name),
        )
        for row, (name, widget) in enumerate(fields, start=1):
            title = label(name)
            title.setBuddy(widget)
            grid.addWidget(title, row, 0)
            grid.addWidget(widget, row, 1)
        return card(grid)

    def _result_card(self) -> QWidget:
        rows = QVBoxLayout()
        rows.addWidget(self.number)
        rows.addWidget(self.product)
        rows.addWidget(self.estimate)
        row = QHBoxLayout()
        row.addWidget(self.run_button)
        row.addWidget(self.add_button)
        row.addStretch(1)
        rows.addLayout(row)
        rows.addSpacing(self.context.px(8))
        head = QHBoxLayout()
        head.addWidget(label("Ready?", "heading"))
        head.addStretch(1)
        head.addWidget(self.check_button)
        rows.addLayout(head)
        self._checks.setColumnStretch(1, 1)
        rows.addLayout(self._checks)
        return card(rows)

    def _wire(self) -> None:
        model = self.model
        model.offered.connect(self._fill)
        model.counted.connect(self._show_count)
        model.checks_changed.connect(self._show_checks)
        model.added.connect(self._added)
        model.failed.connect(self.errors.show_error)
        self.filter.textChanged.connect(self._filter)
        self.tree.itemChanged.connect(lambda *_: self._tasks_changed())
        for name, box in self.conditions.items():
            box.toggled.connect(partial(self._some, "conditions", self.conditions, name))
        for name, box in self.schemas.items():
            box.toggled.connect(partial(self._some, "schemas", self.schemas, name))
        for spin, part in (
            (self.trials, "trials"),
            (self.minutes, "minutes"),
            (self.requests, "requests"),
            (self.tokens_in, "input_tokens"),
            (self.tokens_out, "output_tokens"),
        ):
            spin.valueChanged.connect(lambda value, of=part: model.choose(**{of: value}))
        self.backend.activated.connect(
            lambda _: model.choose(backend=self.backend.currentData() or "")
        )
        self.name.editingFinished.connect(lambda: model.choose(name=self.name.text().strip()))
        self.context.theme_changed.connect(self._show_checks)

    # --- the screen

    @property
    def title(self) -> str:
        return "Plan runs"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self.model.show(place.name)

    def bind(self, actions: Actions) -> None:
        actions.bind("launcher.start", lambda: self._add(now=True))
        actions.bind("plan.add", lambda: self._add(now=False))
        actions.bind("plan.check", self._check)
        actions.bind("app.find", self.filter.setFocus)
        self.filter.setFocus()

    def leave(self, actions: Actions) -> None:
        for name in ("launcher.start", "plan.add", "plan.check", "app.find"):
            actions.bind(name, None)

    def close_down(self) -> None:
        self.model.close_down()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= self.context.px(1080)
        way = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        self._columns.setDirection(way)

    # --- filling the form

    def _fill(self) -> None:
        offer, choice = self.model.offer, self.model.choice
        if offer is None:
            return
        self._fill_tasks(offer.tasks, set(choice.tasks))
        self._fill_sources()
        for boxes, chosen in ((self.conditions, choice.conditions), (self.schemas, choice.schemas)):
            for name, box in boxes.items():
                with QSignalBlocker(box):
                    box.setChecked(name in chosen)
        for spin, value in (
            (self.trials, choice.trials),
            (self.minutes, choice.minutes),
            (self.requests, choice.requests),
            (self.tokens_in, choice.input_tokens),
            (self.tokens_out, choice.output_tokens),
        ):
            with QSignalBlocker(spin):
                spin.setValue(value)
        self.backend.setCurrentIndex(max(0, self.backend.findData(choice.backend)))
        self.name.setText(choice.name)
        self._fill_agents(choice.agents or (AgentChoice(),))

    def _fill_tasks(self, tasks: tuple[Task, ...], chosen: set[str]) -> None:
        with QSignalBlocker(self.tree):
            self.tree.clear()
            families: dict[str, QTreeWidgetItem] = {}
            for task in tasks:
                family = families.get(task.family)
                if family is None:
                    family = families[task.family] = QTreeWidgetItem(self.tree, [task.family])
                    family.setFlags(
                        family.flags()
                        | Qt.ItemFlag.ItemIsAutoTristate
                        | Qt.ItemFlag.ItemIsUserCheckable
                    )
                    family.setExpanded(True)
                item = QTreeWidgetItem(family, [task.name])
                item.setData(0, _NAME, task.name)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                on = task.name in chosen
                item.setCheckState(0, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
        self._filter()
        self.chosen.setText(f"{len(chosen)} of {len(tasks)} chosen")

    def _leaves(self) -> list[QTreeWidgetItem]:
        found = []
        for at in range(self.tree.topLevelItemCount()):
            family = self.tree.topLevelItem(at)
            if family is not None:
                found += _children(family)
        return found

    def _tasks_changed(self) -> None:
        names = tuple(
            str(leaf.data(0, _NAME))
            for leaf in self._leaves()
            if leaf.checkState(0) == Qt.CheckState.Checked
        )
        self.chosen.setText(f"{len(names)} of {len(self._leaves())} chosen")
        self.model.choose(tasks=names)

    def _check_all(self, *, on: bool) -> None:
        """All that the filter shows, or none of them."""
        with QSignalBlocker(self.tree):
            for leaf in self._leaves():
                if not leaf.isHidden():
                    state = Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
                    leaf.setCheckState(0, state)
        self._tasks_changed()

    def _filter(self) -> None:
        words = self.filter.text().casefold().split()
        for leaf in self._leaves():
            leaf.setHidden(not all(word in leaf.text(0).casefold() for word in words))
        for at in range(self.tree.topLevelItemCount()):
            family = self.tree.topLevelItem(at)
            if family is not None:
                family.setHidden(all(child.isHidden() for child in _children(family)))

    def _fill_sources(self) -> None:
        clear(self._sources)
        self.sources = {}
        offer = self.model.offer
        kinds = offer.sources if offer is not None else {}
        for row, (kind, names) in enumerate(kinds.items()):
            combo = QComboBox()
            combo.setAccessibleName(f"{_KINDS.get(kind, kind)} source")
            combo.addItems(list(names))
            combo.setCurrentText(
                next((name for name in names if name in self.model.choice.sources), names[0])
            )
            combo.activated.connect(lambda _: self._sources_changed())
            self.sources[kind] = combo
            self._sources.addWidget(label(_KINDS.get(kind, kind)), row, 0)
            self._sources.addWidget(combo, row, 1)
        if not kinds:
            none = label("No source is ready: add data first (Data).", "muted", wrap=True)
            self._sources.addWidget(none, 0, 0, 1, 2)

    def _sources_changed(self) -> None:
        self.model.choose(sources=tuple(c.currentText() for c in self.sources.values()))

    def _some(self, part: str, boxes: dict[str, QCheckBox], _name: str, _on: bool) -> None:
        chosen: Any = tuple(name for name, box in boxes.items() if box.isChecked())
        self.model.choose(**{part: chosen})

    def _fill_agents(self, choices: tuple[AgentChoice, ...]) -> None:
        clear(self._agents)
        self.agents = []
        for choice in choices:
            self._put_agent(choice)
        self._agents_count()

    def _put_agent(self, choice: AgentChoice) -> AgentRow | None:
        offer = self.model.offer
        if offer is None:
            return None
        row = AgentRow(self.context, offer, choice)
        row.changed.connect(self._agents_changed)
        row.removed.connect(partial(self._remove_agent, row))
        self.agents.append(row)
        self._agents.addWidget(row)
        return row

    def _add_agent(self) -> None:
        row = self._put_agent(AgentChoice())
        if row is not None:
            row.agent.setFocus()
        self._agents_changed()

    def _remove_agent(self, row: AgentRow) -> None:
        if len(self.agents) > 1:
            self.agents.remove(row)
            row.hide()
            row.deleteLater()
            self._agents_changed()

    def _agents_changed(self) -> None:
        self._agents_count()
        self.model.choose(agents=tuple(row.choice for row in self.agents))

    def _agents_count(self) -> None:
        for row in self.agents:
            row.remove_button.setVisible(len(self.agents) > 1)

    # --- what it comes to

    def _show_count(self) -> None:
        count = self.model.count
        self.product.setText(self.model.choice.words)
        if count is None:
            self.number.setText("…")
            self.estimate.setText("")
        elif count.error is not None:
            self.number.setText("No runs")
            self.estimate.setText(f"{count.error.text} {count.error.todo or ''}".strip())
        else:
            runs = len(count.requests)
            self.number.setText(f"{runs:,} {'run' if runs == 1 else 'runs'}")
            self.estimate.setText(estimate_words(count.estimate))

    def _show_checks(self) -> None:
        clear(self._checks)
        model = self.model
        self.check_button.setEnabled(not model.checking)
        for each in (self.add_button, self.run_button):
            each.setEnabled(model.ready)
        if model.checks is None:
            words = "Being checked…" if model.checking else "Will be checked in a moment."
            self._checks.addWidget(self._picture("loader-circle", "accent"), 0, 0)
            self._checks.addWidget(label(words), 0, 1)
            return
        row = 0
        for check in sorted(model.checks, key=lambda check: check.ok):
            name, tone = ("circle-check", "good") if check.ok else ("circle-x", "bad")
            top = Qt.AlignmentFlag.AlignTop
            self._checks.addWidget(self._picture(name, tone), row, 0, top)
            self._checks.addWidget(label(f"{check.name}: {check.why}", wrap=True), row, 1)
            row += 1
            if check.todo:
                self._checks.addWidget(
                    label(f"What to do: {check.todo}", "muted", wrap=True), row, 1
                )
                row += 1

    def _picture(self, name: str, tone: str) -> QLabel:
        picture = QLabel()
        side = self.context.px(18)
        colour = getattr(self.context.theme, tone)
        picture.setPixmap(icons.pixmap(name, colour, side, self.devicePixelRatioF()))
        return picture

    # --- commands

    def _check(self) -> None:
        self.errors.dismiss()
        self.model.check()

    def _add(self, *, now: bool) -> None:
        self.errors.dismiss()
        self._agents_changed()  # a line that is still being typed counts as well
        self.model.choose(name=self.name.text().strip())
        if not self.model.ready:
            words = "It is being checked first." if self.model.checks is None else ""
            self.context.told.emit(words or "Something does not hold yet: see “Ready?”.")
        self.model.add(now=now)

    def _added(self, batch: str, now: bool) -> None:
        self.name.clear()
        self.context.told.emit(
            f"The batch {batch} is in the queue" + (", which is worked on." if now else ".")
        )
        if self.isVisible():
            self.context.go(QUEUE)


def _children(family: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    rows = (family.child(row) for row in range(family.childCount()))
    return [child for child in rows if child is not None]
