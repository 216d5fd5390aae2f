"""Places that two people changed: side by side, to be decided one by one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from engine.editing.merge import Merge, Piece
from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.app.widgets import ColumnScroll, button, clear, label

CHOICES = ("mine", "theirs", "both")


class ConflictPanel(QFrame):
    """Mine on the left, theirs on the right; nothing is chosen beforehand."""

    def __init__(self, context: Context, decide: Callable[[dict[int, list[str]]], object]) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.setAccessibleName("Places that were changed on both sides")
        self._context, self._decide = context, decide
        self._merge: Merge | None = None
        self.groups: dict[int, QButtonGroup] = {}
        box = QVBoxLayout(self)
        self.title = label("", "heading", wrap=True)
        box.addWidget(self.title)
        box.addWidget(
            label(
                "Somebody else saved this text while you changed it. What only one of you "
                "changed is already together. Nothing is overwritten before you have decided.",
                "muted",
                wrap=True,
            )
        )
        inner = QWidget()
        self._rows = QVBoxLayout(inner)
        self._rows.setAlignment(Qt.AlignmentFlag.AlignTop)
        box.addWidget(ColumnScroll(inner), 1)
        line = QHBoxLayout()
        self.ready = button(context, "Use what I chose", self._done, main=True)
        self._all_mine = button(context, "Mine everywhere", lambda: self.choose_all(0))
        self._all_theirs = button(context, "Theirs everywhere", lambda: self.choose_all(1))
        for each in (self.ready, self._all_mine, self._all_theirs):
            line.addWidget(each)
        line.addStretch(1)
        box.addLayout(line)
        self.hide()

    def show_merge(self, merge: Merge) -> None:
        """Show the places of a merge."""
        self._merge = merge
        clear(self._rows)
        self.groups = {}
        numbers = merge.conflicts
        many = len(numbers)
        self.title.setText(
            "One place was changed on both sides"
            if many == 1
            else f"{many} places were changed on both sides"
        )
        line = 1
        for number, piece in enumerate(merge.pieces):
            if piece.kind == "conflict":
                self._rows.addWidget(self._place(number, piece, line))
            line += len(piece.mine)
        self._rows.addStretch(1)
        self._check()
        self.show()

    def _place(self, number: int, piece: Piece, line: int) -> QWidget:
        frame = QFrame()
        grid = QGridLayout(frame)
        grid.setContentsMargins(0, 0, 0, self._context.px(8))
        group = QButtonGroup(frame)
        group.setExclusive(True)
        self.groups[number] = group
        for column, (title, lines) in enumerate(
            ((f"Mine, from line {line}", piece.mine), ("On disk", piece.theirs))
        ):
            choice = QRadioButton(title)
            group.addButton(choice, column)
            grid.addWidget(choice, 0, column)
            grid.addWidget(self._text(title, lines, piece.base), 1, column)
            grid.setColumnStretch(column, 1)
        both = QRadioButton("Both, mine first")
        group.addButton(both, 2)
        grid.addWidget(both, 2, 0, 1, 2)
        group.idToggled.connect(lambda *_: self._check())
        return frame

    def _text(self, title: str, lines: tuple[str, ...], base: tuple[str, ...]) -> QWidget:
        if not lines:
            gone: QLabel = label("(deleted)", "muted")
            return gone
        text = QPlainTextEdit("\n".join(lines))
        text.setReadOnly(True)
        text.setTabChangesFocus(True)
        text.setProperty("code", True)
        text.setAccessibleName(title)
        text.setToolTip(as_written("Before both changes:\n" + ("\n".join(base) or "(nothing)")))
        height = text.fontMetrics().lineSpacing() * min(10, len(lines) + 2)
        text.setFixedHeight(height + self._context.px(24))
        text.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        return text

    def choose_all(self, choice: int) -> None:
        """The same for every place."""
        for group in self.groups.values():
            group.button(choice).setChecked(True)

    def _check(self) -> None:
        self.ready.setEnabled(all(group.checkedId() >= 0 for group in self.groups.values()))

    def _done(self) -> None:
        if self._merge is None:
            return
        decided: dict[int, list[str]] = {}
        for number, group in self.groups.items():
            piece = self._merge.pieces[number]
            sides = (piece.mine, piece.theirs, (*piece.mine, *piece.theirs))
            decided[number] = list(sides[group.checkedId()])
        self.hide()
        self._decide(decided)
