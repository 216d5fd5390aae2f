"""What the comparison shows, row by row; numbers and words only, no widget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.prose import Change, Piece, ProseDiff, Step, Unit

NEAR = 1
"""Unchanged units that are shown around a change when the others are folded."""
MARKS = {
    "changed": "≠ changed",
    "added": "+ added",
    "removed": "− removed",
    "layout": "␣ blanks only",
}


@dataclass(frozen=True)
class DiffRow:
    """One row: a heading over a section, a step, or what is folded."""

    kind: Literal["section", "step", "folded"]
    """What it is."""
    text: str = ""
    """The section, or how much is folded."""
    mark: str = ""
    """What happened, as sign and word; empty where nothing did."""
    before: tuple[Piece, ...] = ()
    """Words of the earlier version."""
    after: tuple[Piece, ...] = ()
    """Words of the later version."""
    one: tuple[Piece, ...] = ()
    """Words of both in one column."""
    before_line: int | None = None
    """Line of the earlier version."""
    after_line: int | None = None
    """Line of the later version."""
    change: int | None = None
    """Which change it belongs to, counted from 0."""


def rows_of(diff: ProseDiff, *, only_changes: bool) -> list[DiffRow]:
    """The rows of a comparison.

    Args:
        diff: the comparison.
        only_changes: fold what did not change.
    """
    numbers = {change: number for number, change in enumerate(diff.changes)}
    shown = _shown(diff.steps, numbers) if only_changes else set(range(len(diff.steps)))
    found: list[DiffRow] = []
    section, folded = None, 0
    for at, step in enumerate(diff.steps):
        if at not in shown:
            folded += 1
            continue
        if folded:
            found.append(_folded(folded))
            folded = 0
        unit = _unit(diff, step)
        if unit.section != section and unit.kind != "heading":
            section = unit.section
            if section:
                found.append(DiffRow("section", section))
        elif unit.kind == "heading":
            section = unit.section
        found.append(_row(diff, step, numbers))
    if folded and found:
        found.append(_folded(folded))
    return found


def summary(diff: ProseDiff) -> str:
    """How much differs, in words."""
    if not diff.changes:
        return "Both versions are the same."
    words = {
        "changed": "changed",
        "added": "added",
        "removed": "removed",
        "moved": "moved",
        "layout": "with other blanks only",
    }
    counts = [(diff.count(kind), told) for kind, told in words.items()]  # type: ignore[arg-type]
    return ", ".join(f"{count} {told}" for count, told in counts if count)


def as_text(rows: list[DiffRow]) -> str:
    """The rows as plain text: ``[-removed-]``, ``{+added+}``."""
    return "\n".join(_plain(row) for row in rows)


def _plain(row: DiffRow) -> str:
    if row.kind != "step":
        return f"--- {row.text}"
    signs = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
    words = "".join(f"{signs[p.kind][0]}{p.text}{signs[p.kind][1]}" for p in row.one)
    return f"{row.mark}: {words}" if row.mark else words


def _shown(steps: tuple[Step, ...], numbers: dict[Change, int]) -> set[int]:
    changed = [at for at, step in enumerate(steps) if step.change in numbers]
    return {
        near for at in changed for near in range(max(0, at - NEAR), min(len(steps), at + NEAR + 1))
    }


def _folded(count: int) -> DiffRow:
    return DiffRow("folded", f"{count} unchanged {'parts' if count > 1 else 'part'} not shown")


def _unit(diff: ProseDiff, step: Step) -> Unit:
    if step.after is not None:
        return diff.after[step.after]
    return diff.before[step.before or 0]


def _row(diff: ProseDiff, step: Step, numbers: dict[Change, int]) -> DiffRow:
    change = step.change if step.change in numbers else None
    old = diff.before[step.before] if step.before is not None else None
    new = diff.after[step.after] if step.after is not None else None
    both = change.pieces if change is not None else ()
    before = tuple(p for p in both if p.kind != "added") if old and both else _whole(old, change)
    after = tuple(p for p in both if p.kind != "removed") if new and both else _whole(new, change)
    return DiffRow(
        "step",
        mark=_mark(diff, step) if change is not None else "",
        before=before,
        after=after,
        one=both if old and new and both else (after or before),
        before_line=old.line if old else None,
        after_line=new.line if new else None,
        change=numbers[change] if change is not None else None,
    )


def _whole(unit: Unit | None, change: Change | None) -> tuple[Piece, ...]:
    if unit is None:
        return ()
    kind: Literal["same", "removed", "added"] = "same"
    if change is not None and change.kind in ("added", "removed"):
        kind = "added" if change.kind == "added" else "removed"
    return (Piece(kind, unit.text),)


def _mark(diff: ProseDiff, step: Step) -> str:
    change = step.change
    if change is None:
        return ""
    if change.kind == "moved" and change.before is not None and change.after is not None:
        more = " and changed" if change.pieces else ""
        if step.after is None:
            return f"↓↑ moved{more} to line {diff.after[change.after].line}"
        return f"↓↑ moved{more} from line {diff.before[change.before].line}"
    columns = ", ".join(cell.column for cell in change.cells if cell.column)
    return MARKS[change.kind] + (f" in “{columns}”" if columns else "")


def pairs(rows: list[DiffRow]) -> Iterator[tuple[int, int]]:
    """Change and the first row that shows it, in order."""
    seen: set[int] = set()
    for at, row in enumerate(rows):
        if row.change is not None and row.change not in seen:
            seen.add(row.change)
            yield row.change, at
