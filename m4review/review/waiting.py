"""What waits for this workstation's person, and what is wrong with the ledger."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from engine.reviews.problem import Problem
from engine.reviews.worklist import Wait
from engine.workbench.review_types import ReviewOverview
from m4review.app.context import Context
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import EmptyState, button, label
from m4review.review.words import WAIT_WORDS, ago, said_when

_TONES = {"review": "accent", "adjudication": "warn", "again": "null", "key": "good"}


class WaitingPanel(QWidget):
    """A list that is worked off with Enter."""

    opened = Signal(object)
    """A `Wait` was opened."""
    people_asked = Signal()
    colleagues_asked = Signal()
    """Somebody wants to ask others for a review."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.table = ListTable(context, "What waits for you")
        self.model: RecordModel[Wait] = RecordModel(
            (
                Column("What", lambda w: WAIT_WORDS[w.what], tone=lambda w: _TONES[w.what]),
                Column("Task", lambda w: w.task),
                Column("Waits for", lambda w: ago(w.since), order=lambda w: w.since,
                       tip=lambda w: f"Since {said_when(w.since)}"),
                Column("Why", lambda w: w.why),
            ),
            lambda: context.theme,
            self,
        )  # fmt: skip
        self.table.setModel(self.model)
        self.empty = EmptyState(context, "circle-check", "", "")
        self.start = button(
            context, "Make your identity…", self.people_asked.emit, icon="users", main=True
        )
        self.ask = button(
            context, "Ask colleagues for a review…", self.colleagues_asked.emit, icon="users"
        )
        self.empty.buttons.addWidget(self.start)
        self.empty.buttons.addWidget(self.ask)
        self.go_on = button(
            context, "Open", lambda: self._open(self.table.currentIndex().row()),
            icon="clipboard-list", main=True, tip="What is chosen (Enter, or a double click)",
        )  # fmt: skip
        listed = QWidget()
        lines = QVBoxLayout(listed)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.addWidget(self.table, 1)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.go_on)
        lines.addLayout(foot)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self._listed = listed
        self.stack.addWidget(listed)
        self.problems = ProblemsPanel(context)
        box = QVBoxLayout(self)
        edge = context.px(8)
        box.setContentsMargins(edge, edge, edge, edge)
        box.addWidget(self.problems)
        box.addWidget(self.stack, 1)
        self.table.opened.connect(self._open)

    def show_overview(self, overview: ReviewOverview) -> None:
        """Show what waits."""
        reset = self.model.update_records(overview.waits, lambda w: (w.assignment, w.what))
        if overview.waits and (reset or not self.table.currentIndex().isValid()):
            self.table.selectRow(0)
        self.stack.setCurrentWidget(self._listed if overview.waits else self.empty)
        alone = overview.me is not None and len(overview.people) == 1
        self.start.setVisible(overview.me is None or alone)
        self.start.setText(" Give your identity to others…" if alone else " Make your identity…")
        self.ask.setVisible(overview.me is not None and not alone)
        if overview.me is None:
            self.empty.say(
                "Nobody reviews on this workstation yet",
                "A reviewer has a name, a role and a key that signs. Make yours, give your "
                "identity to whoever leads the benchmark, and import the bundle that you get.",
            )
        elif alone:
            self.empty.say(
                "Nobody knows yet that you review",
                "Write your identity to a file and give it to whoever leads the benchmark. The "
                "bundle that you get back says what waits for you.",
            )
        else:
            self.empty.say(
                "Nothing waits for you",
                "When you are asked, it comes with a bundle: import it, or drop the file here."
                + _unseen_words(overview.unseen),
            )
        self.problems.show_problems(overview.problems)

    def take_keyboard(self) -> None:
        """The keys go to what waits, or to what can be done where nothing does."""
        if self.stack.currentWidget() is self._listed:
            self.table.setFocus()
        elif self.start.isVisibleTo(self):
            self.start.setFocus()
        else:
            self.ask.setFocus()

    def _open(self, row: int) -> None:
        wait = self.model.record(row)
        if wait is not None:
            self.opened.emit(wait)


def _unseen_words(number: int) -> str:
    """What the ledger can tell: not what was given away, but what came back."""
    if not number:
        return ""
    last = "the last entry" if number == 1 else f"the last {number} entries"
    return (
        f"\n\nNothing from a colleague shows yet that {last} you signed arrived: if no bundle "
        "left this machine since then, export one."
    )


class ProblemsPanel(QFrame):
    """What is wrong with a ledger, each with what to do."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("notePanel")
        self.setAccessibleName("Problems of the ledger")
        self._words = label("", wrap=True)
        box = QVBoxLayout(self)
        box.addWidget(label("Something about the reviews needs attention", "heading"))
        box.addWidget(self._words)
        self.hide()

    def show_problems(self, problems: tuple[Problem, ...]) -> None:
        """Show these; nothing is shown without."""
        self._words.setText("\n".join(problem_words(each) for each in problems[:_MOST]))
        if len(problems) > _MOST:
            self._words.setText(f"{self._words.text()}\n… and {len(problems) - _MOST} more.")
        self.setVisible(bool(problems))


_MOST = 6


def problem_words(problem: Problem) -> str:
    """A problem with what to do."""
    return f"• {problem.title}. {problem.words}. {problem.todo}"
