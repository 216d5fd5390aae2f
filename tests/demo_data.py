"""Where the open demo data and the golden tables lie, if they are there."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def demo_data() -> Path:
    """The folder of ``data/`` and ``golden/``; it need not be there."""
    return Path(os.environ.get("M4REVIEW_TEST_DATA", ROOT.parent / "shared"))
