"""The settings in which pictures are taken, and the process that each of them needs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 1366, 900
"""Size of the window in pixels at 100 %."""


@dataclass(frozen=True)
class Setting:
    """One look of the program on one screen."""

    theme: str
    """``light`` or ``dark``."""
    size: str
    """``100``; ``200``: the program's own zoom; ``dpr2``: a screen with twice as many pixels."""

    @property
    def name(self) -> str:
        """For folders and the command line."""
        return f"{self.theme}-{self.size}"

    @property
    def ratio(self) -> int:
        """Pixels of the screen for each pixel of the program."""
        return 2 if self.size == "dpr2" else 1

    @property
    def zoom(self) -> int:
        """The program's own zoom, in per cent."""
        return 200 if self.size == "200" else 100

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height of a picture of the whole window."""
        return WIDTH * self.ratio, HEIGHT * self.ratio

    def environment(self, folder: Path) -> Mapping[str, str]:
        """What a process needs to show a window in this setting without a screen.

        Args:
            folder: gets the description of the screen.
        """
        width, height = self.pixels
        screen: dict[str, Any] = {
            "name": self.name, "x": 0, "y": 0, "width": width, "height": height,
            "logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1,
        }  # fmt: skip
        path = folder / f"screen-{self.name}.json"
        path.write_text(json.dumps({"windowFrameMargins": False, "screens": [screen]}))
        return os.environ | {
            "QT_QPA_PLATFORM": f"offscreen:configfile={path}",
            "QT_SCALE_FACTOR": str(self.ratio),
        }


SETTINGS = {
    setting.name: setting
    for setting in (
        *(Setting(theme, size) for theme in ("light", "dark") for size in ("100", "200")),
        *(Setting(theme, "dpr2") for theme in ("light", "dark")),
    )
}
"""All of them, by name."""
