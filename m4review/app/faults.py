"""Faults that nobody foresaw, for the log: where they came from, never what they said.

The text of an exception may quote a cell or a path; its type and the lines of our own code that
it passed do not.
"""

from __future__ import annotations

import traceback
from pathlib import Path


def where(error: BaseException) -> str:
    """Types and code lines of an error and of what caused it, without any message."""
    parts: list[str] = []
    seen: set[int] = set()
    now: BaseException | None = error
    while now is not None and id(now) not in seen:
        seen.add(id(now))
        frames = traceback.extract_tb(now.__traceback__)
        lines = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames]
        parts.append(f"{type(now).__name__} at " + (" > ".join(lines) or "an unknown place"))
        now = now.__cause__ or now.__context__
    return "; caused by ".join(parts)
