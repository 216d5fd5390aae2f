"""Driving the real window: waiting, finding, closing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from m4review.app.start import settle as settle_window
from m4review.app.start import wait
from m4review.app.window import MainWindow
from m4review.diff.view import DiffScreen

__all__ = ["close_window", "settle", "show_diff", "until", "wait"]


def close_window(window: MainWindow) -> None:
    """Close it, end its jobs, and let Qt delete what it holds."""
    window.context.interaction.answers = [True]
    window.close()
    for modal in QApplication.topLevelWidgets():
        if modal is not window and modal.parentWidget() is None and modal.isVisible():
            modal.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()


def settle(window: MainWindow) -> None:
    """Wait until no job is left, and for what is drawn a moment after it."""
    settle_window(window, rest=0.1)


def show_diff(window: MainWindow, path: Path, row: int | None = None) -> DiffScreen:
    """Show a diff file without a run around it."""
    screen = window.screens["diff"]
    assert isinstance(screen, DiffScreen)
    window.stack.setCurrentWidget(screen)
    screen.bind(window.actions_of)
    screen.open_file(path, row=row)
    wait(lambda: screen.grid is not None or screen.errors.error is not None, 20)
    settle(window)
    return screen


def until(window: MainWindow, holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something and let the window come to rest."""
    wait(holds, seconds)
    settle(window)
