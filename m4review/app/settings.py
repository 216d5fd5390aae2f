"""What the program remembers of its user, in one TOML file of the home folder.

Every setting is declared once, with its default. A damaged file is put aside and told, never
a reason not to start.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError

from engine.base.errors import M4Error
from engine.base.files import write_text

log = logging.getLogger(__name__)

DEFAULTS: dict[str, Any] = {
    # the editor: which parts stand around the text
    "editor.parts": {"outline": True, "preview": True, "form": False, "findings": True},
    # how it looks
    "look.theme": "auto",
    "look.zoom": 100,
    "window.geometry": "",
    "window.maximized": False,
    "window.last": "",
    # what was chosen last
    "worklist.filter": "",
    "launcher.source": "",
    "launcher.scripts": {},
    "launcher.condition": "no-skill",
    "launcher.minutes": 30,
    "plan.choice": {},
    "data.last_folder": "",
    # comparing two versions of a text
    "prose.beside": True,
    "prose.only_changes": True,
    # the evidence: which data it was looked at with, and which outcomes are hidden
    "evidence.source": "",
    "evidence.hidden": {},
    # the diff
    "diff.widths": {},
    "diff.panel": True,
    "diff.panel_width": 290,
    "diff.only_bad_columns": False,
    "diff.columns": {},
}

ZOOMS = (80, 90, 100, 110, 125, 150, 175, 200)
"""Steps of the zoom, in per cent."""


class Settings:
    """Named values with defaults; `save` writes them whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, Any] = {}
        self.damaged: Path | None = None
        self._dirty = False
        self._load()

    def _load(self) -> None:
        try:
            text = self._path.read_text(encoding="utf-8")
            document = tomlkit.parse(text).unwrap()
        except FileNotFoundError:
            return
        except (ParseError, UnicodeDecodeError, OSError):
            aside = self._path.with_suffix(".damaged.toml")
            try:
                self._path.replace(aside)
                self.damaged = aside
            except OSError:
                log.warning("The damaged settings cannot be put aside")
            return
        for name, default in DEFAULTS.items():
            group, key = name.split(".")
            value = document.get(group, {}).get(key)
            if isinstance(value, type(default)):
                self._values[name] = value

    def get(self, name: str) -> Any:
        """The value of a declared setting.

        Raises:
            KeyError: nobody declared it.
        """
        default = DEFAULTS[name]
        value = self._values.get(name, default)
        return dict(value) if isinstance(value, dict) else value

    def set(self, name: str, value: Any) -> None:
        """Change a declared setting; written at the next `save`."""
        if not isinstance(value, type(DEFAULTS[name])):
            raise TypeError(name)
        if self.get(name) != value:
            self._values[name] = value
            self._dirty = True

    def save(self) -> bool:
        """Write the file if something changed; False when it could not be written."""
        if not self._dirty:
            return True
        document = tomlkit.document()
        for name in DEFAULTS:
            if name not in self._values:
                continue
            group, key = name.split(".")
            if group not in document:
                document[group] = tomlkit.table()
            document[group][key] = self._values[name]
        try:
            write_text(self._path, tomlkit.dumps(document), "writing the settings")
        except M4Error:
            log.warning("The settings cannot be written")
            return False
        self._dirty = False
        return True


def zoom_step(now: int, direction: int) -> int:
    """The next zoom in that direction (0: back to 100 %)."""
    if direction == 0:
        return 100
    steps = [z for z in ZOOMS if (z > now if direction > 0 else z < now)]
    if not steps:
        return now
    return min(steps) if direction > 0 else max(steps)
