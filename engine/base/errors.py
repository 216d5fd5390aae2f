"""Every error that is meant for a person, and the exit code that goes with it.

::

    M4Error                     has a title, a text, what to do, details
    ├── UsageError          2   the call itself is wrong
    ├── BadInput            3   a file, a row or a key of the user's is wrong
    ├── MissingPrerequisite 4   something the machine must have is not there
    │   └── StorageFull     4   ... namely room on the disk
    ├── Busy                4   another program holds what we need
    ├── JudgedFailed        1   the thing asked was judged, and failed
    ├── Cancelled           5   the user said stop; state is saved
    └── HarnessFault       70   our own machinery failed (never a score)

Whatever is not in this tree is a bug of ours and leaves with 70 as well.
The window shows the same object as title, text, what to do and details.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in the user's input the trouble is."""

    file: str | None = None
    """The file's name as the user gave it (never logged: it may be a source path)."""
    line: int | None = None
    """Line in the file, counted from 1, the header included."""
    column: str | None = None
    """Column or key by name."""

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.column is not None:
            parts.append(f"column {self.column}")
        return ", ".join(parts)


class M4Error(Exception):
    """Base of all errors that carry words for the user.

    Args:
        text: one or two sentences: what is wrong.
        todo: what the user can do about it.
        place: where in the input it is.
        details: more for the curious (never cell values or identifiers).
    """

    exit_code: ClassVar[int] = 70
    title: ClassVar[str] = "Something went wrong"

    def __init__(
        self,
        text: str,
        *,
        todo: str | None = None,
        place: Place | None = None,
        details: str | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.todo = todo
        self.place = place
        self.details = details

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place and str(self.place) else ""
        todo = f" {self.todo}" if self.todo else ""
        return f"{where}{self.text}{todo}"

    def as_dict(self) -> dict[str, object]:
        """The error as JSON-ready values, for ``--json`` and the window."""
        return {
            "error": type(self).__name__,
            "title": self.title,
            "text": self.text,
            "todo": self.todo,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "column": self.place.column if self.place else None,
            "details": self.details,
        }


class UsageError(M4Error):
    """The call is wrong: an unknown name, an option that does not exist."""

    exit_code = 2
    title = "This does not work as asked"


class BadInput(M4Error):
    """A file, row or key that the user gave cannot be used."""

    exit_code = 3
    title = "The input cannot be used"


class MissingPrerequisite(M4Error):
    """The machine lacks something (an engine, a program, a key)."""

    exit_code = 4
    title = "Something is missing on this machine"


class StorageFull(MissingPrerequisite):
    """No room left where we have to write."""

    title = "The disk is full"


class Busy(M4Error):
    """Another program holds a file that is needed now."""

    exit_code = 4
    title = "In use by another program"


class JudgedFailed(M4Error):
    """The thing asked was judged, and failed (a check, a lint, a threshold)."""

    exit_code = 1
    title = "Judged, and failed"


class Cancelled(M4Error):
    """The user asked to stop. Not a failure; what was done is kept."""

    exit_code = 5
    title = "Stopped"

    def __init__(self, text: str = "Stopped as asked; the state is saved.") -> None:
        super().__init__(text)


class HarnessFault(M4Error):
    """Our own machinery failed. Never turned into a score."""

    title = "The harness failed"


def bad_file(
    path: Path | str,
    text: str,
    *,
    line: int | None = None,
    column: str | None = None,
    todo: str | None = None,
) -> BadInput:
    """A `BadInput` that names file, line and column."""
    return BadInput(text, todo=todo, place=Place(file=str(path), line=line, column=column))
