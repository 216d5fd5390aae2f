"""Comparing runs in the window: pages of aligned rows, bars, given texts, which runs fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from app_window import settle
from diff_factory import make_diff
from PySide6.QtGui import QTextCursor, QTextFormat
from test_viewmodels import summary

from engine.base.jobs import SimpleJob
from engine.diagnosis.compare import CHANGES, compare
from m4review.app.window import MainWindow
from m4review.compare.beside import GivenPane
from m4review.compare.given import given_to
from m4review.compare.reader import PAGE, Chosen, ComparisonFile
from m4review.compare.view import CompareScreen
from m4review.compare.viewmodel import Side, comparable
from m4review.compare.words import DRAWN, LOOKS

ROWS = 3_000


@pytest.fixture(scope="module")
def diffs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two diffs: the second run has the score right everywhere."""
    folder = tmp_path_factory.mktemp("compared")
    first, second = folder / "a.duckdb", folder / "b.duckdb"
    make_diff(first, ROWS)
    make_diff(second, ROWS)
    with duckdb.connect(str(second)) as con:
        con.execute(
            "UPDATE diff SET a1 = r1, s1 = 0, mismatches = mismatches & ~2::UBIGINT WHERE s1 = 2"
        )
    return {"first": first, "second": second}


@pytest.fixture
def file(diffs: dict[str, Path], tmp_path: Path) -> Iterator[ComparisonFile]:
    path = tmp_path / "compared.duckdb"
    opened = ComparisonFile(path, compare(diffs, path, scratch=tmp_path), tmp_path)
    yield opened
    opened.close()
    assert not path.exists()


def test_pages_hold_every_chosen_row_once_in_the_order_of_the_keys(file: ComparisonFile) -> None:
    chosen, keys, first = Chosen(), [], 0
    while True:
        page = file.page(chosen, first, SimpleJob())
        keys += [row.keys for row in page.rows]
        first += PAGE
        if first >= page.total:
            break
    assert len(keys) == page.total == len(set(keys))
    assert keys == sorted(keys)
    rows = file.comparison.others[0].rows
    assert page.total == sum(rows[change] for change in DRAWN)


def test_a_columns_mended_cells_are_just_these(file: ComparisonFile) -> None:
    at = file.comparison.columns.index("score")
    page = file.page(Chosen(column=at, changes=frozenset(("mended",))), 0)
    assert page.total == file.comparison.others[0].columns[at].cells["mended"] > 0
    for row in page.rows:
        cell = row.cells[at]
        assert cell.values[0] != cell.reference == cell.values[1]
        assert CHANGES[cell.changes[1] or 0] == "mended"
    nothing = file.page(Chosen(column=at, changes=frozenset()), 0)
    assert (nothing.total, nothing.rows) == (0, ())


def test_changes_differ_by_sign_and_pattern() -> None:
    assert set(LOOKS) == set(CHANGES)
    assert len({LOOKS[change].pattern for change in DRAWN}) == len(DRAWN)
    assert len({look.sign for look in LOOKS.values()}) == len(LOOKS)


def test_texts_that_differ_come_first_and_are_told_line_by_line() -> None:
    texts = given_to(
        {"instruction.md": "a\nb\n", "s/SKILL.md": "take the first\n"},
        {"instruction.md": "a\nb\n", "s/SKILL.md": "take the last\n", "t/SKILL.md": "new\n"},
    )
    assert [(text.name, text.same) for text in texts] == [
        ("s/SKILL.md", False), ("t/SKILL.md", False), ("instruction.md", True),
    ]  # fmt: skip
    assert texts[0].difference()[1:] == ["-take the first", "+take the last"]
    assert texts[1].difference()[1:] == ["+new"]


@pytest.mark.gui
def test_a_text_that_is_the_same_is_shown_in_the_colour_of_texts(
    open_window: Callable[..., MainWindow],
) -> None:
    pane = GivenPane(open_window().context)
    one = {"instruction.md": "a\n", "s/SKILL.md": "first\n"}
    other = {"instruction.md": "a\n", "s/SKILL.md": "last\n"}
    pane.show_sides(tuple(Side(summary(), (), texts) for texts in (one, other)))
    assert pane.text.toPlainText().splitlines()[1:] == ["-first", "+last"]
    pane.file.setCurrentIndex(1)
    assert pane.text.toPlainText() == "a\n"
    form = QTextCursor(pane.text.document().firstBlock()).charFormat()
    assert not form.hasProperty(QTextFormat.Property.ForegroundBrush)
    pane.deleteLater()


def test_only_ended_runs_of_one_task_and_source_can_be_compared() -> None:
    run = summary()
    other = replace(run, run_id="s")
    assert comparable((run, other)) == ""
    assert comparable((run,))
    assert comparable((run,) * 9)
    assert comparable((run, replace(other, source="t")))
    assert comparable((run, replace(other, live=True)))


@pytest.mark.gui
def test_bars_and_counts_lead_to_the_rows(
    open_window: Callable[..., MainWindow], file: ComparisonFile
) -> None:
    window = open_window()
    settle(window)
    screen = window.screens["compare"]
    assert isinstance(screen, CompareScreen)
    window.stack.setCurrentWidget(screen)
    model = screen.model
    model.runs, model.file = ("first", "second"), file
    model.sides = tuple(Side(summary(run_id=name), (), {}) for name in model.runs)
    model.changed.emit()
    at = file.comparison.columns.index("score")
    part = screen.bars.part_at(0.5, screen.bars._bars().index((at, 1)))
    assert part == (1, at, "mended")
    screen.bars.chosen.emit(*part)
    settle(window)
    page = model.page
    assert page is not None
    assert screen.tabs.currentWidget() is screen.rows
    assert page.total == file.comparison.others[0].columns[at].cells["mended"]
    assert screen.rows.table.rowCount() == min(PAGE, page.total)
    assert screen.rows.detail.rowCount() == len(file.comparison.columns)
    line = next(
        row for row in range(screen.counts_model.rowCount())
        if screen.counts_model.record(row).column == at  # type: ignore[union-attr]
    )  # fmt: skip
    screen.counts.opened.emit(line)
    settle(window)
    assert model.chosen.column == at
    model.file = None  # the fixture closes it
