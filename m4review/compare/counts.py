"""The counts of a comparison as a table: one line per run and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.diagnosis.compare import Change, Comparison
from m4review.app.records import Column, RecordModel
from m4review.app.theme import Theme
from m4review.compare.words import LOOKS, letters


@dataclass(frozen=True)
class CountLine:
    """One line of the table."""

    run: int
    """Number of the run, from 1."""
    letter: str
    """Its short name."""
    column: int | None
    """Scored column; None for whole rows."""
    name: str
    """Its name, or "whole row"."""
    cells: Mapping[Change, int]
    """Reference rows by what became of them."""


def count_lines(comparison: Comparison) -> list[CountLine]:
    """Whole rows first, then every column, for each further run."""
    names = letters(len(comparison.runs))
    lines = []
    for run, other in enumerate(comparison.others, start=1):
        lines.append(CountLine(run, names[run], None, "whole row", other.rows))
        for at, column in enumerate(other.columns):
            lines.append(CountLine(run, names[run], at, column.column, column.cells))
    return lines


def counts_model(theme: Callable[[], Theme]) -> RecordModel[CountLine]:
    """A model of counts."""

    def column(change: Change) -> Column[CountLine]:
        look = LOOKS[change]
        return Column(
            f"{look.sign} {look.words}",
            lambda line: f"{line.cells.get(change, 0):,}",
            numeric=True,
            order=lambda line: line.cells.get(change, 0),
            about=look.about,
        )

    order: tuple[Change, ...] = ("mended", "broken", "wrong", "wrong_otherwise", "right")
    return RecordModel(
        [
            Column[CountLine]("Run", lambda line: line.letter),
            Column("Column", lambda line: line.name),
            *(column(change) for change in order),
        ],
        theme,
    )
