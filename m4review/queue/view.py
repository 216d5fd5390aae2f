"""The queue's window side: items in their order above, the trace of the chosen one below."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QProgressBar,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from engine.workbench import Item, ItemState
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.flow import FlowLayout
from m4review.app.links import PLAN, Place
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import (
    ColumnScroll,
    EmptyState,
    ErrorPanel,
    IconButton,
    button,
    label,
    page_layout,
    spin_box,
)
from m4review.queue.viewmodel import QueueDesk, QueueViewModel
from m4review.queue.words import (
    ACTIVE,
    ENDED,
    TONES,
    other_owner,
    owner_words,
    state_words,
    waiting_for,
)
from m4review.trace.view import TracePane
from m4review.trace.viewmodel import TraceViewModel

_EVERY = 800
"""Milliseconds between two looks at the queue while it is shown."""
_ALL = "All batches"


class QueueScreen(Screen):
    """What waits, what runs, what came of it; and who works on it."""

    def __init__(self, context: Context, desk: QueueDesk) -> None:
        super().__init__(context)
        self.desk = desk
        self.model = QueueViewModel(context.workbench, context.runner, self)
        self.trace = TraceViewModel(context.workbench, context.runner, self)
        self.steps = TracePane(context, self.trace)
        self.errors = ErrorPanel(context)
        self.words = label("", wrap=True)
        self.words.setAccessibleName("Who works on the queue")
        self.work_button = button(context, "Work on the queue", self._work, icon="play", main=True)
        self.pause_button = button(context, "Pause", self._pause, icon="circle-slash")
        self.plan_button = button(context, "Plan runs…", lambda: context.go(PLAN), icon="plus")
        self.at_once = spin_box(context, 0, 64, "Runs at once; 0 leaves it to the machine")
        self.at_once.setSpecialValueText("as the machine allows")
        self.at_once.setKeyboardTracking(False)
        self.batch = QComboBox()
        self.batch.setAccessibleName("Batch")
        self.batch.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.scope = QComboBox()
        self.scope.addItems(["The chosen run", "Its whole batch"])
        self.scope.setAccessibleName("What the buttons concern")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress_words = label("", "muted")
        self.table = ListTable(context, "Runs in the queue")
        self.items: RecordModel[Item] = RecordModel(self._columns(), lambda: context.theme, self)
        self.table.setModel(self.items)
        self.item_buttons: dict[str, IconButton] = {}
        self.empty = EmptyState(
            context,
            "list",
            "Nothing in the queue",
            "Plan several runs at once (tasks, conditions, agents, models), and they are carried "
            "out here, as many at a time as the machine allows.",
        )
        self.empty.buttons.addWidget(
            button(context, "Plan runs…", lambda: context.go(PLAN), icon="plus", main=True)
        )
        self._stack = QStackedWidget()
        self._picked = self._filling = False
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY)
        self._timer.timeout.connect(self._look)
        self._build()
        self._wire()

    def _columns(self) -> list[Column[Item]]:
        return [
            Column("State", state_words, tone=lambda item: TONES[item.state]),
            Column("Waits for / result", self._waiting),
            Column("Task", lambda item: item.task.rpartition("/")[2]),
            Column(
                "Agent", lambda item: f"{item.agent} · {item.model}" if item.model else item.agent
            ),
            Column("Condition", lambda item: item.condition),
            Column("Trial", lambda item: str(item.trial), numeric=True),
            Column("Endpoint", lambda item: item.lane or "–"),
            Column(
                "Attempt",
                lambda item: str(item.attempt or "–"),
                numeric=True,
                about="How often it was started; more than once after a rate limit or a crash",
            ),
            Column("Batch", lambda item: item.batch),
        ]

    def _waiting(self, item: Item) -> str:
        page = self.model.page
        if page is None:
            return ""
        return waiting_for(item, page.state, page.stages.get(item.item, ""))

    def _build(self) -> None:
        page = page_layout(self, self.context)
        space = self.context.px(8)
        head = FlowLayout(spacing=space)
        limit = label("At once")
        limit.setBuddy(self.at_once)
        limit.setMinimumHeight(self.context.px(30))
        for each in (self.work_button, self.pause_button, self.plan_button, limit, self.at_once):
            head.addWidget(each)
        top = QHBoxLayout()
        top.addWidget(label("Queue", "title"), 0, Qt.AlignmentFlag.AlignTop)
        top.addSpacing(self.context.px(16))
        top.addLayout(head, 1)
        page.addLayout(top)
        page.addWidget(self.words)
        page.addWidget(self.errors)
        row = QHBoxLayout()
        row.addWidget(self.batch)
        row.addWidget(self.progress, 1)
        row.addWidget(self.progress_words)
        inner = QWidget()
        rows = QVBoxLayout(inner)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addLayout(row)
        halves = QSplitter(Qt.Orientation.Vertical)
        halves.setChildrenCollapsible(False)
        upper = QWidget()
        above = QVBoxLayout(upper)
        above.setContentsMargins(0, 0, 0, 0)
        above.addWidget(self.table, 1)
        above.addLayout(self._commands())
        halves.addWidget(upper)
        halves.addWidget(self.steps)
        self.table.setMinimumHeight(self.context.px(150))
        self.steps.setMinimumHeight(self.context.px(280))
        halves.setSizes([self.context.px(330), self.context.px(330)])
        rows.addWidget(halves, 1)
        self._stack.addWidget(ColumnScroll(inner))  # large letters: the page scrolls
        self._stack.addWidget(self.empty)
        page.addWidget(self._stack, 1)

    def _commands(self) -> FlowLayout:
        bar = FlowLayout(spacing=self.context.px(6))
        bar.addWidget(self.scope)
        for name, text, icon in (
            ("hold", "Hold", "circle-slash"),
            ("release", "Release", "play"),
            ("up", "Up", "chevron-up"),
            ("down", "Down", "chevron-down"),
            ("top", "First", ""),
            ("bottom", "Last", ""),
            ("cancel", "Cancel…", "circle-stop"),
            ("retry", "Try again", "refresh-cw"),
            ("clear", "Forget what has ended", "x"),
        ):
            each = button(self.context, text, lambda what=name: self._control(what), icon=icon)  # type: ignore[misc]
            self.item_buttons[name] = each
            bar.addWidget(each)
        self.open_button = button(self.context, "Open the run", self._open, icon="chart-bar")
        bar.addWidget(self.open_button)
        return bar

    def _wire(self) -> None:
        self.model.changed.connect(self._fill)
        self.model.failed.connect(self.errors.show_error)
        self.model.ended.connect(lambda: self.context.announced.emit("runs"))
        self.desk.failed.connect(self.errors.show_error)
        self.desk.changed.connect(self.model.reload)
        self.trace.failed.connect(self.errors.show_error)
        self.table.opened.connect(lambda _: self._open())
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._row_changed())
        self.batch.activated.connect(lambda _: self._fill())
        self.at_once.valueChanged.connect(lambda value: self.model.limit(value or None))
        self.steps.address_asked.connect(self._copy_address)
        self.steps.diff_asked.connect(self._open)

    # --- the screen

    @property
    def title(self) -> str:
        return "Queue"

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        self._picked = False
        self.model.reload()
        self._timer.start()

    def bind(self, actions: Actions) -> None:
        actions.bind("queue.work", self._work)
        actions.bind("queue.pause", self._pause)
        actions.bind("queue.cancel", lambda: self._control("cancel"))
        actions.bind("app.find", self.steps.search.setFocus)
        self.table.setFocus()

    def leave(self, actions: Actions) -> None:
        for name in ("queue.work", "queue.pause", "queue.cancel", "app.find"):
            actions.bind(name, None)
        self._timer.stop()
        self.trace.stop()

    def close_down(self) -> None:
        self._timer.stop()
        self.trace.stop()
        self.steps.close_down()

    def _look(self) -> None:
        self.model.reload()
        item = self.item
        if item is not None and item.run_id is not None and item.state in ACTIVE:
            self.trace.refresh()

    # --- commands

    @property
    def item(self) -> Item | None:
        """The chosen one."""
        return self.items.record(self.table.currentIndex().row())

    def _work(self) -> None:
        self.errors.dismiss()
        page = self.model.page
        if not self.desk.working:
            self.desk.start(resume=page is not None and page.state.paused)
            return
        running = page.state.count(*ACTIVE) if page is not None else 0
        if not running or self.context.interaction.confirm(
            "Stop working on the queue?",
            f"{running} {'run is' if running == 1 else 'runs are'} stopped and will wait for "
            "another time. To let them end first, pause the queue instead.",
            yes="Stop",
        ):
            self.desk.stop()

    def _pause(self) -> None:
        page = self.model.page
        if page is not None:
            self.model.control("resume" if page.state.paused else "pause")

    def _control(self, what: str) -> None:
        item = self.item
        whole = self.scope.currentIndex() == 1
        if what == "clear":
            batch = None if self.batch.currentText() == _ALL else self.batch.currentText()
            self.model.control("clear", [batch])
            return
        if item is None:
            return
        target = item.batch if whole else str(item.item)
        if what == "cancel" and not self.context.interaction.confirm(
            "Cancel what waits or runs?",
            f"The batch {item.batch}: everything in it that has not ended."
            if whole
            else f"{item.task}, {item.agent}, trial {item.trial}. A run at work is stopped.",
            yes="Cancel it",
            no="Keep it",
        ):
            return
        self.model.control(what, [target])  # type: ignore[arg-type]

    def _open(self) -> None:
        item = self.item
        if item is not None and item.run_id is not None:
            self.context.go(Place("run", item.run_id))

    def _copy_address(self, number: int) -> None:
        link = Place("run", self.trace.run_id, step=number).link
        QGuiApplication.clipboard().setText(link)
        self.context.told.emit("The address of this step is on the clipboard.")

    # --- filling

    def _fill(self) -> None:
        page = self.model.page
        if page is None:
            return
        state = page.state
        self.words.setText(owner_words(state))
        self._stack.setCurrentIndex(0 if state.items else 1)
        batch = self._fill_batches([batch.name for batch in state.batches])
        items = page.items(batch)
        self._filling = True
        before = self.item
        scrolled = self.table.verticalScrollBar().value()
        reset = self.items.update_records(items, lambda item: item.item)
        numbers = [item.item for item in items]
        if items and (reset or self.item is None or not self._picked):
            there = self._picked and before is not None and before.item in numbers
            self.table.selectRow(numbers.index(before.item) if there and before else 0)
        self.table.verticalScrollBar().setValue(scrolled)
        self._filling = False
        header = self.table.horizontalHeader()
        header.resizeSections(QHeaderView.ResizeMode.ResizeToContents)
        ended = sum(item.state in ENDED for item in items)
        self.progress.setRange(0, max(1, len(items)))
        self.progress.setValue(ended)
        self.progress_words.setText(f"{ended:,} of {len(items):,} ended")
        if not self.at_once.hasFocus():
            with QSignalBlocker(self.at_once):
                self.at_once.setValue(state.at_once or 0)
        self._fill_buttons()
        self._chose()

    def _fill_batches(self, names: list[str]) -> str | None:
        chosen = self.batch.currentText()
        wanted = [_ALL, *names]
        if [self.batch.itemText(at) for at in range(self.batch.count())] != wanted:
            with QSignalBlocker(self.batch):
                self.batch.clear()
                self.batch.addItems(wanted)
                self.batch.setCurrentText(chosen if chosen in wanted else _ALL)
        chosen = self.batch.currentText()
        return None if chosen == _ALL else chosen

    def _fill_buttons(self) -> None:
        page, item = self.model.page, self.item
        if page is None:
            return
        state = page.state
        stopping = self.desk.handle is not None and self.desk.handle.stopping
        if self.desk.working:
            self.work_button.setText(" Stopping…" if stopping else " Stop working")
        elif other_owner(state):
            self.work_button.setText(" Stand by to take over")
        else:
            self.work_button.setText(" Work on the queue")
        left = state.count(ItemState.WAITING, *ACTIVE)
        self.work_button.setEnabled((self.desk.working and not stopping) or left > 0)
        self.pause_button.setText(" Resume" if state.paused else " Pause")
        self.pause_button.setEnabled(bool(state.items))
        live = item is not None and item.state not in ENDED
        for name in ("hold", "release", "up", "down", "top", "bottom", "cancel"):
            self.item_buttons[name].setEnabled(live or self.scope.currentIndex() == 1)
        retry = item is not None and item.state in (ItemState.FAILED, ItemState.CANCELLED)
        self.item_buttons["retry"].setEnabled(retry or self.scope.currentIndex() == 1)
        self.item_buttons["clear"].setEnabled(state.count(*ENDED) > 0)
        self.open_button.setEnabled(item is not None and item.run_id is not None)

    def _row_changed(self) -> None:
        """Who has picked nothing sees what is at work now; who has, keeps it."""
        if not self._filling:
            self._picked = True
            self._chose()

    def _chose(self) -> None:
        item = self.item
        run_id = item.run_id if item is not None else None
        self._fill_buttons()
        live = item is not None and item.state in ACTIVE
        was = self.steps.live and self.trace.run_id == run_id
        if run_id is not None and run_id != self.trace.run_id:
            self.steps.set_live(False)
            self.trace.show(run_id)
        elif run_id is None:
            self.trace.show("")
        elif was and not live:
            self.trace.refresh()  # what came between the last look and its end
        self.steps.set_live(live and run_id is not None)
