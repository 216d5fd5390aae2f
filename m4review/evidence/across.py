"""Windows and thresholds in instruction, operational spec, skill and reference, as one table."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from engine.claims import Evidence
from m4review.app import icons
from m4review.app.context import Context
from m4review.evidence.words import text_title

_ROLE = Qt.ItemDataRole.UserRole + 1


class AcrossTable(QTableWidget):
    """One row for each; a click goes to the line."""

    line_wanted = Signal(str, int)
    """Name of a text, and a line of it."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.setAccessibleName("Windows and thresholds across the texts")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.clicked.connect(self._clicked)
        self.activated.connect(self._clicked)

    def fill(self, evidence: Evidence | None, texts: tuple[str, ...]) -> None:
        """Show the table of some evidence."""
        rows = evidence.across if evidence is not None else ()
        self.clear()
        self.setRowCount(len(rows))
        self.setColumnCount(2 + len(texts))
        names = ["Window or threshold", "Reference", *map(text_title, texts)]
        self.setHorizontalHeaderLabels(names)
        for at, row in enumerate(rows):
            self.setItem(at, 0, QTableWidgetItem(row.shown))
            known = self._cell("yes" if row.reference else "no", good=row.reference, lone=True)
            self.setItem(at, 1, known)
            for column, name in enumerate(texts, start=2):
                lines = row.places.get(name, ())
                told = ", ".join(map(str, lines[:4])) + (" …" if len(lines) > 4 else "")  # noqa: PLR2004
                # An instruction asks; only the texts with the rules have to say everything.
                lacks = not lines and name != "instruction"
                item = self._cell(f"line {told}" if lines else "–", good=not lacks, lone=lacks)
                if lines:
                    item.setData(_ROLE, (name, lines[0]))
                self.setItem(at, column, item)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)

    def _cell(self, text: str, *, good: bool, lone: bool) -> QTableWidgetItem:
        item, theme = QTableWidgetItem(text), self._context.theme
        if lone:
            name, shade = ("check", theme.good) if good else ("triangle-alert", theme.warn)
            item.setIcon(icons.icon("circle-check" if name == "check" else name, shade))
            item.setForeground(QColor(shade))
        return item

    def _clicked(self, index: QModelIndex | QPersistentModelIndex) -> None:
        place = index.data(_ROLE)
        if place:
            self.line_wanted.emit(*place)
