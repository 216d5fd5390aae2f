"""How a cell becomes a value of the declared type, as SQL expressions.

DuckDB's own casts round ``1.5`` to an integer, drop the time from a timestamp that becomes a
date, and take ``inf`` for a number. Here such a cell is bad: it is refused, never changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.base.duck import quote_text
from engine.sources.schema import NULL_STRINGS

CELL = "m4-bad-cell"
"""Text of the SQL error that a bad cell raises; the cell itself is never in it."""

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
INTEGERS = frozenset((*_SIGNED, *(f"U{name}" for name in _SIGNED)))
_TIMESTAMPS = frozenset(
    ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
)
_SCALARS = frozenset(("VARCHAR", "BOOLEAN", "DATE", "TIME", "UUID")) | INTEGERS | _TIMESTAMPS
FINITE = frozenset(("DOUBLE", "TIMESTAMP", "DATE"))
"""Types that have infinities (and NaN), which no source may hold."""


@dataclass(frozen=True)
class Cell:
    """A conversion."""

    value: str
    """SQL: the value, or an error."""
    bad: str
    """SQL: is it a cell that does not convert? (never an error)"""


def _refuse(kind: str) -> str:
    return f"CAST(error({quote_text(CELL)}) AS {kind})"


def _is_real(kind: str) -> bool:
    return kind in {"FLOAT", "DOUBLE"} or kind.startswith("DECIMAL")


def from_text(cell: str, target: str) -> Cell:
    """A text column, whose null strings are null already, as `target`."""
    if target == "VARCHAR":
        return Cell(cell, "false")
    number = f"TRY_CAST({cell} AS DOUBLE)"
    time = f"TRY_CAST({cell} AS TIMESTAMP)"
    unread = f"{cell} IS NOT NULL AND TRY_CAST({cell} AS {target}) IS NULL"
    if target == "BIGINT":
        # Only a point or a negative exponent can make a fraction; this look is cheap.
        real = f"(contains({cell}, '.') OR contains({cell}, '-'))"
        fraction = f"coalesce({number} <> trunc({number}), true)"
        return Cell(
            f"CASE WHEN {real} AND {fraction} THEN {_refuse(target)} "
            f"ELSE CAST({cell} AS BIGINT) END",
            f"({unread}) OR ({real} AND {fraction})",
        )
    if target == "DATE":
        late = f"length({cell}) > 10 AND coalesce({time} <> date_trunc('day', {time}), true)"
        return Cell(
            f"CASE WHEN {late} THEN {_refuse(target)} ELSE CAST({cell} AS DATE) END",
            f"({unread}) OR ({late}) OR NOT isfinite(TRY_CAST({cell} AS DATE))",
        )
    infinite = f" OR NOT isfinite(TRY_CAST({cell} AS {target}))" if target in FINITE else ""
    return Cell(f"CAST({cell} AS {target})", f"({unread}){infinite}")


def from_typed(cell: str, source: str, target: str) -> Cell | None:
    """A column of DuckDB type `source` (of a Parquet file or database) as `target`.

    None when the types have nothing to do with each other.
    """
    if source == "VARCHAR":
        nulls = ", ".join(quote_text(text) for text in NULL_STRINGS)
        return from_text(f"(CASE WHEN {cell} IN ({nulls}) THEN NULL ELSE {cell} END)", target)
    if source == target:
        infinite = f"NOT isfinite({cell})" if target in FINITE else "false"
        return Cell(cell, infinite)
    real = _is_real(source)
    if target == "VARCHAR":
        return Cell(f"CAST({cell} AS VARCHAR)", "false") if real or source in _SCALARS else None
    if target == "BIGINT" and (source in INTEGERS or source == "BOOLEAN"):
        return Cell(
            f"CAST({cell} AS BIGINT)", f"{cell} IS NOT NULL AND TRY_CAST({cell} AS BIGINT) IS NULL"
        )
    if target == "BIGINT" and real:
        fraction = f"{cell} IS NOT NULL AND (TRY_CAST({cell} AS BIGINT) IS NULL OR "
        fraction += f"TRY_CAST({cell} AS BIGINT) <> {cell})"
        return Cell(
            f"CASE WHEN {fraction} THEN {_refuse(target)} ELSE CAST({cell} AS BIGINT) END", fraction
        )
    if target == "DOUBLE" and (real or source in INTEGERS):
        return Cell(f"CAST({cell} AS DOUBLE)", f"NOT isfinite(CAST({cell} AS DOUBLE))")
    if target == "TIMESTAMP" and (source in _TIMESTAMPS or source == "DATE"):
        return Cell(f"CAST({cell} AS TIMESTAMP)", f"NOT isfinite(CAST({cell} AS TIMESTAMP))")
    if target == "DATE" and source in _TIMESTAMPS:
        late = f"coalesce(date_trunc('day', {cell}) <> {cell}, false)"
        return Cell(f"CASE WHEN {late} THEN {_refuse(target)} ELSE CAST({cell} AS DATE) END", late)
    return None


def kept_as(source: str) -> str:
    """The type that an undeclared column of DuckDB type `source` gets: always 64-bit."""
    if source in {"HUGEINT", "UHUGEINT", "UBIGINT"}:
        return "VARCHAR"  # whole numbers beyond 64 bit stay exact as text
    if source in INTEGERS:
        return "BIGINT"
    if _is_real(source):
        return "DOUBLE"
    if source in _TIMESTAMPS:
        return "TIMESTAMP"
    return source if source in {"DATE", "TIME", "BOOLEAN"} else "VARCHAR"
