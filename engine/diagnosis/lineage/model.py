"""What the lineage of one cell says; plain frozen values. They hold data: for this machine only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["decisive", "entered", "outside", "rejected", "missed"]
"""``decisive``: the cell comes out the same from these rows alone. ``entered``: took part (was
compared, counted, or kept another row out) without deciding. ``outside``: accepted as a
measurement, but not for this cell: another time, specimen, episode. ``rejected``: of the right
item, but refused by a rule. ``missed``: a similar item of the same stay or admission that the
reference does not read."""

Value = str | int | float | bool | datetime | None


@dataclass(frozen=True)
class Event:
    """One row of a source table."""

    table: str
    """``schema.table``."""
    row: int
    """``rowid`` in the source's database."""
    role: Role
    """Its part in the cell."""
    start: datetime | None
    """When; for eICU the offset added to `EPOCH`; None for rows without a time (a diagnosis)."""
    end: datetime | None
    """Until when, for what lasts (an infusion)."""
    item: str
    """What was recorded, e.g. "Heart Rate"."""
    item_id: str
    """Its code in the source (itemid, icd_code); empty where there is none."""
    value: Value
    """The recorded value."""
    unit: str
    """Its unit; empty where there is none."""
    rule: str
    """Why it is outside, rejected or missed: the reference's own condition, or words. Of a row that
    entered only by keeping another out, that."""
    columns: tuple[str, ...]
    """Which intermediate columns (``concept.column``) it went into or was meant for."""

    @property
    def number(self) -> float | None:
        """The value for a chart; None where it is no number."""
        if isinstance(self.value, (int, float)) and not isinstance(self.value, bool):
            return float(self.value)
        return None


@dataclass(frozen=True)
class Step:
    """One piece of the arithmetic: how a value was made of others."""

    name: str
    """``query.column``."""
    value: Value
    """What came out."""
    expression: str
    """The SQL that made it."""
    inputs: Mapping[str, Value]
    """What it read, with their values."""
    depth: int
    """0 for the cell itself, 1 for its inputs, …"""


@dataclass(frozen=True)
class Window:
    """A span of time that an event had to be in, or what lasts had to cover."""

    start: datetime | None
    """None when open."""
    end: datetime | None
    """None when open."""
    rule: str
    """The reference's condition."""
    without: tuple[bool, bool] = (False, False)
    """Its start, its end themselves do not count."""


@dataclass(frozen=True)
class CellLineage:
    """Where one value of a reference comes from."""

    target: str
    """Key of the target."""
    key: Mapping[str, Value]
    """The row."""
    column: str
    """The column."""
    value: Value
    """What the reference says."""
    stay: tuple[datetime | None, datetime | None]
    """Begin and end of the ICU (or unit) stay, of the hospital stay for rows of an admission, for
    the picture; None where it is not known."""
    windows: tuple[Window, ...]
    """The spans that decided what belongs to the cell."""
    steps: tuple[Step, ...]
    """The arithmetic, outermost first."""
    events: tuple[Event, ...]
    """Source rows in order of time."""
    verified: bool
    """The value was computed again from the decisive rows alone, and came out the same."""
    notes: tuple[str, ...] = ()
    """What could not be shown, and why."""


EPOCH = datetime(2000, 1, 1)  # noqa: DTZ001 - source times have no zone
"""Where eICU's offsets (minutes from unit admission) start."""
