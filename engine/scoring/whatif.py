"""What the statuses of a diff would be at another tolerance. The score is never touched by it.

SQL over the table ``diff`` alone, by the same rule that judged the cells (`Cell.status`): exact
equality first, then an inclusive distance where the tolerance is above 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.base.errors import UsageError
from engine.scoring.cells import DIFFERENT, MATCHES, WITHIN

_ALL_BITS = (1 << 64) - 1
_OFFSET = "[T ][0-9:.]+ ?[+-][0-9]{2}(:?[0-9]{2})?$"
"""How a timestamp with an offset from UTC ends."""


@dataclass(frozen=True)
class Compared:
    """One scored column of a diff file, as far as distances are concerned."""

    position: int
    """Its number i in ``r{i}``, ``a{i}``, ``s{i}``."""
    compared_as: str
    """``number``, ``time`` or ``text``."""
    r_type: str
    """DuckDB type of the reference's value."""
    a_type: str
    """DuckDB type of the agent's value."""

    @property
    def distance(self) -> str | None:
        """SQL of the distance (the column's unit; seconds for times); None for texts.

        Null where one side has no value, and where a timestamp is spelt in a way that only the
        scorer's reader understands.
        """
        if self.compared_as == "number":
            return f"abs({self.reference} - {self.agent})"
        if self.compared_as == "time":
            return f"abs(epoch_us({self.reference}) - epoch_us({self.agent})) / 1e6"
        return None

    @property
    def difference(self) -> str | None:
        """SQL of agent - reference (the column's unit; seconds for times); None for texts."""
        if self.compared_as == "number":
            return f"({self.agent} - {self.reference})"
        if self.compared_as == "time":
            return f"((epoch_us({self.agent}) - epoch_us({self.reference})) / 1e6)"
        return None

    @property
    def reference(self) -> str:
        """SQL of the reference's value: DOUBLE, TIMESTAMP or VARCHAR."""
        return self._value(f"r{self.position}", self.r_type)

    @property
    def agent(self) -> str:
        """SQL of the agent's value: DOUBLE, TIMESTAMP or VARCHAR."""
        return self._value(f"a{self.position}", self.a_type)

    def _value(self, field: str, kind: str) -> str:
        if self.compared_as == "number":
            return f"TRY_CAST({field} AS DOUBLE)"
        if self.compared_as == "time":
            return f"({stamp(field, kind)})"
        return field if kind == "VARCHAR" else f"({field}::VARCHAR)"

    def status(self, tolerance: float) -> str:
        """SQL of the cell status at `tolerance`.

        A pair whose distance is not known keeps the status that the scorer gave it.

        Raises:
            UsageError: texts have no distance, or `tolerance` is no tolerance.
        """
        distance, status = self.distance, f"s{self.position}"
        if distance is None:
            raise UsageError("Texts are equal or not; there is no tolerance between them.")
        if not tolerance >= 0:  # not a number is refused as well
            raise UsageError("A tolerance is a number from 0 on.")
        near = f"WHEN {distance} <= {tolerance!r}::DOUBLE THEN {WITHIN} " if tolerance > 0 else ""
        if tolerance == float("inf"):
            near = f"WHEN {distance} <= 'inf'::DOUBLE THEN {WITHIN} "
        return (
            f"(CASE WHEN {status} NOT IN ({WITHIN}, {DIFFERENT}) OR ({distance}) IS NULL "
            f"THEN {status} {near}ELSE {DIFFERENT} END)::UTINYINT"
        )

    @property
    def unknown(self) -> str:
        """SQL: a pair with both values whose distance is not known."""
        return f"s{self.position} IN ({WITHIN}, {DIFFERENT}) AND ({self.distance}) IS NULL"


def mismatches_with(statuses: dict[int, str]) -> str:
    """SQL of the bits of mismatching columns, with other statuses for some columns.

    Args:
        statuses: SQL of the status by position of the column.
    """
    good = ", ".join(str(status) for status in MATCHES)
    kept = _ALL_BITS
    parts = []
    for position, status in statuses.items():
        kept &= ~(1 << position)
        bit = f"{1 << position}::UBIGINT"
        parts.append(f"(CASE WHEN {status} IN ({good}) THEN 0::UBIGINT ELSE {bit} END)")
    return " | ".join([f"(mismatches & {kept}::UBIGINT)", *parts])


def stamp(value: str, kind: str) -> str:
    """SQL of a cell of a column of times as a timestamp; null where it is none.

    Numbers count as nanoseconds since 1970 and an offset from UTC is taken off, as in scoring.

    Args:
        value: SQL of the cell.
        kind: its DuckDB type.
    """
    if "TIMESTAMP" in kind or kind == "DATE":
        return f"{value}::TIMESTAMP"
    if kind == "VARCHAR":  # the cast to a plain timestamp would leave the offset unread
        zoned = f"make_timestamp(epoch_us(TRY_CAST({value} AS TIMESTAMPTZ)))"
        return (
            f"CASE WHEN regexp_matches({value}, '{_OFFSET}') THEN {zoned} "
            f"ELSE TRY_CAST({value} AS TIMESTAMP) END"
        )
    if kind == "BOOLEAN":
        return "NULL::TIMESTAMP"
    return f"CASE WHEN abs({value}) < 9e18 THEN make_timestamp({value}::BIGINT // 1000) END"
