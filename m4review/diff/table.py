"""The table model over a view of the diff: block by block, in a cache that has a bound.

The row count is the view's, known at once, so the scroll bar is honest. Rows that are not
there yet are place-holders until the loader brings them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
)

from m4review.app.tips import as_written
from m4review.diff.arrange import Arrangement, plain
from m4review.diff.layout import (
    CELL_WORDS,
    KEY_WORDS,
    MATCHES,
    CellStatus,
    KeyStatus,
    Layout,
    ScoredColumn,
)
from m4review.diff.loader import BlockLoader
from m4review.diff.reader import Record, View
from m4review.diff.words import NO_COLUMN, NO_ROW, copied, printed, words_of

MAX_ROWS = 40_000_000
"""Qt counts a table's height in 31 bits of pixels: 40 million rows of 52 pixels fit."""
MAX_BLOCKS = 384
"""Blocks kept: at most some 25,000 rows, whatever the size of the diff."""
_AHEAD_AFTER = 40
"""Milliseconds after a paint until its neighbours are fetched: what is seen comes first."""
FIRST_KEY = 3
"""Where the keys begin in a record: row, key status and mismatches stand before."""

_TIP = 2_000
"""Characters of a value in a tool tip."""

AnyIndex = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


@dataclass(frozen=True)
class TableColumn:
    """One column as it is shown."""

    part: Literal["row", "status", "key", "reference", "agent"]
    """What it shows."""
    title: str
    """Column name (for the pair: of both)."""
    at: int
    """Index in a record."""
    sort_field: str
    """What a click on its header sorts by."""
    numeric: bool = False
    """Right-aligned?"""
    scored: ScoredColumn | None = None
    """The scored column that it belongs to."""
    frozen: bool = False
    """Does it stay where it is when the table scrolls sideways?"""

    @property
    def status_at(self) -> int:
        """Index of the cell's status in a record (only of scored columns)."""
        return self.at + (2 if self.part == "reference" else 1)


def table_columns(
    layout: Layout, arrangement: Arrangement | None = None
) -> tuple[TableColumn, ...]:
    """The columns of the table: row number, status, keys, then pairs (those beside the keys first).

    Hidden columns are left out.
    """
    columns = [
        TableColumn("row", "Row", 0, "row", numeric=True, frozen=True),
        TableColumn("status", "Status", 1, "mismatches", frozen=True),
    ]
    for at, key in enumerate(layout.keys, start=FIRST_KEY):
        columns.append(TableColumn("key", key.name, at, key.field, key.numeric, frozen=True))
    arranged = arrangement or plain(layout)
    first = FIRST_KEY + len(layout.keys)
    for index in arranged.shown:
        column, at = layout.scored[index], first + 3 * index
        name, numeric, frozen = column.name, column.numeric, index in arranged.frozen
        columns += [
            TableColumn("reference", name, at, column.reference, numeric, column, frozen),
            TableColumn("agent", name, at + 1, column.agent, numeric, column, frozen),
        ]
    return tuple(columns)


def status_words(record: Record) -> str:
    """The status column: what is wrong with the row as a whole."""
    status = KeyStatus(record[1])
    if status is not KeyStatus.MATCHED:
        return KEY_WORDS[status].partition(":")[0]
    count = int(record[2]).bit_count()
    if count == 0:
        return "equal"
    return f"{count} column" + ("s" if count > 1 else "")


def cell_text(record: Record, column: TableColumn) -> str:
    """What is copied and read aloud: the value, empty for null."""
    if column.part == "row":
        return str(record[0] + 1)
    if column.part == "status":
        return status_words(record)
    return printed(record[column.at])


def tool_tip(record: Record, column: TableColumn) -> str:
    """Words for a cell, and its whole value, however narrow the column is."""
    row = KEY_WORDS[KeyStatus(record[1])]
    if column.part in ("row", "status"):
        return row
    if column.scored is None:
        return f"{column.title}: {_within(words_of(record[column.at]))}\n{row}"
    status = CellStatus(record[column.status_at])
    return f"{header_text(column)}: {_whole(record, column)}\n{CELL_WORDS[status]}"


def _whole(record: Record, column: TableColumn) -> str:
    shown = copied_cell(record, column)
    value = record[column.at]
    return shown if shown in (NO_ROW, NO_COLUMN) and value is None else _within(words_of(value))


def _within(text: str) -> str:
    """A tool tip has an end; a longer text says where it is whole."""
    if len(text) <= _TIP:
        return text
    return f"{text[:_TIP]}… ({len(text):,} characters; the row panel has all of them)"


class DiffModel(QAbstractTableModel):
    """A view of the diff as Qt wants it."""

    def __init__(
        self,
        layout: Layout,
        loader: BlockLoader,
        view: View,
        parent: QObject | None = None,
        *,
        arrangement: Arrangement | None = None,
    ) -> None:
        super().__init__(parent)
        self.layout_of_diff = layout.with_counts(view.counts)
        """Its counts are those of what is shown: under a what-if, not the scored ones."""
        self._scored_layout = layout
        self.columns = table_columns(layout, arrangement)
        self._loader = loader
        self._view = view
        self._size = loader.block_rows(view)
        self._blocks: OrderedDict[int, list[Record]] = OrderedDict()
        self._waited_for: list[int] = []
        self._seen = (0, 0)
        self._ahead = QTimer(self)
        self._ahead.setSingleShot(True)
        self._ahead.setInterval(_AHEAD_AFTER)
        self._ahead.timeout.connect(self._fetch_ahead)
        loader.use(view)
        loader.loaded.connect(self._take)

    @property
    def fields(self) -> tuple[str, ...]:
        """The column of the file that each column of the table shows."""
        return tuple(
            "key_status" if column.part == "status" else column.sort_field
            for column in self.columns
        )

    def let_go(self) -> None:
        """Take no more blocks: another model has the loader."""
        self._ahead.stop()
        self._loader.loaded.disconnect(self._take)

    # --- the view

    @property
    def what_if(self) -> frozenset[int]:
        """Scored columns that are shown at another tolerance than they were scored at."""
        return frozenset(self._view.counts)

    @property
    def view(self) -> View:
        """What is shown."""
        return self._view

    def has_rows_of(self, view: View) -> bool:
        """Are the rows of `view`, and how they look, those that are here already?"""
        return view.rows is None and self._view.rows is None and view.query == self._view.query

    def set_view(self, view: View) -> None:
        """Show another view."""
        if self.has_rows_of(view):
            self._view = view
            return
        self.beginResetModel()
        self._view = view
        self.layout_of_diff = self._scored_layout.with_counts(view.counts)
        self._size = self._loader.block_rows(view)
        self._blocks.clear()
        self._waited_for = []
        self._loader.use(view)
        self.endResetModel()

    # --- rows

    def record(self, row: int) -> Record | None:
        """The record at a position of the view; None until it is loaded."""
        block = self._blocks.get(row // self._size)
        if block is None:
            return None
        at = row % self._size
        return block[at] if at < len(block) else None

    def records(self, first: int, last: int) -> list[Record | None]:
        """The records from position `first` to `last` (included); None where not loaded yet."""
        found: list[Record | None] = []
        size, end = self._size, min(last + 1, self.rowCount())
        while first < end:
            stop = min(end, (first // size + 1) * size)
            block = self._blocks.get(first // size, ())
            part = block[first % size : first % size + stop - first]
            found += part
            found += [None] * (stop - first - len(part))
            first = stop
        return found

    def ensure(self, first: int, last: int, *, wait: float = 0.0) -> None:
        """Have the rows from `first` to `last` loaded, and their neighbours after them.

        Args:
            first: first position wanted.
            last: last position wanted (included).
            wait: seconds to wait for them, so that a scroll mostly shows rows at once.
        """
        end = min(last, self.rowCount() - 1)
        if end < first:
            return
        self._collect()
        wanted = range(first // self._size, end // self._size + 1)
        lacking = []
        for block in wanted:
            if block in self._blocks:
                self._blocks.move_to_end(block)
            else:
                lacking.append(block)
        self._seen = (wanted[0], wanted[-1])
        if not lacking:
            if self._lacking_around() and not self._ahead.isActive():
                self._ahead.start()
            return
        self._loader.request(lacking)
        # Both halves of the table paint the same rows: only the first of them waits.
        if wait > 0 and lacking != self._waited_for:
            self._waited_for = lacking
            self._loader.wait(lacking, wait)
            self._collect()

    def _lacking_around(self) -> list[int]:
        """Neighbours of what was seen last that are not loaded: two below, one above."""
        above, below = self._seen[0] - 1, self._seen[1] + 1
        top = max(0, (self.rowCount() - 1) // self._size)
        return [b for b in (below, below + 1, above) if 0 <= b <= top and b not in self._blocks]

    def _fetch_ahead(self) -> None:
        first, last = self._seen
        if all(block in self._blocks for block in range(first, last + 1)):
            self._loader.request(self._lacking_around())

    @property
    def blocks_held(self) -> int:
        """Blocks in the cache (never more than `MAX_BLOCKS`)."""
        return len(self._blocks)

    def _collect(self) -> list[int]:
        fetched = self._loader.collect()
        for block, records in fetched.items():
            self._blocks[block] = records
            self._blocks.move_to_end(block)
        while len(self._blocks) > MAX_BLOCKS:
            self._blocks.popitem(last=False)
        return list(fetched)

    def _take(self, _block: int) -> None:
        for block in self._collect():
            first = block * self._size
            last = min(first + self._size, self.rowCount()) - 1
            if first <= last:
                self.dataChanged.emit(self.index(first, 0), self.index(last, len(self.columns) - 1))

    # --- Qt

    def rowCount(self, parent: AnyIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else min(self._view.count, MAX_ROWS)

    def columnCount(self, parent: AnyIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column = self.columns[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.numeric else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        record = self.record(index.row())
        if record is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(record, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_written(tool_tip(record, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return spoken(record, column)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return section + 1 if role == Qt.ItemDataRole.DisplayRole else None
        if not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return header_text(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_written(self._header_tip(column))
        return None

    def _header_tip(self, column: TableColumn) -> str:
        if column.scored is None:
            return f"{column.title}: click to sort, Shift+click to sort by it as well"
        scored = column.scored
        share = self.layout_of_diff.match_rate(scored.index)
        would = "would match in the what-if" if scored.index in self.what_if else "match"
        text = f"{scored.name}: {share:.2%} of the rows {would}; compared as {scored.compared_as}"
        if scored.compared_as != "text":
            unit = " s" if scored.compared_as == "time" else ""
            text += f", tolerance {printed(scored.tolerance)}{unit}"
        return f"{text}.\nClick to sort, Shift+click to sort by it as well."


def header_text(column: TableColumn) -> str:
    """A column's name in one line, as copied."""
    if column.part in ("reference", "agent"):
        return f"{column.title} ({column.part})"
    return column.title


def spoken(record: Record, column: TableColumn) -> str:
    """A cell for a screen reader: value and status in words."""
    text = cell_text(record, column)
    if column.scored is None:
        return f"{column.title} {text}"
    status = CellStatus(record[column.status_at])
    words = "" if status in MATCHES - {CellStatus.NEAR} else f", {CELL_WORDS[status]}"
    return f"{header_text(column)} {copied_cell(record, column)}{words}"


def copied_cell(record: Record, column: TableColumn) -> str:
    """A cell in copied text: null, empty text and no such cell are three different things."""
    if column.part in ("row", "status"):
        return cell_text(record, column)
    if column.scored is not None:
        status = CellStatus(record[column.status_at])
        if column.part == "reference" and status is CellStatus.NO_REFERENCE:
            return NO_ROW
        if column.part == "agent" and status is CellStatus.NO_AGENT:
            return NO_ROW if record[1] == KeyStatus.MISSING else NO_COLUMN
    return copied(record[column.at])


def as_tsv(records: Sequence[Record], columns: Sequence[TableColumn], *, headers: bool) -> str:
    """Records as tab-separated lines for the clipboard; tabs and breaks in texts become spaces."""
    lines = ["\t".join(header_text(column) for column in columns)] if headers else []
    for record in records:
        cells = (copied_cell(record, column) for column in columns)
        lines.append("\t".join(" ".join(cell.split("\t")).replace("\n", " ") for cell in cells))
    return "\n".join(lines)
