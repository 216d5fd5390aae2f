"""Line icons in the colour that is asked for, sharp at every scale."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from engine.base.content import content_folder

_SIDES = (16, 24, 32, 48)


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    path = content_folder("resources") / "icons" / f"{name}.svg"
    text = path.read_text(encoding="utf-8").replace("currentColor", colour)
    return QSvgRenderer(QByteArray(text.encode("utf-8")))


@lru_cache(maxsize=256)
def icon(name: str, colour: str, faded: str = "#8a96a3") -> QIcon:
    """The icon called `name` (a file of resources/icons) in `colour`."""
    result = QIcon()
    for mode, shade in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, faded)):
        for side in _SIDES:  # Qt takes the nearest for a size and pixel ratio
            result.addPixmap(pixmap(name, shade, side), mode)
    return result


def pixmap(name: str, colour: str, side: int, ratio: float = 1.0) -> QPixmap:
    """A square picture of `side` logical pixels for a screen of that pixel ratio."""
    pixels = max(1, round(side * ratio))
    result = QPixmap(pixels, pixels)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    _renderer(name, colour).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    result.setDevicePixelRatio(ratio)
    return result


def forget() -> None:
    """Let go of what was cached (needs a living QApplication)."""
    icon.cache_clear()
    _renderer.cache_clear()
