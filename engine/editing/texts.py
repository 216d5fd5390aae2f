"""Which texts of a task can be edited, and where they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.catalogue.task import Task

Kind = Literal["instruction", "skill", "operational-spec", "task", "reference-notes", "provenance"]


@dataclass(frozen=True)
class EditableText:
    """One text of a task."""

    name: str
    """Within the task: ``instruction``, ``skill:NAME``, ``task.toml`` …"""
    kind: Kind
    """What it is."""
    title: str
    """For people."""
    path: Path
    """Its file."""

    @property
    def language(self) -> Literal["markdown", "toml", "yaml"]:
        """What it is written in."""
        suffix = self.path.suffix
        return "toml" if suffix == ".toml" else "yaml" if suffix == ".yaml" else "markdown"


def editable_texts(task: Task, skills: Iterable[Path]) -> tuple[EditableText, ...]:
    """The texts of a task that are there: what is asked, how, by which rules, and the papers.

    Args:
        task: the task.
        skills: the SKILL.md of each of its skills.
    """
    family = task.folder.parent
    found = [EditableText("instruction", "instruction", "Instruction", _in(task, "instruction.md"))]
    found += [
        EditableText(f"skill:{path.parent.name}", "skill", f"Skill: {path.parent.name}", path)
        for path in skills
    ]
    found += [
        EditableText(
            "operational-spec",
            "operational-spec",
            "Operational spec",
            _in(task, "operational-spec.md"),
        ),
        EditableText("task.toml", "task", "task.toml", _in(task, "task.toml")),
        EditableText(
            "reference-notes", "reference-notes", "Reference notes", family / "reference-notes.md"
        ),
        EditableText("provenance", "provenance", "Provenance", family / "PROVENANCE.yaml"),
    ]
    return tuple(text for text in found if text.path.is_file())


def _in(task: Task, name: str) -> Path:
    return task.folder / name
