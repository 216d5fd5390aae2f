"""What a diff file holds, by name: its columns, its counts, and the words for each status.

The layout is the engine's (`engine/DESIGN.md`, "The diff file"); nothing here judges anything.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from engine.scoring.whatif import Compared

ComparedAs = Literal["number", "time", "text"]


class KeyStatus(enum.IntEnum):
    """How a row's key stands to the two tables."""

    MATCHED = 0
    MISSING = 1
    EXTRA = 2
    DUPLICATE = 3


class CellStatus(enum.IntEnum):
    """How one cell of the agent stands to the reference's."""

    EQUAL = 0
    NEAR = 1
    DIFFERENT = 2
    REFERENCE_NULL = 3
    AGENT_NULL = 4
    BOTH_NULL = 5
    NO_AGENT = 6
    NO_REFERENCE = 7


CELL_WORDS: Mapping[CellStatus, str] = {
    CellStatus.EQUAL: "equal",
    CellStatus.NEAR: "equal within the tolerance",
    CellStatus.DIFFERENT: "different",
    CellStatus.REFERENCE_NULL: "null in the reference only",
    CellStatus.AGENT_NULL: "null in the agent's table only",
    CellStatus.BOTH_NULL: "null on both sides (a match)",
    CellStatus.NO_AGENT: "the agent has no value here",
    CellStatus.NO_REFERENCE: "the reference has no such row",
}
KEY_WORDS: Mapping[KeyStatus, str] = {
    KeyStatus.MATCHED: "in both tables",
    KeyStatus.MISSING: "missing: only in the reference",
    KeyStatus.EXTRA: "extra: only in the agent's table",
    KeyStatus.DUPLICATE: "duplicate: a further agent row of this key",
}
CELL_GLYPHS: Mapping[CellStatus, str] = {
    CellStatus.EQUAL: "",
    CellStatus.NEAR: "≈",
    CellStatus.DIFFERENT: "≠",
    CellStatus.REFERENCE_NULL: "∅",
    CellStatus.AGENT_NULL: "∅",
    CellStatus.BOTH_NULL: "",
    CellStatus.NO_AGENT: "−",
    CellStatus.NO_REFERENCE: "+",
}
KEY_GLYPHS: Mapping[KeyStatus, str] = {
    KeyStatus.MATCHED: "",
    KeyStatus.MISSING: "−",
    KeyStatus.EXTRA: "+",
    KeyStatus.DUPLICATE: "×2",
}
MATCHES = frozenset({CellStatus.EQUAL, CellStatus.NEAR, CellStatus.BOTH_NULL})


def percent(share: float) -> str:
    """A share in per cent that never rounds to 0 % or 100 % when it is neither."""
    if 0 < share < 0.001:  # noqa: PLR2004 - a tenth of a per cent
        return "< 0.1 %"
    if 0.999 < share < 1:  # noqa: PLR2004 - a tenth of a per cent
        return "> 99.9 %"
    return f"{100 * share:.1f} %"


@dataclass(frozen=True)
class KeyColumn:
    """One key column."""

    name: str
    """Its name in both tables."""
    field: str
    """Its name in the file (`k0`)."""
    numeric: bool
    """Printed right-aligned?"""


@dataclass(frozen=True)
class ScoredColumn:
    """One scored column: two values and a status."""

    index: int
    """Its position among the scored ones, and its bit in `mismatches`."""
    name: str
    """Its name in both tables."""
    compared_as: ComparedAs
    """What decided whether two values match."""
    tolerance: float
    """In the column's unit; seconds for times."""
    numeric: bool
    """Are both sides stored as numbers?"""
    types: tuple[str, str] = ("VARCHAR", "VARCHAR")
    """DuckDB types of the reference's and the agent's values."""

    @property
    def compared(self) -> Compared:
        """How far two values are apart, in SQL."""
        return Compared(self.index, self.compared_as, *self.types)

    @property
    def reference(self) -> str:
        """The reference's value in the file."""
        return f"r{self.index}"

    @property
    def agent(self) -> str:
        """The agent's value in the file."""
        return f"a{self.index}"

    @property
    def status(self) -> str:
        """The cell's status in the file."""
        return f"s{self.index}"


@dataclass(frozen=True)
class Layout:
    """All that is known of a diff file without looking at its rows."""

    rows: int
    """Rows of the table."""
    keys: tuple[KeyColumn, ...]
    """In their order."""
    scored: tuple[ScoredColumn, ...]
    """In their order."""
    key_counts: Mapping[KeyStatus, int]
    """Rows by status of the key."""
    cell_counts: tuple[Mapping[CellStatus, int], ...]
    """Per scored column: cells by status."""

    def mismatches_of(self, column: int) -> int:
        """Cells of a column that do not match (missing, extra and duplicate rows included)."""
        return sum(n for status, n in self.cell_counts[column].items() if status not in MATCHES)

    @property
    def reference_rows(self) -> int:
        """Rows of the reference: all but extra ones and further agent rows of a key."""
        beside = (KeyStatus.EXTRA, KeyStatus.DUPLICATE)
        return self.rows - sum(self.key_counts.get(status, 0) for status in beside)

    def match_rate(self, column: int) -> float:
        """Matched cells of a column / rows of the reference, as scored; 0 where there are none."""
        rows = self.reference_rows
        return self.cells(*MATCHES, column=column) / rows if rows else 0.0

    def with_counts(self, counts: Mapping[int, Mapping[CellStatus, int]]) -> Layout:
        """The same with other counts for some scored columns."""
        if not counts:
            return self
        merged = tuple(counts.get(at, now) for at, now in enumerate(self.cell_counts))
        return replace(self, cell_counts=merged)

    def cells(self, *statuses: CellStatus, column: int | None = None) -> int:
        """Cells with one of these statuses, in one column or in all."""
        chosen = self.cell_counts if column is None else (self.cell_counts[column],)
        return sum(counts.get(status, 0) for counts in chosen for status in statuses)
