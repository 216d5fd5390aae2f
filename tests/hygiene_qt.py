"""What a test may leave behind in Qt: windows, timers, threads."""

from __future__ import annotations

from collections.abc import Hashable

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QThread, QThreadPool, QTimer
from PySide6.QtWidgets import QApplication


def _entry(what: str, thing: QObject) -> tuple[Hashable, str]:
    name = f" {thing.objectName()!r}" if thing.objectName() else ""
    return shiboken6.getCppPointer(thing)[0], f"{what} {type(thing).__name__}{name}"


def present() -> dict[Hashable, str]:
    """Top-level widgets, repeating timers and running threads of the application, if any."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        return {}
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    windows = [w for w in app.topLevelWidgets() if w.parentWidget() is None]
    found = dict(_entry("widget", window) for window in windows)
    for owner in (app, *windows):
        timers = owner.findChildren(QTimer)
        threads = owner.findChildren(QThread)
        found |= dict(_entry("timer", t) for t in timers if t.isActive() and not t.isSingleShot())
        found |= dict(_entry("Qt thread", thread) for thread in threads if thread.isRunning())
    if QThreadPool.globalInstance().activeThreadCount():
        found["pool"] = "work in Qt's global thread pool"
    return found
