"""Pens, brushes and little pictures of the roles, for the picture and its legend."""

from __future__ import annotations

import pyqtgraph
from pyqtgraph.graphicsItems.ScatterPlotItem import drawSymbol
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QIcon, QPainter, QPen, QPixmap

from engine.diagnosis.lineage import Role
from m4review.app.theme import Theme
from m4review.timeline.words import LOOKS, Look

_PATTERNS = {
    "decisive": Qt.BrushStyle.SolidPattern,
    "entered": Qt.BrushStyle.NoBrush,
    "outside": Qt.BrushStyle.Dense6Pattern,
    "rejected": Qt.BrushStyle.DiagCrossPattern,
    "missed": Qt.BrushStyle.BDiagPattern,
}
"""Fill of a bar, since a bar has no shape of its own."""


def pen_of(look: Look, colour: str, zoom: float) -> QPen:
    """The outline of a role's marks."""
    drawn: QPen = pyqtgraph.mkPen(colour, width=(2.0 if not look.filled else 1.2) * zoom)
    return drawn


def brush_of(look: Look, colour: str, *, bar: bool) -> QBrush:
    """The fill of a role's marks."""
    if bar:
        role = next(role for role, each in LOOKS.items() if each is look)
        fill = QColor(colour)
        if role == "decisive":
            fill.setAlpha(190)
        return QBrush(fill, _PATTERNS[role])
    return QBrush(QColor(colour)) if look.filled else QBrush(Qt.BrushStyle.NoBrush)


def role_icon(role: Role, theme: Theme, side: int, ratio: float) -> QIcon:
    """A role's mark for buttons and lists.

    Args:
        role: which one.
        theme: the colours.
        side: logical pixels.
        ratio: of the screen.
    """
    look = LOOKS[role]
    colour = getattr(theme, look.colour)
    pixels = max(1, round(side * ratio))
    picture = QPixmap(pixels, pixels)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(pixels / 2, pixels / 2)
    size = pixels * 0.68
    drawn = pen_of(look, colour, 1.0)
    drawn.setWidthF(max(1.0, pixels / 9))
    drawSymbol(painter, look.symbol, size, drawn, brush_of(look, colour, bar=False))
    painter.end()
    picture.setDevicePixelRatio(ratio)
    return QIcon(picture)
