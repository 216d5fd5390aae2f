"""The real window on the home of the pictures, and the camera before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from app_window import close_window
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QScrollArea

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.scoring.diff import CELL_WORDS
from m4review.app.context import Screen
from m4review.app.interaction import Interaction
from m4review.app.links import Place
from m4review.app.settings import Settings
from m4review.app.start import make_window, settle, wait
from m4review.app.window import MainWindow
from m4review.compare.view import CompareScreen
from m4review.diagnosis.view import DiagnosisScreen
from m4review.diff.grid import DiffGrid
from m4review.diff.layout import Layout, ScoredColumn
from m4review.diff.reader import DiffFile
from m4review.diff.view import DiffScreen
from m4review.timeline.view import TimelineScreen
from pictures.images import colour_blind, save
from pictures.settings import HEIGHT, WIDTH, Setting

PATIENCE = 300
"""Seconds after which what does not come to rest has failed; a diagnosis may take 90."""
_OVERLAP = 60
"""Pixels at 100 % that two pictures of a long page share."""


class Stage:
    """Scenes in one setting; the window is made when it is first looked at.

    Args:
        home: where the runs are.
        setting: how it looks.
        folder: gets the pictures.
        runs: run ids by the short names of `home.RUNS`.
        blind: also save what the colour-blind see.
        tell: told the name of each picture.
    """

    def __init__(
        self,
        home: Home,
        setting: Setting,
        folder: Path,
        runs: Mapping[str, str],
        *,
        blind: bool,
        tell: Callable[[str], None],
    ) -> None:
        self.home, self.setting, self.folder, self.runs = home, setting, folder, runs
        self.scene, self._blind, self._tell = "", blind, tell
        self._window: MainWindow | None = None

    # --- the window

    @property
    def window(self) -> MainWindow:
        """The window, shown, with nothing remembered of an earlier one."""
        if self._window is None:
            self.home.settings.unlink(missing_ok=True)
            look = Settings(self.home.settings)
            look.set("look.theme", self.setting.theme)
            look.set("look.zoom", self.setting.zoom)
            look.save()
            self._window = make_window(self.home, interaction=Interaction())
            self._window.resize(WIDTH, HEIGHT)
            self._window.show()
            self._window.activateWindow()
            self.rest()
        return self._window

    def clear(self) -> None:
        """Make room for the next scene: nothing is open, everything stands as at first."""
        if self._window is None:
            return
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        self._window.resize(WIDTH, HEIGHT)
        diff, compare = self.diff, self.compare
        diff.show_table()
        diff._close_file()
        diff.run_id = ""
        diff.panels.setCurrentIndex(0)
        compare.model.close()
        compare.model.runs = ()
        for tabs in (compare.tabs, self.diagnosis.tabs, self.timeline.panels):
            tabs.setCurrentIndex(0)

    def close(self) -> None:
        """Close the window; whatever it still did is ended."""
        if self._window is not None:
            close_window(self._window)
            self._window = None

    def rest(self) -> None:
        """Wait until nothing is worked on and everything is painted."""
        window = self.window
        settle(window, PATIENCE, rest=0.15)
        grid = self.diff.grid
        if grid is not None and grid.isVisible():
            wait(lambda: _filled(grid), 30)
        page = self.diff.page
        if page is not None and page.isVisible() and page.model.study is not None:
            wait(lambda: page.drawn, 30)
        settle(window, PATIENCE, rest=0.1)

    def until(self, holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait for something."""
        wait(holds, seconds)

    def pause(self, seconds: float) -> None:
        """Let what counts time, as a bar that comes late, count it."""
        over: list[bool] = []
        QTimer.singleShot(round(seconds * 1000), self.window, lambda: over.append(True))
        wait(lambda: bool(over), seconds + 30)

    def go(self, place: Place) -> None:
        """Go somewhere and wait until it stands."""
        self.window.go(place)
        self.rest()

    # --- the screens

    def _screen(self, name: str) -> Screen:
        return self.window.screens[name]

    @property
    def diff(self) -> DiffScreen:
        """The diff."""
        return cast("DiffScreen", self._screen("diff"))

    @property
    def diagnosis(self) -> DiagnosisScreen:
        """What went wrong."""
        return cast("DiagnosisScreen", self._screen("diagnosis"))

    @property
    def timeline(self) -> TimelineScreen:
        """Where a value comes from."""
        return cast("TimelineScreen", self._screen("timeline"))

    @property
    def compare(self) -> CompareScreen:
        """Runs beside each other."""
        return cast("CompareScreen", self._screen("compare"))

    def open_diff(self, run: str, row: int | None = None) -> DiffScreen:
        """The diff of a run, with its first mismatch chosen."""
        self.go(Place("diff", self.runs[run], row))
        diff = self.diff
        wait(lambda: diff.grid is not None or diff.errors.error is not None, 60)
        self.rest()
        return diff

    def grid(self) -> DiffGrid:
        """The table of the diff that is open."""
        grid = self.diff.grid
        assert grid is not None, "the diff did not open"
        return grid

    def column(self, name: str) -> int:
        """Index of a scored column of the diff that is open."""
        return _of(self.diff.model.layout, name).index

    def row_of(self, run: str, column: str, status: str = "different", key: str = "") -> int:
        """The first row of a run's diff whose cell has that status; one of `key` goes before.

        Raises:
            AssertionError: there is none.
        """
        path = self.window.context.workbench.diff_of(self.runs[run], job=SimpleJob())
        assert path is not None, run
        file = DiffFile(path, scratch=self.home.scratch)
        try:
            scored = _of(file.layout, column)
            with file.cursor() as cursor:
                found = cursor.execute(
                    f"SELECT row FROM diff WHERE {scored.status} = ? "
                    "ORDER BY CAST(k0 AS VARCHAR) <> ?, row LIMIT 1",
                    [CELL_WORDS.index(status), key],
                ).fetchone()
        finally:
            file.close()
        assert found is not None, f"no cell of {column} is {status}"
        return int(found[0])

    # --- the camera

    def shot(self, part: str = "", *, still: bool = True) -> None:
        """Take a picture of the window and of what has popped up over it.

        Args:
            part: told apart from the scene's other pictures by this.
            still: wait for rest first.
        """
        if still:
            self.rest()
        whole = self.window.grab()
        painter = QPainter(whole)
        for other in QApplication.topLevelWidgets():
            if other is not self.window and other.isVisible():
                painter.drawPixmap(self.window.mapFromGlobal(other.pos()), other.grab())
        painter.end()
        self.keep(whole.toImage(), part)

    def keep(self, image: QImage, part: str = "") -> None:
        """Save a picture."""
        name = f"{self.scene}-{part}" if part else self.scene
        save(image, self.folder / self.setting.name / f"{name}.png")
        if self._blind:
            blind = self.folder / "colour-blind" / self.setting.name / f"{name}.png"
            save(colour_blind(image), blind)
        self._tell(name)

    def shots_down(self, area: QScrollArea, part: str) -> None:
        """Take pictures of a page from its top to its end."""
        self.rest()
        bar, number = area.verticalScrollBar(), 1
        bar.setValue(0)
        step = max(1, bar.pageStep() - round(_OVERLAP * self.setting.zoom / 100))
        self.shot(f"{part}-{number}" if part else str(number))
        while bar.value() < bar.maximum():
            bar.setValue(bar.value() + step)
            number += 1
            self.shot(f"{part}-{number}" if part else str(number))


def _of(layout: Layout, name: str) -> ScoredColumn:
    names = [each.name for each in layout.scored]
    assert name in names, f"no column is called {name}; there are {', '.join(names)}"
    return layout.scored[names.index(name)]


def _filled(grid: DiffGrid) -> bool:
    """Has every row in sight been read?"""
    first, last = grid.values.visible_rows()
    last = min(last, grid.model.rowCount() - 1)
    return all(grid.model.record(at) is not None for at in range(max(0, first), last + 1))
