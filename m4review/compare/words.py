"""Changes from the first run to another, in words, signs and colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt

from engine.diagnosis.compare import CHANGES, Change
from engine.workbench import RunSummary


@dataclass(frozen=True)
class Look:
    """How a change is told."""

    words: str
    """In words."""
    sign: str
    """One sign before them."""
    colour: str
    """Name of a theme colour."""
    pattern: Qt.BrushStyle
    """Fill of its part of a bar: told apart without colour."""
    about: str
    """What it means."""


LOOKS: Mapping[Change, Look] = {
    "right": Look(
        "right in both", "=", "line", Qt.BrushStyle.SolidPattern, "Right in the first run and here."
    ),
    "mended": Look(
        "mended", "▲", "accent", Qt.BrushStyle.SolidPattern, "Wrong in the first run, right here."
    ),
    "broken": Look(
        "broken", "▼", "different", Qt.BrushStyle.DiagCrossPattern,
        "Right in the first run, wrong here.",
    ),
    "wrong": Look(
        "wrong as before", "≠", "muted", Qt.BrushStyle.Dense4Pattern,
        "Wrong in both, with the same value.",
    ),
    "wrong_otherwise": Look(
        "wrong otherwise", "≁", "extra", Qt.BrushStyle.BDiagPattern,
        "Wrong in both, with different values.",
    ),
}  # fmt: skip
DRAWN: tuple[Change, ...] = ("mended", "broken", "wrong_otherwise", "wrong")
"""Order within a bar; what is right in both is the rest."""


def letters(count: int) -> tuple[str, ...]:
    """Short names of the runs: A to H."""
    return tuple("ABCDEFGH"[:count])


def run_words(run: RunSummary) -> str:
    """A run in a line."""
    skills = "" if run.condition == "no-skill" else f", {run.condition}"
    reward = "no reward" if run.reward is None else f"reward {run.reward:.4f}"
    return f"{run.agent} · {run.model}{skills}, trial {run.trial}, {reward}"


def change_words(number: int | None) -> str:
    """A change by its number in the comparison's file."""
    if number is None:
        return ""
    look = LOOKS[CHANGES[number]]
    return f"{look.sign} {look.words}"


def totals(counts: Sequence[Mapping[Change, int]]) -> dict[Change, int]:
    """Sums by change."""
    return {change: sum(each.get(change, 0) for each in counts) for change in CHANGES}
