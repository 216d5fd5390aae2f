"""What reviewers answer: versioned data per kind of task, shipped with the program."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.base.errors import BadInput
from engine.reviews.canonical import canonical, sha256

_KIND = re.compile(r"[a-z]{1,40}")
FOLDER = Path(__file__).parent / "checklists"


class Item(BaseModel):
    """One question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z-]*$")
    """For ever."""
    title: str
    """For people."""
    question: str
    """In full."""
    texts: tuple[str, ...]
    """What an answer rests on: names of texts, or ``skill`` and ``sql`` for all of them."""

    def rests_on(self, text: str) -> bool:
        """Does an answer rest on the text of that name?"""
        return text in self.texts or text.partition(":")[0] in self.texts


class Checklist(BaseModel):
    """All questions about one kind of task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    """Of task."""
    version: int = Field(ge=1)
    """Counted up with every change."""
    title: str
    """For people."""
    items: tuple[Item, ...] = Field(alias="item", min_length=1)
    """In the order in which they are asked."""

    @functools.cached_property
    def sha256(self) -> str:
        """Of its content; what a signature binds."""
        return sha256(canonical(self.model_dump(mode="json")))

    @property
    def named(self) -> dict[str, object]:
        """How an entry of the ledger names it."""
        return {"kind": self.kind, "version": self.version, "sha256": self.sha256}

    def item(self, name: str) -> Item:
        """The item of that id.

        Raises:
            BadInput: there is none.
        """
        for item in self.items:
            if item.id == name:
                return item
        raise BadInput(f"The checklist {self.kind} {self.version} has no item {name!r}.")


@functools.cache
def checklists(kind: str) -> tuple[Checklist, ...]:
    """All versions for a kind of task, oldest first; none for what is no kind."""
    if not _KIND.fullmatch(kind):
        return ()
    found = [
        Checklist.model_validate(tomllib.loads(path.read_text("utf-8")))
        for path in FOLDER.glob(f"{kind}-*.toml")
    ]
    return tuple(sorted(found, key=lambda each: each.version))


def newest(kind: str) -> Checklist:
    """The version that new assignments use.

    Raises:
        BadInput: there is no checklist for that kind of task.
    """
    found = checklists(kind)
    if not found:
        raise BadInput(f"There is no checklist for tasks of kind {kind}.")
    return found[-1]


def find_checklist(named: object) -> Checklist:
    """The checklist that an entry names.

    Raises:
        BadInput: this program does not have it, or has another under that version.
    """
    if isinstance(named, dict):
        for each in checklists(str(named.get("kind"))):
            if each.named == named:
                return each
    raise BadInput(
        "This program does not know that version of the checklist.", todo="Use a newer version."
    )
