"""Colours for Markdown, TOML and YAML, line by line, from the theme."""

from __future__ import annotations

import re
from typing import Literal

from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from m4review.app.context import Context

Language = Literal["markdown", "toml", "yaml"]

_TEXT, _FENCE, _FRONT, _FENCE_TILDE = 0, 1, 2, 3
"""States at the end of a line; -1 is the state before the first one."""
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_OPEN = re.compile(r"^ {0,3}(```|~~~)")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_INLINE: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"`[^`\n]+`"), "good", "mono"),
    (re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__"), "", "bold"),
    (re.compile(r"(?<![\w*])\*[^*\s][^*\n]*\*(?!\*)"), "", "italic"),
    (re.compile(r"!?\[[^\]\n]*\]\([^)\n]*\)"), "accent", ""),
    (re.compile(r"^\s*(?:[-*+]|\d+[.)])(?=\s)"), "accent", "bold"),
    (re.compile(r"^\s*>.*$"), "muted", ""),
    (re.compile(r"\{[a-z_]+\}"), "different", ""),
    (re.compile(r"<!--.*?-->"), "muted", "italic"),
)
_DATA: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"^\s*\[\[?[^\]]+\]\]?"), "accent", "bold"),
    (re.compile(r"^\s*(?:- )?[\w.\"'-]+(?=\s*[=:](?:\s|$))"), "accent", ""),
    (re.compile(r"(?<![\w.])[-+]?\d[\d_.]*(?![\w.])|\b(?:true|false|null)\b"), "different", ""),
    (re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'"), "good", ""),
    (re.compile(r"(?:^|(?<=\s))#.*$"), "muted", "italic"),
)


class Colours(QSyntaxHighlighter):
    """Paints what it knows; everything else is ordinary text."""

    def __init__(self, document: QTextDocument, context: Context) -> None:
        super().__init__(document)
        self._context = context
        self.language: Language = "markdown"
        self._shapes: dict[tuple[str, str], QTextCharFormat] = {}
        context.theme_changed.connect(self._again)

    def show_language(self, language: Language) -> None:
        """The text is written in another language."""
        if language != self.language:
            self.language = language
            self.rehighlight()

    def _again(self) -> None:
        self._shapes.clear()
        self.rehighlight()

    def _shape(self, colour: str, style: str) -> QTextCharFormat:
        shape = self._shapes.get((colour, style))
        if shape is None:
            shape = QTextCharFormat()
            if colour:
                shape.setForeground(QColor(getattr(self._context.theme, colour)))
            if style == "bold":
                shape.setFontWeight(QFont.Weight.Bold)
            shape.setFontItalic(style == "italic")
            self._shapes[colour, style] = shape
        return shape

    def highlightBlock(self, text: str) -> None:
        if self.language != "markdown":
            self._paint(text, _DATA)
            self.setCurrentBlockState(_TEXT)
            return
        before = self.previousBlockState()
        state = self._markdown(text, before)
        self.setCurrentBlockState(state)

    def _markdown(self, text: str, before: int) -> int:
        if before == -1 and text.rstrip() == "---" and self.currentBlock().blockNumber() == 0:
            self.setFormat(0, len(text), self._shape("muted", ""))
            return _FRONT
        if before == _FRONT:
            if text.rstrip() == "---":
                self.setFormat(0, len(text), self._shape("muted", ""))
                return _TEXT
            self._paint(text, _DATA)
            return _FRONT
        fence = _OPEN.match(text)
        if before in (_FENCE, _FENCE_TILDE):
            self.setFormat(0, len(text), self._shape("good", ""))
            closes = fence is not None and (fence.group(1) == "~~~") == (before == _FENCE_TILDE)
            return _TEXT if closes else before
        if fence is not None:
            self.setFormat(0, len(text), self._shape("good", ""))
            return _FENCE_TILDE if fence.group(1) == "~~~" else _FENCE
        if _HEADING.match(text):
            self.setFormat(0, len(text), self._shape("accent", "bold"))
            return _TEXT
        if "|" in text:
            if _TABLE_RULE.match(text):
                self.setFormat(0, len(text), self._shape("muted", ""))
                return _TEXT
            at = text.find("|")
            while at >= 0:
                self.setFormat(at, 1, self._shape("muted", ""))
                at = text.find("|", at + 1)
        self._paint(text, _INLINE)
        return _TEXT

    def _paint(self, text: str, rules: tuple[tuple[re.Pattern[str], str, str], ...]) -> None:
        plain = text.isascii() or max(text) <= "\uffff"
        for pattern, colour, style in rules:
            for match in pattern.finditer(text):
                begin, end = match.span()
                if not plain:  # Qt counts what is beyond the first plane twice
                    begin = len(text[:begin].encode("utf-16-le", "surrogatepass")) // 2
                    end = len(text[: match.end()].encode("utf-16-le", "surrogatepass")) // 2
                self.setFormat(begin, end - begin, self._shape(colour, style))
