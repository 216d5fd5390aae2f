"""F1: the keys, from the registry, and the signs that the diff uses."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from m4review.app.actions import COMMANDS, key_text
from m4review.app.context import Context
from m4review.app.widgets import label

SIGNS = (
    ("≠", "the two values differ"),
    ("≈", "equal within the tolerance (a match)"),
    ("∅", "null: nothing was written there"),
    ("“”", "an empty text (not the same as null)"),
    ("−", "missing: the agent's table lacks this row or value"),
    ("+", "extra: the reference does not have this key"),
    ("×2", "duplicate: a further agent row of one key"),
    ("=", "equal in every scored column"),
)


class Help(QDialog):
    """Keys by menu, and signs."""

    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys and help")
        self.resize(context.px(760), context.px(560))
        outer = QVBoxLayout(self)
        inner = QWidget()
        inner.setProperty("plain", True)
        columns = QHBoxLayout(inner)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setWidget(inner)
        outer.addWidget(area)
        left, right = QVBoxLayout(), QVBoxLayout()
        columns.addLayout(left, 1)
        columns.addSpacing(context.px(28))
        columns.addLayout(right, 1)
        for number, menu in enumerate(dict.fromkeys(c.menu for c in COMMANDS)):
            rows = [(key_text(c), c.text) for c in COMMANDS if c.menu == menu and c.keys]
            side = left if number % 2 == 0 else right
            self._group(side, menu, rows)
        self._group(right, "Signs in the diff", list(SIGNS))
        left.addStretch(1)
        right.addStretch(1)
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        outer.addWidget(close)

    def _group(self, side: QVBoxLayout, title: str, rows: list[tuple[str, str]]) -> None:
        side.addWidget(label(title, "heading"))
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        for at, (keys, words) in enumerate(rows):
            grid.addWidget(label(keys), at, 0)
            grid.addWidget(label(words, "muted", wrap=True), at, 1)
        side.addLayout(grid)
        side.addSpacing(10)
