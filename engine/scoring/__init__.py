"""Scores of output tables against references, and the diff file; knows no run and no screen."""

from engine.scoring.diff import CELL_WORDS, KEY_WORDS, export_diff, export_form
from engine.scoring.judge import align, judge_table, look, score_table
from engine.scoring.score import Diagnostic, Notice, Score

__all__ = [
    "CELL_WORDS",
    "KEY_WORDS",
    "Diagnostic",
    "Notice",
    "Score",
    "align",
    "export_diff",
    "export_form",
    "judge_table",
    "look",
    "score_table",
]
