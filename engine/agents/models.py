"""What the names of models say: the family's version, and which efforts can be asked for.

Measured on the pinned programs, request by request: a program may silently leave out or change
what it does not know, and a record must not claim an effort that was never sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_CLAUDE = re.compile(r"claude-(opus|sonnet|haiku)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_OLD_CLAUDE = re.compile(r"claude-(?:\d|instant)")

ADAPTIVE = (4, 6)
"""From here on Claude models decide by themselves how long to think, given an effort."""


def claude_version(model: str) -> tuple[int, int] | None:
    """Major and minor version of a Claude model's name; None of any other name."""
    if _OLD_CLAUDE.match(model):
        return (3, 0)
    found = _CLAUDE.match(model)
    return (int(found[2]), int(found[3] or 0)) if found else None


def claude_efforts(model: str) -> tuple[str, ...]:
    """Efforts that are sent for this model; of an unknown model all, as the program does."""
    version = claude_version(model)
    if version is None or version > ADAPTIVE:
        return ("low", "medium", "high", "xhigh")
    if version == ADAPTIVE or (version == (4, 5) and "opus" in model):
        return ("low", "medium", "high")
    return ()


def gemini_thinking(model: str) -> Mapping[str, Mapping[str, Any]]:
    """Effort -> generateContent's ``thinkingConfig``; empty for models that are not known.

    The 2.5 models take a budget in tokens (the figures are those that Google itself maps its
    efforts to), the 3 models a level.
    """
    if model.startswith("gemini-2.5"):
        budgets = {"low": 1024, "medium": 8192, "high": 24576}
        return {effort: {"thinkingBudget": tokens} for effort, tokens in budgets.items()}
    if model.startswith("gemini-3"):
        levels = ("minimal", "low", "medium", "high") if "flash" in model else _PRO
        return {effort: {"thinkingLevel": effort.upper()} for effort in levels}
    return {}


_PRO = ("low", "medium", "high")
