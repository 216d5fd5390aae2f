"""The QApplication: fonts that are shipped, the Fusion style, colours and size."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication

from engine import __version__
from engine.base.content import content_folder
from m4review.app import icons
from m4review.app.theme import DARK, LIGHT, Mode, Theme, palette, style_sheet

FONT = "Inter"
MONOSPACE = "JetBrains Mono"
SIZE = 10.0
"""Points of the ordinary text at 100 %."""


def make_application(arguments: list[str]) -> QApplication:
    """The one QApplication, with style and fonts; returns the one that exists, if any."""
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(arguments)
    application.setApplicationName("m4review")
    application.setApplicationDisplayName("M4 Review")
    application.setApplicationVersion(__version__)
    application.setStyle("Fusion")
    if FONT not in QFontDatabase.families() or not _has_fonts():
        for path in sorted((content_folder("resources") / "fonts").glob("*.ttf")):
            QFontDatabase.addApplicationFont(str(path))
    return application


def _has_fonts() -> bool:
    families = QFontDatabase.families()
    return FONT in families and MONOSPACE in families


def theme_for(mode: Mode) -> Theme:
    """The theme of a mode; "auto" asks the system."""
    if mode == "auto":
        scheme = QGuiApplication.styleHints().colorScheme()
        return DARK if scheme == Qt.ColorScheme.Dark else LIGHT
    return DARK if mode == "dark" else LIGHT


def text_font(zoom: float) -> QFont:
    """The font of ordinary text."""
    font = QFont(FONT)
    font.setPointSizeF(SIZE * zoom)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return font


def apply_look(theme: Theme, zoom: float, scratch: Path) -> None:
    """Colours and sizes for the whole program.

    `scratch` is where the two pictures that a style sheet must load from files are kept.
    """
    application = cast("QApplication", QApplication.instance())
    icons.forget()
    application.setPalette(palette(theme))
    application.setFont(text_font(zoom))
    mode = "dark" if theme.dark else "light"
    down, up = scratch / f"arrow-down-{mode}.png", scratch / f"arrow-up-{mode}.png"
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        icons.pixmap("chevron-down", theme.muted, 48).save(str(down))
        icons.pixmap("chevron-up", theme.muted, 48).save(str(up))
    except OSError:  # no room: a combo box without its arrow is still a combo box
        logging.getLogger(__name__).warning("A picture of the style cannot be written")
    application.setStyleSheet(
        style_sheet(theme, zoom, arrow=down.as_posix(), arrow_up=up.as_posix())
    )


def window_icon() -> QIcon:
    """The program's icon."""
    return icons.icon("git-compare-arrows", QColor(LIGHT.accent).name())


def start_log(folder: Path) -> None:
    """Log to a file of the home folder: what the program did, never what the data say."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            folder / "m4review.log", maxBytes=1_000_000, backupCount=2, encoding="utf-8", delay=True
        )
    except OSError:
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
