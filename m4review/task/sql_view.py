"""The SQL behind a reference: the whole chain of queries, and a list to jump in it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from engine.workbench import SqlPart
from m4review.app.context import Context
from m4review.app.highlight import SqlHighlighter
from m4review.app.tips import as_written
from m4review.app.widgets import label


class SqlView(QWidget):
    """Read-only SQL in sections; the list above shows where one is and jumps elsewhere."""

    def __init__(self, context: Context, parts: Sequence[SqlPart]) -> None:
        super().__init__()
        self.jump = QComboBox()
        self.jump.setAccessibleName("Queries that make the reference, in building order")
        self.jump.setToolTip("The reference's own query, then the tables that it rests on in order")
        self.jump.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.jump.setMinimumContentsLength(20)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("SQL that makes the reference")
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setProperty("code", True)
        SqlHighlighter(self.text.document(), context)
        self._lines: list[int] = []
        lines: list[str] = []
        for number, part in enumerate(parts, start=1):
            self._lines.append(len(lines))
            lines += [f"-- {number} of {len(parts)}: {part.title} {'-' * 20}"]
            lines += [*part.text.strip().splitlines(), "", ""]
            self.jump.addItem(f"{number}  {part.title}")
            tip = f"{part.purpose}\nDeviations from the public code: {part.deviations}"
            self.jump.setItemData(number - 1, as_written(tip), Qt.ItemDataRole.ToolTipRole)
        self.text.setPlainText("\n".join(lines))
        box = QVBoxLayout(self)
        edge = context.px(6)
        box.setContentsMargins(edge, edge, edge, 0)
        line = QHBoxLayout()
        rests = len(parts) - 1
        what = (
            "It reads the source's own tables only."
            if not rests
            else f"Rests on {rests} derived table{'s' if rests > 1 else ''}; go to:"
        )
        line.addWidget(label(what, "muted", wrap=True), 1)
        line.addWidget(self.jump, 2)
        box.addLayout(line)
        box.addWidget(self.text, 1)
        self.jump.setVisible(bool(rests))
        self.jump.activated.connect(self.go_to)
        self.text.verticalScrollBar().valueChanged.connect(lambda _: self._follow())

    def go_to(self, part: int) -> None:
        """Show a query from its first line."""
        block = self.text.document().findBlockByNumber(self._lines[part])
        self.text.setTextCursor(QTextCursor(block))
        self.text.verticalScrollBar().setValue(block.firstLineNumber())
        self.jump.setCurrentIndex(part)

    def _follow(self) -> None:
        """Name the query that the first line on screen belongs to."""
        top = self.text.firstVisibleBlock().blockNumber()
        at = sum(1 for line in self._lines if line <= top + 1) - 1
        self.jump.setCurrentIndex(max(0, at))
