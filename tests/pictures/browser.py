"""A page as a browser shows it, photographed by a headless Chromium if there is one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage

from pictures.images import image_of, pixels_of
from pictures.settings import Setting

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_TALL = 12_000
"""Pixels of a screen that no report fills; what is empty below is cut away."""
_BELOW = 24
_DARK, _LIGHT = 0, 1
"""Chromium's numbers for what a page is told of the reader's preference."""


class NoBrowserError(Exception):
    """There is no browser here to look through."""


def find_browser() -> str:
    """Its path.

    Raises:
        NoBrowserError: there is none.
    """
    for name in _NAMES:
        if (path := shutil.which(name)) is not None:
            return path
    raise NoBrowserError(f"No browser is installed ({', '.join(_NAMES)}).")


def photograph(page: Path, setting: Setting, width: int) -> QImage:
    """The whole page.

    Args:
        page: an HTML file.
        setting: light or dark; at 200 % as a browser enlarges: half as much room for the page.
        width: of the window in pixels at 100 %.

    Raises:
        NoBrowserError: there is none.
        OSError: it made no picture.
    """
    browser = find_browser()
    large = setting.size != "100"
    room = width // 2 if setting.size == "200" else width
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        picture = Path(place) / "page.png"
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--hide-scrollbars",
            f"--user-data-dir={place}/profile",
            f"--force-device-scale-factor={2 if large else 1}",
            f"--window-size={room},{_TALL // (2 if large else 1)}",
            f"--blink-settings=preferredColorScheme={_DARK if setting.theme == 'dark' else _LIGHT}",
            f"--screenshot={picture}",
            page.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, timeout=120, capture_output=True)
        image = QImage(str(picture))
    if image.isNull():
        raise OSError("The browser made no picture.")
    return _without_emptiness(image)


def _without_emptiness(image: QImage) -> QImage:
    """Cut away what lies below the page: rows like the last one."""
    pixels = pixels_of(image)
    differs = np.flatnonzero((pixels != pixels[-1, 0]).any(axis=(1, 2)))
    end = int(differs[-1]) + 1 + _BELOW if len(differs) else len(pixels)
    return image_of(pixels[: min(end, len(pixels))])
