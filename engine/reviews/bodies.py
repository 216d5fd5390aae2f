"""What the entries of each kind hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from engine.base.errors import BadInput
from engine.reviews.entry import Entry, Hash
from engine.reviews.sealing import Sealed
from engine.reviews.verdicts import Decision

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*$")]


Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
"""The name of a folder; never a path."""


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Identity(_Body):
    """Who signs with this key."""

    name: Name
    """Of a person."""
    role: Name
    """What makes the person fit to judge: "intensivist", "data steward" …"""


class Assign(_Body):
    """Who reviews what."""

    task: Slug
    """Name of the task."""
    family: Slug
    """Whose PROVENANCE.yaml tells of it."""
    checklist: dict[str, str | int]
    """Kind, version and hash."""
    items: list[str] = Field(min_length=1)
    """Of the checklist that are asked, in its order."""
    reviewers: list[Hash] = Field(min_length=2)
    """Authors; each reviews alone."""
    adjudicator: Hash
    """Author who decides where they differ; none of the reviewers."""
    follows: Hash | None
    """The assignment whose answers still hold for the items that are not asked."""


class Source(_Body):
    """The data that a reviewer looked at."""

    access: Literal["synthetic", "open", "credentialed"]
    """What it counted as."""
    digest: str
    """Of its content."""


class Annex(_Body):
    """Addresses of rows, kept beside the ledger."""

    sha256: Hash
    """Of the encrypted file."""
    bytes: int = Field(ge=1)
    """Its size."""


class Review(_Body):
    """A reviewer's first verdicts, sealed."""

    assignment: Hash
    """The assign entry."""
    checklist: dict[str, str | int]
    """Kind, version and hash of what was answered."""
    texts: dict[str, Hash]
    """Normalised hash of each text that was judged."""
    source: Source | None
    """Where data were looked at."""
    sealed: Sealed
    """The verdicts."""
    annex: Annex | None
    """Rows that belong to them."""


class Reveal(_Body):
    """The key of the author's own sealed review."""

    review: Hash
    """The review entry."""
    key: str
    """Base64 of 32 bytes."""


class Adjudicate(_Body):
    """Decisions where the reviewers differed or doubted."""

    assignment: Hash
    """The assign entry."""
    reviews: list[Hash] = Field(min_length=2)
    """The reviews that were looked at, sorted."""
    texts: dict[str, Hash]
    """Normalised hash of each text at that time."""
    decisions: list[Decision]
    """One per open item."""
    named: bool
    """Were the reviewers' names shown?"""


_Kind = TypeVar("_Kind", bound=_Body)


def body_of(entry: Entry, model: type[_Kind]) -> _Kind:
    """The entry's body.

    Raises:
        BadInput: it is not what its kind needs.
    """
    return checked(entry.body, model)


def checked(body: dict[str, Any], model: type[_Kind]) -> _Kind:
    """A body, checked.

    Raises:
        BadInput: it is not what its kind needs.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        where = ", ".join(sorted({".".join(map(str, e["loc"])) or "all" for e in error.errors()}))
        raise BadInput(f"This {model.__name__.lower()} is not well formed: {where}.") from error
