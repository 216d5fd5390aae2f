"""The launcher's window side: form and preflight on the left, the live run on the right."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from engine.workbench import RunRecord
from m4review.app import icons
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.jobs import Progress, duration
from m4review.app.jobs_view import progress_text
from m4review.app.links import Place
from m4review.app.tips import as_written
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
from m4review.launcher.viewmodel import DATA_STAGE, LOG_LIMIT, STAGES, LauncherViewModel
from m4review.run.words import STATES

_STEPS = {DATA_STAGE: "preparing the data (reference, agent's database)", **STATES}
_SUFFIXES = (".sql", ".py")


class DropZone(QFrame):
    """Where an agent's file is dropped or chosen."""

    dropped = Signal(object)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("dropZone")
        self.setAcceptDrops(True)
        row = QHBoxLayout(self)
        self._name = label("Drop a .sql or .py file here", "muted", wrap=True)
        self._context = context
        self.choose = button(context, "Choose…", self._choose, icon="file-text")
        row.addWidget(self._name, 1)
        row.addWidget(self.choose)

    def show_file(self, path: Path | None) -> None:
        """Name the chosen file."""
        self._name.setText(path.name if path else "Drop a .sql or .py file here")
        self._name.setProperty("role", "plain" if path else "muted")
        self._name.setToolTip(as_written(str(path) if path else ""))
        self._name.style().unpolish(self._name)
        self._name.style().polish(self._name)

    def _choose(self) -> None:
        path = self._context.interaction.choose_file(
            "The agent's script",
            self._name.toolTip(),
            ["Agent scripts (*.sql *.py)", "All files (*)"],
        )
        if path is not None:
            self.dropped.emit(path)

    def _hot(self, on: bool) -> None:
        self.setProperty("hot", on)
        self.style().unpolish(self)
        self.style().polish(self)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        urls = event.mimeData().urls()
        if len(urls) == 1 and urls[0].isLocalFile():
            self._hot(True)
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._hot(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self._hot(False)
        self.dropped.emit(Path(event.mimeData().urls()[0].toLocalFile()))
        event.acceptProposedAction()


class Timeline(QWidget):
    """The run's states as a row of steps, done, present and to come."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._steps: dict[str, tuple[QLabel, QLabel]] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(context.px(4))
        grid.setColumnStretch(1, 1)
        for row, state in enumerate(STAGES):
            picture, words = QLabel(), label(_STEPS[state])
            grid.addWidget(picture, row, 0)
            grid.addWidget(words, row, 1)
            self._steps[state] = (picture, words)
        self._shown: tuple[list[str], str] = ([], "")
        context.theme_changed.connect(self._again)
        self.show_states([], "")

    def _again(self) -> None:
        self.show_states(*self._shown)

    def show_states(self, states: list[str], end: str) -> None:
        """Show which states were entered; `end` is "", "failed" or "stopped"."""
        self._shown = (states, end)
        theme, side = self._context.theme, self._context.px(16)
        last = next((state for state in reversed(states) if state in self._steps), "")
        for state, (picture, words) in self._steps.items():
            if state not in states:
                name, colour, role = "circle-dot", theme.line, "muted"
            elif state == last and state != "done":
                name = "circle-x" if end else "loader-circle"
                colour, role = (theme.bad if end else theme.accent), "plain"
            else:
                name, colour, role = "circle-check", theme.good, "plain"
            picture.setPixmap(icons.pixmap(name, colour, side, self.devicePixelRatioF()))
            text = _STEPS[state]
            if state == last and end:
                text += f" – {end}"
            words.setText(text)
            words.setProperty("role", role)
            words.style().unpolish(words)
            words.style().polish(words)


class LauncherScreen(Screen):
    """Chooses what is run, and watches it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = LauncherViewModel(context.workbench, context.runner, context.settings, self)
        self.errors = ErrorPanel(context)
        self._title = label("New run", "title")
        self.source = QComboBox()
        self.source.setAccessibleName("Source")
        self.drop = DropZone(context)
        self.condition = QComboBox()
        self.condition.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.condition.setMinimumContentsLength(14)
        self.condition.setAccessibleName("Condition")
        self.condition.setToolTip("What the agent is given beside the instruction")
        self.minutes = spin_box(context, 1, 24 * 60, "Time limit of the agent in minutes")
        self.minutes.setSuffix(" min")
        self._checks = QGridLayout()
        self.start_button = button(
            context, "Start the run", self._start, icon="play", main=True, tip="Ctrl+Enter"
        )
        self.cancel_button = button(
            context, "Cancel", self.model.cancel, icon="circle-stop", tip="Ctrl+."
        )
        self.open_button = button(context, "Open the run", self._open_run, icon="chart-bar")
        self.plan_button = button(
            context,
            "Several runs…",
            lambda: context.go(Place("plan", self.model.name)),
            tip="Other agents and models, several conditions and trials (Ctrl+Shift+R)",
        )
        self.timeline = Timeline(context)
        self._progress = label("", "muted", wrap=True)
        self._clock = label("", "muted")
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setProperty("code", True)
        self.log.setTabChangesFocus(True)
        self.log.setMaximumBlockCount(20_000)
        self.log.setPlaceholderText("What the agent writes appears here while it runs.")
        self.log.setAccessibleName("Live log")
        self._started = 0.0
        self._tick = QTimer(self)
        self._tick.setInterval(500)
        self._tick.timeout.connect(self._show_clock)
        self._build()
        self._wire()
        self._running(False)

    def _build(self) -> None:
        page = page_layout(self, self.context)
        page.addWidget(self._title)
        page.addWidget(self.errors)
        columns = QHBoxLayout()
        page.addLayout(columns, 1)
        columns.addWidget(self._choices(), 2)
        columns.addSpacing(self.context.px(10))
        columns.addLayout(self._watching(), 3)

    def _choices(self) -> ColumnScroll:
        """What is run, whether it can be, and the buttons."""
        form = QGridLayout()
        form.setColumnStretch(1, 1)
        form.setVerticalSpacing(self.context.px(10))
        fields: tuple[tuple[str, QWidget], ...] = (
            ("Agent script", self.drop),
            ("Source", self.source),
            ("Condition", self.condition),
            ("Time limit", self.minutes),
        )
        for row, (name, widget) in enumerate(fields):
            title = label(name)
            title.setBuddy(widget)
            form.addWidget(title, row, 0)
            form.addWidget(widget, row, 1)
        what = QVBoxLayout()
        what.addWidget(label("What is run", "heading"))
        what.addLayout(form)
        checks = QVBoxLayout()
        checks.addWidget(label("Ready?", "heading"))
        self._checks.setColumnStretch(2, 1)
        checks.addLayout(self._checks)
        buttons = QHBoxLayout()
        buttons.addWidget(self.start_button)
        buttons.addWidget(self.cancel_button)
        buttons.addStretch(1)
        buttons.addWidget(self.plan_button)
        inner = QWidget()
        left = QVBoxLayout(inner)
        left.setContentsMargins(0, 0, 0, 0)
        left.addWidget(card(what))
        left.addWidget(card(checks))
        left.addLayout(buttons)
        left.addStretch(1)
        return ColumnScroll(inner)

    def _watching(self) -> QVBoxLayout:
        """The run's states and its log."""
        head = QHBoxLayout()
        head.addWidget(label("The run", "heading"))
        head.addStretch(1)
        head.addWidget(self._clock)
        head.addWidget(self.open_button)
        states = QVBoxLayout()
        states.addLayout(head)
        states.addWidget(self.timeline)
        states.addWidget(self._progress)
        right = QVBoxLayout()
        right.addWidget(card(states))
        right.addWidget(label("Live log", "section"))
        right.addWidget(self.log, 1)
        return right

    def _wire(self) -> None:
        model = self.model
        model.facts_changed.connect(self._fill)
        model.checks_changed.connect(self._fill_checks)
        model.state_changed.connect(self._state)
        model.log_added.connect(self._add_log)
        model.running_changed.connect(self._running)
        model.finished.connect(self._finished)
        model.failed.connect(self._failed)
        model.stopped.connect(self._stopped)
        self.drop.dropped.connect(self._script)
        self.source.activated.connect(lambda _: model.choose(source=self.source.currentText()))
        self.condition.activated.connect(
            lambda _: model.choose(condition=self.condition.currentData())
        )
        self.minutes.valueChanged.connect(lambda value: model.choose(minutes=value))
        self.context.theme_changed.connect(self._fill_checks)

    # --- the screen

    @property
    def title(self) -> str:
        return "New run"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        if self.model.running:
            if place.name != self.model.name:
                self.context.told.emit(
                    f"A run of {self.model.name} is at work; it is shown here until it ends."
                )
            return
        self._title.setText(f"Run an agent on {place.name}")
        if place.name != self.model.name:
            self.log.clear()
            self.timeline.show_states([], "")
            self._progress.setText("")
            self._clock.setText("")
            self.open_button.setEnabled(False)
        self.model.show(place.name)

    def place(self) -> Place | None:
        return Place("launch", self.model.name) if self.model.name else None

    def bind(self, actions: Actions) -> None:
        actions.bind("launcher.start", self._start)
        actions.bind("launcher.cancel", self.model.cancel)
        if self.start_button.isEnabled():
            self.start_button.setFocus()
        else:
            self.drop.choose.setFocus()

    def leave(self, actions: Actions) -> None:
        actions.bind("launcher.start", None)
        actions.bind("launcher.cancel", None)

    def close_down(self) -> None:
        self._tick.stop()
        self.model.close_down()

    # --- filling

    def _fill(self) -> None:
        facts, choice = self.model.facts, self.model.choice
        if facts is None:
            return
        with QSignalBlocker(self.source):
            self.source.clear()
            self.source.addItems(list(facts.sources))
            self.source.setCurrentText(choice.source)
            self.source.setEnabled(bool(facts.sources))
        with QSignalBlocker(self.condition):
            self.condition.clear()
            for value, words in self.model.conditions.items():
                self.condition.addItem(words, value)
            at = self.condition.findData(choice.condition)
            self.condition.setCurrentIndex(max(0, at))
        if at < 0:
            choice.condition = self.condition.currentData()
        with QSignalBlocker(self.minutes):
            self.minutes.setValue(choice.minutes)
        self.drop.show_file(choice.script)

    def _fill_checks(self) -> None:
        clear(self._checks)
        theme, side = self.context.theme, self.context.px(18)
        names = {
            "good": ("circle-check", theme.good),
            "warn": ("triangle-alert", theme.warn),
            "bad": ("circle-x", theme.bad),
            "wait": ("loader-circle", theme.accent),
        }
        row = 0
        for check in self.model.checks:
            name, colour = names[check.state]
            picture = QLabel()
            picture.setPixmap(icons.pixmap(name, colour, side, self.devicePixelRatioF()))
            self._checks.addWidget(picture, row, 0, Qt.AlignmentFlag.AlignTop)
            self._checks.addWidget(label(check.name), row, 1, Qt.AlignmentFlag.AlignTop)
            self._checks.addWidget(label(check.words, wrap=True), row, 2)
            row += 1
            if check.todo:
                self._checks.addWidget(label(check.todo, "muted", wrap=True), row, 2)
                row += 1
        self.start_button.setEnabled(self.model.ready)

    def _script(self, path: Path) -> None:
        if path.suffix.lower() not in _SUFFIXES:
            self.context.told.emit("An agent script is a .sql or .py file.")
        self.model.choose(script=path)
        self.drop.show_file(path)

    # --- the run

    def _start(self) -> None:
        if not self.model.ready:
            self._fill_checks()
            return
        self.errors.dismiss()
        self.log.clear()
        self.timeline.show_states([], "")
        self._progress.setText("Getting ready…")
        self.open_button.setEnabled(False)
        self._started = time.monotonic()
        self._tick.start()
        self.model.start()
        self.timeline.show_states(self.model.states, "")
        if self.model.handle is not None:
            self.model.handle.progressed.connect(self._progressed)
        self.cancel_button.setFocus()

    def _running(self, on: bool) -> None:
        self.cancel_button.setEnabled(on)
        self.start_button.setEnabled(self.model.ready)
        for each in (self.source, self.condition, self.minutes, self.drop):
            each.setEnabled(not on)
        if not on:
            self._tick.stop()
            self.open_button.setEnabled(bool(self.model.run_id))

    def _progressed(self, progress: Progress) -> None:
        self._progress.setText(progress_text(progress))

    def _show_clock(self) -> None:
        self._clock.setText(duration(time.monotonic() - self._started))
        handle = self.model.handle
        if handle is not None and handle.stopping and not handle.state.over:
            self._progress.setText("Stopping…")

    def _state(self, _state: str) -> None:
        self.timeline.show_states(self.model.states, "")
        self._progress.setText("")

    def _add_log(self, text: str) -> None:
        bar = self.log.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 2
        cursor = self.log.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.insertText(text[-LOG_LIMIT:])
        if at_end:
            bar.setValue(bar.maximum())

    def _finished(self, record: RunRecord) -> None:
        run = record.summary
        end = "failed" if run.state == "failed" else ""
        self.timeline.show_states(self.model.states, end)
        self.model.run_id = run.run_id
        self.open_button.setEnabled(True)
        self.context.announced.emit("runs")
        if self.isVisible():
            self.context.go(Place("run", run.run_id))
        else:
            self.context.told.emit(f"The run of {run.task} has ended.")

    def _stopped(self) -> None:
        self.timeline.show_states(self.model.states, "stopped")
        self._progress.setText("The run was stopped.")
        self.context.announced.emit("runs")
        if not self.start_button.isEnabled():
            return
        self.start_button.setFocus()

    def _failed(self, error: M4Error) -> None:
        self.timeline.show_states(self.model.states, "failed")
        self._progress.setText("")
        self.errors.show_error(error)
        self.context.announced.emit("runs")

    def _open_run(self) -> None:
        if self.model.run_id:
            self.context.go(Place("run", self.model.run_id))
