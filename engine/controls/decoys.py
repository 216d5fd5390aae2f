"""The decoy of a task: a related skill of another family, by the map in `decoys.toml`."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

from engine.base.content import content_folder
from engine.base.errors import HarnessFault
from engine.catalogue.task import Task

_MAP = Path(__file__).with_name("decoys.toml")


@functools.cache
def _decoys() -> dict[str, str]:
    data = tomllib.loads(_MAP.read_text(encoding="utf-8"))
    roles: dict[str, str] = data["roles"]
    return {task: roles[role] for task, role in data["decoys"].items()}


def decoy_name(task: Task) -> str | None:
    """Name of the shipped skill that misleads this task; None where the map has none."""
    return _decoys().get(task.name)


def decoy_skill(task: Task) -> Path | None:
    """Folder of that skill.

    Raises:
        HarnessFault: the map names a skill that is not shipped.
    """
    name = decoy_name(task)
    if name is None:
        return None
    folder = content_folder("skills") / name
    if not (folder / "SKILL.md").is_file():
        raise HarnessFault(f"The decoy of {task.name} is {name}, which is no shipped skill.")
    return folder
