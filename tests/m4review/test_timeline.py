"""The timeline: what is drawn where, how it is gone about, and that it stays quick."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from app_window import settle
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from engine.agents.traces import TraceStep
from engine.catalogue.task import find_task
from engine.diagnosis.lineage import CellLineage, Event, Role, Step, Window
from engine.diagnosis.lineage.model import EPOCH
from m4review.app.links import Place
from m4review.app.window import MainWindow
from m4review.diff.layout import CellStatus, KeyStatus
from m4review.timeline.cell import AgentSide, CellPage, Departure, Statement, naming
from m4review.timeline.labels import Room, placed
from m4review.timeline.tracks import lay_out
from m4review.timeline.view import TimelineScreen
from m4review.timeline.words import (
    LOOKS,
    ROLES,
    clock_of,
    event_words,
    verified_words,
    window_words,
)

IN = datetime(2150, 3, 1, 14, 30)  # noqa: DTZ001 - source times have no zone


def event(
    role: Role, hour: float | None, value: float | str | None = 80.0, **more: object
) -> Event:
    start = None if hour is None else IN + timedelta(hours=hour)
    values: dict[str, object] = {
        "table": "mimiciv_icu.chartevents",
        "row": 1,
        "role": role,
        "start": start,
        "end": None,
        "item": "Heart Rate",
        "item_id": "220045",
        "value": value,
        "unit": "bpm",
        "rule": "valuenum < 300" if role == "rejected" else "",
        "columns": ("vitalsign.heart_rate",),
    }
    return Event(**(values | more))  # type: ignore[arg-type]


def cell(*events: Event, stay_hours: float = 48) -> CellLineage:
    window = Window(
        IN - timedelta(hours=6), IN + timedelta(hours=24), "charttime <= intime + 1 day"
    )
    steps = (
        Step("target.heart_rate_max", 120, "max(heart_rate)", {"vitalsign.heart_rate": 120}, 0),
        Step("vitalsign.heart_rate", 120, "avg(valuenum)", {"valuenum": 120.0}, 1),
    )
    return CellLineage(
        "some-target", {"stay_id": 30000001}, "heart_rate_max", 120,
        (IN, IN + timedelta(hours=stay_hours)), (window, window), steps, events, verified=True,
    )  # fmt: skip


def page_of(lineage: CellLineage, *, agent: bool = True) -> CellPage:
    side = AgentSide(
        119,
        CellStatus.DIFFERENT,
        KeyStatus.MATCHED,
        (Statement(4, "SELECT 1 AS heart_rate_max"),),
        0,
        (Departure("gcs", 15, None),),
    )
    place = Place("timeline", "some-run", 3, column="heart_rate_max")
    task = find_task("mimic-sofa-24h")
    return CellPage(place, task, "invented", ("heart_rate_max",), lineage, side if agent else None)


def test_roles_differ_in_shape_and_not_by_colour_alone() -> None:
    assert set(LOOKS) == set(ROLES)
    assert len({look.symbol for look in LOOKS.values()}) == len(ROLES)


def test_events_are_laid_out_by_item_and_time() -> None:
    lineage = cell(
        event("rejected", 3, 999.0, item="Noise"),
        event("decisive", 2, 120.0),
        event("entered", 1, 70.0),
        event("decisive", 5, 3.0, item="Propofol", end=IN + timedelta(hours=9)),
        event("outside", None, "text"),
    )
    clock = clock_of(lineage, offsets=False)
    tracks = lay_out(lineage, clock)
    assert clock.origin == datetime(2150, 3, 1)  # noqa: DTZ001 - midnight before the stay
    assert tracks.names == ("Heart Rate", "Propofol", "Noise")  # used items come first
    assert list(tracks.timed) == [True, True, True, True, False]
    assert list(tracks.ordered) == [2, 1, 0, 3]
    assert tracks.end[3] - tracks.start[3] == pytest.approx(4)
    assert tracks.height[1] < tracks.height[2]  # higher values stand higher; y runs downwards
    assert len(tracks.windows) == 1  # the same span is shaded once
    low, high = tracks.of_window()
    assert low < tracks.windows[0].start < tracks.windows[0].end < high  # type: ignore[operator]
    assert tracks.of_stay()[1] == pytest.approx(14.5 + 48 + 0.04 * 48)


def test_both_times_are_in_the_picture_and_what_is_decades_away_is_not() -> None:
    far = event("decisive", 24 * 365 * 50, 4.5, item="Drug")
    lineage = replace(
        cell(event("decisive", 2, 120.0), far), value=IN + timedelta(hours=30), windows=()
    )
    clock = clock_of(lineage, offsets=False)
    tracks = lay_out(lineage, clock, IN - timedelta(hours=9))
    begin = clock.hours(IN)
    assert [(m.at - begin, m.words, m.agent) for m in tracks.moments] == [
        (30, "reference", False), (-9, "agent", True),
    ]  # fmt: skip
    low, high = tracks.of_window()
    assert begin - 15 < low < begin - 9
    assert begin + 30 < high < begin + 40
    assert tracks.whole()[1] > 24 * 365 * 49
    same = lay_out(lineage, clock, lineage.value)
    assert [m.words for m in same.moments] == ["reference and agent"]
    assert lay_out(cell(), clock, 119).moments == ()


def test_without_a_window_the_first_look_is_at_the_stay() -> None:
    lineage = replace(cell(event("decisive", 5, 0.5)), windows=())
    clock = clock_of(lineage, offsets=False)
    low, high = lay_out(lineage, clock).of_window()
    assert low < clock.hours(IN) < clock.hours(IN) + 48 < high
    years = replace(lineage, stay=(IN, IN + timedelta(days=900)))
    low, high = lay_out(years, clock).of_window()
    assert high - low < 24


def test_a_window_is_told_from_the_admission_on() -> None:
    window = Window(IN - timedelta(hours=6), IN + timedelta(hours=24), "")
    stay = (IN, IN + timedelta(days=2))
    assert window_words(window, stay) == "−6 h to +24 h from unit admission"
    assert window_words(replace(window, end=None), stay) == "from −6 h on (from unit admission)"
    assert window_words(replace(window, start=IN), stay).startswith("0 h to")
    assert window_words(window, (None, None)) == ""


def test_values_are_written_where_they_cover_nothing_that_counts() -> None:
    lineage = cell(
        event("decisive", 1, "Endotracheal tube", item="Device", unit=""),
        event("decisive", 1.5, "Endotracheal tube", item="Device", unit=""),  # right in the way
        event(
            "decisive", 10, "Endotracheal tube", item="Device", unit=""
        ),  # some room up to the next
        event("decisive", 16, "Nasal cannula", item="Device", unit=""),
        event("decisive", 10, 120.0),  # numbers stand whole or not at all
        event("decisive", 10.4, 120.0),
        event("entered", 9.9, 120.0),
    )
    tracks = lay_out(lineage, clock_of(lineage, offsets=False))
    room = Room(
        pixel=0.05, line=0.5, near=8, edge=6, least=36, width=lambda text: 7 * len(text),
        cut=lambda text, most: text[: most // 7 - 1] + "…",
    )  # fmt: skip
    found = dict(placed(tracks, range(7), -1, room, 40))
    assert found == {
        1: "Endotracheal tube",
        2: "Endotracheal …",
        3: "Nasal cannula",
        5: "120 bpm",
    }
    chosen = placed(tracks, range(7), 0, room, 40)
    assert chosen[0] == (0, "Endotracheal tube")
    assert len(placed(tracks, range(7), -1, room, 2)) == 2


def test_offsets_are_told_as_hours_from_unit_admission() -> None:
    at = EPOCH - timedelta(minutes=245)
    lineage = cell(event("decisive", None, start=at))
    clock = clock_of(lineage, offsets=True)
    assert clock.hours(at) == pytest.approx(-245 / 60)
    assert clock.told(at) == "−4 h 05 min"
    assert clock.told(None) == "–"
    assert clock.of_hours(1e12) == ""


def test_an_event_says_why_it_was_refused_and_an_unproven_cell_so() -> None:
    refused = event("rejected", 3, 999.0)
    lineage = cell(refused)
    words = event_words(refused, clock_of(lineage, offsets=False))
    assert "999 bpm" in words
    assert "valuenum < 300" in words
    assert "Verified" in verified_words(lineage)
    unproven = CellLineage(**(vars(lineage) | {"verified": False}))
    assert verified_words(unproven).startswith("✗ Not verified")


def test_statements_that_name_the_column_are_found_once_and_nothing_else() -> None:
    steps = [
        TraceStep(
            number=1, kind="command", line=1, sql=("SELECT heart_rate_max FROM a", "SELECT 1")
        ),
        TraceStep(number=2, kind="command", line=2, sql=("SELECT heart_rate_max2 FROM a",)),
        TraceStep(number=3, kind="command", line=3, sql=("SELECT heart_rate_max FROM a",)),
        TraceStep(number=4, kind="command", line=4, sql=('SELECT max(x) AS "Heart_Rate_Max"',)),
    ]
    assert [s.step for s in naming(steps, "heart_rate_max")] == [3, 4]
    assert naming(steps, "a.c") == ()


@pytest.fixture
def screen(open_window: Callable[..., MainWindow]) -> Iterator[TimelineScreen]:
    window = open_window()
    settle(window)
    screen = window.screens["timeline"]
    assert isinstance(screen, TimelineScreen)
    window.stack.setCurrentWidget(screen)
    yield screen
    screen.model.page = None


def show(screen: TimelineScreen, page: CellPage) -> None:
    """Show a cell as if it had been looked up."""
    clock = clock_of(page.lineage, offsets=False)
    screen.model._known[page.place] = (page, clock, lay_out(page.lineage, clock))
    screen.show_place(page.place)


@pytest.mark.gui
def test_picture_and_list_choose_each_other_and_roles_can_be_left_out(
    screen: TimelineScreen,
) -> None:
    lineage = cell(
        event("entered", 1, 70.0), event("decisive", 2, 120.0), event("rejected", 3, 999.0)
    )
    show(screen, page_of(lineage))
    assert screen.events.records.rowCount() == 3
    screen.plot.setFocus()
    QTest.keyClick(screen.plot, Qt.Key.Key_Right)
    assert screen.model.current == 0
    QTest.keyClick(screen.plot, Qt.Key.Key_Right)
    record = screen.events.records.record(screen.events.currentIndex().row())
    assert record is not None
    assert (screen.model.current, record[0]) == (1, 1)
    screen.events.selectRow(screen.events.records.row_of(2))
    assert screen.plot.current == 2
    screen.chips.chips["rejected"].click()
    assert screen.events.records.rowCount() == 2
    QTest.keyClick(screen.plot, Qt.Key.Key_Right)
    assert screen.model.current in (0, 1)
    (left, right), _ = screen.plot.view.viewRange()
    QTest.keyClick(screen.plot, Qt.Key.Key_Plus)
    closer = screen.plot.view.viewRange()[0]
    assert closer[1] - closer[0] < right - left
    QTest.keyClick(screen.plot, Qt.Key.Key_F)
    assert screen.plot.view.viewRange()[0][1] > 60
    QTest.keyClick(screen.plot, Qt.Key.Key_Home)
    assert screen.plot.view.viewRange()[0] == pytest.approx([left, right])


@pytest.mark.gui
def test_both_values_the_arithmetic_and_the_agents_sql_stand_beside_it(
    screen: TimelineScreen,
) -> None:
    show(screen, page_of(cell(event("decisive", 2, 120.0))))
    top = screen.steps.tree.topLevelItem(0)
    assert top is not None
    assert (top.text(0), top.text(1), top.childCount()) == ("target.heart_rate_max", "120", 1)
    assert "max(heart_rate)" in screen.steps.sql.toPlainText()
    assert screen.agent.text.toPlainText() == "SELECT 1 AS heart_rate_max"
    asked: list[Place] = []
    screen.context.went.disconnect()
    screen.context.went.connect(asked.append)
    screen.agent.go.click()
    screen.diff_button.click()
    other = next(b for b in screen.values.findChildren(QPushButton) if b.text() == "gcs")
    other.click()
    assert asked == [
        Place("run", "some-run", step=4),
        Place("diff", "some-run", 3),
        Place("timeline", "some-run", 3, column="gcs"),
    ]


@pytest.mark.gui
def test_rows_without_a_time_are_listed_and_the_picture_says_so(screen: TimelineScreen) -> None:
    show(screen, page_of(cell(event("decisive", None, "I21", item="I21")), agent=False))
    assert screen.plot.isHidden()
    assert not screen._no_times.isHidden()
    assert screen.events.records.rowCount() == 1


@pytest.mark.gui
def test_twenty_thousand_events_are_five_scatters_and_few_labels(screen: TimelineScreen) -> None:
    rng = np.random.default_rng(1)
    events = [
        event(ROLES[int(r)], float(h), float(v), item=f"Item {int(i)}")
        for r, h, v, i in zip(
            rng.integers(0, 5, 20_000), rng.uniform(0, 300, 20_000), rng.normal(80, 9, 20_000),
            rng.integers(0, 40, 20_000), strict=True,
        )
    ]  # fmt: skip
    show(screen, page_of(cell(*events)))
    plot = screen.plot
    assert len(plot._drawn) <= 12
    plot._label()
    assert 0 < len(plot._labels) <= 60
    tracks = screen.model.tracks
    assert tracks is not None
    for number in (0, 77, 19_999):
        plot.select(number)
        here = QPointF(float(tracks.start[number]), float(tracks.height[number]))
        here = plot.view.mapViewToScene(here)
        found = plot.nearest(here)
        assert tracks.start[found] == pytest.approx(tracks.start[number], abs=2)


def test_a_cell_chooser_address_without_a_source_is_the_tasks() -> None:
    assert Place("timeline", "mimic-sofa-24h").link == "m4review://task/mimic-sofa-24h/cell"
