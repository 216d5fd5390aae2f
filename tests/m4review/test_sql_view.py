"""The chain of queries behind a reference, in the real task page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from app_window import settle
from PySide6.QtTest import QTest

from m4review.app.links import Place
from m4review.app.window import MainWindow
from m4review.task.sql_view import SqlView
from m4review.task.view import TaskScreen

pytestmark = pytest.mark.gui


def test_the_whole_chain_is_shown_and_can_be_jumped_in(
    open_window: Callable[..., MainWindow],
) -> None:
    window = open_window()
    window.go(Place("task", "mimic-ventilation"))
    settle(window)
    screen = window.screen_shown
    assert isinstance(screen, TaskScreen)
    view = screen.rules.widget(screen.rules.count() - 1)
    assert isinstance(view, SqlView)
    screen.rules.setCurrentWidget(view)
    settle(window)
    assert screen.model.page is not None
    parts = screen.model.page.sql_parts
    assert len(parts) > 1
    text = view.text.toPlainText()
    for part in parts:
        assert part.text.strip() in text
        assert part.purpose.split()[0] in text
    assert [view.jump.itemText(at).split()[-1] for at in range(1, view.jump.count())] == [
        part.title for part in parts[1:]
    ]
    for at in (2, 1, 0):
        view.jump.setCurrentIndex(at)
        view.jump.activated.emit(at)
        QTest.qWait(0)
        assert parts[at].title in view.text.firstVisibleBlock().text()
        assert view.jump.currentIndex() == at
