"""The main window: navigation, screens, menus, status bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from PySide6.QtCore import QByteArray, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from engine.base.jobs import Job
from m4review.app import icons
from m4review.app.actions import COMMANDS, Actions
from m4review.app.application import apply_look, theme_for, window_icon
from m4review.app.context import Context, Screen
from m4review.app.crumbs import trail
from m4review.app.help import Help
from m4review.app.jobs_view import JobBar, JobList
from m4review.app.links import DATA, MODELS, PLAN, QUEUE, REVIEWS, RUNS, WORKLIST, Place, parse
from m4review.app.palette import Palette
from m4review.app.settings import zoom_step
from m4review.app.theme import Mode
from m4review.app.tips import as_written
from m4review.app.widgets import ElidedLabel, fit_pages, label
from m4review.compare.view import CompareScreen
from m4review.data.view import DataScreen
from m4review.diagnosis.link import WhyLink
from m4review.diagnosis.rows import RowsLink
from m4review.diagnosis.view import DiagnosisScreen
from m4review.diff.view import DiffScreen
from m4review.editor.view import EditorScreen
from m4review.evidence.screen import EvidenceScreen
from m4review.launcher.view import LauncherScreen
from m4review.models.view import ModelsScreen
from m4review.plan.view import PlanScreen
from m4review.queue.view import QueueScreen
from m4review.queue.viewmodel import QueueDesk
from m4review.review.decide.view import DecideScreen
from m4review.review.flags import FlagLink
from m4review.review.sheet.view import ReviewScreen
from m4review.review.view import ReviewsScreen
from m4review.run.list_view import RunsScreen
from m4review.run.view import RunScreen
from m4review.task.view import TaskScreen
from m4review.timeline.link import ValueLink
from m4review.timeline.view import TimelineScreen
from m4review.worklist.view import WorklistScreen

_SECTIONS = (
    ("worklist", "Worklist", "list-checks", WORKLIST),
    ("reviews", "Reviews", "clipboard-list", REVIEWS),
    ("queue", "Queue", "list", QUEUE),
    ("runs", "Runs", "history", RUNS),
    ("data", "Data", "database", DATA),
    ("models", "Models", "settings", MODELS),
)
_SECTION_OF = {
    "worklist": "worklist",
    "task": "worklist",
    "edit": "worklist",
    "evidence": "worklist",
    "launch": "worklist",
    "reviews": "reviews",
    "review": "reviews",
    "adjudicate": "reviews",
    "plan": "queue",
    "queue": "queue",
    "models": "models",
    "runs": "runs",
    "run": "runs",
    "diff": "runs",
    "diagnosis": "runs",
    "timeline": "runs",
    "compare": "runs",
    "data": "data",
}
_HISTORY = 100
_OF_RUN = ("diff", "diagnosis", "timeline")
"""Screens whose trail leads over the page of a run."""


class MainWindow(QMainWindow):
    """One window; screens are made once and shown by place."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.setWindowIcon(window_icon())
        self.setWindowTitle("M4 Review")
        self.setMinimumSize(760, 520)
        self.actions_of = Actions(self)
        self._back: list[Place] = []
        self._forward: list[Place] = []
        self._place: Place | None = None
        self._run_titles: dict[str, str] = {}
        self._closing = False
        self._unasked = False
        self._set_look()
        self.desk = QueueDesk(context.workbench, context.runner, self)
        self.screens: dict[str, Screen] = {
            "worklist": WorklistScreen(context),
            "reviews": ReviewsScreen(context),
            "review": ReviewScreen(context),
            "adjudicate": DecideScreen(context),
            "task": TaskScreen(context),
            "edit": EditorScreen(context),
            "evidence": EvidenceScreen(context),
            "launch": LauncherScreen(context),
            "plan": PlanScreen(context, self.desk),
            "queue": QueueScreen(context, self.desk),
            "runs": RunsScreen(context),
            "run": RunScreen(context),
            "diff": DiffScreen(context),
            "diagnosis": DiagnosisScreen(context),
            "timeline": TimelineScreen(context),
            "compare": CompareScreen(context),
            "data": DataScreen(context),
            "models": ModelsScreen(context),
        }
        self._build()
        self._menus()
        self._bind()
        diff = cast("DiffScreen", self.screens["diff"])
        self._rows_link = RowsLink(context, diff)
        self._value_link = ValueLink(context, diff, self.stack, self.actions_of)
        self._why_link = WhyLink(diff, cast("DiagnosisScreen", self.screens["diagnosis"]))
        self._flag_link = FlagLink(self)
        self._reviews = cast("ReviewsScreen", self.screens["reviews"]).model
        self._reviews.changed.connect(self._count_reviews)
        review = cast("ReviewScreen", self.screens["review"])
        review.model.signed.connect(lambda _: self._reviews.reload())
        context.announced.connect(self._announced)
        context.went.connect(self.go)
        context.told.connect(self._tell)
        context.theme_changed.connect(self._recolour)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_changed)
        self._restore_geometry()
        self._recolour()

    # --- building

    def _build(self) -> None:
        self.stack = QStackedWidget()
        for screen in self.screens.values():
            self.stack.addWidget(screen)
            screen.title_changed.connect(self._update_crumbs)
        right = QWidget()
        rows = QVBoxLayout(right)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self._top_bar())
        rows.addWidget(self.stack, 1)
        whole = QWidget()
        columns = QHBoxLayout(whole)
        columns.setContentsMargins(0, 0, 0, 0)
        columns.setSpacing(0)
        columns.addWidget(self._side_bar())
        columns.addWidget(right, 1)
        self.setCentralWidget(whole)
        self._message = QLabel()
        self._message.setTextFormat(Qt.TextFormat.PlainText)
        self.statusBar().setSizeGripEnabled(False)
        self.statusBar().addWidget(self._message, 1)
        self.job_bar = JobBar(self.context, self.context.runner)
        self.job_bar.more.clicked.connect(lambda _=False: self._show_jobs())
        self.statusBar().addPermanentWidget(self.job_bar)

    def _side_bar(self) -> QWidget:
        side = QWidget()
        side.setObjectName("sidebar")
        side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(side)
        column.setContentsMargins(8, 12, 8, 12)
        name = label("M4 Review", "heading")
        name.setContentsMargins(10, 0, 0, 8)
        column.addWidget(name)
        self._group = QButtonGroup(self)
        self._sections: dict[str, QToolButton] = {}
        for key, text, _, place in _SECTIONS:
            entry = QToolButton()
            entry.setText(f"  {text}")
            entry.setAccessibleName(text)
            entry.setObjectName(f"section-{key}")
            entry.setCheckable(True)
            entry.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            entry.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            entry.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            entry.clicked.connect(lambda _=False, where=place: self.go(where))
            self._group.addButton(entry)
            self._sections[key] = entry
            column.addWidget(entry)
        column.addStretch(1)
        self._side = side
        return side

    def _announced(self, what: str) -> None:
        if what == "reviews" and self.screen_shown is not self.screens["reviews"]:
            self._reviews.reload()  # the page of reviews does so by itself

    def _count_reviews(self) -> None:
        """How many reviews and decisions wait is told on every page."""
        overview, entry = self._reviews.overview, self._sections["reviews"]
        number = len(overview.waits) if overview is not None else 0
        entry.setText(f"  Reviews ({number})" if number else "  Reviews")
        entry.setAccessibleName(f"Reviews, waiting for you: {number}" if number else "Reviews")

    def _top_bar(self) -> QWidget:
        top = QWidget()
        top.setObjectName("topbar")
        top.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        line = QHBoxLayout(top)
        line.setContentsMargins(10, 6, 10, 6)
        self._back_button = self._nav("Back (Alt+Left)", self.go_back)
        self._forward_button = self._nav("Forward (Alt+Right)", self.go_forward)
        self._crumbs = QHBoxLayout()
        self._crumbs.setSpacing(2)
        self._command_button = self._nav("Every command by its name (Ctrl+K)", self._open_palette)
        self._command_button.setText("  Find a command   Ctrl+K")
        self._command_button.setAccessibleName("Find a command")
        self._command_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        line.addWidget(self._back_button)
        line.addWidget(self._forward_button)
        line.addSpacing(6)
        line.addLayout(self._crumbs, 1)
        line.addWidget(self._command_button)
        return top

    def _nav(self, tip: str, clicked: Callable[[], object]) -> QToolButton:
        result = QToolButton()
        result.setToolTip(as_written(tip))
        result.setAccessibleName(tip.partition(" ")[0])
        result.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        result.clicked.connect(lambda _=False: clicked())
        return result

    def _menus(self) -> None:
        self.menuBar().setNativeMenuBar(False)
        for menu_name in dict.fromkeys(command.menu for command in COMMANDS):
            menu = self.menuBar().addMenu(f"&{menu_name}")
            for command in COMMANDS:
                if command.menu == menu_name:
                    menu.addAction(self.actions_of[command.name])

    def _bind(self) -> None:
        handlers: dict[str, Callable[[], object]] = {
            "app.open": self._ask_address,
            "app.copy_link": self._copy_link,
            "app.quit": self.close,
            "app.back": self.go_back,
            "app.forward": self.go_forward,
            "app.worklist": lambda: self.go(WORKLIST),
            "app.runs": lambda: self.go(RUNS),
            "app.data": lambda: self.go(DATA),
            "app.reviews": lambda: self.go(REVIEWS),
            "app.queue": lambda: self.go(QUEUE),
            "app.models": lambda: self.go(MODELS),
            "task.plan": self._plan,
            "app.palette": self._open_palette,
            "app.zoom_in": lambda: self._zoom(1),
            "app.zoom_out": lambda: self._zoom(-1),
            "app.zoom_reset": lambda: self._zoom(0),
            "app.theme_auto": lambda: self.set_theme("auto"),
            "app.theme_light": lambda: self.set_theme("light"),
            "app.theme_dark": lambda: self.set_theme("dark"),
            "app.jobs": self._show_jobs,
            "app.refresh": self._refresh,
            "app.help": self._show_help,
        }
        for name, handler in handlers.items():
            self.actions_of.bind(name, handler)

    # --- look

    def _set_look(self) -> None:
        context = self.context
        mode = cast("Mode", context.settings.get("look.theme"))
        context.theme = theme_for(mode)
        context.zoom = context.settings.get("look.zoom") / 100
        apply_look(context.theme, context.zoom, context.workbench.home.scratch)

    def set_theme(self, mode: Mode) -> None:
        """Light, dark, or as the system has it."""
        self.context.settings.set("look.theme", mode)
        self._set_look()
        self.context.theme_changed.emit()

    def set_zoom(self, percent: int) -> None:
        """Size of everything, in per cent."""
        self.context.settings.set("look.zoom", percent)
        self._set_look()
        fit_pages(self, self.context)
        self.context.theme_changed.emit()
        self._tell(f"Size {percent} %")

    def _zoom(self, direction: int) -> None:
        self.set_zoom(zoom_step(self.context.settings.get("look.zoom"), direction))

    def _system_changed(self) -> None:
        if self.context.settings.get("look.theme") == "auto":
            self.set_theme("auto")

    def _recolour(self) -> None:
        theme, px = self.context.theme, self.context.px
        for key, _, name, _ in _SECTIONS:
            self._sections[key].setIcon(icons.icon(name, theme.text))
        self._back_button.setIcon(icons.icon("arrow-left", theme.text, theme.line))
        self._forward_button.setIcon(icons.icon("arrow-right", theme.text, theme.line))
        self._command_button.setIcon(icons.icon("search", theme.muted))
        self._side.setFixedWidth(px(150))
        for command in COMMANDS:
            if command.icon:
                self.actions_of[command.name].setIcon(icons.icon(command.icon, theme.muted))

    # --- going about

    @property
    def place(self) -> Place | None:
        """Where the window is."""
        return self._place

    @property
    def screen_shown(self) -> Screen:
        """The screen that is shown."""
        return cast("Screen", self.stack.currentWidget())

    def go(self, place: Place) -> None:
        """Go to a place; the present one can be gone back to."""
        if self._place is not None and place != self._place:
            exact = self.screen_shown.place() or self._place
            self._back.append(exact)
            del self._back[:-_HISTORY]
            self._forward.clear()
        self._show(place)

    def go_back(self) -> None:
        """To the place before."""
        if self._back and self._place is not None:
            self._forward.append(self.screen_shown.place() or self._place)
            self._show(self._back.pop())

    def go_forward(self) -> None:
        """To the place that was gone back from."""
        if self._forward and self._place is not None:
            self._back.append(self.screen_shown.place() or self._place)
            self._show(self._forward.pop())

    def _show(self, place: Place) -> None:
        if self._place is not None:
            self.screen_shown.leave(self.actions_of)
        self._place = place
        screen = self.screens[place.screen]
        self.stack.setCurrentWidget(screen)
        screen.show_place(place)
        screen.bind(self.actions_of)
        self._sections[_SECTION_OF[place.screen]].setChecked(True)
        self._back_button.setEnabled(bool(self._back))
        self._forward_button.setEnabled(bool(self._forward))
        self._update_crumbs()

    def _update_crumbs(self) -> None:
        while (item := self._crumbs.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        place = self._place
        if place is None:
            return
        run_title = self._title_of_run(place.name) if place.screen in _OF_RUN else ""
        way = trail(place, self.screens[place.screen].title, run_title)
        for number, (text, where) in enumerate(way):
            if number:
                self._crumbs.addWidget(label("›", "muted"))
            if where is None:
                here = ElidedLabel(text)
                here.setStyleSheet("font-weight: 600; padding: 4px;")
                self._crumbs.addWidget(here, 1)
            else:
                link = QToolButton()
                link.setText(text)
                link.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
                link.clicked.connect(lambda _=False, to=where: self.go(to))
                self._crumbs.addWidget(link)
        self._crumbs.addStretch(0)
        self.setWindowTitle(f"{way[-1][0]} – M4 Review")

    def _title_of_run(self, run_id: str) -> str:
        """What the run page calls a run; empty while it is not known."""
        if self._run_is(run_id):
            return self.screens["run"].title
        if run_id in self._run_titles:
            return self._run_titles[run_id]
        self._run_titles[run_id] = ""
        workbench = self.context.workbench

        def read(_job: Job) -> str:
            run = workbench.run_record(run_id).summary
            return f"{run.task} · {run.model}"

        def done(title: str) -> None:
            self._run_titles[run_id] = title
            self._update_crumbs()

        # A run that cannot be read keeps its id; its own screen says why.
        self.context.runner.start("Read the run", read, on_done=done,
                                  on_failed=lambda _: None, quiet=True)  # fmt: skip
        return ""

    def _run_is(self, run_id: str) -> bool:
        run = self.screens["run"]
        where = run.place()
        return where is not None and where.name == run_id

    # --- commands

    def open_text(self, text: str) -> None:
        """Go where an address, a run id or a run folder says."""
        try:
            self.go(parse(text))
        except M4Error as error:
            self.context.interaction.error(error)

    def _ask_address(self) -> None:
        text = self.context.interaction.ask_text(
            "Open", "Address (m4review://…), run id or run folder:"
        )
        if text:
            self.open_text(text)

    def _plan(self) -> None:
        place = self._place
        task = place.name if place is not None and place.screen in ("task", "launch") else ""
        self.go(Place("plan", task) if task else PLAN)

    def _copy_link(self) -> None:
        place = self.screen_shown.place() or self._place
        if place is not None:
            QGuiApplication.clipboard().setText(place.link)
            self._tell("The address of this place is on the clipboard.")

    def _open_palette(self) -> None:
        palette = Palette(self.context, self.actions_of, self)
        palette.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        corner = self.mapToGlobal(self.rect().topLeft())
        palette.move(corner.x() + (self.width() - palette.minimumWidth()) // 2, corner.y() + 80)
        palette.show()
        palette.line.setFocus()

    def _show_help(self) -> None:
        help_window = Help(self.context, self)
        help_window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        help_window.open()

    def _show_jobs(self) -> None:
        jobs = JobList(self.context, self.context.runner, self)
        jobs.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        jobs.open()

    def _refresh(self) -> None:
        if self._place is not None:
            self.screen_shown.leave(self.actions_of)
            self._show(self._place)

    def _tell(self, text: str) -> None:
        self._message.setText(text)
        QTimer.singleShot(6000, self._message, lambda: self._untell(text))

    def _untell(self, text: str) -> None:
        if self._message.text() == text:
            self._message.setText("")

    # --- start and end

    def recover(self) -> None:
        """Finish or close what a killed program left, in the background."""
        workbench = self.context.workbench

        def work(_job: Job) -> int:
            return len(workbench.recover())

        def done(count: int) -> None:
            if count:
                self.context.told.emit(
                    f"{count} run{'s' if count > 1 else ''} of an earlier session "
                    f"{'were' if count > 1 else 'was'} finished or closed."
                )
                self.context.announced.emit("runs")

        self.context.runner.start(
            "Look after earlier runs",
            work,
            on_done=done,
            on_failed=self.context.interaction.error,
            quiet=True,
        )
        self._reviews.reload()

    def _restore_geometry(self) -> None:
        settings = self.context.settings
        saved = settings.get("window.geometry")
        if not saved or not self.restoreGeometry(QByteArray.fromBase64(saved.encode("ascii"))):
            self.resize(1240, 800)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        damaged = self.context.settings.damaged
        if damaged is not None:
            self.context.settings.damaged = None
            self._tell(f"The settings could not be read; they are kept as {damaged.name}.")

    def close_now(self) -> None:
        """Close without asking: the system wants the program to end."""
        self._unasked = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._closing:
            event.accept()
            return
        runner = self.context.runner
        busy = runner.loud
        if busy and not self._unasked:
            names = "\n".join(f"• {handle.title}" for handle in busy)
            agreed = self.context.interaction.confirm(
                "Stop what is being worked on?",
                f"{names}\n\nWhat is finished is kept; an import can be resumed later, a "
                "running agent is stopped.",
                yes="Stop and quit",
                no="Go on working",
            )
            if not agreed:
                event.ignore()
                return
        self._closing = True
        self.screen_shown.leave(self.actions_of)
        settings = self.context.settings
        settings.set(
            "window.geometry", bytes(self.saveGeometry().toBase64().data()).decode("ascii")
        )
        place = self._place
        if place is not None:
            settings.set("window.last", place.link)
        for screen in self.screens.values():
            screen.close_down()
        settings.save()
        runner.shut_down()
        event.accept()
