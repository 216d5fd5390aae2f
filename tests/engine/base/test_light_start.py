"""What is imported at the start: large libraries that few need wait until they are needed."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("scipy.stats", "scipy.optimize", "statsmodels", "matplotlib")


def test_the_workbench_starts_without_large_libraries_that_few_need() -> None:
    asked = f"import sys, engine.workbench; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"
