"""A line above the table: why the output could not be read, or lacks columns."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel

from engine.diagnosis import Judged
from m4review.app.widgets import keep_height, set_tone
from m4review.diff.words import judged_words


class JudgedLine(QLabel):
    """Hidden where the judge says nothing of the kind."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setAccessibleName("What the judge says of this output")
        set_tone(self, "bad")
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        keep_height(self)

    def tell(self, judged: tuple[Judged, ...]) -> None:
        """Say it."""
        self.setText(judged_words(judged))
        self.setVisible(bool(judged))
        keep_height(self)
