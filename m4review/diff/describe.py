"""What an open diff file says of itself: its columns and counts, before any row is read."""

from __future__ import annotations

from typing import Any, cast

import duckdb

from engine.base.errors import BadInput
from m4review.diff.layout import (
    CellStatus,
    ComparedAs,
    KeyColumn,
    KeyStatus,
    Layout,
    ScoredColumn,
)

_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "REAL")
_TABLES = ("diff", "diff_columns", "diff_counts")


def read_layout(con: duckdb.DuckDBPyConnection) -> Layout:
    """The layout of an open diff file.

    Raises:
        BadInput: it is no diff, or only a part of one.
    """
    tables = {
        str(row[0]) for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    }
    if not tables.issuperset(_TABLES):
        raise BadInput(
            "This file is no diff of a run, or only a part of one.",
            todo="Open the run and make the diff again.",
        )
    types = dict(
        con.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'diff'"
        ).fetchall()
    )
    keys: list[KeyColumn] = []
    scored: list[ScoredColumn] = []
    for name, role, compared, tolerance in con.execute(
        "SELECT name, role, compared_as, tolerance FROM diff_columns ORDER BY role, position"
    ).fetchall():
        if role == "key":
            field = f"k{len(keys)}"
            keys.append(KeyColumn(name, field, _is_number(types[field])))
        else:
            at = len(scored)
            numeric = _is_number(types[f"r{at}"]) and _is_number(types[f"a{at}"])
            stored = (types[f"r{at}"], types[f"a{at}"])
            limit = float(tolerance or 0)
            scored.append(ScoredColumn(at, name, _compared(compared), limit, numeric, stored))
    rows = int(_count(con))
    key_counts, cell_counts = _counts(con, len(scored))
    return Layout(rows, tuple(keys), tuple(scored), key_counts, cell_counts)


def _counts(
    con: duckdb.DuckDBPyConnection, scored: int
) -> tuple[dict[KeyStatus, int], tuple[dict[CellStatus, int], ...]]:
    by_key: dict[KeyStatus, int] = {}
    by_cell: list[dict[CellStatus, int]] = [{} for _ in range(scored)]
    for role, column, status, count in con.execute(
        "SELECT role, position, status, count FROM diff_counts"
    ).fetchall():
        if role == "key":
            by_key[KeyStatus(status)] = int(count)
        else:
            by_cell[int(column)][CellStatus(status)] = int(count)
    return by_key, tuple(by_cell)


def _is_number(type_name: str) -> bool:
    return any(part in type_name.upper() for part in _NUMBERS) and "INTERVAL" not in type_name


def _compared(text: str) -> ComparedAs:
    return cast("ComparedAs", text if text in ("number", "time") else "text")


def _count(con: duckdb.DuckDBPyConnection) -> Any:
    row = con.execute("SELECT count(*) FROM diff").fetchone()
    return row[0] if row else 0
