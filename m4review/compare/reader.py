"""Reads the aligned rows of a comparison, page by page. Called from jobs; knows no widget."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from engine.base.duck import in_words, interruptible
from engine.base.jobs import Job
from engine.diagnosis.compare import CHANGES, Change, Comparison, open_comparison

PAGE = 200
"""Rows of a page."""


@dataclass(frozen=True)
class Chosen:
    """Which rows are listed."""

    run: int = 1
    """Number of the run that is held against the first, from 1."""
    column: int | None = None
    """Scored column; None for whole rows."""
    changes: frozenset[Change] = frozenset(("mended", "broken", "wrong", "wrong_otherwise"))
    """What became of the cell, or of the row."""

    @property
    def field(self) -> str:
        """The file's column that says what became of it."""
        return f"c_{self.run}" if self.column is None else f"c{self.column}_{self.run}"


@dataclass(frozen=True)
class AlignedCell:
    """One scored column of a row, in all runs."""

    reference: Any
    """The reference's value."""
    values: tuple[Any, ...]
    """The runs' values."""
    statuses: tuple[int, ...]
    """The runs' cell statuses."""
    changes: tuple[int | None, ...]
    """Numbers in `CHANGES`; None for the first run."""


@dataclass(frozen=True)
class AlignedRow:
    """One reference row in all runs."""

    row: int
    """Row of the comparison's file."""
    keys: tuple[Any, ...]
    """Key values."""
    cells: tuple[AlignedCell, ...]
    """Scored columns."""
    changes: tuple[int | None, ...]
    """What became of the whole row in each run; None for the first."""


@dataclass(frozen=True)
class Page:
    """A page of rows."""

    chosen: Chosen
    """What was asked."""
    first: int
    """Position of the first row among the chosen ones."""
    rows: tuple[AlignedRow, ...]
    """At most `PAGE`."""
    total: int
    """Rows that are chosen."""


class ComparisonFile:
    """An open comparison; it owns its file, which is deleted at the close."""

    def __init__(self, path: Path, comparison: Comparison, scratch: Path) -> None:
        self.path, self.comparison = path, comparison
        self._con = open_comparison(path, scratch=scratch)

    def close(self) -> None:
        """Let the file go and delete it."""
        self._con.close()
        self.path.unlink(missing_ok=True)

    def page(self, chosen: Chosen, first: int, job: Job | None = None) -> Page:
        """Rows from position `first` on, in the order of the keys.

        Raises:
            Cancelled: the job was cancelled.
        """
        numbers = ", ".join(str(CHANGES.index(change)) for change in chosen.changes) or "NULL"
        condition = f"{chosen.field} IN ({numbers})"
        with self._cursor() as cursor, interruptible(cursor, job):
            total = cursor.execute(
                f"SELECT count(*) FROM compare WHERE {condition}"  # noqa: S608 - our own names
            ).fetchone()
            rows = cursor.execute(
                f"SELECT * FROM compare WHERE {condition} ORDER BY row LIMIT {PAGE} OFFSET ?",  # noqa: S608
                [first],
            )
            names = [str(column[0]) for column in rows.description or ()]
            found = tuple(self._row(dict(zip(names, row, strict=True))) for row in rows.fetchall())
        return Page(chosen, first, found, int(total[0]) if total else 0)

    def _row(self, values: dict[str, Any]) -> AlignedRow:
        runs = range(len(self.comparison.runs))
        cells = tuple(
            AlignedCell(
                values[f"r{i}"],
                tuple(values[f"a{i}_{j}"] for j in runs),
                tuple(values[f"s{i}_{j}"] for j in runs),
                tuple(values.get(f"c{i}_{j}") for j in runs),
            )
            for i in range(len(self.comparison.columns))
        )
        keys = tuple(values[f"k{n}"] for n in range(len(self.comparison.keys)))
        return AlignedRow(
            int(values["row"]), keys, cells, tuple(values.get(f"c_{j}") for j in runs)
        )

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._con.cursor()
        try:
            yield cursor
        except duckdb.Error as error:
            raise in_words(error, "reading the comparison") from error
        finally:
            cursor.close()
