"""The screen with all runs."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QTimer
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QLineEdit, QStackedWidget

from engine.workbench import RunSummary
from m4review.app.actions import Actions
from m4review.app.context import Context, Screen
from m4review.app.links import WORKLIST, Place
from m4review.app.tables import ListTable
from m4review.app.widgets import EmptyState, ErrorPanel, button, label, page_layout
from m4review.compare.viewmodel import comparable
from m4review.run.table import runs_model
from m4review.run.words import state_words


class RunsScreen(Screen):
    """Every run of this home, newest first."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._runs: tuple[RunSummary, ...] = ()
        self.errors = ErrorPanel(context)
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter by task, agent, source or state…")
        self.filter.setAccessibleName("Filter runs")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._fill)
        self.table = ListTable(context, "Runs")
        self.model = runs_model(lambda: context.theme, with_task=True)
        self.table.setModel(self.model)
        self.table.setSortingEnabled(False)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.opened.connect(self._open)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._chosen())
        self.compare_button = button(
            context,
            "Compare",
            self._compare,
            icon="columns-3",
            tip="Hold the chosen runs beside each other (Ctrl+Shift+D): choose two to eight "
            "with Ctrl or Shift; the oldest is the one that the others are held against",
        )
        self.empty = EmptyState(
            context,
            "history",
            "No run yet",
            "Choose a task in the worklist and run an agent on it: a .sql or .py file is enough.",
        )
        self.empty.buttons.addWidget(
            button(context, "Go to the worklist", lambda: context.go(WORKLIST), main=True)
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        self._stack.addWidget(self.empty)
        page = page_layout(self, context)
        head = QHBoxLayout()
        head.addWidget(label("Runs", "title"))
        head.addStretch(1)
        head.addWidget(self.filter, 1)
        head.addWidget(self.compare_button)
        page.addLayout(head)
        page.addWidget(self.errors)
        page.addWidget(self._stack, 1)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(2000)
        self._again.timeout.connect(self._reload)
        context.announced.connect(self._announced)

    @property
    def title(self) -> str:
        return "Runs"

    def show_place(self, place: Place) -> None:
        self._reload()

    def bind(self, actions: Actions) -> None:
        actions.bind("app.find", self.filter.setFocus)
        actions.bind("runs.compare", self._compare)
        self.table.setFocus()

    def leave(self, actions: Actions) -> None:
        actions.bind("app.find", None)
        actions.bind("runs.compare", None)
        self._again.stop()

    def close_down(self) -> None:
        self._again.stop()

    def _announced(self, what: str) -> None:
        if what == "runs" and self.isVisible():
            self._reload()

    def _reload(self) -> None:
        workbench = self.context.workbench
        self.context.runner.start(
            "Read the runs",
            lambda _job: workbench.runs(),
            on_done=self._loaded,
            on_failed=self.errors.show_error,
            quiet=True,
        )

    def _loaded(self, runs: tuple[RunSummary, ...]) -> None:
        self._runs = runs
        self._fill()
        if self.isVisible() and any(run.live for run in runs):
            self._again.start()

    def _fill(self) -> None:
        words = self.filter.text().casefold().split()

        def fits(run: RunSummary) -> bool:
            text = " ".join(
                (run.task, run.agent, run.model, run.source, run.condition, state_words(run))
            ).casefold()
            return all(word in text for word in words)

        before = self.model.record(self.table.currentIndex().row())
        chosen = {run.run_id for run in self.chosen}
        shown = [run for run in self._runs if fits(run)]
        self.model.set_records(shown)
        self._stack.setCurrentWidget(self.table if self._runs else self.empty)
        kept = next((i for i, r in enumerate(shown) if before and r.run_id == before.run_id), 0)
        if shown:
            self.table.selectRow(kept)
        if len(chosen) > 1:  # a list that is read again keeps what was chosen for a comparison
            select = (
                QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
            )
            for row, run in enumerate(shown):
                if run.run_id in chosen:
                    self.table.selectionModel().select(self.model.index(row, 0), select)
        self._chosen()

    @property
    def chosen(self) -> tuple[RunSummary, ...]:
        """The selected runs, oldest first."""
        rows = {index.row() for index in self.table.selectionModel().selectedRows()}
        runs = [run for row in rows if (run := self.model.record(row)) is not None]
        return tuple(sorted(runs, key=lambda run: run.started_at))

    def _chosen(self) -> None:
        why = comparable(self.chosen)
        self.compare_button.setEnabled(not why)
        count = len(self.chosen)
        self.compare_button.setText(f" Compare {count} runs" if count > 1 else " Compare")

    def _compare(self) -> None:
        runs = self.chosen
        why = comparable(runs)
        if why:
            self.context.told.emit(why)
        else:
            self.context.go(Place("compare", runs=tuple(run.run_id for run in runs)))

    def _open(self, row: int) -> None:
        run = self.model.record(row)
        if run is not None:
            self.context.go(Place("run", run.run_id))
