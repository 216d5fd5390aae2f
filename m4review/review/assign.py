"""Asking people for their reviews of tasks."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.workbench.review_types import Member
from m4review.app.context import Context
from m4review.app.widgets import label, set_tone

_LEAST = 2


class AssignDialog(QDialog):
    """Two or more reviewers, and an adjudicator who is none of them."""

    def __init__(
        self,
        context: Context,
        task: str,
        people: Sequence[Member],
        *,
        before: tuple[tuple[str, ...], str] | None,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Ask for reviews")
        self.setMinimumWidth(context.px(460))
        self._people = people
        box = QVBoxLayout(self)
        head = "Ask again about what no longer holds" if before else "Ask for reviews"
        box.addWidget(label(f"{head}: {task}", "heading", wrap=True))
        box.addWidget(label("Reviewers (two or more; Space ticks)", "section"))
        self.reviewers = QListWidget()
        self.reviewers.setAccessibleName("Reviewers")
        self.reviewers.setSpacing(context.px(2))
        for member in people:
            item = QListWidgetItem(_named(member))
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            ticked = before is not None and member.author in before[0]
            item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
            self.reviewers.addItem(item)
        box.addWidget(self.reviewers, 1)
        box.addWidget(label("Adjudicator, who decides where they differ", "section"))
        self.adjudicator = QComboBox()
        self.adjudicator.setAccessibleName("Adjudicator")
        self.adjudicator.addItem("Choose…", "")
        for member in people:
            self.adjudicator.addItem(_named(member), member.author)
        if before is not None:
            self.adjudicator.setCurrentIndex(max(0, self.adjudicator.findData(before[1])))
        box.addWidget(self.adjudicator)
        self.why = label("", wrap=True)
        set_tone(self.why, "warn")
        box.addWidget(self.why)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.ask = buttons.addButton("Ask them", QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        box.addWidget(buttons)
        self.reviewers.itemChanged.connect(lambda _: self._check())
        self.adjudicator.currentIndexChanged.connect(lambda _: self._check())
        self.reviewers.setCurrentRow(0)
        self.reviewers.setFocus()
        self._check()

    @property
    def chosen(self) -> tuple[list[str], str]:
        """Authors of the reviewers, and of the adjudicator ("" while none is chosen)."""
        ticked = [
            member.author
            for row, member in enumerate(self._people)
            if self.reviewers.item(row).checkState() == Qt.CheckState.Checked
        ]
        return ticked, str(self.adjudicator.currentData() or "")

    def _check(self) -> None:
        reviewers, adjudicator = self.chosen
        why = ""
        if len(self._people) <= _LEAST:
            why = "Three people are needed: import the identities of the others first."
        elif len(reviewers) < _LEAST:
            why = "Two reviewers are needed."
        elif not adjudicator:
            why = "An adjudicator is needed."
        elif adjudicator in reviewers:
            why = "The adjudicator must not be one of the reviewers."
        self.why.setText(why)
        self.ask.setEnabled(not why)


def _named(member: Member) -> str:
    compared = "" if member.compared or member.me else "  (fingerprint not compared)"
    return f"{member.name}, {member.role}{compared}"
