"""The timeline: what is drawn where, how it is gone about, and that it stays quick."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from app_window import settle
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea

from engine.agents.traces import TraceStep
from engine.catalogue.task import find_task
from engine.diagnosis.lineage import CellLineage, Event, Role, Step, Window
from engine.diagnosis.lineage.model import EPOCH
from m4review.app.links import Place
from m4review.app.window import MainWindow
from m4review.diff.layout import CellStatus, KeyStatus
from m4review.diff.words import NO_ROW
from m4review.timeline.cell import AgentSide, CellForm, CellPage, Departure, Statement, naming
from m4review.timeline.edges import lanes_of
from m4review.timeline.labels import Room, placed
from m4review.timeline.panels import NO_WINDOW, OTHER_STAY
from m4review.timeline.tracks import lay_out, same_span
from m4review.timeline.view import TimelineScreen
from m4review.timeline.words import (
    LOOKS,
    ROLES,
    clock_of,
    event_words,
    mark_words,
    span_words,
    told_first,
    verified_words,
    window_words,
)

ROOM = Room(
    low=0, high=60, top=-0.7, pixel=0.05, line=0.5, near=8, edge=6, least=36,
    width=lambda text: 7 * len(text), cut=lambda text, most: text[: most // 7 - 1] + "…",
)  # fmt: skip
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


def test_a_window_without_length_is_told_as_one_moment() -> None:
    window = Window(IN, IN, "charttime = intime")
    stay = (IN, IN + timedelta(days=2))
    clock = clock_of(cell(), offsets=False)
    assert span_words(window, clock) == "2150-03-01 14:30 alone: it ends where it begins"
    assert window_words(window, stay) == "0 h from unit admission"
    left_out = replace(window, without=(False, True))
    assert "nothing is in it" in span_words(left_out, clock)
    for given, empty in (((window,), False), ((left_out,), True), ((left_out, window), False)):
        (span,) = lay_out(replace(cell(), windows=given), clock).windows
        assert (span.is_moment, span.empty) == (True, empty)
    longer = replace(window, end=IN + timedelta(hours=1), without=(True, True))
    assert span_words(longer, clock) == "2150-03-01 14:30 to 2150-03-01 15:30"
    assert not lay_out(replace(cell(), windows=(longer,)), clock).windows[0].empty


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
    room = ROOM

    def written(current: int, room: Room = room, most: int = 40) -> dict[int, str]:
        found = placed(tracks, range(7), np.arange(7), current, room, most=most)
        return {each.event: each.words for each in found}

    assert written(-1) == {
        0: "Endotracheal tube",  # left of its mark: there nothing is
        1: "Endotracheal tube",
        2: "Endotracheal …",
        3: "Nasal cannula",
        5: "120 bpm",
    }
    assert next(iter(written(0).items())) == (0, "Endotracheal tube")
    assert len(written(-1, most=2)) == 2
    # At the right edge the words stand left of the mark: the edge would cut them.
    near = replace(room, high=31)
    (cannula,) = (each for each in placed(tracks, [3], np.arange(7), -1, near, most=1))
    assert (cannula.words, cannula.at) == ("Nasal cannula", pytest.approx(30.5 - 0.4 - 4.85))


def test_what_was_only_compared_is_written_where_it_covers_no_mark() -> None:
    lineage = cell(
        event("entered", 1, 70.0),
        event("outside", 2, 70.0),
        event("entered", 10, 70.0),
        event("decisive", 20, 70.0),
        event("outside", 21, 70.0),
    )
    tracks = lay_out(lineage, clock_of(lineage, offsets=False))
    found = placed(tracks, (0, 2, 3), np.arange(5), -1, ROOM, most=9)
    assert [each.event for each in found] == [3, 2]


def test_in_a_short_bar_the_value_stands_behind_it_and_in_a_long_one_inside() -> None:
    hour = timedelta(hours=1)
    lineage = cell(
        event("decisive", 1, 0.0500041, item="Short", end=IN + 2 * hour, unit="mcg/kg/min"),
        event("decisive", 1, 0.0500041, item="Long", end=IN + 40 * hour, unit="mcg/kg/min"),
    )
    clock = clock_of(lineage, offsets=False)
    tracks = lay_out(lineage, clock)
    found = placed(tracks, (0, 1), np.arange(2), -1, ROOM, most=9)
    begin = clock.hours(IN)
    assert {each.words: each.at for each in found if each.event == 0} == {
        "0.05 mcg/kg/min": pytest.approx(begin + 2 + 0.4)
    }
    assert [each.at for each in found if each.event == 1] == [pytest.approx(begin + 1 + 0.4)]
    beyond = replace(ROOM, low=begin + 10)  # it began out of sight: it is named where it is seen
    (label,) = placed(tracks, (1,), np.arange(2), -1, beyond, most=9)
    assert label.at == pytest.approx(begin + 10 + 0.4)


def test_between_other_bars_the_used_one_has_its_value_above_it() -> None:
    def rate(role: Role, hour: float, last: float) -> Event:
        end = IN + timedelta(hours=last)
        return event(role, hour, 0.05, item="Drug", end=end, unit="mcg/kg/min")

    lineage = cell(rate("outside", 1, 4), rate("decisive", 5, 6), rate("outside", 7, 20))
    tracks = lay_out(lineage, clock_of(lineage, offsets=False))
    tall = replace(ROOM, line=0.2)  # the track is five times as high as a text
    (label,) = placed(tracks, (1,), np.arange(3), -1, tall, most=9)
    assert (label.words, label.at) == ("0.05 mcg/kg/min", pytest.approx(14.5 + 5))
    assert label.height <= -0.22 - 0.1
    assert not placed(tracks, (1,), np.arange(3), -1, replace(tall, top=-0.4), most=9)
    flat = replace(ROOM, line=0.6)
    assert not placed(tracks, (1,), np.arange(3), -1, flat, most=9)  # above it there is no room
    stay = event("decisive", 1, "SKILLED NURSING FACILITY", unit="", end=IN + timedelta(hours=8))
    (cut,) = placed(lay_out(cell(stay), clock_of(cell(), offsets=False)), (0,), np.arange(1), -1,
                    ROOM, most=9)  # fmt: skip
    assert (cut.words, cut.at) == ("SKILLED NURSING…", pytest.approx(14.5 + 1 + 0.4))


def test_beside_a_mark_a_value_is_short_and_a_cut_text_says_so() -> None:
    assert mark_words(event("decisive", 1, 0.0199803, unit="mcg/kg/min")) == "0.01998 mcg/kg/min"
    assert mark_words(event("decisive", 1, 12345.678, unit="ml")) == "12346 ml"
    assert mark_words(event("decisive", 1, 120.0)) == "120 bpm"
    long = event("decisive", 1, "SKILLED NURSING FACILITY (discharged to)", unit="")
    assert mark_words(long) == "SKILLED NURSING FACILIT…"
    assert mark_words(replace(long, end=IN)) == long.value  # in a bar there is room


def test_windows_of_one_span_are_told_once_and_a_window_of_months_is_no_first_look() -> None:
    day = timedelta(days=1)
    hours = Window(IN, IN + day, "a")
    months = Window(IN - 30 * day, IN + 35 * day, "c")
    assert same_span((hours, months, replace(hours, rule="b"))) == (
        (hours, replace(hours, rule="b")), (months,),
    )  # fmt: skip
    lineage = replace(cell(event("decisive", 2, 120.0)), windows=(hours, months))
    clock = clock_of(lineage, offsets=False)
    low, high = lay_out(lineage, clock).of_window()
    assert (low, high) == pytest.approx((14.5 - 0.96, 14.5 + 24 + 0.96))
    alone = lay_out(replace(lineage, windows=(months,)), clock).of_window()
    assert alone[1] - alone[0] > 65 * 24


def test_a_further_row_of_a_key_is_not_said_to_lack_a_reference() -> None:
    side = page_of(cell()).agent
    assert side is not None
    further = replace(side, key_status=KeyStatus.DUPLICATE, status=CellStatus.NO_REFERENCE)
    assert further.words == "a further row of this key: only the first one counts"


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


def head(screen: TimelineScreen) -> list[str]:
    """The words above the picture; each lane's stand within the picture and are whole."""
    found = screen.plot.head.written()
    width = screen.plot.view.width()
    metrics = QFontMetrics(screen.plot.head._font)
    for each in found:
        assert 0 <= each.at <= each.at + metrics.horizontalAdvance(each.words) <= width
    return [each.words for each in found]


@pytest.mark.gui
def test_windows_and_stay_are_named_above_the_picture_wherever_one_looks(
    screen: TimelineScreen,
) -> None:
    lineage = replace(cell(event("decisive", 2, 120.0)), windows=(Window(IN, IN, "= intime"),))
    show(screen, page_of(lineage))
    settle(screen.window())
    assert head(screen) == ["stay: 2.0 days", "window: this moment alone"]
    hour = replace(
        lineage,
        windows=(
            Window(IN, IN + timedelta(hours=1), "in the first hour"),
            Window(None, IN + timedelta(hours=24), "a service before that"),
        ),
        value=IN,
    )
    page = page_of(hour)
    show(screen, replace(page, place=replace(page.place, row=4)))
    settle(screen.window())
    words = ["stay: 2.0 days", "window 1: 0 h to +1 h", "window 2: up to +24 h", "reference"]
    for sight in ((14.4, 15.7), (0, 300), (-300, 16), (100, 200), (-200, -100)):
        screen.plot._fit(sight)
        assert head(screen) == words
    left, right = (each.beyond for each in screen.plot.head.written()[:2])
    assert left == right == (False, True)  # both lie to the right of what is in sight
    # No word stands in the picture itself, where marks and values are.
    assert screen.plot.view.sceneBoundingRect().top() >= screen.plot.head.tall > 0


def hours_long(*hours: tuple[float | None, float | None]) -> tuple[Window, ...]:
    """Windows by the hours from the admission at which they begin and end."""

    def at(hour: float | None) -> datetime | None:
        return None if hour is None else IN + timedelta(hours=hour)

    return tuple(
        Window(at(start), at(end), f"rule {n}") for n, (start, end) in enumerate(hours, start=1)
    )


MANY = hours_long(
    (None, 1), (0, 24), (3, 3), (None, 2), (-6, 24), (None, 4), (-48, 24), (1, 20), (None, 5),
    (None, 6), (7, 7), (None, 8), (None, 9),
)  # fmt: skip


@pytest.mark.gui
def test_of_many_windows_the_lasting_ones_have_lanes_and_the_others_are_counted_and_in_reach(
    screen: TimelineScreen,
) -> None:
    lineage = replace(cell(event("decisive", 2, 120.0)), windows=MANY, value=IN)
    show(screen, page_of(lineage))
    settle(screen.window())
    assert head(screen) == [
        "stay: 2.0 days", "window 2: 0 h to +24 h", "window 5: −6 h to +24 h",
        "window 7: −48 h to +24 h", "window 8: +1 h to +20 h", "9 more windows", "reference",
    ]  # fmt: skip
    assert screen.unfold.isVisible()
    assert screen.unfold.text() == "9 more windows"
    assert "window 13: up to +9 h" in screen.plot.head.toolTip()
    folded = screen.plot.head.tall
    screen.plot.view.setXRange(60, 80, padding=0)  # away from the chosen event
    QTest.mouseClick(screen.unfold, Qt.MouseButton.LeftButton)
    settle(screen.window())
    assert screen.plot.view.viewRange()[0] == pytest.approx([60, 80])
    words = head(screen)
    assert screen.unfold.text() == "Fewer windows"
    assert words[1:14] == [f"window {n}{words[n].partition(f' {n}')[2]}" for n in range(1, 14)]
    assert len(words) == 15
    assert screen.plot.head.tall > 2 * folded
    assert screen.plot.minimumHeight() == screen.plot.needed > screen.plot.head.tall
    screen.unfold.click()
    settle(screen.window())
    assert screen.plot.head.tall == folded
    # Five have a lane each: a lane that counts one would take the same room.
    page = page_of(replace(lineage, windows=MANY[:5]))
    show(screen, replace(page, place=replace(page.place, row=5)))
    assert screen.unfold.isHidden()
    assert len(screen.plot.head.lanes) == 7


def test_beyond_what_has_room_windows_are_counted_even_when_unfolded() -> None:
    windows = hours_long(*((n, n + 5) for n in range(40)))
    lineage = replace(cell(event("decisive", 2)), windows=windows)
    lanes = lanes_of(lay_out(lineage, clock_of(lineage, offsets=False)), unfolded=True)
    assert [lane.name for lane in lanes][-1] == "16 more windows"
    assert len(lanes) == 1 + 24 + 1


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("out of range: valuenum > 0", ("out of range:", "valuenum > 0")),
        ("of another stay: not met: a = b", ("of another stay: not met:", "a = b")),
        ("charttime <= intime", ("", "charttime <= intime")),
        ("valuenum::int > 0", ("", "valuenum::int > 0")),
        ("label = 'a: b'", ("", "label = 'a: b'")),
        ("read for what lies after the window: x", ("read for what lies after the window:", "x")),
        ("", ("", "")),
    ],
)
def test_the_words_of_a_rule_are_told_before_its_condition(
    rule: str, told: tuple[str, str]
) -> None:
    assert told_first(rule) == told


@pytest.mark.gui
def test_the_words_of_a_rule_are_in_sight_beside_long_names_and_bold_below(
    screen: TimelineScreen,
) -> None:
    rule = "another value goes before it: ROW_NUMBER() OVER (PARTITION BY stay_id)"
    long = "Intensive care unit stay of a very long name, and longer"
    row = event("outside", 3, "HOME HEALTH CARE (discharged to), much longer", item=long, rule=rule)
    screen.window().resize(1366, 900)
    show(screen, page_of(cell(row)))
    settle(screen.window())
    words = QFontMetrics(screen.events.font()).horizontalAdvance("another value goes before it:")
    left = screen.events.columnViewportPosition(4)
    assert left + words <= screen.events.viewport().width()
    screen.events.selectRow(0)
    assert screen.detail.why.text() == "another value goes before it:"
    assert screen.detail.rule.text().replace("\u200b", "").startswith("ROW_NUMBER()")


@pytest.mark.gui
def test_the_fields_say_which_value_of_a_task_is_shown(screen: TimelineScreen) -> None:
    page = page_of(cell(event("decisive", 2)), agent=False)
    screen.model.form = CellForm(page.task, ("invented",), ("stay_id",), ("sofa", "heart_rate_max"))
    for stay, column in (("30000001", "sofa"), ("30000002", "heart_rate_max")):
        key = (("stay_id", stay),)
        place = Place("timeline", page.task.name, source="invented", key=key, column=column)
        show(screen, replace(page, place=place))
        assert screen.chooser.keys["stay_id"].text() == stay
        assert screen.chooser.column.currentText() == column


@pytest.mark.gui
def test_items_are_in_sight_as_a_whole_whatever_the_height(screen: TimelineScreen) -> None:
    show(screen, page_of(cell(*(event("decisive", 2, item=f"Item {n:02}") for n in range(40)))))
    window = screen.window()
    for height in (700, 1000, 800):
        window.resize(1366, height)
        settle(window)
        (low, high), tall = screen.plot.view.viewRange()[1], screen.plot.view.height()
        assert low == pytest.approx(-0.7)
        assert tall / (high - low) >= screen.context.px(18)
        said = screen.pointed.text().split(" of 40")[0]
        assert int(said) == round(high - low - 0.4)
        screen.plot._label()
        assert screen.plot._labels
        inside = screen.plot.view.sceneBoundingRect().adjusted(0, -4, 0, 4)  # a text's own margin
        for text in screen.plot._labels:  # none is cut in half by the picture's edge
            assert inside.contains(text.mapRectToScene(text.boundingRect()))


@pytest.mark.gui
def test_a_refused_row_went_nowhere_and_a_search_without_rows_says_so(
    screen: TimelineScreen,
) -> None:
    show(screen, page_of(cell(event("decisive", 2), event("rejected", 3, 999.0))))
    for number, words in ((0, "went into vitalsign"), (1, "would have been for vitalsign")):
        screen.events.selectRow(screen.events.records.row_of(number))
        assert words in screen.detail.facts.text().replace("\u200b", "")
    screen.finder.field.setText("zzz")
    assert screen.detail.facts.text() == "No row has all of these words."
    assert not screen.events.isColumnHidden(1)
    screen.finder.field.clear()
    assert "No row" not in screen.detail.facts.text()


@pytest.mark.gui
def test_words_in_the_place_of_the_picture_are_in_sight(screen: TimelineScreen) -> None:
    window = screen.window()
    window.resize(800, 420)
    screen.show_place(Place("timeline", "mimic-sofa-24h"))
    settle(window)
    assert screen.empty.isVisible()
    place = QRect(screen.empty.mapTo(screen, QPoint()), screen.empty.size())
    assert screen.rect().contains(place)
    show(screen, page_of(cell(event("decisive", 2))))
    settle(window)
    assert screen.plot.height() >= screen.plot.needed  # the page scrolls for it


@pytest.mark.gui
def test_with_fields_above_picture_and_list_give_way_before_the_page_scrolls(
    screen: TimelineScreen,
) -> None:
    window = screen.window()
    window.resize(1366, 900)
    page = page_of(cell(*(event("decisive", 2, item=f"Item {n:02}") for n in range(40))))
    show(screen, page)
    settle(window)
    tall = screen.plot.height()
    assert tall > screen.plot.needed
    both = tall + screen.events.height()
    screen.chooser.show()
    settle(window)
    window.resize(1366, 720)
    settle(window)
    assert screen.plot.needed <= screen.plot.height() <= tall
    assert screen.plot.height() + screen.events.height() < both
    assert screen.plot.sizeHint().height() == screen.plot.needed


@pytest.mark.gui
def test_arithmetic_names_each_input_once_and_short_with_all_of_it_in_the_tip(
    screen: TimelineScreen,
) -> None:
    rate = 0.050004004151560366
    steps = (
        Step("target.score", 4, "CASE …", {"rate": rate, "pressure": 57}, 0),
        Step("concept.rate", rate, "max(rate)", {"rate": rate}, 1),
    )
    show(screen, page_of(replace(cell(event("decisive", 2)), steps=steps)))
    top = screen.steps.tree.topLevelItem(0)
    assert top is not None
    lines = [(top.child(n).text(0), top.child(n).text(1)) for n in range(top.childCount())]
    assert lines == [("pressure", "57"), ("concept.rate", "0.050004")]
    assert repr(rate) in top.child(1).toolTip(1)
    assert top.child(1).isExpanded() == (top.child(1).childCount() > 0)
    parts = [Step(f"target.part_{n}", n, "CASE …", {f"input_{n}": n}, 1) for n in range(12)]
    total = Step("target.score", 66, "sum", {f"part_{n}": n for n in range(12)}, 0)
    summed = page_of(replace(cell(event("decisive", 2)), steps=(total, *parts)))
    show(screen, replace(summed, place=replace(summed.place, row=6)))
    top = screen.steps.tree.topLevelItem(0)
    assert top is not None
    assert (top.isExpanded(), top.childCount()) == (True, 12)
    assert not any(top.child(n).isExpanded() for n in range(12))  # the sum is seen at once
    bare = page_of(replace(cell(event("decisive", 2)), steps=()))
    show(screen, replace(bare, place=replace(bare.place, row=5)))
    assert screen.steps.none.isVisibleTo(screen.steps)
    assert not screen.steps.tree.isVisibleTo(screen.steps)


@pytest.mark.gui
def test_what_cannot_be_pressed_says_why(screen: TimelineScreen) -> None:
    page = page_of(cell(event("decisive", 2)))
    assert page.agent is not None
    kept = replace(page.agent, statements=(Statement(0, "heart_rate_max", "script.sql"),))
    show(screen, replace(page, agent=kept))
    assert "No source row" in screen.chips.chips["rejected"].toolTip()
    assert "No source row" not in screen.chips.chips["decisive"].toolTip()
    assert not screen.agent.go.isEnabled()
    assert "file" in screen.agent.go.toolTip()
    assert screen.agent.words.text() == "One script that the run kept names heart_rate_max."


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
    screen.why_button.click()
    other = next(b for b in screen.values.findChildren(QPushButton) if b.text() == "gcs")
    other.click()
    assert asked == [
        Place("run", "some-run", step=4),
        Place("diff", "some-run", 3),
        Place("diagnosis", "some-run"),
        Place("timeline", "some-run", 3, column="gcs"),
    ]


@pytest.mark.gui
def test_an_admission_is_called_so_and_a_row_that_is_not_there_too(screen: TimelineScreen) -> None:
    lost = event("outside", 30, 90.0, rule="of another admission: hadm_id = 1")
    plain = replace(cell(event("decisive", 2, 120.0), lost), windows=())
    lineage = replace(plain, key={"hadm_id": 20000001})
    clock = clock_of(lineage, offsets=False)
    assert lanes_of(lay_out(lineage, clock))[0].name == "admission"
    assert lanes_of(lay_out(plain, clock))[0].name == "stay"
    page = page_of(lineage)
    assert page.agent is not None
    show(screen, replace(page, agent=replace(page.agent, key_status=KeyStatus.MISSING)))
    told = [each.text() for each in screen.values.findChildren(QLabel)]
    assert NO_ROW in told
    assert NO_WINDOW + OTHER_STAY in told
    assert screen.detail.maximumHeight() < screen.events.height()
    screen.model.choose(0)
    assert screen.detail.maximumHeight() > screen.events.height()


@pytest.mark.gui
def test_rows_without_a_time_are_listed_and_the_picture_says_so(screen: TimelineScreen) -> None:
    show(screen, page_of(cell(event("decisive", None, "I21", item="I21")), agent=False))
    assert screen.plot.isHidden()
    assert not screen._no_times.isHidden()
    assert screen.events.records.rowCount() == 1


RULE = (
    "not met: (culture.charttime IS NOT NULL AND ordered.starttime > culture.charttime AND "
    "ordered.starttime <= culture.charttime + INTERVAL 72 HOURS) OR (culture.charttime IS NULL AND "
    "ordered.starttime >= CAST(culture.chartdate AS TIMESTAMP) AND ordered.starttime <= "
    "CAST(culture.chartdate AS TIMESTAMP) + INTERVAL 96 HOURS) OR (ordered.starttime IS NOT NULL "
    "AND culture.spec_type_desc NOT IN ('SCREEN', 'VIRAL CULTURE', 'Blood (EBV)', 'Blood (CMV AB)')"
    " AND ordered.antibiotic_route_as_written = 'IV' AND ordered.drug_type IN ('MAIN', 'ADDITIVE'))"
)


def diagnoses(rule: str = RULE) -> list[Event]:
    """Sixty diagnoses of an admission: every tenth is used, the others were refused by a rule."""
    return [
        event(
            "decisive" if at % 10 == 4 else "rejected", None, f"E{100 + at}", unit="",
            table="mimiciv_hosp.diagnoses_icd", item_id=f"E{100 + at}",
            item=("Acute kidney failure", "Sepsis", "Type 2 diabetes mellitus")[at % 3],
            rule="" if at % 10 == 4 else rule,
        )
        for at in range(60)
    ]  # fmt: skip


def listed(screen: TimelineScreen) -> list[Event]:
    """The events of the list from top to bottom."""
    records = [screen.events.records.record(at) for at in range(screen.events.records.rowCount())]
    return [record[1] for record in records if record is not None]


@pytest.mark.gui
def test_among_many_rows_without_a_time_the_used_ones_come_first_and_words_find_the_others(
    screen: TimelineScreen,
) -> None:
    show(screen, page_of(cell(*diagnoses(), event("outside", 3))))
    roles = [each.role for each in listed(screen)]
    assert roles == ["outside", *["decisive"] * 6, *["rejected"] * 54]
    model = screen.events.records
    assert [model.index(at, 0).data() for at in (0, 1, 60)] == ["outside", "used", "rejected"]
    assert model.index(1, 1).data() == "no time recorded"
    screen.events.selectRow(1)
    assert screen.detail.head.text().startswith("used: ")
    assert screen.finder.count.text() == "61 rows"
    QTest.keyClicks(screen.finder.field, "Rejected SEPSIS")
    found = listed(screen)
    assert {(each.role, each.item) for each in found} == {("rejected", "Sepsis")}
    assert screen.finder.count.text() == f"{len(found)} of 61 rows"
    assert screen.detail.head.isHidden()  # the chosen row is not listed
    QTest.keyClick(screen.finder.field, Qt.Key.Key_Return)
    assert screen.detail.head.text().replace("\u200b", "").startswith("rejected: Sepsis, E1")
    QTest.keyClick(screen.finder.field, Qt.Key.Key_Escape)
    assert len(listed(screen)) == 61
    QTest.keyClicks(screen.finder.field, "no such words")
    assert listed(screen) == []
    page = page_of(cell(*diagnoses()))
    show(screen, replace(page, place=replace(page.place, row=9)))
    assert (screen.finder.field.text(), len(listed(screen))) == ("", 60)
    assert screen.events.isColumnHidden(1)  # no row has a time


@pytest.mark.gui
@pytest.mark.parametrize("rule", [RULE, "x" * 600])
def test_a_long_rule_is_cut_with_a_sign_and_whole_below_and_makes_nothing_wider(
    screen: TimelineScreen, rule: str
) -> None:
    window = screen.window()

    def width() -> int:
        settle(window)
        return screen.minimumSizeHint().width()

    lineage = replace(cell(*diagnoses("short")), windows=(Window(IN, None, "short"),))
    show(screen, page_of(lineage))
    screen.events.selectRow(20)
    before = width()
    page = page_of(replace(cell(*diagnoses(rule)), windows=(Window(IN, None, rule),)))
    show(screen, replace(page, place=replace(page.place, row=9)))
    screen.events.selectRow(20)
    assert width() == before
    cut = screen.events.records.index(20, 4)
    assert cut.data().endswith("…")
    assert screen.events.columnWidth(5) <= screen.context.px(250)
    assert " ".join(cut.data(Qt.ItemDataRole.ToolTipRole).split()) == rule
    below = [each.text() for each in (screen.detail.why, screen.detail.rule) if each.isVisible()]
    assert " ".join(below).replace("\u200b", "") == rule
    inside = screen.detail.findChild(QScrollArea)
    assert inside is not None
    assert inside.widget().width() <= inside.viewport().width()


@pytest.mark.gui
@pytest.mark.parametrize("times", [(None,), (None, 3.0)])
def test_in_a_narrow_window_nothing_lies_over_anything(
    screen: TimelineScreen, times: tuple[float | None, ...]
) -> None:
    window = screen.window()
    window.resize(620, 560)
    show(screen, page_of(cell(*(event("decisive", at) for at in times))))
    settle(window)
    parts = [each for each in (screen.chips, screen.plot, screen.finder, screen.events,
                               screen.detail) if each.isVisible()]  # fmt: skip
    places = [QRect(each.mapTo(screen, QPoint()), each.size()) for each in parts]
    assert len(places) == 3 + len(times)
    for upper, lower in itertools.pairwise(places):
        assert upper.bottom() < lower.top()
    assert screen.chips.height() >= screen.chips.heightForWidth(screen.chips.width())


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
    settle(screen.window())
    plot = screen.plot
    assert len(plot._drawn) <= 12
    plot._label()
    assert len(plot._labels) == 0  # marks stand side by side: every text would cover some
    plot.zoom_by(0.02)
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
