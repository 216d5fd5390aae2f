"""From a row or a value to the review that waits (F6), and from a task's page to its review."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject

from engine.base.jobs import Job
from m4review.app.links import Place
from m4review.app.widgets import button
from m4review.review.words import LANE

if TYPE_CHECKING:
    from m4review.app.window import MainWindow
    from m4review.diff.view import DiffScreen
    from m4review.task.view import TaskScreen
    from m4review.timeline.view import TimelineScreen

NOWHERE = "Go to a row first."


class FlagLink(QObject):
    """Puts the address under the cursor into the open review of its task."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._context = window, window.context
        self._diff = cast("DiffScreen", window.screens["diff"])
        self._task = cast("TaskScreen", window.screens["task"])
        self._timeline = cast("TimelineScreen", window.screens["timeline"])
        tip = "Put its address into the review of this task that waits for you (F6)"
        self.buttons = [
            button(self._context, "Flag into the review…", self.flag, icon="flag", tip=tip)
            for _ in range(2)
        ]
        for screen, each in zip((self._diff.row_panel, self._timeline.values), self.buttons,
                                strict=True):  # fmt: skip
            layout = screen.layout()
            if layout is not None:
                layout.addWidget(each)
        window.stack.currentChanged.connect(lambda _: self._bind())

    def _bind(self) -> None:
        here = self._window.stack.currentWidget() in (self._diff, self._timeline)
        self._window.actions_of.bind("review.flag", self.flag if here else None)
        if self._window.stack.currentWidget() is self._task:
            self._window.actions_of.bind("review.open", self._review)
        elif self._window.stack.currentWidget() is not self._window.screens["reviews"]:
            self._window.actions_of.bind("review.open", None)

    def _review(self) -> None:
        if self._task.model.name:
            self._context.go(Place("review", self._task.model.name))

    @property
    def place(self) -> Place | None:
        """What would be flagged: the value under the cursor, else the row; None without one."""
        if self._window.stack.currentWidget() is self._timeline:
            place = self._timeline.place()
            return place if place is not None and place.column else None
        grid, view = self._diff.grid, self._diff.model.view
        if grid is None or view is None or grid.current < 0:
            return None
        row = view.row_at(grid.current)
        if row is None:
            return None
        column = None
        if 0 <= grid.current_column < len(grid.model.columns):
            column = grid.model.columns[grid.current_column].scored
        if column is not None:
            return Place("timeline", self._diff.run_id, row, column=column.name)
        return Place("diff", self._diff.run_id, row)

    def flag(self) -> None:
        """Ask for the question that it belongs to, and put it there."""
        place = self.place
        if place is None:
            self._context.told.emit(NOWHERE)
            return
        workbench = self._context.workbench

        def find(_job: Job) -> tuple[str, tuple[tuple[str, str], ...]]:
            of_run = place.row is not None
            task = workbench.run_record(place.name).summary.task if of_run else place.name
            return task, workbench.open_review(task)

        self._context.runner.start(
            "Find the review",
            find,
            on_done=lambda found: self._ask(place, *found),
            on_failed=self._context.interaction.error,
            quiet=True,
            lane=LANE,
        )

    def _ask(self, place: Place, task: str, items: tuple[tuple[str, str], ...]) -> None:
        if not items:
            self._context.told.emit(f"No review of {task} waits for you, so nothing is flagged.")
            return
        # What is seen in the data speaks of the reference first.
        ordered = sorted(items, key=lambda each: each[0] != "reference")
        titles = [title for _, title in ordered]
        chosen = self._context.interaction.choose_one(
            "Flag into the review", f"To which question of {task} does it belong?", titles
        )
        if chosen is None:
            return
        item = ordered[titles.index(chosen)][0]
        workbench = self._context.workbench

        def done(new: bool) -> None:
            words = "Flagged" if new else "It is flagged already"
            self._context.told.emit(f"{words}: {chosen}, in your review of {task}.")

        self._context.runner.start(
            "Flag into the review",
            lambda _job: workbench.flag_row(task, item, place.link),
            on_done=done,
            on_failed=self._context.interaction.error,
            quiet=True,
            lane=LANE,
        )
