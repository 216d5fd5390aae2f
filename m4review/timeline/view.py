"""The timeline screen: legend, picture and list on the left, values and SQL on the right."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.jobs import Progress
from m4review.app.links import Place
from m4review.app.tips import as_written, in_lines
from m4review.app.widgets import (
    ColumnScroll,
    ElidedLabel,
    EmptyState,
    ErrorPanel,
    button,
    label,
    page_layout,
)
from m4review.diff.words import words_of
from m4review.timeline.events import EventList, RoleChips, beside
from m4review.timeline.finding import EventDetail, EventFinder
from m4review.timeline.form import CellChooser
from m4review.timeline.panels import AgentSqlPanel, StepsPanel, ValuePanel
from m4review.timeline.plot import Timeline
from m4review.timeline.viewmodel import TimelineViewModel

_NO_COLUMNS = "The columns of this row are known once a value of it was looked up."
_UNFOLD = (
    "Give every window a line of its own above the picture, and shade it. Either way the panel "
    "Value lists all of them with their rules."
)
_NO_LIMIT = 16_777_215
"""Qt's own height without a limit."""
_A_LINE = 36
"""Pixels at 100 % of the place for a chosen row while none is chosen."""
_WIDE = 760
"""Pixels at 100 % from which on the panels stand beside the picture, not under it."""


class TimelineScreen(Screen):
    """Where one value comes from."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = TimelineViewModel(context.workbench, context.runner, self)
        self.errors = ErrorPanel(context)
        self.chooser = CellChooser(context)
        self._name = ElidedLabel("", "title")
        self._line = ElidedLabel("", "muted")
        self.column = QComboBox()
        self.column.setAccessibleName("Column of this row")
        self.column.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._column_word = label("Column", "muted")
        self.diff_button = button(
            context, "Row in the diff", self._diff, icon="git-compare-arrows",
            tip="Show the row in the diff",
        )  # fmt: skip
        self.why_button = button(
            context, "Why?", self._why, icon="stethoscope",
            tip="What went wrong: what the mismatches of this run have in common (Ctrl+E)",
        )  # fmt: skip
        self.why_button.setAccessibleName("What went wrong")
        self.chips = RoleChips(context)
        self.plot = Timeline(context)
        self.events = EventList(context)
        self._ranges: list[QPushButton] = []
        self._groups: list[QWidget] = []
        self.finder = EventFinder(context)
        self.detail = EventDetail(context)
        self.pointed = ElidedLabel("", "muted")
        self.pointed.setAccessibleName("What is pointed at")
        self.values = ValuePanel(context)
        self.steps = StepsPanel(context)
        self.agent = AgentSqlPanel(context)
        self.panels = QTabWidget()
        self.busy = QProgressBar()
        self.busy_words = label("", "muted")
        self.stop = button(context, "Cancel", self._cancel)
        self.empty = EmptyState(context, "history", "", "")
        self._build()
        self._wire()
        self._busy(False)

    # --- building

    def _build(self) -> None:
        context = self.context
        page = page_layout(self, context)
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.addWidget(self._name, 1)
        tools = QHBoxLayout()
        tools.addWidget(self._column_word)
        tools.addWidget(self.column)
        tools.addWidget(self.why_button)
        tools.addWidget(self.diff_button)
        tools.addStretch()
        self._head.addLayout(tools)
        page.addLayout(self._head)
        page.addWidget(self._line)
        page.addWidget(self.errors)
        body = QWidget()  # in a low window, or a large zoom, everything under the head scrolls
        rows = QVBoxLayout(body)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(self.chooser)
        waiting = QHBoxLayout()
        self.busy.setTextVisible(False)
        waiting.addWidget(self.busy, 1)
        waiting.addWidget(self.busy_words, 1)
        waiting.addWidget(self.stop)
        rows.addLayout(waiting)
        for panel, name in (
            (self.values, "Value"), (self.steps, "Arithmetic"), (self.agent, "Agent's SQL"),
        ):  # fmt: skip
            self.panels.addTab(panel, name)
        self.panels.setMinimumWidth(context.px(250))
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(self._picture())
        self._splitter.addWidget(self.panels)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setSizes([context.px(800), context.px(330)])
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._splitter)
        rows.addWidget(self._stack, 1)
        page.addWidget(ColumnScroll(body), 1)
        self._sizes()
        self._show_part(self.empty)

    def _sizes(self) -> None:
        """What needs some height to be of use has it at any zoom."""
        self.plot.setMinimumHeight(self.plot.needed)
        self.events.setMinimumHeight(self.context.px(120))
        self._detail_height()
        self.panels.setMinimumHeight(self.context.px(240))

    def _detail_height(self) -> None:
        limited = self.detail.maximumHeight() < _NO_LIMIT
        height = self.context.px(_A_LINE if limited else 90)
        self.detail.setMinimumHeight(height)
        if limited:
            self.detail.setMaximumHeight(height)
        QTimer.singleShot(0, self, self._give_list_the_rest)

    def _give_list_the_rest(self) -> None:
        """The picture keeps its height, the chosen row has what it needs."""
        picture, rows, below = self._halves.sizes()
        wanted = self.detail.minimumHeight()
        spare = self._halves.height() - 2 * self._halves.handleWidth() - picture - rows - below
        if self._halves.isVisible() and (below != wanted or spare > 0):
            self._halves.setSizes([picture, max(1, rows + below + spare - wanted), wanted])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= self.context.px(_WIDE)
        across = QBoxLayout.Direction
        self._head.setDirection(across.LeftToRight if wide else across.TopToBottom)
        way = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
        if self._splitter.orientation() != way:
            self._splitter.setOrientation(way)
            QTimer.singleShot(0, self, self._share)

    def _share(self) -> None:
        """Give the panels what they need and the picture the rest."""
        wide = self._splitter.orientation() == Qt.Orientation.Horizontal
        whole = self._splitter.width() if wide else self._splitter.height()
        panels = self.context.px(330 if wide else 260)
        self._splitter.setSizes([max(panels, whole - panels), panels])

    def _picture(self) -> QWidget:
        context, left = self.context, QWidget()
        rows = QVBoxLayout(left)
        rows.setContentsMargins(0, 0, 0, 0)
        plot = self.plot
        for text, does, tip in (
            ("Window", plot.fit_window, "Fit the window and what was used (Home)"),
            ("Stay", plot.fit_stay, "Fit the stay (F)"),
            ("All", plot.fit_all, "Fit everything (A)"),
        ):
            self._ranges.append(button(context, text, does, tip=tip))
        for icon, factor, tip in (
            ("zoom-in", 0.7, "Closer (+)"),
            ("zoom-out", 1 / 0.7, "Wider (−)"),
        ):
            each = button(context, "", partial(plot.zoom_by, factor), icon=icon, tip=tip)
            each.setAccessibleName(tip.partition(" ")[0])
            self._ranges.append(each)
        self.unfold = button(context, "", lambda: None)
        self.unfold.setCheckable(True)
        self.unfold.setAutoDefault(False)
        self.unfold.toggled.connect(self._unfold)
        for group in (self._ranges[:3], self._ranges[3:]):  # what belongs together wraps together
            self._groups.append(beside(group, self.chips.gap))
            self.chips.add(self._groups[-1])
        self.chips.add(self.unfold)
        rows.addWidget(self.chips)
        self._no_times = ElidedLabel("No row has a time: there is a list, but no picture.", "muted")
        rows.addWidget(self._no_times)
        halves = self._halves = QSplitter(Qt.Orientation.Vertical)
        halves.setChildrenCollapsible(False)
        halves.addWidget(plot)
        below = QWidget()
        lines = QVBoxLayout(below)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addWidget(self.finder)
        lines.addWidget(self.events, 1)
        halves.addWidget(below)
        halves.addWidget(self.detail)
        halves.setStretchFactor(1, 1)
        halves.setSizes([context.px(340), context.px(190), context.px(90)])
        rows.addWidget(halves, 1)
        rows.addWidget(self.pointed)
        return left

    def _wire(self) -> None:
        model = self.model
        model.changed.connect(self._fill)
        model.form_changed.connect(self._fill_form)
        model.listed_changed.connect(self._fill_events)
        model.event_changed.connect(self._chosen)
        model.key_found.connect(self.chooser.fill_key)
        model.busy_changed.connect(self._busy)
        model.progressed.connect(self._progressed)
        model.failed.connect(self._failed)
        self.chips.toggled.connect(model.toggle_role)
        self.plot.chosen.connect(model.choose)
        self.plot.pointed.connect(self._point)
        self.events.chosen.connect(model.choose)
        self.finder.sought.connect(model.seek)
        self.finder.left.connect(self._to_list)
        self.agent.step_asked.connect(self._show_step)
        self.values.column_asked.connect(self._go_to_column)
        self.chooser.asked.connect(self.context.go)
        self.chooser.chance_asked.connect(model.find_some_key)
        self.column.activated.connect(lambda _: self._other_column())
        self.context.announced.connect(lambda _: model.forget())
        self.context.theme_changed.connect(self._fill_values)
        self.context.theme_changed.connect(self._sizes)

    def _unfold(self, on: bool) -> None:
        self.unfold.setText("Fewer windows" if on else f"{self.plot.foldable} more windows")
        self.plot.unfold(on)
        self.plot.setMinimumHeight(self.plot.needed)

    # --- the screen

    @property
    def title(self) -> str:
        return "Where a value comes from"

    def place(self) -> Place | None:
        return self.model.place

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        of_task = place.row is None
        self.chooser.setVisible(of_task)
        parts = (self._column_word, self.column, self.why_button, self.diff_button)
        for each in parts:
            each.setVisible(not of_task)
        if place != self.model.place:
            self.empty.say("Looking it up…", "The concepts are computed for this patient again.")
        self.model.show(place)
        if not place.column:
            self._name.setText(self.title)
            self._line.setText(place.name)
            self.empty.say(
                "Which value?",
                "Choose a source, a row and a column above. Any row takes one by chance.",
            )
        if of_task:
            self.model.load_form(place.name)  # the fields are filled from the place that is shown

    def bind(self, actions: Actions) -> None:
        actions.bind("run.diff", self._diff if self.diff_button.isVisible() else None)
        actions.bind("run.diagnosis", self._why if self.why_button.isVisible() else None)
        actions.bind("app.find", self._find)
        if self._stack.currentWidget() is self._splitter:
            self.plot.setFocus()
        elif self.chooser.isVisible():
            self.chooser.begin()

    def leave(self, actions: Actions) -> None:
        for name in ("run.diff", "run.diagnosis", "app.find"):
            actions.bind(name, None)

    def close_down(self) -> None:
        self.model.cancel()

    # --- commands

    def _diff(self) -> None:
        place = self.model.place
        if place is not None and place.row is not None:
            self.context.go(Place("diff", place.name, place.row))

    def _why(self) -> None:
        place = self.model.place
        if place is not None and place.row is not None:
            self.context.go(Place("diagnosis", place.name))

    def _other_column(self) -> None:
        self._go_to_column(self.column.currentText())

    def _go_to_column(self, column: str) -> None:
        place = self.model.column_place(column)
        if place is not None and place != self.model.place:
            self.context.go(place)

    def _show_step(self, number: int) -> None:
        if self.model.place is not None:
            self.context.go(Place("run", self.model.place.name, step=number))

    def _cancel(self) -> None:
        self.model.cancel()
        self.empty.say("Stopped", "Read again (F5) looks it up after all.")
        self.model.place = None

    # --- filling

    def _busy(self, on: bool) -> None:
        for each in (self.busy, self.busy_words, self.stop):
            each.setVisible(on)
        self.busy.setRange(0, 0)
        self.busy_words.setText("")

    def _progressed(self, progress: Progress) -> None:
        if progress.total > 0:
            self.busy.setRange(0, round(progress.total * 100))
            self.busy.setValue(round(progress.done * 100))
        self.busy_words.setText(progress.text)

    def _failed(self, error: M4Error) -> None:
        self.empty.say("This value cannot be followed", "What happened stands above.")
        self.errors.show_error(error)

    def _fill_form(self) -> None:
        form = self.model.form
        if form is None:
            return
        self.chooser.show_form(form, self.model.place)
        if self.isVisible() and self._stack.currentWidget() is self.empty:
            self.chooser.begin()
        if not form.sources:
            self.empty.say("No source fits this task", "Add one on the data page.")

    def _fill(self) -> None:
        page, model = self.model.page, self.model
        if page is not None and self._stack.currentWidget() is self.empty:
            QTimer.singleShot(0, self, self._share)  # only now it has a size to be shared
        self._show_part(self._splitter if page is not None else self.empty)
        self.pointed.setText("")
        self.finder.field.clear()
        self.plot.show_tracks(model.tracks, model.clock)
        folded = self.plot.foldable
        self.unfold.setChecked(False)
        self.unfold.setVisible(folded > 0)
        self._unfold(False)
        self.unfold.setToolTip(as_written(in_lines(_UNFOLD)))
        self.plot.setMinimumHeight(self.plot.needed)
        self.chips.show_counts(model.counts)
        self._fill_events()
        QTimer.singleShot(0, self.events, self.events.show_first_used)  # once it is laid out
        self._fill_values()
        self.steps.show_steps(page.lineage.steps if page is not None else ())
        self.agent.show_page(page)
        self.panels.setTabVisible(2, page is None or page.agent is not None)
        self.column.clear()
        self.column.setEnabled(page is not None)
        self.column.setToolTip(as_written("" if page is not None else _NO_COLUMNS))
        if page is None:
            self._name.setText(self.model.place.column if self.model.place else "")
            self._line.setText(self.model.place.name if self.model.place else "")
            return
        lineage = page.lineage
        key = ", ".join(f"{name} {words_of(value)}" for name, value in lineage.key.items())
        self._name.setText(f"{lineage.column} of {key}")
        whose = "reference and run" if page.agent is not None else "reference"
        self._line.setText(f"{page.task.name}  |  source {page.source}  |  {whose}")
        self.column.addItems(list(page.columns))
        self.column.setCurrentText(lineage.column)
        timed = len(model.tracks.names) > 0 if model.tracks is not None else False
        self.plot.setVisible(timed)
        for each in self._groups:
            each.setVisible(timed)
        self.chips.need_height()
        self._no_times.setVisible(not timed)
        if self.isVisible():
            (self.plot if timed else self.events).setFocus()
        self.title_changed.emit()

    def _show_part(self, part: QWidget) -> None:
        """Picture and panels, or the words that stand in their place."""
        # What is hidden asks for no room: words in the middle of it would be out of sight.
        policy, asks = QSizePolicy.Policy, part is self._splitter
        self._splitter.setSizePolicy(
            policy.Expanding if asks else policy.Ignored,
            policy.Preferred if asks else policy.Ignored,
        )
        self._stack.setCurrentWidget(part)

    def _fill_values(self) -> None:
        self.values.show_page(self.model.page, self.model.clock, self.model.untimed)

    def _fill_events(self) -> None:
        page = self.model.page
        events = page.lineage.events if page is not None else ()
        listed = self.model.listed
        self.events.show_events([(n, events[n]) for n in listed], self.model.clock)
        self.finder.show_count(len(listed), len(self.model.of_roles))
        self.plot.show_roles(self.model.roles)
        self.events.select(self.model.current)
        self._fill_detail()

    def _chosen(self, event: int) -> None:
        self.plot.select(event)
        self.events.select(event)
        self._fill_detail()

    def _fill_detail(self) -> None:
        """The chosen row in full, while it is in the list."""
        page, chosen = self.model.page, self.model.current
        listed = page is not None and self.events.records.row_of(chosen) >= 0
        event = page.lineage.events[chosen] if page is not None and listed else None
        some = bool(self.model.listed) or not self.model.sought
        self.detail.show_event(event, self.model.clock, some=some)
        # While no row is chosen the list has the room.
        self.detail.setMaximumHeight(_NO_LIMIT if event is not None else self.context.px(_A_LINE))
        self._detail_height()

    def _point(self, words: str) -> None:
        self.pointed.setText(words)
        self.pointed.setToolTip(as_written(in_lines(words)))

    def _find(self) -> None:
        self.finder.field.setFocus()
        self.finder.field.selectAll()

    def _to_list(self) -> None:
        """From the words that were typed to the rows that have them."""
        self.events.setFocus()
        if not self.events.currentIndex().isValid() and self.events.records.rowCount():
            self.events.selectRow(0)
