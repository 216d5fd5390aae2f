"""Where the shipped content is: `tasks/`, `skills/`, `resources/`, and what sandboxes are made of.

In a source tree the first three lie at the top, the last in `packaging/`; an installed wheel
carries them inside the package as `engine/_content/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent.parent


def content_folder(name: Literal["tasks", "skills", "resources", "sandbox"]) -> Path:
    """The folder of shipped content called `name`."""
    shipped = _PACKAGE / "_content" / name
    if shipped.is_dir():
        return shipped
    return _PACKAGE.parent / ("packaging/sandbox" if name == "sandbox" else name)
