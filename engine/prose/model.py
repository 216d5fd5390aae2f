"""Units of a text, and what became of them from one version to the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.base.errors import UsageError

UnitKind = Literal["heading", "sentence", "row", "line"]
"""``row``: of a table; ``line``: of front matter, of code, or of anything else."""
ChangeKind = Literal["added", "removed", "changed", "moved", "layout"]
"""``moved`` may be changed too; ``layout``: only blanks and line ends differ."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table's row."""

    column: str
    """The head of its column; empty where the table has none for it."""
    text: str
    """Without blanks at its ends."""


@dataclass(frozen=True)
class Unit:
    """One sentence, heading, row or line; all units one after the other are the text."""

    kind: UnitKind
    """What it is."""
    text: str
    """As it is written."""
    gap: str
    """Blanks and line ends up to the next unit."""
    line: int
    """Line that it begins in, counted from 1."""
    section: str
    """The heading that it stands under; of a heading itself."""
    cells: tuple[Cell, ...] = ()
    """Of a row."""


@dataclass(frozen=True)
class Piece:
    """Words that are in both versions, or in one of them."""

    kind: Literal["same", "removed", "added"]
    """In both, only in the earlier one, only in the later one."""
    text: str
    """The words with the blanks between them."""


@dataclass(frozen=True)
class CellChange:
    """One cell of a row that changed."""

    column: str
    """The head of its column."""
    pieces: tuple[Piece, ...]
    """Its words; all of them removed or added where the other version has no such cell."""


@dataclass(frozen=True)
class Change:
    """What became of one unit."""

    kind: ChangeKind
    """What happened."""
    before: int | None
    """Which unit of the earlier version; None where it was added."""
    after: int | None
    """Which unit of the later version; None where it was removed."""
    pieces: tuple[Piece, ...] = ()
    """The unit's words, where they changed."""
    cells: tuple[CellChange, ...] = ()
    """Of a row: the cells that changed, in their order."""


@dataclass(frozen=True)
class Step:
    """One place of both versions beside each other; something moved has two."""

    before: int | None
    """Unit of the earlier version."""
    after: int | None
    """Unit of the later version."""
    change: Change | None
    """None where nothing changed."""


@dataclass(frozen=True)
class ProseDiff:
    """Both versions, step by step."""

    before: tuple[Unit, ...]
    """The earlier version."""
    after: tuple[Unit, ...]
    """The later version."""
    steps: tuple[Step, ...]
    """In reading order; every unit of both versions is in exactly one step."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Each change once, in reading order; none for identical texts.

        Blanks that only differ beside something added, removed or moved are no change of their own.
        """
        found: dict[Change, None] = {}
        for at, step in enumerate(self.steps):
            if step.change is not None and not (step.change.kind == "layout" and self._beside(at)):
                found[step.change] = None
        return tuple(found)

    def _beside(self, at: int) -> bool:
        near = (*self.steps[max(0, at - 1) : at], *self.steps[at + 1 : at + 2])
        kinds = {step.change.kind for step in near if step.change is not None}
        return bool(kinds & {"added", "removed", "moved"})

    def count(self, kind: ChangeKind) -> int:
        """How many changes of a kind."""
        return sum(change.kind == kind for change in self.changes)

    def apply(self, before: str) -> str:
        """The later version, made from the earlier one by the changes.

        Raises:
            UsageError: this is not the text that was compared.
        """
        if before != "".join(unit.text + unit.gap for unit in self.before):
            raise UsageError("These changes belong to another text.", todo="Compare again.")
        return "".join(self._after(step) for step in self.steps if step.after is not None)

    def _after(self, step: Step) -> str:
        change = step.change
        later = self.after[step.after] if step.after is not None else None
        if change is None and step.before is not None:
            unit = self.before[step.before]
            return unit.text + unit.gap
        if later is None or change is None:
            return ""
        if change.pieces:
            return "".join(p.text for p in change.pieces if p.kind != "removed") + later.gap
        if change.before is not None:
            return self.before[change.before].text + later.gap
        return later.text + later.gap
