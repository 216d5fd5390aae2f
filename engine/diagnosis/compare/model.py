"""What a comparison of runs says; plain frozen values without a cell's value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Change = Literal["right", "mended", "broken", "wrong", "wrong_otherwise"]
"""Right in both; wrong in the first and right now; right in the first and wrong now; wrong in both
with the same value; wrong in both with different values."""
CHANGES: tuple[Change, ...] = ("right", "mended", "broken", "wrong", "wrong_otherwise")
"""In the order of their numbers in the comparison's table."""


@dataclass(frozen=True)
class ColumnChanges:
    """One scored column of one run beside the first run."""

    column: str
    """Its name."""
    cells: Mapping[Change, int]
    """Cells of reference rows, by what became of them."""


@dataclass(frozen=True)
class RunChanges:
    """One run beside the first run."""

    run: str
    """Its name."""
    rows: Mapping[Change, int]
    """Reference rows; a row is right when all its scored cells are."""
    columns: tuple[ColumnChanges, ...]
    """In the order of the diff."""
    extra: int
    """Keys that the reference lacks."""
    duplicates: int
    """Further rows of a key."""
    new_extra: int
    """Extra keys that the first run does not have."""
    gone_extra: int
    """Extra keys of the first run that this one does not have."""


@dataclass(frozen=True)
class Comparison:
    """Two to eight runs of one task on one reference."""

    runs: tuple[str, ...]
    """Their names; the others are held against the first."""
    reference_rows: int
    """Rows of the reference."""
    columns: tuple[str, ...]
    """Scored columns."""
    keys: tuple[str, ...]
    """Key columns."""
    first_wrong: int
    """Reference rows that the first run has not right."""
    others: tuple[RunChanges, ...]
    """One for each further run."""
    always_wrong: int
    """Reference rows that no run has right."""
    first_extra: int = 0
    """Keys of the first run that the reference lacks."""
    first_duplicates: int = 0
    """Further rows of a key in the first run."""

    def as_dict(self) -> dict[str, object]:
        """JSON-ready for outside: small counts are told as ``"<11"``, what gives them away not."""
        from engine.diagnosis.compare.exporting import exported  # noqa: PLC0415 - it knows this

        return exported(self)
