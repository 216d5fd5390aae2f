"""SQL in colours that follow the theme (Pygments reads it; texts here are short)."""

from __future__ import annotations

from pygments.lexers.sql import SqlLexer
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from m4review.app.context import Context

_COLOURS = (
    ("Token.Comment", "muted"),
    ("Token.Keyword", "accent"),
    ("Token.Name.Builtin", "accent"),
    ("Token.Literal.String", "good"),
    ("Token.Literal.Number", "different"),
)
"""Kinds of token (their beginnings) and theme colours."""


class SqlHighlighter(QSyntaxHighlighter):
    """Colours keywords, strings, numbers and comments, line by line."""

    def __init__(self, document: QTextDocument, context: Context) -> None:
        super().__init__(document)
        self._context = context
        self._lexer = SqlLexer(stripnl=False, ensurenl=False)
        context.theme_changed.connect(self._again)

    def _again(self) -> None:
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        at = 0
        for kind, value in self._lexer.get_tokens(text):
            name = str(kind)
            colour = next((c for start, c in _COLOURS if name.startswith(start)), "")
            if colour:
                shape = QTextCharFormat()
                shape.setForeground(QColor(getattr(self._context.theme, colour)))
                if name.startswith("Token.Keyword"):
                    shape.setFontWeight(QFont.Weight.DemiBold)
                shape.setFontItalic(name.startswith("Token.Comment"))
                self.setFormat(at, len(value), shape)
            at += len(value)
