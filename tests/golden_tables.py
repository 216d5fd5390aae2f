"""Comparison with golden tables: as multisets, floats to 1e-7, decimals by value."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from concept_cases import same_cell

from engine.base.duck import quote_text


def golden_facts(folder: Path, group: str) -> dict[str, dict[str, Any]]:
    """Per table of `group` ("concepts" or "targets"): rows, golden_rows, columns."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    facts: dict[str, dict[str, Any]] = manifest[group]
    return facts


def check_against_golden(
    con: duckdb.DuckDBPyConnection, relation: str, folder: Path, group: str, name: str
) -> None:
    """Fail unless `relation` (SQL that can stand after FROM) holds the golden rows."""
    fact = golden_facts(folder, group)[name]
    golden = con.execute(
        f"SELECT * FROM read_parquet({quote_text(str(folder / group / f'{name}.parquet'))})"
    )
    columns = [str(item[0]) for item in golden.description or ()]
    wanted = golden.fetchall()
    ours = con.execute(f"SELECT * FROM {relation}")
    assert [str(item[0]) for item in ours.description or ()] == columns
    got = ours.fetchall()
    assert len(got) == fact["rows"], f"{len(got)} rows, {fact['rows']} wanted"
    assert len(wanted) == fact["golden_rows"]
    # Rows that agree to the digit go first; floats near a rounding edge are paired by hand.
    left = Counter(map(_exact, got))
    rest = []
    for row in wanted:
        if left[_exact(row)] > 0:
            left[_exact(row)] -= 1
        else:
            rest.append(row)
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row, count in left.items():
        if count > 0:
            groups.setdefault(_coarse(row), []).extend([row] * count)
    lost = []
    for row in map(_exact, rest):
        near = groups.get(_coarse(row), [])
        match = next((r for r in near if all(map(_close, row, r))), None)
        if match is None:
            lost.append(row)
        else:
            near.remove(match)
    told = [dict(zip(columns, row, strict=True)) for row in lost[:3]]
    assert not lost, f"{len(lost)} golden rows are not among ours, e.g. {told}"


def _exact(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        float(cell) if isinstance(cell, Decimal) or type(cell) is int else cell for cell in row
    )


def _coarse(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What must agree exactly: everything that is no number."""
    return tuple("number" if isinstance(cell, float) else cell for cell in row)


def _close(a: Any, b: Any) -> bool:
    return same_cell(a, b, tolerance=1e-7)
