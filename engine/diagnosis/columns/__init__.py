"""One scored column of a diff in figures: every figure knows the rows that it counts."""

from engine.diagnosis.columns.model import (
    Bar,
    ColumnStudy,
    Confusion,
    Histogram,
    MatrixCell,
    Scatter,
    TolerancePoint,
)
from engine.diagnosis.columns.study import study_column
from engine.diagnosis.columns.tolerance import tolerance_curve

__all__ = [
    "Bar",
    "ColumnStudy",
    "Confusion",
    "Histogram",
    "MatrixCell",
    "Scatter",
    "TolerancePoint",
    "study_column",
    "tolerance_curve",
]
