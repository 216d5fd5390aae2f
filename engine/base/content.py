"""Where the content is: `tasks/`, `skills/`, `resources/`, and what sandboxes are made of.

In a source tree the first three lie at the top, the last in `packaging/`; an installed wheel
carries them inside the package as `engine/_content/`. Tasks and skills that somebody edits may lie
in a folder of the user's own: `use_content` says where, and `engine.base.paths.open_home` calls it
with what the home remembers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent.parent
_chosen: Path | None = None


def use_content(root: Path | None) -> None:
    """Take tasks and skills from `root/tasks` and `root/skills`; None for the shipped ones."""
    global _chosen  # noqa: PLW0603 - one process works on one home, and so on one content
    _chosen = root


def content_folder(name: Literal["tasks", "skills", "resources", "sandbox"]) -> Path:
    """The folder of content called `name`."""
    if _chosen is not None and name in ("tasks", "skills"):
        return _chosen / name
    return shipped_folder(name)


def shipped_folder(name: Literal["tasks", "skills", "resources", "sandbox"]) -> Path:
    """The folder of that name which the program came with."""
    shipped = _PACKAGE / "_content" / name
    if shipped.is_dir():
        return shipped
    return _PACKAGE.parent / ("packaging/sandbox" if name == "sandbox" else name)


def is_installed() -> bool:
    """Does the shipped content belong to an installed program, and not to a source tree?"""
    return (_PACKAGE / "_content" / "tasks").is_dir()
