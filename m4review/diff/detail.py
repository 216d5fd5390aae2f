"""One row of the diff in full, as the row panel tells it."""

from __future__ import annotations

from dataclasses import dataclass

from m4review.diff.layout import CELL_WORDS, KEY_WORDS, CellStatus, KeyStatus, Layout
from m4review.diff.reader import Record
from m4review.diff.table import FIRST_KEY
from m4review.diff.words import NO_COLUMN, NO_ROW, difference_words, words_of

SAME = (CellStatus.EQUAL, CellStatus.BOTH_NULL)


@dataclass(frozen=True)
class Cell:
    """One scored column of one row, for the row panel."""

    name: str
    """Column name."""
    reference: str
    """The reference's value, or words for null, empty text and no such row."""
    agent: str
    """The agent's value, or words for null, empty text, no such row and no such column."""
    status: CellStatus
    """How they stand."""
    difference: str
    """Agent − reference where both are numbers or times and not the same, else empty."""
    what_if: bool = False
    """The status is that of a what-if, not the scored one."""

    @property
    def words(self) -> str:
        """The status in words."""
        return ("what if: " if self.what_if else "") + CELL_WORDS[self.status]


@dataclass(frozen=True)
class RowDetail:
    """One row, for the row panel."""

    row: int
    """Row of the file, from 0."""
    status: KeyStatus
    """How the key stands."""
    keys: tuple[tuple[str, str], ...]
    """Name and value of each key column."""
    cells: tuple[Cell, ...]
    """One for each scored column."""

    @property
    def words(self) -> str:
        """The key's status in words."""
        return KEY_WORDS[self.status]


def row_detail(record: Record, layout: Layout, what_if: frozenset[int] = frozenset()) -> RowDetail:
    """One record for the row panel.

    Args:
        record: as it was read.
        layout: of its file.
        what_if: scored columns whose status is that of a what-if.
    """
    status = KeyStatus(record[1])
    keys = tuple(
        (key.name, words_of(record[at])) for at, key in enumerate(layout.keys, start=FIRST_KEY)
    )
    cells = []
    at = FIRST_KEY + len(layout.keys)
    for column in layout.scored:
        reference, agent, cell = record[at], record[at + 1], CellStatus(record[at + 2])
        no_agent = NO_ROW if status is KeyStatus.MISSING else NO_COLUMN
        cells.append(
            Cell(
                column.name,
                NO_ROW if cell is CellStatus.NO_REFERENCE else words_of(reference),
                no_agent if cell is CellStatus.NO_AGENT else words_of(agent),
                cell,
                "" if cell in SAME else difference_words(reference, agent),
                column.index in what_if,
            )
        )
        at += 3
    return RowDetail(record[0], status, keys, tuple(cells))
