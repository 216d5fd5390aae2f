"""Runs of one task side by side: which rows and cells one mends or breaks beside another."""

from engine.diagnosis.compare.compare import compare, open_comparison
from engine.diagnosis.compare.model import (
    CHANGES,
    Change,
    ColumnChanges,
    Comparison,
    RunChanges,
)

__all__ = [
    "CHANGES",
    "Change",
    "ColumnChanges",
    "Comparison",
    "RunChanges",
    "compare",
    "open_comparison",
]
