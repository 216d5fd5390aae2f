"""Texts where Qt decides by itself whether they are HTML: tool tips."""

from __future__ import annotations

import html
import textwrap

from PySide6.QtGui import Qt

_ACROSS = 88
"""Characters of a line that is still easy to read."""


def in_lines(text: str) -> str:
    """A text whose long lines are broken at blanks; a tip's would be as wide as the screen."""
    lines = text.splitlines()
    return "\n".join(
        line if len(line) <= _ACROSS else textwrap.fill(
            line, _ACROSS, break_long_words=False, break_on_hyphens=False
        )
        for line in lines
    )  # fmt: skip


def as_written(text: str) -> str:
    """A text that a tool tip shows letter by letter, whatever it is.

    Qt takes for HTML what looks like it, and would load the pictures that it names. Tips say values
    of tables, names of files and words of agents: none of these is ever HTML.
    """
    if not Qt.mightBeRichText(text):
        return text
    return f'<span style="white-space: pre-wrap">{html.escape(text)}</span>'
