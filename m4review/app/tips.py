"""Texts where Qt decides by itself whether they are HTML: tool tips."""

from __future__ import annotations

import html

from PySide6.QtGui import Qt


def as_written(text: str) -> str:
    """A text that a tool tip shows letter by letter, whatever it is.

    Qt takes for HTML what looks like it, and would load the pictures that it names. Tips say values
    of tables, names of files and words of agents: none of these is ever HTML.
    """
    if not Qt.mightBeRichText(text):
        return text
    return f'<span style="white-space: pre-wrap">{html.escape(text)}</span>'
