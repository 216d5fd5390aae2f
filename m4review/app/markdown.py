"""Markdown from tasks, skills and agents, shown without trusting it.

Raw HTML is not rendered, what remains is cleaned against a list of harmless tags, and the
widget loads no resource at all: no picture, no style, no file, from anywhere. A link is opened
only after the user has seen its whole address and agreed.
"""

from __future__ import annotations

from typing import Any, NewType

import nh3
from markdown_it import MarkdownIt
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QTextBrowser

from m4review.app.context import Context

_TAGS = {
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em", "code", "pre", "hr",
    "blockquote", "table", "thead", "tbody", "tr", "th", "td", "br", "a", "s",
}  # fmt: skip
_SCHEMES = {"http", "https"}
SafeHtml = NewType("SafeHtml", str)
"""HTML that `safe_html` made, and so may be shown."""


def safe_html(markdown: str) -> SafeHtml:
    """HTML with harmless tags only; pictures become their alternative text."""
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )
    parser.add_render_rule("image", _image)
    dirty = parser.render(without_front_matter(markdown))
    return SafeHtml(
        nh3.clean(
            dirty,
            tags=_TAGS,
            attributes={"a": {"href", "title"}, "ol": {"start"}},
            url_schemes=_SCHEMES,
            link_rel=None,
        )
    )


def _image(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """A picture is named, never loaded."""
    words = tokens[index].content or "no description"
    return f"[picture not shown: {nh3.clean_text(words)}]"


def without_front_matter(markdown: str) -> str:
    """The text after a YAML front matter, if there is one."""
    if not markdown.startswith("---\n"):
        return markdown
    end = markdown.find("\n---", 4)
    if end < 0:
        return markdown
    return markdown[end + 4 :].lstrip("\n")


def _sized(html: str) -> str:
    """Headings as paragraphs of a class: Qt makes its own headings larger than a pane bears."""
    for level in range(1, 7):
        html = html.replace(f"<h{level}>", f'<p class="h{min(level, 3)}">')
        html = html.replace(f"</h{level}>", "</p>")
    return html


class SafeBrowser(QTextBrowser):
    """Shows cleaned Markdown; loads nothing, opens nothing by itself."""

    def __init__(self, context: Context, name: str) -> None:
        super().__init__()
        self._context = context
        self._html = SafeHtml("")
        self.requested: list[str] = []
        """Resources that a text asked for (and did not get)."""
        self.setAccessibleName(name)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.anchorClicked.connect(self._clicked)
        context.theme_changed.connect(self._render)

    def loadResource(self, _type: int, name: QUrl | str) -> object:
        url = name.toString() if isinstance(name, QUrl) else name
        self.requested.append(url)
        return b""

    def show_markdown(self, markdown: str) -> None:
        """Render a text."""
        self.show_html(safe_html(markdown))

    def show_html(self, html: SafeHtml) -> None:
        """Show what was rendered elsewhere (in a job, say)."""
        self._html = html
        self._render()

    def _render(self) -> None:
        theme = self._context.theme
        px = self._context.px
        at = self.verticalScrollBar().value()
        self.document().setDefaultStyleSheet(
            f"body {{ line-height: 140%; }}"
            f".h1 {{ font-size: {px(20)}px; font-weight: 600; margin-top: {px(4)}px; }}"
            f".h2 {{ font-size: {px(16)}px; font-weight: 600; margin-top: {px(16)}px; }}"
            f".h3 {{ font-size: {px(14)}px; font-weight: 600; margin-top: {px(12)}px; }}"
            f"p, li {{ margin-bottom: {px(6)}px; }}"
            f"code, pre {{ font-family: 'JetBrains Mono'; font-size: {px(12)}px; }}"
            f"code {{ background-color: {theme.hover}; }}"
            f"pre {{ background-color: {theme.raised}; }}"
            f"a {{ color: {theme.accent}; }}"
            f"table {{ border-collapse: collapse; border-color: {theme.line};"
            f" margin-top: {px(6)}px; margin-bottom: {px(10)}px; }}"
            f"th {{ background-color: {theme.raised}; font-weight: 600; text-align: left; }}"
            f"th, td {{ border: 1px solid {theme.line}; padding: {px(4)}px {px(8)}px; }}"
            f"blockquote {{ color: {theme.muted}; }}"
        )
        self.document().setDocumentMargin(px(10))
        self.setHtml(_sized(self._html))
        self.verticalScrollBar().setValue(at)

    def _clicked(self, url: QUrl) -> None:
        if url.scheme() not in _SCHEMES:
            self._context.interaction.tell(
                "This link is not opened",
                "Only web addresses can be opened from a text, never files or programs.",
            )
            return
        address = url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
        if self._context.interaction.confirm(
            "Open this address in the browser?",
            f"{address}\n\nIt leaves this program; nothing else is sent.",
            yes="Open it",
        ):
            QDesktopServices.openUrl(url)
