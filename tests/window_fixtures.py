"""A window of the real program, closed and gone after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app_window import close_window
from PySide6.QtWidgets import QApplication

from engine.base.paths import open_home
from engine.workbench import Workbench
from m4review.app.application import apply_look, make_application
from m4review.app.context import Context
from m4review.app.interaction import Interaction
from m4review.app.jobs import JobRunner
from m4review.app.settings import Settings
from m4review.app.start import make_window
from m4review.app.window import MainWindow


@pytest.fixture
def app(qapp: QApplication) -> QApplication:
    """The application with its fonts and style."""
    return make_application([])


@pytest.fixture
def runner(qapp: QApplication) -> Iterator[JobRunner]:
    """A job runner without a window."""
    runner = JobRunner()
    yield runner
    assert runner.shut_down(), "a job went on"


@pytest.fixture
def context(app: QApplication, runner: JobRunner, tmp_path: Path) -> Iterator[Context]:
    """What a widget is given, on an empty home: quicker than a window."""
    home = open_home(tmp_path / "home")
    made = Context(
        workbench=Workbench(home),
        runner=runner,
        settings=Settings(home.settings),
        interaction=Interaction(),
    )
    apply_look(made.theme, made.zoom, home.scratch)
    yield made
    made.deleteLater()


@pytest.fixture
def open_window(app: QApplication, tmp_path: Path) -> Iterator[Callable[..., MainWindow]]:
    """Opens windows on a home (default: an empty one); nobody answers unless told how."""
    windows: list[MainWindow] = []

    def make(home: Path | None = None, *answers: object) -> MainWindow:
        window = make_window(
            open_home(home or tmp_path / "home"), interaction=Interaction(list(answers))
        )
        window.resize(1280, 820)
        window.show()
        windows.append(window)
        return window

    yield make
    for window in windows:
        close_window(window)
