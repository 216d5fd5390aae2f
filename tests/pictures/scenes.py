"""All scenes: importing this registers them."""

from __future__ import annotations

from pictures import (
    scenes_compare,
    scenes_diagnosis,
    scenes_diff,
    scenes_page,
    scenes_report,
    scenes_run,
    scenes_timeline,
)
from pictures.registry import SCENES, chosen

__all__ = [
    "SCENES",
    "chosen",
    "scenes_compare",
    "scenes_diagnosis",
    "scenes_diff",
    "scenes_page",
    "scenes_report",
    "scenes_run",
    "scenes_timeline",
]
