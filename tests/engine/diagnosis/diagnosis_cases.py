"""Small tables judged and diagnosed on their values alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.catalogue.task import find_task
from engine.diagnosis import Diagnosis, diagnose
from engine.scoring import judge_table

Row = Sequence[object]


def write(path: Path, header: str, rows: Sequence[Row]) -> Path:
    """Write a CSV; None is the empty field."""
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def on_values(
    folder: Path, task: str, header: str, reference: Sequence[Row], output: Sequence[Row]
) -> Diagnosis:
    """The diagnosis of an output without a source."""
    found = find_task(task)
    diff = folder / "diff.duckdb"
    judge_table(
        found.evaluation,
        write(folder / "output.csv", header, output),
        write(folder / "reference.csv", header, reference),
        diff=diff,
    )
    return diagnose(diff, task=found)
