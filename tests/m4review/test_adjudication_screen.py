"""The adjudicator's page: decisions by keys, taken back, kept."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from app_window import close_window, settle
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from review_homes import TASK, make_team

from m4review.app.interaction import Interaction
from m4review.app.links import Place
from m4review.app.start import make_window
from m4review.review.decide.view import DecideScreen

pytestmark = pytest.mark.gui
Key = Qt.Key


def test_decisions_are_taken_back_by_the_key_that_takes_back_answers(
    app: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = make_team(tmp_path, monkeypatch)
    team.reviews("anna", units="mg?", windows="24 h?")
    team.reviews("berta")
    team.gives("anna", "berta")
    team.gives("berta", "anna", "clara")
    team.gives("anna", "clara")
    bench = team.at("clara")
    window = make_window(bench.home, interaction=Interaction(), content=team.content)
    window.resize(1280, 820)
    window.show()
    try:
        window.go(Place("adjudicate", TASK))
        settle(window)
        screen = cast("DecideScreen", window.screen_shown)
        model = screen.model
        assert not model.can_undo
        QTest.keyClick(screen.list, Key.Key_U)  # nothing to take back: nothing happens
        QTest.keyClick(screen.list, Key.Key_1)
        QTest.keyClick(screen.list, Key.Key_J)
        QTest.keyClick(screen.list, Key.Key_2)
        QTest.keyClick(screen.list, Key.Key_1)
        screen.reason.setPlainText("because")
        said = [(e["decision"], e["reason"]) for e in model.draft["items"]]  # type: ignore[index]
        assert said == [("agree", ""), ("agree", "because")]
        screen.list.setFocus()
        QTest.keyClick(screen.list, Key.Key_U)
        assert model.entry_of("windows")["decision"] == "disagree"
        assert screen.decisions["disagree"].isChecked()
        assert screen.reason.toPlainText() == "because"  # words have an undo of their own
        QTest.keyClick(screen.list, Key.Key_U)
        QTest.keyClick(screen.list, Key.Key_U)
        assert model.current == "units"  # it shows what it took back
        assert [e["decision"] for e in model.draft["items"]] == [None, None]  # type: ignore[index]
        assert not model.can_undo
        assert set(model.missing) == {"units", "windows"}
        QTest.keyClick(screen.list, Key.Key_2)
        model.save()
        settle(window)
        kept = team.at("clara").docket(TASK).draft["items"]
        assert [(e["decision"], e["reason"]) for e in kept] == [
            ("disagree", ""), (None, "because"),
        ]  # fmt: skip
        window.go(Place("reviews"))
        assert model.draft is None
        assert not model.can_undo
    finally:
        close_window(window)
