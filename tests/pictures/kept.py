"""What the home of the pictures holds, as it is written there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

NOTE = "pictures.json"
"""In the home: which runs are there, and why others are not."""


@dataclass
class Made:
    """What the home holds."""

    runs: dict[str, str] = field(default_factory=dict)
    """Run id by short name."""
    lacking: dict[str, str] = field(default_factory=dict)
    """Why a run is not there, by short name."""
    diagnosed: list[str] = field(default_factory=list)
    """Short names of the runs whose diagnosis is kept."""


def read(root: Path) -> Made:
    """What is in the home of that folder so far."""
    try:
        return Made(**json.loads((root / NOTE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Made()


def write(root: Path, made: Made) -> None:
    """Note it, whole or not at all."""
    part = root / f"{NOTE}.new"
    part.write_text(json.dumps(vars(made), indent=1), encoding="utf-8")
    part.replace(root / NOTE)
