"""What was done to a text, so that it can be undone: in this session and in a later one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from engine.editing.textfile import changed_span

Record = list[object]
"""One JSON array of the journal: its first element names what it is."""


class Edit(NamedTuple):
    """One place of the text that was replaced."""

    at: int
    """Character, counted from 0."""
    removed: str
    """What stood there."""
    added: str
    """What stands there since."""
    step: int
    """Edits of one step are undone together."""

    @property
    def back(self) -> Edit:
        """What undoes it."""
        return Edit(self.at, self.added, self.removed, self.step)

    @property
    def size(self) -> int:
        """Characters that it holds."""
        return len(self.removed) + len(self.added)


@dataclass
class History:
    """A text, what led to it since `base`, and what stands on disk.

    Every change returns the record that the journal has to keep.
    """

    base: str
    """The oldest text that can be gone back to."""
    why: str = ""
    """Why one cannot go back further, for people; empty where the history begins there."""
    saved: str = ""
    """The text that was last seen on disk."""
    tried: str = ""
    """The text that was last handed to the disk, saved or not."""
    text: str = ""
    """The text now."""
    edits: list[Edit] = field(default_factory=list)
    """Done and undone, oldest first."""
    at: int = 0
    """Edits before this one are done, the others undone."""

    @classmethod
    def begin(cls, text: str, why: str = "") -> History:
        """The history of a text that nothing was done to yet."""
        return cls(base=text, why=why, saved=text, tried=text, text=text)

    @property
    def dirty(self) -> bool:
        """Is there something that is not on disk?"""
        return self.text != self.saved

    @property
    def can_undo(self) -> bool:
        """Is there something to undo?"""
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        """Is there something to do again?"""
        return self.at < len(self.edits)

    def record(self, at: int, removed: str, added: str, step: int) -> Record:
        """Something was replaced; what had been undone cannot be done again any more."""
        del self.edits[self.at :]
        self.edits.append(Edit(at, removed, added, step))
        self.at += 1
        self._apply(self.edits[-1])
        return ["edit", at, removed, added, step]

    def undo(self) -> list[Edit]:
        """Take the last step back; returns what has to be replaced, in order."""
        done: list[Edit] = []
        while self.at and (not done or self.edits[self.at - 1].step == done[0].step):
            self.at -= 1
            done.append(self.edits[self.at].back)
            self._apply(done[-1])
        return done

    def redo(self) -> list[Edit]:
        """Do the next step again; returns what has to be replaced, in order."""
        done: list[Edit] = []
        while self.can_redo and (not done or self.edits[self.at].step == done[0].step):
            done.append(self.edits[self.at])
            self._apply(done[-1])
            self.at += 1
        return done

    def moved(self) -> Record:
        """The record of an `undo` or `redo`."""
        return ["at", self.at]

    def mark_tried(self) -> Record:
        """The text as it is now is handed to the disk; typing goes on meanwhile."""
        self.tried = self.text
        return ["tried"]

    def mark_kept(self) -> Record:
        """What was handed to the disk is there."""
        self.saved = self.tried
        return ["kept"]

    def mark_saved(self, text: str | None = None) -> Record:
        """A text (the present one) is on disk."""
        self.saved = self.tried = self.text if text is None else text
        return ["saved", text]

    def rebase(self, theirs: str, why: str) -> Record:
        """Somebody else's text is on disk: it is where undoing ends from now on."""
        fresh = History.begin(theirs, why)
        self.base, self.why, self.saved, self.text = fresh.base, why, theirs, theirs
        self.tried = theirs
        self.edits, self.at = [], 0
        return ["base", theirs, why]

    def records(self) -> list[Record]:
        """All of it from scratch."""
        lines: list[Record] = [["base", self.base, self.why], ["saved", self.saved]]
        lines += [["edit", e.at, e.removed, e.added, e.step] for e in self.edits]
        lines.append(self.moved())
        return lines

    def shorten(self, most: int) -> None:
        """Let the oldest steps go until the rest holds at most `most` characters."""
        size = sum(edit.size for edit in self.edits)
        if size <= most:
            return
        cut = 0
        while cut < self.at and size > most:
            size -= self.edits[cut].size
            cut += 1
            while cut < self.at and self.edits[cut].step == self.edits[cut - 1].step:
                size -= self.edits[cut].size
                cut += 1
        for edit in self.edits[:cut]:
            self.base = _with(self.base, edit)
        del self.edits[:cut]
        self.at -= cut
        if size > most:
            del self.edits[self.at :]
        self.why = "Older steps were let go: the history has a bound."

    def play(self, record: Record) -> None:
        """Do what a record says.

        Raises:
            ValueError: it does not fit what came before.
        """
        match record:
            case ["base", str(text), str(why)]:
                self.rebase(text, why)
            case ["saved", None]:
                self.mark_saved()
            case ["saved", str(text)]:
                self.mark_saved(text)
            case ["tried"]:
                self.mark_tried()
            case ["kept"]:
                self.mark_kept()
            case ["edit", int(at), str(removed), str(added), int(step)] if (
                at >= 0 and self.text.startswith(removed, at)
            ):
                self.record(at, removed, added, step)
            case ["at", int(at)] if 0 <= at <= len(self.edits):
                while self.at > at:
                    self.at -= 1
                    self._apply(self.edits[self.at].back)
                while self.at < at:
                    self._apply(self.edits[self.at])
                    self.at += 1
            case _:
                raise ValueError("this does not follow")

    def copy(self) -> History:
        """The same, for another thread."""
        return replace(self, edits=list(self.edits))

    def next_step(self) -> int:
        """A number that no step has."""
        return max((edit.step for edit in self.edits), default=0) + 1

    def _apply(self, edit: Edit) -> None:
        self.text = _with(self.text, edit)


def _with(text: str, edit: Edit) -> str:
    return text[: edit.at] + edit.added + text[edit.at + len(edit.removed) :]


def whole_change(history: History, text: str) -> Record | None:
    """Make the text another one in one step of its own; None where it is the same."""
    at, removed, added = changed_span(history.text, text)
    if not removed and not added:
        return None
    return history.record(at, removed, added, history.next_step())
