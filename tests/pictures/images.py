"""Pictures as arrays, and several of them on one sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter

from pictures.colour import DEFICIENCIES, Pixels, simulate

_GAP = 12
_TITLE = 34
"""Height of the words over a picture."""


@dataclass(frozen=True)
class Tile:
    """One picture on a sheet."""

    words: str
    """What stands over it."""
    image: QImage | None
    """None leaves its place empty."""


def pixels_of(image: QImage) -> Pixels:
    """Height × width × 3 (red, green, blue)."""
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    flat = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return flat[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def image_of(pixels: Pixels) -> QImage:
    """The way back."""
    height, width, _ = pixels.shape
    data = np.ascontiguousarray(pixels).tobytes()
    return QImage(data, width, height, 3 * width, QImage.Format.Format_RGB888).copy()


def save(image: QImage, path: Path) -> None:
    """Write a PNG.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not image.save(str(path)):
        raise OSError(f"{path} cannot be written")


def colour_blind(image: QImage) -> QImage:
    """A picture and the three simulations of it, two by two."""
    pixels = pixels_of(image)
    tiles = [Tile("as it is", image_of(pixels))]
    tiles += [Tile(name, image_of(simulate(pixels, name))) for name in DEFICIENCIES]
    return sheet([tiles[:2], tiles[2:]])


def sheet(rows: Sequence[Sequence[Tile]]) -> QImage:
    """Pictures in rows, each with its words over it; nothing is scaled.

    Needs a QGuiApplication, for the letters.
    """
    images = [tile.image for row in rows for tile in row if tile.image is not None]
    width = max(image.width() for image in images) + _GAP
    height = max(image.height() for image in images) + _TITLE + _GAP
    across = max(len(row) for row in rows)
    whole = QImage(width * across + _GAP, height * len(rows) + _GAP, QImage.Format.Format_RGB888)
    whole.fill(QColor("#808080"))
    painter = QPainter(whole)
    font = QFont("Inter")
    font.setPixelSize(20)
    painter.setFont(font)
    painter.setPen(QColor("white"))
    for down, row in enumerate(rows):
        for right, tile in enumerate(row):
            x, y = _GAP + right * width, down * height
            words = tile.words if tile.image is not None else f"{tile.words}: no picture"
            painter.drawText(
                QRect(x, y, width, _TITLE + _GAP // 2), Qt.AlignmentFlag.AlignVCenter, words
            )
            if tile.image is not None:
                painter.drawImage(x, y + _TITLE + _GAP // 2, tile.image)
    painter.end()
    return whole
