"""People at windows of their own, and a search for a word in everything that a home holds."""

from __future__ import annotations

import base64
import gzip
import io
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from app_window import wait
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest

from m4review.app.links import Place
from m4review.app.start import settle as settle_window
from m4review.app.window import MainWindow
from m4review.review.assign import AssignDialog
from m4review.review.sheet.view import ReviewScreen
from m4review.review.view import ReviewsScreen

Key = Qt.Key


def settle(window: MainWindow) -> None:
    """Wait until no job is left; nothing here is drawn later than that."""
    settle_window(window, rest=0.01)


def until(window: MainWindow, holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something and let the window come to rest."""
    wait(lambda: bool(holds()), seconds)
    settle(window)


@dataclass
class Somebody:
    """A person with a home, a keyring and a window."""

    name: str
    home: Path
    window: MainWindow
    sit_down: Callable[[], None]

    def goes(self, place: Place) -> None:
        """Sit down, and go somewhere."""
        self.sit_down()
        self.window.activateWindow()
        self.window.go(place)
        settle(self.window)

    @property
    def reviews(self) -> ReviewsScreen:
        """The page of reviews."""
        return cast("ReviewsScreen", self.window.screens["reviews"])

    @property
    def review(self) -> ReviewScreen:
        """The page of one review."""
        return cast("ReviewScreen", self.window.screens["review"])

    def answers(self, *answers: object) -> None:
        """What will be said to the next questions."""
        self.window.context.interaction.answers = list(answers)

    def begins(self, role: str) -> None:
        """Make an identity by hand."""
        self.goes(Place("reviews", "people"))
        people = self.reviews.people
        QTest.keyClicks(people.name, self.name)
        QTest.keyClicks(people.role, role)
        QTest.keyClick(people.role, Key.Key_Return)
        until(self.window, people.own.isVisible)

    def gives_identity(self, other: Somebody) -> None:
        """By a file that is dropped on the other's page."""
        file = self.home.parent / f"{self.name}-identity.zip"
        self.answers(file)
        self.goes(Place("reviews", "people"))
        self.reviews.people.exported.emit()
        until(self.window, file.is_file)
        other.takes(file)

    def gives(self, *others: Somebody) -> Path:
        """A bundle for others, who import it."""
        file = self.home.parent / f"{self.name}.zip"
        file.unlink(missing_ok=True)
        self.goes(Place("reviews"))
        self.answers(True, file)
        self.window.actions_of.trigger("review.export")
        until(self.window, file.is_file)
        for other in others:
            other.takes(file)
        return file

    def takes(self, file: Path) -> None:
        """Drop a file on the page of reviews."""
        self.goes(Place("reviews"))
        screen = self.reviews
        screen.result.hide()
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(file))])
        screen.dropEvent(
            QDropEvent(
                QPoint(5, 5).toPointF(), Qt.DropAction.CopyAction, data,
                Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
            )
        )  # fmt: skip
        until(self.window, lambda: screen.result.isVisible() or screen.errors.error is not None)

    def asks(self, task: str, reviewers: list[str], adjudicator: str) -> None:
        """Ask people for reviews, in the dialog."""
        self.goes(Place("reviews", "progress"))
        tree = self.reviews.progress.tree
        (item,) = tree.findItems(task, Qt.MatchFlag.MatchRecursive | Qt.MatchFlag.MatchExactly)
        tree.setCurrentItem(item)
        QTest.mouseClick(self.reviews.assign_button, Qt.MouseButton.LeftButton)
        (dialog,) = self.window.findChildren(AssignDialog)
        for row in range(dialog.reviewers.count()):
            entry = dialog.reviewers.item(row)
            if entry.text().split(",")[0] in reviewers:
                dialog.reviewers.setCurrentRow(row)
                QTest.keyClick(dialog.reviewers, Key.Key_Space)
        at = next(
            row for row in range(dialog.adjudicator.count())
            if dialog.adjudicator.itemText(row).startswith(adjudicator)
        )  # fmt: skip
        dialog.adjudicator.setCurrentIndex(at)
        assert dialog.ask.isEnabled(), dialog.why.text()
        QTest.mouseClick(dialog.ask, Qt.MouseButton.LeftButton)
        settle(self.window)

    def opens_first(self) -> None:
        """Open what waits first, with Enter."""
        self.goes(Place("reviews"))
        table = self.reviews.waiting.table
        until(self.window, lambda: table.currentIndex().isValid())
        QTest.keyClick(table, Key.Key_Return)
        settle(self.window)


def needles(word: str) -> list[bytes]:
    """A word as it may stand in a file: raw, UTF-16, hex, base64 at each alignment."""
    raw = word.encode()
    found = [
        raw,
        raw.upper(),
        raw[::-1],
        *(word.encode(code) for code in ("utf-16-le", "utf-16-be")),
    ]
    found += [text.encode() for each in tuple(found) for text in (each.hex(), each.hex().upper())]
    for plain in (raw, word.encode("utf-16-le")):
        for shift in range(3):
            # What stands before and after it changes the first and last characters.
            text = base64.b64encode(b"\0" * shift + plain)
            cut = text[(shift * 8 + 5) // 6 :].rstrip(b"=")
            found.append(cut[: len(cut) - (1 if (shift + len(plain)) % 3 else 0)])
    return found


def contents(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """A file's bytes, and those of everything inside it."""
    yield name, data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from contents(archive.read(member), f"{name}:{member}")
    elif data[:2] == b"\x1f\x8b":
        yield from contents(gzip.decompress(data), f"{name}:gz")
    elif data[:15] == b"SQLite format 3":
        connection = sqlite3.connect(":memory:")
        try:
            connection.deserialize(data)
            for line in connection.iterdump():
                yield f"{name}:sql", line.encode()
        except sqlite3.DatabaseError:
            pass  # written in parts beside it (WAL): its raw bytes were searched
        finally:
            connection.close()


def holding(root: Path, word: str) -> list[str]:
    """Files below a folder (or one file) in which a word stands in whatever way."""
    wanted = needles(word)
    paths = [root] if root.is_file() else [path for path in root.rglob("*") if path.is_file()]
    return [
        name
        for path in paths
        for name, data in contents(path.read_bytes(), str(path))
        if any(each in data for each in wanted)
    ]
