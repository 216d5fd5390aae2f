"""One scored column of a diff in figures: every figure knows the rows that it counts."""

from engine.diagnosis.columns.model import (
    Axis,
    Bar,
    ColumnStudy,
    Confusion,
    Histogram,
    MatrixCell,
    Ratio,
    Scatter,
    TolerancePoint,
)
from engine.diagnosis.columns.study import study_column
from engine.diagnosis.columns.tolerance import tolerance_curve

__all__ = [
    "Axis",
    "Bar",
    "ColumnStudy",
    "Confusion",
    "Histogram",
    "MatrixCell",
    "Ratio",
    "Scatter",
    "TolerancePoint",
    "study_column",
    "tolerance_curve",
]
