"""The text as Markdown shows it, made beside the window and never with anything from elsewhere."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from engine.base.errors import M4Error
from engine.base.jobs import Job
from engine.editing.outline import section
from m4review.app.context import Context
from m4review.app.markdown import SafeBrowser, SafeHtml, safe_html
from m4review.app.widgets import label

LONG = 40_000
"""Characters above which only the section around the cursor is shown: Qt lays it out at once."""
_QUIET = 300
"""Milliseconds without a key before it is made again."""


class Preview(QWidget):
    """Follows the text and the cursor."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.browser = SafeBrowser(context, "Preview of the text")
        self.part = label("", "muted", wrap=True)
        self.part.hide()
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self.part)
        box.addWidget(self.browser, 1)
        self._text, self._line, self._shown = "", 1, ""
        self._busy = self._stopped = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_QUIET)
        self._timer.timeout.connect(self.make)

    def stop(self) -> None:
        """Make nothing any more: the window closes."""
        self._stopped = True
        self._timer.stop()

    def follow(self, text: str, line: int, *, now: bool = False) -> None:
        """The text is this now, and the cursor in that line (counted from 1)."""
        self._text, self._line = text, line
        if not self.isVisible():
            return
        if now:
            self.make()
        else:
            self._timer.start()

    def make(self) -> None:
        """Make it again, beside the window."""
        if self._stopped:
            return
        if self._busy:
            self._timer.start()
            return
        text, line = self._text, self._line
        if text == self._shown and len(text) <= LONG:
            return
        self._busy = True

        def work(_job: Job) -> tuple[SafeHtml, bool]:
            long = len(text) > LONG
            part = section(text, line)[1][: 2 * LONG] if long else text
            return safe_html(part), long

        def done(made: tuple[SafeHtml, bool]) -> None:
            self._shown = text
            self.part.setText("The text is long: this is the section that the cursor is in.")
            self.part.setVisible(made[1])
            self.browser.show_html(made[0])

        def failed(_error: M4Error) -> None:
            self.part.setText("The preview could not be made.")
            self.part.show()

        handle = self._context.runner.start(
            "Make the preview", work, on_failed=failed, quiet=True, lane="preview"
        )
        handle.done.connect(done)
        handle.over.connect(self._free)

    def _free(self) -> None:
        self._busy = False

    def show_heading(self, heading: str, nth: int) -> None:
        """Scroll to the nth (from 0) heading of these words."""
        block = self.browser.document().firstBlock()
        plain = heading.replace("`", "").replace("*", "")
        while block.isValid():
            if block.text().strip() == plain:
                if not nth:
                    cursor = QTextCursor(block)
                    top = self.browser.cursorRect(cursor).top()
                    bar = self.browser.verticalScrollBar()
                    bar.setValue(bar.value() + top)
                    return
                nth -= 1
            block = block.next()
