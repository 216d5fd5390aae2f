"""The dialogs for files as they are, driven by their own fields and buttons."""

from __future__ import annotations

import errno
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from app_window import close_window, settle, until
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialogButtonBox,
    QFileDialog,
    QLineEdit,
    QWidget,
)
from review_homes import Team, make_team

from engine.base.errors import StorageFull
from m4review.app.dialogs import Dialogs, endings_of
from m4review.app.links import Place
from m4review.app.start import make_window
from m4review.app.window import MainWindow
from m4review.review.view import ReviewsScreen

pytestmark = pytest.mark.gui
Key = Qt.Key


class Person:
    """Answers one modal dialog after the other, each with the next of the acts."""

    def __init__(self) -> None:
        self.acts: list[Callable[[QWidget], None]] = []
        self.saw: list[QWidget] = []
        self._timer = QTimer()
        self._timer.timeout.connect(self._look)
        self._timer.start(10)

    def _look(self) -> None:
        shown = QApplication.activeModalWidget()
        if shown is None or not shown.isVisible() or (self.saw and self.saw[-1] is shown):
            return
        self.saw.append(shown)
        if self.acts:
            act = self.acts.pop(0)
            QTimer.singleShot(0, lambda: act(shown))  # a dialog over this one is looked for then
        else:  # nobody expected it: the test fails on what was seen
            shown.close()

    def stop(self) -> None:
        self._timer.stop()


def press(text: str) -> Callable[[QWidget], None]:
    """The button of a dialog that says so."""

    def act(dialog: QWidget) -> None:
        names = {b.text().replace("&", ""): b for b in dialog.findChildren(QAbstractButton)}
        QTest.mouseClick(names[text], Qt.MouseButton.LeftButton)

    return act


def saves(path: Path) -> Callable[[QWidget], None]:
    """A name is typed, and Save is pressed."""

    def act(dialog: QWidget) -> None:
        assert isinstance(dialog, QFileDialog)
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        buttons = dialog.findChild(QDialogButtonBox)
        assert field is not None
        assert buttons is not None
        field.setText(str(path))  # typed, a list of completions would take the click
        kinds = (QDialogButtonBox.StandardButton.Save, QDialogButtonBox.StandardButton.Open)
        button = next(b for kind in kinds if (b := buttons.button(kind)) is not None)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    return act


def cancels(dialog: QWidget) -> None:
    """Escape."""
    QTest.keyClick(dialog, Key.Key_Escape)


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    return make_team(tmp_path, monkeypatch)


@pytest.fixture
def window(app: QApplication, team: Team) -> Iterator[MainWindow]:
    """Anna's, with dialogs."""
    made = make_window(team.at("anna").home, content=team.content)
    assert isinstance(made.context.interaction, Dialogs)
    made.resize(1280, 820)
    made.show()
    yield made
    close_window(made)


@pytest.fixture
def person() -> Iterator[Person]:
    somebody = Person()
    yield somebody
    somebody.stop()


def reviews(window: MainWindow, tab: str = "") -> ReviewsScreen:
    window.go(Place("reviews", tab))
    settle(window)
    return cast("ReviewsScreen", window.screen_shown)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_bundle_is_exported_and_imported_through_the_dialogs(
    window: MainWindow, person: Person, tmp_path: Path, team: Team
) -> None:
    screen, out = reviews(window), tmp_path / "out"
    out.mkdir()
    export = lambda: (window.actions_of.trigger("review.export"), settle(window))  # noqa: E731

    person.acts = [press("Choose a file…"), cancels]
    export()
    assert names_in(out) == []
    assert screen.errors.error is None

    # Without an ending it gets one, and a file of that name is asked about before it is replaced.
    person.acts = [press("Choose a file…"), saves(out / "mine")]
    export()
    until(window, (out / "mine.zip").is_file)
    assert zipfile.is_zipfile(out / "mine.zip")
    (out / "mine.zip").write_bytes(b"kept")
    person.acts = [press("Choose a file…"), saves(out / "mine"), keeps]
    export()
    assert (out / "mine.zip").read_bytes() == b"kept"
    person.acts = [press("Choose a file…"), saves(out / "mine"), press("Yes")]
    export()
    until(window, lambda: zipfile.is_zipfile(out / "mine.zip"))
    # Another ending than a bundle's is no reason to replace what is there either.
    (out / "mine.txt.zip").write_bytes(b"kept")
    person.acts = [press("Choose a file…"), saves(out / "mine.txt"), press("Cancel"), cancels]
    export()
    assert names_in(out) == ["mine.txt.zip", "mine.zip"]
    assert (out / "mine.txt.zip").read_bytes() == b"kept"
    assert person.acts == []

    # Import: changed her mind, something else, and a bundle.
    person.acts = [cancels]
    window.actions_of.trigger("review.import")
    settle(window)
    assert not screen.result.isVisible()
    person.acts = [saves(out / "mine.txt.zip")]
    window.actions_of.trigger("review.import")
    until(window, lambda: screen.errors.error is not None)
    assert "mine.txt.zip" in str(screen.errors.error)
    person.acts = [saves(tmp_path / "clara.zip")]
    window.actions_of.trigger("review.import")
    until(window, screen.result.isVisible)
    assert person.acts == []


def keeps(box: QWidget) -> None:
    """No, and out of the dialog for files to which that leads back."""
    (chooser,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, QFileDialog)]
    QTimer.singleShot(0, chooser.reject)
    press("No")(box)


def test_an_identity_that_cannot_be_written_is_told(
    window: MainWindow, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, out = reviews(window, "people"), tmp_path / "out"
    out.mkdir()
    (out / "me.zip").write_bytes(b"kept")

    def writes(*acts: Callable[[QWidget], None]) -> None:
        screen.errors.dismiss()
        person.acts = list(acts)
        screen.people.exported.emit()
        settle(window)

    writes(cancels)
    assert screen.errors.error is None

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "mkstemp", full)
        writes(saves(out / "me"), press("Yes"))
    assert isinstance(screen.errors.error, StorageFull)
    assert (out / "me.zip").read_bytes() == b"kept"
    # A folder in which nobody may write, whoever one is.
    writes(saves(Path("/proc/self/me.zip")))
    assert screen.errors.error is not None
    assert screen.errors.error.todo
    writes(saves(out / "me"), press("Yes"))
    until(window, lambda: zipfile.is_zipfile(out / "me.zip"))
    assert screen.errors.error is None
    assert names_in(out) == ["me.zip"]
    assert person.acts == []


def test_endings_are_those_of_the_pattern() -> None:
    assert endings_of("Web page (*.html *.HTM)") == (".html", ".htm")
    assert endings_of("") == ()
