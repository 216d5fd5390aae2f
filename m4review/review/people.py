"""Who reviews: the own identity, everybody's fingerprints, and comparing them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from engine.workbench.review_types import Member, ReviewOverview
from m4review.app.context import Context
from m4review.app.records import Column, RecordModel
from m4review.app.tables import ListTable
from m4review.app.widgets import ColumnScroll, button, card, label, set_tone
from m4review.review.words import said_when


class PeoplePanel(QWidget):
    """The own identity above, everybody below."""

    made = Signal(str, str)
    """Make an identity: name, role."""
    exported = Signal()
    """Write the own identity to a file."""
    compared = Signal(str, str)
    """Author, and what was read out."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.name = QLineEdit()
        self.name.setPlaceholderText("Your name, as colleagues know you")
        self.name.setAccessibleName("Name")
        self.role = QLineEdit()
        self.role.setPlaceholderText("What makes you fit to judge: intensivist, data steward…")
        self.role.setAccessibleName("Role")
        self.make = button(context, "Make my key", self._make, icon="lock", main=True)
        self.keyring = label("", wrap=True)
        set_tone(self.keyring, "bad")
        self.form = self._form()
        self.who = label("", "heading", wrap=True)
        self.print = label("", wrap=True)
        self.print.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.own = self._own()
        self.table = ListTable(context, "People")
        self.model: RecordModel[Member] = RecordModel(
            (
                Column("Name", lambda m: f"{m.name} (you)" if m.me else m.name),
                Column("Role", lambda m: m.role),
                Column("Fingerprint", lambda m: m.words, tip=lambda m: f"{m.words}\n{m.groups}"),
                Column(
                    "Compared",
                    _compared,
                    tone=lambda m: "muted" if m.me else "good" if m.compared else "warn",
                ),
            ),
            lambda: context.theme,
            self,
        )
        self.table.setModel(self.model)
        self.compare = button(
            context, "Compare the fingerprint…", self._compare, icon="users",
            tip="The person reads it out, not by the way the bundle took (Enter)",
        )  # fmt: skip
        inner = QWidget()
        box = QVBoxLayout(inner)
        edge = context.px(8)
        box.setContentsMargins(edge, edge, edge, edge)
        box.addWidget(self.form)
        box.addWidget(self.own)
        line = QHBoxLayout()
        line.addWidget(label("Everybody in this ledger", "heading"), 1)
        line.addWidget(self.compare)
        box.addLayout(line)
        box.addWidget(
            label(
                "The ledger is the list of all that was signed, here and at colleagues'. A name is "
                "easily written; a key is not easily copied. Let each colleague read the "
                "fingerprint out to you, by voice or on paper, before you rely on a signature.",
                "muted",
                wrap=True,
            )
        )
        self.table.setMinimumHeight(context.px(140))
        box.addWidget(self.table, 1)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.addWidget(ColumnScroll(inner))
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._offer())
        self.table.opened.connect(lambda _: self._compare())
        self.role.returnPressed.connect(self._make)

    def _form(self) -> QWidget:
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        words = label(
            "You sign with a key that is made now and kept in this computer's keyring. It cannot "
            "be copied from there by this program, and a lost key cannot be made again. Name and "
            "role go with every signature and cannot be changed afterwards.",
            wrap=True,
        )
        grid.addWidget(label("Your identity", "heading"), 0, 0, 1, 2)
        grid.addWidget(words, 1, 0, 1, 2)
        grid.addWidget(label("Name"), 2, 0)
        grid.addWidget(self.name, 2, 1)
        grid.addWidget(label("Role"), 3, 0)
        grid.addWidget(self.role, 3, 1)
        grid.addWidget(self.keyring, 4, 0, 1, 2)
        grid.addWidget(self.make, 5, 1, Qt.AlignmentFlag.AlignRight)
        return card(grid)

    def _own(self) -> QWidget:
        box = QHBoxLayout()
        texts = QVBoxLayout()
        texts.addWidget(self.who)
        texts.addWidget(self.print)
        box.addLayout(texts, 1)
        self.give = button(
            self._context, "Write my identity to a file…", self.exported.emit, icon="upload",
            tip="Name, role and public key, for whoever asks you to review",
        )  # fmt: skip
        box.addWidget(self.give, 0, Qt.AlignmentFlag.AlignTop)
        return card(box)

    def show_overview(self, overview: ReviewOverview) -> None:
        """Show who is known."""
        me = overview.me
        made = me is not None and self.form.isVisible()
        self.form.setVisible(me is None)
        self.own.setVisible(me is not None)
        self.keyring.setText(overview.no_keyring)
        self.keyring.setVisible(bool(overview.no_keyring))
        self.make.setEnabled(not overview.no_keyring)
        if me is not None:
            self.who.setText(f"You are {me.name}, {me.role}")
            self.print.setText(
                f"Fingerprint, to be read out to colleagues:\n{me.words}\nor  {me.groups}"
            )
        row = max(0, self.table.currentIndex().row())
        self.model.set_records(overview.people)
        self.table.selectRow(min(row, len(overview.people) - 1))
        self._offer()
        if made:
            self.give.setFocus()  # others have to know it before they can ask for a review

    def _offer(self) -> None:
        member = self.model.record(self.table.currentIndex().row())
        self.compare.setEnabled(member is not None and not member.me)

    def _make(self) -> None:
        name, role = self.name.text().strip(), self.role.text().strip()
        if not name:
            self.name.setFocus()
            self._context.told.emit("Your name is missing.")
        elif not role:
            self.role.setFocus()
            self._context.told.emit("Your role is missing.")
        elif self.make.isEnabled():
            self.made.emit(name, role)

    def _compare(self) -> None:
        member = self.model.record(self.table.currentIndex().row())
        if member is None or member.me:
            return
        said = self._context.interaction.ask_text(
            f"Compare the fingerprint of {member.name}",
            "What does the person read out? The eight words, or the hex digits:",
        )
        if said:
            self.compared.emit(member.author, said)


def _compared(member: Member) -> str:
    if member.me:
        return "your own"
    return f"✓ {said_when(member.compared)}" if member.compared else "not compared"
