"""The run page's window side."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QScrollArea,
    QTabWidget,
    QTreeWidget,
    QVBoxLayout,
    QWidget,
)

from engine.base.errors import M4Error
from engine.diagnosis import unmet
from m4review.app import icons
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.flow import FlowLayout
from m4review.app.links import RUNS, Place
from m4review.app.reports import save_report
from m4review.app.tips import as_written
from m4review.app.widgets import (
    ElidedLabel,
    ErrorPanel,
    badge,
    button,
    card,
    clear,
    label,
    page_layout,
    set_tone,
)
from m4review.diff.panels import Bar
from m4review.diff.words import judged_words
from m4review.run.facts import Find
from m4review.run.panels import AgainPanel, FindsPanel
from m4review.run.tree import fill_tree
from m4review.run.usage import UsageTab
from m4review.run.viewmodel import NMAE, RunPage, RunViewModel
from m4review.run.words import (
    ORDERED_NMAE,
    reward_words,
    setting_words,
    state_words,
    took,
    two_shares,
    when,
)
from m4review.trace.view import TracePane
from m4review.trace.viewmodel import TraceViewModel


class RunScreen(Screen):
    """One run: how good, why, what the agent said, the whole record."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.model = RunViewModel(context.workbench, context.runner, self)
        self.trace = TraceViewModel(context.workbench, context.runner, self)
        self.steps = TracePane(context, self.trace)
        self.usage = UsageTab(context)
        self.finds = FindsPanel(context)
        self.again = AgainPanel(context)
        self.errors = ErrorPanel(context)
        self._name = ElidedLabel("", "title")
        self._line = label("", "muted", wrap=True)
        self.diff_button = button(
            context,
            "Open the diff",
            self._diff,
            icon="git-compare-arrows",
            main=True,
            tip="Row by row, the agent's table against the reference (Enter)",
        )
        self.why_button = button(
            context,
            "What went wrong",
            self._why,
            icon="stethoscope",
            tip="What the mismatches have in common, and where they sit (Ctrl+E)",
        )
        self.report_button = button(
            context,
            "Report…",
            self._report,
            icon="file-text",
            tip="Save one HTML file without row-level data (Ctrl+Shift+S)",
        )
        self.task_button = button(context, "Task", self._task, icon="file-text")
        self.reveal_button = button(context, "Folder", self._reveal, icon="folder-open")
        self.delete_button = button(context, "Delete…", self._delete, icon="trash-2")
        self._fresh = True
        self._both: QBoxLayout | None = None
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head = QHBoxLayout()
        self._figures_rows = QVBoxLayout()
        self.tabs = QTabWidget()
        self.log = QPlainTextEdit()
        self.tree = QTreeWidget()
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(1500)
        self._again.timeout.connect(self._reload)
        self._build()
        self._wire()

    def _build(self) -> None:
        context = self.context
        figures = QWidget()
        figures.setProperty("plain", True)
        outer = QVBoxLayout(figures)
        outer.addWidget(self.again)
        outer.addLayout(self._figures_rows, 1)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setWidget(figures)
        self.log.setReadOnly(True)
        self.log.setProperty("code", True)
        self.log.setTabChangesFocus(True)
        self.log.setAccessibleName("What the agent wrote")
        self.tree.setHeaderLabels(["Field", "Value"])
        self.tree.setAccessibleName("The run's record")
        self.tabs.addTab(area, "Figures")
        self.tabs.addTab(self.steps, "Trace")
        self.tabs.addTab(self.usage, "Model and network")
        self.tabs.addTab(self.log, "Log")
        self.tabs.addTab(self.tree, "Record")
        page = page_layout(self, context)
        buttons = QWidget()
        line = FlowLayout(buttons, spacing=context.px(10), one_line=True)
        self._top.addWidget(self._name, 1)
        self._top.addWidget(buttons)
        for each in (
            self.task_button,
            self.reveal_button,
            self.delete_button,
            self.report_button,
            self.why_button,
            self.diff_button,
        ):
            line.addWidget(each)
        page.addLayout(self._top)
        page.addWidget(self._line)
        page.addWidget(self.errors)
        page.addLayout(self._head)
        page.addWidget(self.finds)
        page.addWidget(self.tabs, 1)

    def _wire(self) -> None:
        context = self.context
        self.tabs.currentChanged.connect(
            lambda _: self.model.want_log(self.tabs.currentWidget() is self.log)
        )
        self.model.changed.connect(self._fill)
        self.model.failed.connect(self._failed)
        self.model.deleted.connect(self._deleted)
        self.model.scored.connect(lambda _: context.announced.emit("runs"))
        self.again.asked.connect(self.model.rescore)
        self.finds.asked.connect(self._show_find)
        self.usage.step_asked.connect(self.show_step)
        self.steps.diff_asked.connect(self._diff)
        self.steps.address_asked.connect(self._copy_address)
        self.trace.read_out.connect(self._show_usage)
        self.trace.failed.connect(self._failed)
        context.theme_changed.connect(self._fill)

    @property
    def title(self) -> str:
        page = self.model.page
        if page is None:
            return self.model.run_id
        run = page.summary
        return f"{run.task} · {run.model}"

    def place(self) -> Place | None:
        if not self.model.run_id:
            return None
        step = self.steps.current if self.tabs.currentWidget() is self.steps else None
        return Place("run", self.model.run_id, step=step)

    def show_place(self, place: Place) -> None:
        self.errors.dismiss()
        if place.name != self.model.run_id:
            self._name.setText("…")
            self._line.setText("")
            clear(self._head)
            self._both = None
            clear(self._figures_rows)
            self.log.clear()
            self.tree.clear()
            self._buttons(None)
            self._fresh = True
            self.finds.hide()
            self.again.hide()
        self.model.show(place.name)
        self.trace.show(place.name)
        if place.step is not None:
            self.show_step(place.step)

    def show_step(self, number: int) -> None:
        """Show a step of the trace."""
        self.tabs.setCurrentWidget(self.steps)
        self.steps.go_to(number)

    def _show_find(self, find: Find) -> None:
        if find.step is not None:
            self.show_step(find.step)
        elif find.line is not None:
            self.tabs.setCurrentWidget(self.steps)
            self.steps.go_to_line(find.line)
        else:
            self.trace.read_file(find.file)

    def _show_usage(self) -> None:
        self.usage.show_steps(list(self.steps.table.steps.of_kind("usage")))

    def _copy_address(self, number: int) -> None:
        link = Place("run", self.model.run_id, step=number).link
        QGuiApplication.clipboard().setText(link)
        self.context.told.emit("The address of this step is on the clipboard.")

    def _find(self) -> None:
        self.tabs.setCurrentWidget(self.steps)
        self.steps.search.setFocus()

    def bind(self, actions: Actions) -> None:
        actions.bind("app.find", self._find)
        actions.bind("run.diff", self._diff)
        actions.bind("run.diagnosis", self._why)
        actions.bind("run.report", self._report)
        actions.bind("run.reveal", self._reveal)
        actions.bind("run.delete", self._delete)
        actions.bind("task.run", self._run_again)
        self.diff_button.setFocus()

    def leave(self, actions: Actions) -> None:
        for name in (
            "app.find", "run.diff", "run.diagnosis", "run.report", "run.reveal", "run.delete",
            "task.run",
        ):  # fmt: skip
            actions.bind(name, None)
        self._again.stop()

    def close_down(self) -> None:
        self._again.stop()
        self.steps.close_down()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.diff_button.isEnabled():
            self._diff()
            return
        super().keyPressEvent(event)

    # --- commands

    def _diff(self) -> None:
        if self.model.page is not None and self.model.page.has_diff:
            self.context.go(Place("diff", self.model.run_id))

    def _why(self) -> None:
        if self.model.page is not None and self.model.page.has_diff:
            self.context.go(Place("diagnosis", self.model.run_id))

    def _report(self) -> None:
        if self.model.page is not None and not self.model.page.summary.live:
            save_report(self.context, (self.model.run_id,))

    def _task(self) -> None:
        if self.model.page is not None:
            self.context.go(Place("task", self.model.page.summary.task))

    def _run_again(self) -> None:
        if self.model.page is not None:
            self.context.go(Place("launch", self.model.page.summary.task))

    def _reveal(self) -> None:
        if self.model.page is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.model.page.record.folder)))

    def _delete(self) -> None:
        if self.model.page is not None and self.context.interaction.confirm(
            "Delete this run?",
            "Its folder with the agent's output, log and diff is deleted. This cannot be undone.",
            yes="Delete the run",
        ):
            self.model.delete()

    def _deleted(self) -> None:
        self.context.announced.emit("runs")
        self.context.told.emit("The run is deleted.")
        self.context.go(RUNS)

    def _reload(self) -> None:
        self.model.show(self.model.run_id)
        self.trace.refresh()

    def _failed(self, error: M4Error) -> None:
        self.errors.show_error(error)
        if self.model.page is None:
            self._name.setText(self.model.run_id)

    # --- filling

    def _buttons(self, page: RunPage | None) -> None:
        self.diff_button.setEnabled(page is not None and page.has_diff)
        self.why_button.setEnabled(page is not None and page.has_diff)
        self.report_button.setEnabled(page is not None and not page.summary.live)
        self.task_button.setEnabled(page is not None and page.task is not None)
        self.reveal_button.setEnabled(page is not None)
        self.delete_button.setEnabled(page is not None and not page.summary.live)

    def _fill(self) -> None:
        page = self.model.page
        if page is None:
            return
        run = page.summary
        self._name.setText(run.task)
        self._line.setText(
            f"{run.agent} · {run.model}  |  source {run.source}  |  {run.condition}, {run.schema}"
            f"  |  trial {run.trial}  |  started {when(run.started_at)}  |  took {took(run)}"
        )
        self._line.setToolTip(as_written(setting_words(run.condition, run.schema)))
        self._buttons(page)
        self._fill_head(page)
        self._fill_figures(page)
        text = "Reading…" if page.log is None else page.log or "The agent wrote nothing."
        if page.log_cut:
            text = f"({page.log_cut:,} characters before this are not shown)\n{text}"
        if self.log.toPlainText() != text:
            self.log.setPlainText(text)
        fill_tree(self.tree, page.record.raw)
        self.usage.show_page(page)
        self.finds.show_page(page)
        was_live = self.steps.live
        self.steps.set_live(run.live)
        if was_live and not run.live:
            self.trace.refresh()  # what came between the last look and the end
        self.title_changed.emit()
        if self._fresh and self.isVisible() and self.diff_button.isEnabled():
            self.diff_button.setFocus()
        self._fresh = False
        if run.live and self.isVisible():
            self._again.start()

    def _fill_head(self, page: RunPage) -> None:
        clear(self._head)
        run = page.summary
        box = QHBoxLayout()
        figure = QVBoxLayout()
        figure.addWidget(label("Reward", "section"))
        figure.addWidget(label(reward_words(run.reward), "figure"))
        figure.addStretch(1)
        box.addLayout(figure)
        box.addSpacing(self.context.px(24))
        words = QVBoxLayout()
        badges = QHBoxLayout()
        if run.strict_pass is not None:
            text = "✓ strict pass" if run.strict_pass else "✗ no strict pass"
            badges.addWidget(badge(text, "good" if run.strict_pass else "bad"))
        failed = run.state == "failed"
        badges.addWidget(badge(state_words(run), "bad" if failed else "plain"))
        if not page.record.publishable and not run.live:
            tip = badge("not publishable", "warn")
            tip.setToolTip(as_written(page.record.publishable_reason))
            badges.addWidget(tip)
        badges.addStretch(1)
        words.addLayout(badges)
        sentence = label(self._sentence(page), wrap=True)
        words.addWidget(sentence)
        box.addLayout(words, 1)
        self._head.addWidget(card(box))

    def _sentence(self, page: RunPage) -> str:
        run = page.summary
        if page.reason:
            return page.reason
        if run.live:
            return "The run is at work; this page follows it."
        if run.reward is None:
            return "The run has no reward."
        results = page.record.test_results
        if results is None:
            return "Scored."
        failed = [d for d in results.diagnostics if not d.passed]
        judged = judged_words(unmet(results.diagnostics), briefly=True)
        if run.strict_pass:
            return f"All {len(results.diagnostics)} conditions of a strict pass hold."
        if judged:  # the conditions stand below; a long text would squeeze the buttons
            return judged
        return (
            f"{len(failed)} of {len(results.diagnostics)} conditions of a strict pass do not hold. "
            "The diff shows which rows depart."
        )

    def _fill_figures(self, page: RunPage) -> None:
        self._both = None
        clear(self._figures_rows)
        results = page.record.test_results
        rows = self._figures_rows
        self.again.show_page(page)
        if results is None:
            rows.addWidget(label("Nothing was scored.", "muted"))
            rows.addStretch(1)
            return
        for warning in results.warnings:
            rows.addWidget(self._warning(str(warning)))
        both = QBoxLayout(self._direction())
        self._both = both
        left, right = QVBoxLayout(), QVBoxLayout()
        left.addWidget(label("Match rate by column", "heading"))
        more = (results.extra_keys or 0) + (results.duplicate_keys or 0)
        if more:
            left.addWidget(label(two_shares(more), "muted", wrap=True))
        left.addLayout(self._columns(page))
        left.addSpacing(self.context.px(14))
        left.addWidget(label("Keys and errors", "heading"))
        left.addLayout(self._key_figures(page))
        left.addStretch(1)
        right.addWidget(label("Conditions of a strict pass", "heading"))
        right.addLayout(self._diagnostics(page))
        right.addStretch(1)
        both.addLayout(left, 3)
        both.addSpacing(self.context.px(28))
        both.addLayout(right, 2)
        rows.addLayout(both)
        rows.addStretch(1)

    def _direction(self) -> QBoxLayout.Direction:
        """Side by side, or under each other in a narrow window."""
        wide = self.width() >= self.context.px(860)
        return QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._top.setDirection(self._direction())
        if self._both is not None:
            self._both.setDirection(self._direction())

    def _warning(self, text: str) -> QFrame:
        frame = QFrame()
        frame.setObjectName("notePanel")
        row = QHBoxLayout(frame)
        row.addWidget(self._picture("triangle-alert", "warn"), 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(label(text, wrap=True), 1)
        return frame

    def _picture(self, name: str, tone: str) -> QLabel:
        picture = QLabel()
        colour = getattr(self.context.theme, tone)
        side = self.context.px(18)
        picture.setPixmap(icons.pixmap(name, colour, side, self.devicePixelRatioF()))
        return picture

    def _columns(self, page: RunPage) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(self.context.px(14))
        grid.setVerticalSpacing(self.context.px(8))
        grid.setColumnStretch(1, 1)
        for at, title in enumerate(("Column", "", "Match rate", "Tolerance", "Compared as")):
            head = label(title, "section")
            if at == 2:  # noqa: PLR2004 - the number
                head.setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(head, 0, at)
        for row, column in enumerate(page.columns, start=1):
            failed = column.passed is False
            grid.addWidget(label(column.name), row, 0)
            tone = "good" if column.rate == 1 else "bad" if failed else "accent"
            grid.addWidget(Bar(self.context, column.rate, tone), row, 1)
            rate = label(f"{column.rate:.4f}" if column.rate < 1 else "1")
            rate.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            if failed:
                set_tone(rate, "bad")
            grid.addWidget(rate, row, 2)
            grid.addWidget(label(column.tolerance, "muted"), row, 3)
            grid.addWidget(label(column.compared_as, "muted"), row, 4)
        return grid

    def _key_figures(self, page: RunPage) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(self.context.px(14))
        grid.setColumnStretch(2, 1)
        for row, (name, value, meaning) in enumerate(page.figures):
            title = label(name)
            if name == NMAE:
                title.setToolTip(as_written(ORDERED_NMAE))
            grid.addWidget(title, row, 0)
            figure = label(value)
            figure.setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(figure, row, 1)
            grid.addWidget(label(meaning, "muted"), row, 2)
        return grid

    def _diagnostics(self, page: RunPage) -> QGridLayout:
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(self.context.px(6))
        results = page.record.test_results
        for row, diagnostic in enumerate(results.diagnostics if results else ()):
            name = "circle-check" if diagnostic.passed else "circle-x"
            picture = self._picture(name, "good" if diagnostic.passed else "bad")
            grid.addWidget(picture, row, 0, Qt.AlignmentFlag.AlignTop)
            words = "holds" if diagnostic.passed else "does not hold"
            text = diagnostic.name.replace("_", " ").replace(":", ": ")
            box = QVBoxLayout()
            box.setSpacing(0)
            box.addWidget(label(f"{text} – {words}"))
            if diagnostic.detail:
                box.addWidget(label(diagnostic.detail, "muted", wrap=True))
            grid.addLayout(box, row, 1)
        return grid
