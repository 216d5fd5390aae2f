"""Opening a text: the file and the journal held together, whatever happened meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.base.paths import Home
from engine.editing.history import History, whole_change
from engine.editing.journal import Journal
from engine.editing.merge import Merge, merge
from engine.editing.textfile import TextFile, read_text

OUTSIDE = "The text was changed outside this program here; what came before cannot be undone."
"""Why undoing ends, where somebody else wrote."""


@dataclass
class Opened:
    """A text that is being edited."""

    path: Path
    """Its file."""
    file: TextFile
    """What is on disk."""
    history: History
    """The text, and what can be undone."""
    journal: Journal
    """Held until `close`."""
    note: str
    """What had happened since the last time, for people; empty when nothing."""
    pending: Merge | None
    """What somebody has to decide before anything can be saved."""

    def close(self) -> None:
        """Give the journal back."""
        self.journal.let_go()


def open_text(home: Home, path: Path) -> Opened:
    """Open a text for editing.

    Raises:
        BadInput: the file is not there or no UTF-8 text.
        Busy: another window edits it.
        StorageFull, MissingPrerequisite: the home cannot be written.
    """
    file = read_text(path)
    journal = Journal(home, path)
    journal.hold()
    try:
        return _open(path, file, journal)
    except BaseException:
        journal.let_go()
        raise


def _open(path: Path, file: TextFile, journal: Journal) -> Opened:
    kept = journal.read()
    if kept is None:
        history, note, pending = History.begin(file.text), "", None
        journal.rewrite(history)
        return Opened(path, file, history, journal, note, pending)
    was_dirty = kept.dirty
    note, pending = take_in(kept, file.text)
    if not note and was_dirty and kept.dirty:
        note = "What was typed last time and not saved was brought back. Undo takes it away again."
    journal.rewrite(kept)
    return Opened(path, file, kept, journal, note, pending)


def take_in(history: History, theirs: str) -> tuple[str, Merge | None]:
    """What is on disk is `theirs`: bring the history together with it.

    Returns:
        What is to be told (empty when nothing new is on disk), and what has to be decided; the
        history is left alone then, until `settle`.
    """
    if theirs == history.saved:
        return "", None
    if theirs == history.tried:  # it was saved, and the program ended before that was written down
        history.mark_kept()
        return "", None
    if theirs == history.text:
        history.mark_saved()
        return "", None
    if not history.dirty:
        history.rebase(theirs, OUTSIDE)
        return "This text was changed outside the program; you see what is on disk now.", None
    merged = merge(history.saved, history.text, theirs)
    if merged.conflicts:
        count = len(merged.conflicts)
        places = "one place" if count == 1 else f"{count} places"
        return f"This text was changed outside the program, also where you changed it: {places}.", (
            merged
        )
    settle(history, theirs, merged.text())
    return "This text was changed outside the program; your changes were merged into it.", None


def settle(history: History, theirs: str, text: str) -> None:
    """The merged text is `text`: undoing leads back to `theirs` and ends there."""
    history.rebase(theirs, OUTSIDE)
    whole_change(history, text)
