"""Icons of answers and standings as they are drawn in lists."""

from __future__ import annotations

from PySide6.QtGui import QIcon

from m4review.app import icons
from m4review.app.theme import Theme
from m4review.review.words import ANSWER_SIGNS, STANDING_SIGNS, Sign


def answer_icon(theme: Theme, verdict: str | None) -> QIcon:
    """The sign of an answer; a dash for none."""
    return _icon(theme, ANSWER_SIGNS[verdict or ""])


def standing_icon(theme: Theme, standing: str) -> QIcon:
    """The sign of a standing."""
    return _icon(theme, STANDING_SIGNS[standing])


def _icon(theme: Theme, sign: Sign) -> QIcon:
    return icons.icon(sign.icon, getattr(theme, sign.tone))
