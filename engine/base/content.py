"""Where the shipped content is: `tasks/`, `skills/` and `resources/`.

In a source tree they lie at the top; an installed wheel carries them inside the
package as `engine/_content/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent.parent


def content_folder(name: Literal["tasks", "skills", "resources"]) -> Path:
    """The folder of shipped content called `name`."""
    shipped = _PACKAGE / "_content" / name
    return shipped if shipped.is_dir() else _PACKAGE.parent / name
