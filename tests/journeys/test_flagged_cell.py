"""A value that a real run got wrong goes into the review that waits, and leads back to its cell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from app_window import settle, until
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from review_homes import make_team
from sandbox_store import share_sandbox
from two_reviewers import holding

from engine.base.jobs import SimpleJob
from m4review.app.links import Place, parse
from m4review.app.window import MainWindow
from m4review.diff.view import DiffScreen
from m4review.launcher.view import LauncherScreen
from m4review.review.sheet.view import ReviewScreen
from m4review.timeline.view import TimelineScreen

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.sandbox]

TASK = "mimic-ventilation-raw"
FLAWED = (
    Path(__file__).resolve().parent.parent.parent
    / "resources" / "samples" / "ventilation-raw-flawed.sql"
)  # fmt: skip
REFERENCE = "Validity of the reference"
Key = Qt.Key


def diff_of(window: MainWindow) -> DiffScreen:
    until(window, lambda: getattr(window.screen_shown, "grid", None) is not None, 120)
    return cast("DiffScreen", window.screen_shown)


def test_a_cell_of_a_real_run_goes_into_the_review_and_leads_back(  # noqa: PLR0915 - one story
    open_window: Callable[..., MainWindow],
    tmp_path: Path,
    sandbox_store: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    team = make_team(tmp_path, monkeypatch, task=TASK, family="ventilation")
    bench = team.at("anna")
    share_sandbox(bench.home, sandbox_store)
    bench.synth_source("invented", kind="mimic-iv", stays=60, seed=3, job=SimpleJob())
    window = open_window(bench.home.root)
    told: list[str] = []
    window.context.told.connect(told.append)

    # A run, made here, of a script with a flaw.
    window.go(Place("launch", TASK))
    settle(window)
    launcher = cast("LauncherScreen", window.screen_shown)
    until(window, lambda: launcher.model.backends is not None, 120)
    launcher.drop.dropped.emit(FLAWED)
    QTest.keyClick(window, Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    until(window, lambda: window.place is not None and window.place.screen == "run", 180)
    QTest.keyClick(window.screen_shown, Key.Key_Return)
    diff = diff_of(window)
    grid, view = diff.grid, diff.model.view
    assert grid is not None
    assert view is not None

    # The first value that differs, by keys; F6, and the question that it belongs to.
    QTest.keyClick(window, Key.Key_F8)
    settle(window)
    row, column = view.row_at(grid.current), "ventilation_status"
    shown = diff.row_panel._head.text()
    assert shown.startswith("Row ")
    at = next(n for n, c in enumerate(grid.model.columns) if c.scored and c.scored.name == column)
    grid.values.setCurrentIndex(grid.model.index(grid.current, at))
    settle(window)
    cell = Place("timeline", diff.run_id, row, column=column)
    window.context.interaction.answers = [REFERENCE]
    QTest.keyClick(window, Key.Key_F6)
    settle(window)
    assert told[-1].startswith(f"Flagged: {REFERENCE}")
    # From the timeline of the same value it is the same address; another value is another.
    QTest.keyClick(window, Key.Key_F7)
    settle(window)
    assert window.place == cell
    window.context.interaction.answers = [REFERENCE]
    QTest.keyClick(window, Key.Key_F6)
    settle(window)
    assert told[-1].startswith("It is flagged already")
    window.go(Place("timeline", diff.run_id, row, column="endtime"))
    settle(window)
    window.context.interaction.answers = ["Windows"]
    QTest.keyClick(window, Key.Key_F6)
    settle(window)
    assert told[-1].startswith("Flagged: Windows")

    # The review shows both, and each leads to where it came from.
    window.go(Place("review", TASK))
    settle(window)
    review = cast("ReviewScreen", window.screen_shown)
    assert review.model.entry_of("reference")["rows"] == [cell.link]
    (other,) = review.model.entry_of("windows")["rows"]
    assert parse(other).column == "endtime"
    review.model.choose("reference")
    settle(window)
    rows = review.writing.answer.attachments
    assert rows.count() == 1
    assert rows.item(0).text() == f"Flagged {shown.lower()}, {column} of a run"
    where = rows.visualItemRect(rows.item(0)).center()
    for press in (QTest.mouseClick, QTest.mouseDClick):
        press(rows.viewport(), Qt.MouseButton.LeftButton, pos=where)
    settle(window)
    assert window.place == cell
    timeline = cast("TimelineScreen", window.screen_shown)
    assert timeline.model.place == cell
    assert timeline.errors.error is None
    QTest.mouseClick(timeline.diff_button, Qt.MouseButton.LeftButton)
    diff = diff_of(window)
    assert diff.grid is not None
    assert diff.model.view is not None
    assert diff.model.view.row_at(diff.grid.current) == row
    # What was flagged is the reviewer's until it is signed.
    assert holding(bench.home.root / "reviews", cell.link) == []
    window.close()
