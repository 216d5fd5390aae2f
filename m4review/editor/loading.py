"""What opening a text brings, where a text can stand, and how its journal is written."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import UsageError
from engine.catalogue.task import Task
from engine.editing.history import History, Record
from engine.editing.merge import Merge
from engine.editing.opening import Opened, open_text
from engine.editing.place import ContentPlace, content_place
from engine.editing.textfile import TextFile
from engine.editing.texts import EditableText, editable_texts
from engine.reviews.texts import Content
from engine.workbench import TextUser

if TYPE_CHECKING:
    from engine.workbench import Workbench


class State(enum.Enum):
    """Where the text stands."""

    OPENING = "Opening…"
    SAVED = "Saved"
    CHANGED = "Changed"
    SAVING = "Saving…"
    FAILED = "Not saved"
    ASKING = "Not saved: first see whom it concerns"
    CONFLICT = "Not saved: it was changed outside as well"
    GONE = "Not saved: the file is gone"
    READ_ONLY = "Only to be read here"
    CLOSED = "Not open"


@dataclass(frozen=True)
class Loaded:
    """What opening brought."""

    task: Task
    """The task."""
    texts: tuple[EditableText, ...]
    """Its texts."""
    text: EditableText
    """The one that is opened."""
    opened: Opened
    """The open text."""
    users: tuple[TextUser, ...]
    """Whose text it is too."""
    place: ContentPlace
    """Where texts lie."""
    signed: bool
    """Is there a ledger whose signatures could become stale?"""


class Outside(NamedTuple):
    """What a file is that another program wrote."""

    file: TextFile | None
    """None where it is gone."""
    merged: Merge | None
    """None where it is what was known."""


def write_down(
    opened: Opened, waiting: list[Record], whole: History | None, *, must: bool = False
) -> None:
    """Append what waits to the journal; or write all of it anew, where it must be or is long.

    Runs in the lane of jobs; the window only ever appends to `waiting`.
    """
    if whole is not None and (must or opened.journal.large or opened.journal.stale):
        opened.journal.rewrite(whole)
        waiting.clear()
        return
    records = list(waiting)
    if records:
        opened.journal.append(records)
        del waiting[: len(records)]


def load(workbench: Workbench, task_name: str, name: str) -> Loaded:
    """Read what is needed to edit a text.

    Raises:
        UsageError: there is no such task or text.
        BadInput, Busy, StorageFull, MissingPrerequisite: the text cannot be opened.
    """
    content = Content(workbench.content)
    task = content.task(task_name)
    texts = editable_texts(task, content.skill_files(task))
    fits = (each for each in texts if name in ("", each.name, each.kind))  # "skill": the first one
    text = next(fits, None)
    if text is None:
        raise UsageError(
            f"{task.name} has no text called {name}.", todo="Choose one from the task's page."
        )
    try:
        users = workbench.text_users(text.path)
    except UsageError:
        users = ()
    signed = any((workbench.home.root / "reviews" / "ledger").glob("*/*.json"))
    place = content_place(workbench.home, workbench.content)
    opened = open_text(workbench.home, text.path)
    return Loaded(task, texts, text, opened, users, place, signed)
