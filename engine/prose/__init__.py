"""Two versions of a Markdown text, compared by section, sentence and table cell."""

from engine.prose.align import compare_texts
from engine.prose.model import Cell, CellChange, Change, Piece, ProseDiff, Step, Unit
from engine.prose.reading import read_units

__all__ = [
    "Cell",
    "CellChange",
    "Change",
    "Piece",
    "ProseDiff",
    "Step",
    "Unit",
    "compare_texts",
    "read_units",
]
