"""Every distinct skill of the benchmark that a task belongs to."""

from __future__ import annotations

from pathlib import Path

from engine.base.content import content_folder
from engine.catalogue.task import Task


def every_skill(task: Task) -> tuple[Path, ...]:
    """The folders of all skills, sorted by name.

    For a task folder that carries its own skills: those of its whole benchmark, where tasks that
    share a skill's name the first in sorted order of tasks gives it. Otherwise the shipped
    ones.
    """
    if not (task.folder / "skills").is_dir():
        return tuple(sorted(p.parent for p in content_folder("skills").glob("*/SKILL.md")))
    found: dict[str, Path] = {}
    folders = task.folder.parents[1].glob("*/*/skills/*/SKILL.md")
    for path in sorted(folders, key=lambda p: (p.parents[2].name, p)):
        if (path.parents[2] / "task.toml").is_file():
            found.setdefault(path.parent.name, path.parent)
    return tuple(found[name] for name in sorted(found))
