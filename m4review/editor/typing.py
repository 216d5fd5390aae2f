"""A text document of Qt and the engine's history of it, held together at every keystroke.

Qt's own undo is switched off: it forgets when the program ends. Positions of the history are
characters; Qt counts those beyond the first plane twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QTextCursor, QTextDocument

from engine.editing.history import Edit, History, Record
from engine.editing.textfile import changed_span

_PAUSE = 1.5
"""Seconds without a key after which a new step begins."""


def units(text: str, at: int) -> int:
    """Qt's position of a character."""
    if text.isascii():
        return at
    return len(text[:at].encode("utf-16-le", "surrogatepass")) // 2


def characters(text: str, at: int) -> int:
    """The character at a position of Qt's."""
    if text.isascii():
        return at
    return len(text.encode("utf-16-le", "surrogatepass")[: at * 2].decode("utf-16-le", "ignore"))


class Typing(QObject):
    """Writes down what happens to a document, and takes it back."""

    recorded = Signal(object)
    """A record for the journal."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        document.setUndoRedoEnabled(False)
        self._document = document
        self._quiet = False
        self._together: int | None = None
        self._last: tuple[float, Edit] | None = None
        self.history = History.begin("")
        document.contentsChange.connect(self._changed)

    def load(self, history: History) -> None:
        """Show the text of a history, from scratch."""
        self.history, self._last = history, None
        self._quiet = True
        self._document.setPlainText(history.text)
        self._quiet = False

    def show_history(self) -> int:
        """The history has got another text: show it, changing only what differs.

        Returns:
            Where the change begins, as a position of Qt's.
        """
        shown = self.shown()
        at, removed, added = changed_span(shown, self.history.text)
        self._last = None
        return self._replace(shown, at, removed, added)

    def change_to(self, text: str) -> None:
        """Make the text another one; only what differs is touched, and it is written down."""
        shown = self.history.text
        at, removed, added = changed_span(shown, text)
        if removed or added:
            self._replace(shown, at, removed, added)
            self.record(at, removed, added)

    def shown(self) -> str:
        """The document's text, letter for letter."""
        return self._document.toRawText().replace("\u2029", "\n").replace("\u2028", "\n")

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """What is done meanwhile is undone together."""
        if self._together is not None:
            yield
            return
        self._together, self._last = self.history.next_step(), None
        try:
            yield
        finally:
            self._together, self._last = None, None

    def undo(self) -> int | None:
        """Take the last step back; where the cursor belongs, or None when there was none."""
        return self._play(self.history.undo)

    def redo(self) -> int | None:
        """Do it again; where the cursor belongs, or None when there was nothing."""
        return self._play(self.history.redo)

    def _play(self, what: object) -> int | None:
        text = self.history.text
        edits: list[Edit] = what()  # type: ignore[operator]
        self._last = None
        if not edits:
            return None
        cursor = -1
        for edit in edits:
            cursor = self._replace(text, edit.at, edit.removed, edit.added)
            text = text[: edit.at] + edit.added + text[edit.at + len(edit.removed) :]
        self.recorded.emit(self.history.moved())
        return cursor

    def _replace(self, text: str, at: int, removed: str, added: str) -> int:
        cursor = QTextCursor(self._document)
        begin = units(text, at)
        cursor.setPosition(begin)
        end = begin + units(removed, len(removed))
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        self._quiet = True
        cursor.insertText(added)
        self._quiet = False
        return cursor.position()

    def _changed(self, _at: int, removed: int, added: int) -> None:
        if self._quiet or not (removed or added):
            return
        at, was, now = changed_span(self.history.text, self.shown())
        if was or now:
            self.record(at, was, now)

    def record(self, at: int, was: str, now: str) -> Record:
        """Write a change down."""
        step = self._step(at, was, now)
        made = self.history.record(at, was, now, step)
        self._last = (time.monotonic(), self.history.edits[-1])
        self.recorded.emit(made)
        return made

    def _step(self, at: int, was: str, now: str) -> int:
        if self._together is not None:
            return self._together
        if self._last is not None:
            when, last = self._last
            if time.monotonic() - when < _PAUSE and _goes_on(last, at, was, now):
                return last.step
        return self.history.next_step()


def _goes_on(last: Edit, at: int, was: str, now: str) -> bool:
    """Is it the same typing, or the same deleting, as before?"""
    if not was and not last.removed and len(now) == 1 and at == last.at + len(last.added):
        begins_word = last.added[-1:].isspace() and not now.isspace()
        return not begins_word and now != "\n"
    if not now and not last.added and len(was) == 1 and len(last.removed) == 1:
        return at in (last.at, last.at - 1) and "\n" not in was + last.removed
    return False
