"""From a run that is wrong to why: signatures, rows, a value's origin, comparison, report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from app_window import settle, until
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from sandbox_store import share_sandbox

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.workbench import RunRequest, Workbench
from m4review.app.links import RUNS, Place, parse
from m4review.app.window import MainWindow
from m4review.compare.view import CompareScreen
from m4review.diagnosis.view import DiagnosisScreen
from m4review.diff.view import DiffScreen
from m4review.run.list_view import RunsScreen
from m4review.timeline.view import TimelineScreen

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.sandbox]

TASK = "mimic-charlson-raw"
SAMPLES = Path(__file__).resolve().parents[2] / "resources" / "samples"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, sandbox_store: Path) -> tuple[Path, str, str]:
    """A home with synthetic data, and a flawed and a right run on it."""
    home = share_sandbox(open_home(tmp_path_factory.mktemp("wrong") / "home"), sandbox_store)
    bench = Workbench(home)
    bench.synth_source("invented", kind="mimic-iv", stays=60, seed=3, job=SimpleJob())
    found = [
        bench.run(
            RunRequest(task=TASK, source="invented", script=SAMPLES / f"{name}.sql"),
            job=SimpleJob(),
        ).summary.run_id
        for name in ("charlson-flawed", "charlson")
    ]
    return home.root, found[0], found[1]


def test_from_a_wrong_run_to_why(  # noqa: PLR0915 (one journey, in its order)
    open_window: Callable[..., MainWindow], runs: tuple[Path, str, str], tmp_path: Path
) -> None:
    home, flawed, right = runs
    report = tmp_path / "why.html"
    window = open_window(home, report)

    # Ctrl+E on the run page finds out what the mismatches are consistent with.
    window.go(Place("run", flawed))
    settle(window)
    QTest.keyClick(window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    why = cast("DiagnosisScreen", window.screen_shown)
    assert window.place == Place("diagnosis", flawed)
    until(window, lambda: why.model.diagnosis is not None, 240)
    found = why.model.diagnosis
    assert found is not None
    assert found.mismatches > 0
    assert found.ranked
    first = found.ranked[0]

    # Enter on it shows its rows in the diff, while the diagnosis is remembered.
    why.signatures.selectRow(0)
    QTest.keyClick(why.signatures, Qt.Key.Key_Return)
    diff = cast("DiffScreen", window.screen_shown)
    until(window, lambda: diff.model.query.chosen is not None and diff.grid is not None, 60)
    assert diff.model.view is not None
    assert diff.model.view.count == first.rows.count

    # T asks where the value under the cursor comes from.
    row = diff.model.view.row_at(max(0, diff.grid.current if diff.grid else 0))
    window.actions_of.trigger("diff.value")
    line = cast("TimelineScreen", window.screen_shown)
    until(window, lambda: line.model.page is not None, 120)
    assert line.model.page is not None
    assert line.model.page.lineage.verified
    assert line.model.page.agent is not None
    assert line.model.page.agent.statements
    assert window.place is not None
    assert (window.place.name, window.place.row) == (flawed, row)
    assert parse(window.place.link) == window.place

    # Back at the diagnosis nothing is computed again; its report is saved where it is told.
    window.go(Place("diagnosis", flawed))
    settle(window)
    assert why.model.diagnosis is found
    QTest.mouseClick(why.report_button, Qt.MouseButton.LeftButton)
    until(window, report.is_file, 240)
    settle(window)
    assert report.with_suffix(".json").is_file()
    assert any("why.html" in text for text in window.context.interaction.said)

    # Two runs that are chosen in the list are compared, the older one first.
    window.go(RUNS)
    settle(window)
    listed = cast("RunsScreen", window.screen_shown)
    listed.table.selectAll()
    assert listed.compare_button.isEnabled()
    listed.compare_button.click()
    both = cast("CompareScreen", window.screen_shown)
    until(window, lambda: both.model.page is not None, 60)
    assert window.place == Place("compare", runs=(flawed, right))
    assert both.model.file is not None
    other = both.model.file.comparison.others[0]
    assert other.rows["broken"] == 0
    assert other.rows["mended"] == both.model.file.comparison.first_wrong > 0
    file = both.model.file.path
    assert file.is_file()
    window.go(Place("compare", runs=(right, flawed)))
    until(window, lambda: both.model.page is not None, 60)
    assert not file.exists()
    assert both.model.file.comparison.others[0].rows["mended"] == 0
