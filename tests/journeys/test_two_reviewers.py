"""Two reviewers and an adjudicator at three windows, with files as the only carrier."""

from __future__ import annotations

import base64
import gzip
import logging
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import pytest
from app_window import close_window
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from review_homes import TASK, Keyring, sirs_content
from ruamel.yaml import YAML
from two_reviewers import Somebody, holding, settle, until

from engine.base.paths import open_home
from m4review.app.application import start_log
from m4review.app.interaction import Interaction
from m4review.app.links import Place
from m4review.app.start import make_window
from m4review.app.window import MainWindow
from m4review.review.decide.view import DecideScreen

pytestmark = [pytest.mark.gui, pytest.mark.slow]

WORD = "xylocarpous"
"""Stands in A's verdict, and nowhere else."""
Key = Qt.Key


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """One family of tasks and its skill, to be changed at will."""
    return sirs_content(tmp_path / "content")


@pytest.fixture
def person(
    app: QApplication, tmp_path: Path, content: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Somebody]]:
    """Somebody at a workstation: an own home, keyring, window and log."""
    windows: list[MainWindow] = []
    before, level = list(logging.getLogger().handlers), logging.getLogger().level

    def somebody(name: str) -> Somebody:
        ring, home = Keyring(), open_home(tmp_path / name.lower())

        def sit_down() -> None:
            monkeypatch.setattr(keyring, "get_keyring", lambda: ring)

        sit_down()
        start_log(home.logs)
        window = make_window(home, interaction=Interaction(), content=content)
        window.resize(1280, 820)
        window.show()
        windows.append(window)
        return Somebody(name, home.root, window, sit_down)

    yield somebody
    for window in windows:
        close_window(window)
    for handler in logging.getLogger().handlers[:]:
        if handler not in before:
            logging.getLogger().removeHandler(handler)
            handler.close()
    logging.getLogger().setLevel(level)


def says(who: Somebody, words: str, *, about: str, key: Key = Key.Key_2) -> None:
    """Agree to every question by keys, but doubt one of them with words."""
    model, writing = who.review.model, who.review.writing
    sheet = model.sheet
    assert sheet is not None
    assert [model.entry_of(item.id)["verdict"] for item in sheet.items] == [None] * len(sheet.items)
    for item in sheet.items:
        assert model.current == item.id
        if item.id == about:
            QTest.keyClick(writing.list, key)
            if key != Key.Key_4:
                assert "severity" in str(model.missing[about])
                QTest.mouseClick(writing.answer.severities["major"], Qt.MouseButton.LeftButton)
            QTest.keyClick(writing.list, Key.Key_W)
            QTest.keyClicks(writing.answer.words, words)
            writing.texts.go_to("instruction")
            writing.texts.view.choose_lines(2, 3)
            QTest.keyClick(writing.texts.view, Key.Key_L)
            writing.list.setFocus()
        else:
            QTest.keyClick(writing.list, Key.Key_1)
        QTest.keyClick(writing.list, Key.Key_J)
    assert model.missing == {}


def signs(who: Somebody) -> None:
    """F9, and yes to what the signature binds."""
    who.answers(True)
    QTest.keyClick(who.review.writing.list, Key.Key_F9)
    model = who.review.model
    until(who.window, lambda: model.page is not None and model.page.signed is not None)
    assert "Checklist" in who.window.context.interaction.said[-1]


def test_two_reviewers_and_an_adjudicator(  # noqa: PLR0915 - one story, in its order
    person: Callable[[str], Somebody], content: Path
) -> None:
    a, b, c = (person(name) for name in ("Anna", "Berta", "Clara"))
    for who in (a, b, c):
        who.begins("intensivist")
    for who in (a, b):
        who.gives_identity(c)
    assert "introduces" in c.reviews.result.words.text()
    c.asks(TASK, ["Anna", "Berta"], "Clara")
    c.gives(a, b)
    provenance = content / "tasks" / "sirs" / "PROVENANCE.yaml"
    skill = content / "skills" / "sirs" / "SKILL.md"
    written = provenance.read_bytes()

    # A writes by keys. The draft is kept at once, and nobody can read it.
    a.opens_first()
    assert a.window.place == Place("review", TASK)
    says(a, f"{WORD} window", about="windows")
    until(a.window, lambda: a.review.model.saved == "saved")
    (draft,) = (a.home / "reviews" / "drafts").iterdir()
    assert draft.suffix == ".draft"
    assert holding(a.home, WORD) == []
    # A goes away and comes back: it is all there.
    a.goes(Place("reviews"))
    assert a.review.model.draft is None
    assert a.review.writing.answer.words.toPlainText() == ""
    a.goes(Place("review", TASK))
    assert a.review.model.entry_of("windows")["text"] == f"{WORD} window"
    signs(a)
    assert not draft.exists()
    assert a.review.stack.currentWidget() is a.review.sealed
    bundle = a.gives(b, c)

    # Not a word of it at B's, at C's, in the bundle, in A's own home, or on the clipboard.
    b.goes(Place("review", TASK))
    b.goes(Place("reviews", "progress"))
    c.goes(Place("review", TASK))
    assert c.review.stack.currentWidget() is c.review.empty
    for place in (b.home, c.home, bundle, a.home):
        assert holding(place, WORD) == []
    assert WORD not in QGuiApplication.clipboard().text()
    assert provenance.read_bytes() == written
    # A alone can read what A said, when she asks.
    a.goes(Place("review", TASK))
    QTest.mouseClick(a.review.sealed.show_button, Qt.MouseButton.LeftButton)
    settle(a.window)
    assert any(WORD in each.text() for each in a.review.sealed.own.findChildren(QLabel))

    # B differs elsewhere. As soon as B's bundle is at A's, A's key is given.
    b.opens_first()
    says(b, "which unit?", about="units", key=Key.Key_4)
    signs(b)
    assert holding(b.home, WORD) == []
    b.gives(a)
    assert "can be read now" in a.reviews.result.words.text()
    a.gives(b, c)
    b.goes(Place("review", TASK))
    assert b.review.stack.currentWidget() is b.review.result
    b.gives(c)

    # C decides without names, and must say why.
    c.opens_first()
    assert c.window.place == Place("adjudicate", TASK)
    decide = c.window.screens["adjudicate"]
    assert isinstance(decide, DecideScreen)
    docket = decide.model.docket
    assert docket is not None
    assert {voice.by for _, voices in docket.items for voice in voices} == {
        "Reviewer 1", "Reviewer 2",
    }  # fmt: skip
    for _ in docket.items:
        QTest.keyClick(decide.list, Key.Key_1)
        QTest.keyClick(decide.list, Key.Key_J)
    QTest.keyClick(decide.list, Key.Key_F9)  # no reason yet: nothing is asked
    assert set(decide.model.missing.values()) == {"needs a reason"}
    for _ in docket.items:
        QTest.keyClicks(decide.reason, "Looked at both texts.")
        QTest.keyClick(decide.list, Key.Key_J)
    c.answers(True)
    QTest.keyClick(decide.list, Key.Key_F9)
    until(c.window, lambda: c.window.place == Place("review", TASK))
    c.gives(a, b)

    # The reviewers see where the decision is not what they said.
    a.goes(Place("review", TASK))
    page = a.review.model.page
    assert page is not None
    differs = {item.outcome.item.id: item.differs for item in page.items if item.differs}
    assert differs == {"windows": ("Anna",), "units": ("Berta",)}
    a.goes(Place("reviews", "agreement"))
    (_, figures), *_ = a.reviews.model.agreement
    assert figures.raw.value == pytest.approx(10 / 12)

    # C compares fingerprints; only then the skill is validated, after a look at what is written.
    c.goes(Place("reviews", "provenance"))
    (plan,) = c.reviews.model.plans
    assert plan.provenance.tiers[0].after == "community"
    for name in ("Anna", "Berta"):
        c.goes(Place("reviews", "people"))
        members = {each.name: each for each in c.reviews.model.overview.people}  # type: ignore[union-attr]
        row = [each.name for each in c.reviews.model.overview.people].index(name)  # type: ignore[union-attr]
        c.reviews.people.table.selectRow(row)
        c.answers(members[name].words)
        QTest.keyClick(c.reviews.people.table, Key.Key_Return)
        settle(c.window)
    c.goes(Place("reviews", "provenance"))
    assert provenance.read_bytes() == written
    assert "+" in c.reviews.provenance.changes.view.toPlainText()
    c.answers(True)
    QTest.mouseClick(c.reviews.provenance.write_all, Qt.MouseButton.LeftButton)
    until(c.window, lambda: provenance.read_bytes() != written)
    settle(c.window)
    data = YAML(typ="safe").load(provenance.read_text("utf-8"))
    assert {each["by"] for each in data["reviews"]} == {"Anna", "Berta", "Clara"}
    assert "tier: validated" in skill.read_text("utf-8")
    assert not any(each.window.context.interaction.errors for each in (a, b, c))


def test_the_search_finds_a_word_however_it_is_kept(tmp_path: Path) -> None:
    raw = f"before {WORD} after".encode()
    (tmp_path / "raw").write_bytes(raw)
    (tmp_path / "utf16").write_bytes(raw.decode().encode("utf-16-le"))
    (tmp_path / "hex").write_text(raw.hex())
    for shift in range(3):
        (tmp_path / f"base64-{shift}").write_bytes(base64.b64encode(b"x" * shift + raw))
    (tmp_path / "gz").write_bytes(gzip.compress(raw))
    with zipfile.ZipFile(tmp_path / "zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", gzip.compress(raw))
    connection = sqlite3.connect(tmp_path / "db")
    connection.execute("CREATE TABLE t (x)")
    connection.execute("INSERT INTO t VALUES (?)", ("long " * 3000 + raw.decode(),))
    connection.commit()
    connection.close()
    (tmp_path / "else").write_bytes(b"xylocarp ous")
    found = {name.removeprefix(f"{tmp_path}/").split(":")[0] for name in holding(tmp_path, WORD)}
    assert found == {path.name for path in tmp_path.iterdir()} - {"else"}
