"""Putting the parts together: application, engine, window; and the way to pictures of them."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from engine.base.errors import M4Error, MissingPrerequisite, StorageFull
from engine.base.paths import Home
from engine.workbench import Workbench
from m4review.app.application import make_application, start_log
from m4review.app.context import Context
from m4review.app.dialogs import Dialogs
from m4review.app.faults import where
from m4review.app.interaction import Interaction
from m4review.app.jobs import JobRunner
from m4review.app.links import DATA, MODELS, PLAN, QUEUE, REVIEWS, RUNS, WORKLIST, Place, parse
from m4review.app.settings import Settings
from m4review.app.typing_first import TypingFirst
from m4review.app.window import MainWindow

log = logging.getLogger(__name__)
_SWITCH = 0.0005
"""Seconds after which a thread that computes lets the window's thread go on."""


def make_window(
    home: Home, *, interaction: Interaction | None = None, content: Path | None = None
) -> MainWindow:
    """A window on a home, not yet shown.

    Args:
        home: where everything is kept.
        interaction: who is asked; dialogs over the window when None.
        content: a folder with `tasks/` and `skills/` that is reviewed instead of the shipped one.
    """
    # A worker that computes in Python must not keep the window waiting at every single call.
    sys.setswitchinterval(_SWITCH)
    runner = JobRunner()
    context = Context(
        workbench=Workbench(home, content=content),
        runner=runner,
        settings=Settings(home.settings),
        interaction=interaction or Interaction(),
    )
    window = MainWindow(context)
    runner.setParent(window)
    context.setParent(window)
    TypingFirst(window)
    if interaction is None:
        context.interaction = Dialogs(window)
    return window


def open_window(home: Home, address: str | None, content: Path | None = None) -> int:
    """Show the window and run until it is closed; returns the exit code.

    Raises:
        UsageError: the address names nothing.
        MissingPrerequisite: there is no display.
    """
    place = parse(address) if address else WORKLIST
    _check_display()
    application = make_application(sys.argv[:1])
    start_log(home.logs)
    window = make_window(home, content=content)
    _tell_unforeseen(window)
    # Python's handlers run only between two of its own steps: a slow timer makes some.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: window.close_now())
    beat = QTimer(window)
    beat.start(300)
    beat.timeout.connect(lambda: None)
    window.show()
    window.recover()
    window.go(place)
    spare_what_stays()
    code = application.exec()
    beat.stop()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return code


def spare_what_stays() -> None:
    """Keep Python's search for unused cycles away from what the start made.

    Modules, widgets and tables (a quarter of a million objects) live as long as the program; going
    through them would hold the window up for a tenth of a second every now and then.
    """
    gc.collect()
    gc.freeze()


def _check_display() -> None:
    """Without any display Qt would abort the process, with words that help nobody."""
    named = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform == "linux" and not any(os.environ.get(name) for name in named):
        raise MissingPrerequisite(
            "There is no display here to open a window on.",
            todo="Start it in a desktop session (or with ssh -X). Without one, "
            "m4review --screenshot DIR saves pictures of the screens, and m4bench does the rest.",
        )


def _tell_unforeseen(window: MainWindow) -> None:
    """A fault in a slot is told once in the window and logged, and the window lives on."""

    def hook(_kind: type[BaseException], error: BaseException, _trace: object) -> None:
        log.error("A fault that nobody foresaw: %s", where(error))
        if threading.current_thread() is threading.main_thread():
            window.context.told.emit(
                "The program met a fault of its own; details are in the log folder of the home."
            )

    sys.excepthook = hook


# --- pictures


def save_pictures(home: Home, folder: Path, address: str | None) -> int:
    """Render the screens offscreen and save them as PNG; returns the exit code.

    The worklist, data, runs; and what the address names: its task, run and diff.

    Raises:
        StorageFull: a picture cannot be written.
        UsageError: the address names nothing.
    """
    if "DISPLAY" not in os.environ and "WAYLAND_DISPLAY" not in os.environ:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    place = parse(address) if address else None
    make_application(sys.argv[:1])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFull("The folder for the pictures cannot be made.") from error
    window = make_window(home, interaction=Interaction())
    window.resize(1440, 900)
    window.show()
    try:
        _take_all(window, folder, place)
    finally:
        window.close()
        window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return 0


def _take_all(window: MainWindow, folder: Path, place: Place | None) -> None:
    workbench = window.context.workbench
    run_id = place.name if place and place.screen in ("run", "diff") else ""
    if not run_id:
        runs = [run for run in workbench.runs() if not run.live]
        run_id = runs[0].run_id if runs else ""
    task = place.name if place and place.screen in ("task", "launch") else ""
    if run_id and not task:
        task = workbench.run_record(run_id).summary.task
    places = [WORKLIST, DATA, RUNS, QUEUE, PLAN, MODELS, REVIEWS]
    if task:
        places += [Place("task", task), Place("launch", task)]
    if run_id:
        row = place.row if place else None
        places += [Place("run", run_id), Place("diff", run_id, row)]
    for number, there in enumerate(places, start=1):
        window.go(there)
        settle(window)
        path = folder / f"{number}-{there.screen}.png"
        if not window.grab().save(str(path)):
            raise StorageFull(
                "A picture cannot be written.", todo="Check the folder and the room on the disk."
            )


def settle(window: MainWindow, seconds: float = 60, *, rest: float = 0.4) -> None:
    """Let the window work until no job is left and what it brought is painted.

    Args:
        window: the window.
        seconds: at most so long.
        rest: seconds without a job at the end, for what is drawn or begun a moment later.

    Raises:
        M4Error: it takes longer than `seconds`.
    """
    runner = window.context.runner
    QApplication.processEvents()  # the outcome of one job may start the next
    quiet = time.monotonic()

    def rested() -> bool:
        nonlocal quiet
        if runner.live:
            quiet = time.monotonic()
        return time.monotonic() > quiet + rest

    wait(rested, seconds + rest)


def wait(until: Callable[[], bool], seconds: float) -> None:
    """Run the event loop until something holds.

    Raises:
        M4Error: it does not hold after `seconds`.
    """
    QApplication.processEvents()
    end = time.monotonic() + seconds
    loop = QEventLoop()
    while not until():
        if time.monotonic() > end:
            raise M4Error("The window did not come to rest.")
        QTimer.singleShot(10, loop.quit)
        loop.exec()
    QApplication.processEvents()
