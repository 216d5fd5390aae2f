"""The lint of one text while it is written: the rules of `preflight`, and the checks of texts.

Pure functions of texts: nothing is asked of a source. What does not depend on the edited text is
kept, and so is what each of its lines says, so that a keystroke costs some tens of milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.base.errors import BadInput, UsageError
from engine.catalogue.task import Task
from engine.claims.evidence import TEXT_CHECKS
from engine.claims.material import read_material
from engine.claims.model import Check
from engine.preflight import Finding, lint_text
from engine.preflight.consistency import unsaid
from engine.preflight.finding import Kind, Text

Severity = Literal["error", "warning", "info"]
_NAMES: Mapping[str, Kind] = {
    "task.toml": "task",
    "instruction.md": "instruction",
    "operational-spec.md": "operational-spec",
    "PROVENANCE.yaml": "provenance",
    "SKILL.md": "skill",
}
_TOLD: Mapping[str, Severity] = {"disagrees": "warning", "look": "info"}
_FIXES: Mapping[str, str] = {
    "row-agrees": "Compare the two tables, and both with the reference's SQL.",
    "number-agrees": "Compare both texts with the reference's SQL, and mend the one that is wrong.",
    "bands": "Compare the row with the reference's SQL.",
    "missing-value": "Say what the reference puts in place of a missing value.",
    "factor": "Compare the factor with the reference's SQL.",
    "count": "Count what is listed, and mend the number or the list.",
    "code-unknown": "Mend the code, or take it out.",
    "code-coverage": "Add the codes.",
    "code-group": "Compare the row with the reference's SQL.",
    "text-unknown": "Mend the spelling, or take it out.",
    "text-missing": "Add the texts as the data spell them.",
    "text-group": "Move the text to the row that the reference has it in.",
    "window": "Say the window as the reference has it, with both of its ends.",
    "grain-key": "Name the columns that make a row unique.",
    "grain-columns": "Name the columns of the reference.",
}
_PLACE = re.compile(
    r"`[^`\n]+`|[<>≤≥=]{1,2}\s*[−-]?\d[\d.,]*|[−-]?\d+(?:[.,]\d+)*%?|[\w{}][\w{}./%-]*|\S"
)
"""What is marked where a rule names only a place."""


@dataclass(frozen=True, order=True)
class TextFinding:
    """One place of a text that a rule or a check objects to."""

    line: int
    """Counted from 1."""
    column: int
    """In characters, counted from 1."""
    length: int
    """Characters of that line that are meant; 0 where the text as a whole is."""
    severity: Severity
    """``error``: gives something away or cannot be used; ``warning``: texts disagree; ``info``."""
    rule: str
    """Stable name of the rule or check."""
    message: str
    """What is wrong, in a sentence."""
    todo: str
    """What to do about it."""


def kind_of(path: Path) -> Kind:
    """Which text of a task a file is, by its name.

    Raises:
        UsageError: it is none.
    """
    kind = _NAMES.get(path.name)
    if kind is None:
        raise UsageError(
            f"{path.name} is no text of a task or skill.",
            todo=f"These are: {', '.join(_NAMES)}.",
        )
    return kind


def live_findings(
    task: Task, path: Path, text: str, others: Mapping[Path, str] | None = None
) -> tuple[TextFinding, ...]:
    """What rules and checks find in one text of a task, saved or not, by place.

    Args:
        task: the task.
        path: the text's file.
        text: all of it.
        others: what an editor holds of the task's other texts instead of what is on disk.

    Raises:
        UsageError: the file is no text of a task.
    """
    kind = kind_of(path)
    lines = re.split(r"\r\n?|\n", text)
    held = {**(others or {}), path: text}
    asked = held.get(task.folder / "instruction.md")
    found = [_of_rule(each, lines) for each in lint_text(kind, text, task, path, asked=asked)]
    if kind == "instruction":
        found += _unsaid(task, text, held)
    taken = {(f.line, f.column + at) for f in found for at in range(max(f.length, 1))}
    if kind in ("skill", "operational-spec", "instruction"):
        for check in _checks(task, path, held):
            told = _of_check(check, lines)
            if told is not None and not _said(told, check, taken):
                found.append(told)
    return tuple(sorted(set(found)))


def _unsaid(task: Task, asked: str, held: Mapping[Path, str]) -> Iterator[TextFinding]:
    """In the instruction itself: what it says of time and a text of the rules does not."""
    spec = task.operational_spec
    texts: list[tuple[Kind, Path, str]] = [
        ("skill", folder / "SKILL.md", f"skill {folder.name}") for folder in task.skill_folders
    ]
    texts += [("operational-spec", spec, "operational specification")] if spec else []
    lines = Text("instruction", task.folder / "instruction.md", asked)
    for kind, path, called in texts:
        try:
            text = held[path] if path in held else path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue  # said by the rules of that text
        for claim in unsaid(Text(kind, path, text), asked, task):
            line, column = lines.place(claim.offset)
            yield TextFinding(
                line,
                column,
                len(claim.shown) if asked.startswith(claim.shown, claim.offset) else 0,
                "warning",
                "window-missing",
                f"The {called} never speaks of {claim.shown}.",
                "Mend the window, or say it there too, with both of its ends.",
            )


def _checks(task: Task, path: Path, texts: Mapping[Path, str]) -> Iterator[Check]:
    try:
        material = read_material(task, texts, only=path)
    except (BadInput, UsageError):
        return  # another text, or the target, is not there: said by the rules of that text
    for run in TEXT_CHECKS:
        yield from run(material)


def _of_rule(finding: Finding, lines: list[str]) -> TextFinding:
    whole = (finding.line, finding.column) == (1, 1) and not finding.length
    there = lines[finding.line - 1] if finding.line <= len(lines) else ""
    length = min(finding.length, len(there) - finding.column + 1)  # it may go on in the next line
    if length <= 0:
        length = 0 if whole else _length(lines, finding.line, finding.column)
    return TextFinding(
        finding.line,
        finding.column,
        length,
        finding.level,
        finding.rule,
        finding.message,
        finding.fix,
    )


def _of_check(check: Check, lines: list[str]) -> TextFinding | None:
    severity = _TOLD.get(check.verdict)
    if severity is None:
        return None
    shown = check.shown
    rest = lines[check.line - 1][check.column - 1 :] if check.line <= len(lines) else ""
    length = len(shown) if shown and rest.startswith(shown) else 0
    if not length and (check.line, check.column) != (1, 1):
        length = _length(lines, check.line, check.column)
    todo = _FIXES.get(check.name, "Compare with the reference's SQL.")
    return TextFinding(check.line, check.column, length, severity, check.name, check.words, todo)


def _length(lines: list[str], line: int, column: int) -> int:
    """Of what stands at a place."""
    text = lines[line - 1] if line <= len(lines) else ""
    match = _PLACE.match(text, column - 1)
    return len(match.group()) if match else min(1, max(0, len(text) - column + 1))


def _said(told: TextFinding, check: Check, taken: set[tuple[int, int]]) -> bool:
    """Has a rule said so already, of a number in the same band, factor or window?"""
    return check.name in ("bands", "factor", "window") and any(
        (told.line, told.column + at) in taken for at in range(max(told.length, 1))
    )
