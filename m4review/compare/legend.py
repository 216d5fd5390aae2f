"""What the parts of the bars mean."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from m4review.app.context import Context
from m4review.app.tips import as_written
from m4review.app.widgets import label
from m4review.compare.words import DRAWN, LOOKS


def legend(context: Context, ratio: float) -> list[QWidget]:
    """A swatch and its words for each change."""
    widgets: list[QWidget] = []
    for change in DRAWN:
        look = LOOKS[change]
        side = round(context.px(16) * ratio)
        picture = QPixmap(side, side)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        colour = QColor(getattr(context.theme, look.colour))
        painter.setPen(QPen(colour, max(1.0, ratio)))
        painter.setBrush(QBrush(colour, look.pattern))
        painter.drawRect(1, 1, side - 3, side - 3)
        painter.end()
        picture.setDevicePixelRatio(ratio)
        swatch = QLabel()
        swatch.setPixmap(picture)
        words = label(f"{look.sign} {look.words}")
        words.setToolTip(as_written(look.about))
        both = QWidget()  # the words keep to their own swatch
        line = QHBoxLayout(both)
        line.setContentsMargins(0, 0, context.px(10), 0)
        line.addWidget(swatch)
        line.addWidget(words)
        widgets.append(both)
    return widgets
