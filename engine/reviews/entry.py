"""One entry of the ledger: signed by its author, holding the hash of the author's entry before."""

from __future__ import annotations

import base64
import binascii
import functools
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.base.errors import BadInput
from engine.reviews.canonical import canonical, read_canonical, sha256

FORMAT = 1
START = "0" * 64
"""What stands before an author's first entry."""
_CONTEXT = b"m4review ledger entry 1\n"
"""Before what is signed: a signature for another purpose never fits."""

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[str, Field(pattern=r"^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
Kind = Literal["identity", "assign", "review", "reveal", "adjudicate"]


class Seen(BaseModel):
    """How far the author knew another's chain when writing."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    sequence: int = Field(ge=1)
    """Of the last entry that was known."""
    entry: Hash
    """Its hash."""


class Entry(BaseModel):
    """One signed act."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = Field(ge=1)
    """Of entries."""
    kind: Kind
    """What was done."""
    author: Hash
    """SHA-256 of the author's public key."""
    key: str
    """The public key, base64 of 32 bytes."""
    sequence: int = Field(ge=1)
    """In the author's chain, from 1 without gaps."""
    previous: Hash
    """Hash of the author's entry before; `START` for the first."""
    at: Time
    """ISO 8601 in UTC with milliseconds, by the author's clock."""
    seen: dict[Hash, Seen]
    """Other authors' chains as the author knew them: what came before what, without a clock."""
    body: dict[str, Any]
    """Depends on `kind`."""
    signature: str
    """Ed25519 over everything else, base64 of 64 bytes."""

    @functools.cached_property
    def data(self) -> bytes:
        """The file's bytes."""
        return canonical(self.model_dump())

    @functools.cached_property
    def id(self) -> str:
        """SHA-256 of the file's bytes."""
        return sha256(self.data)

    @property
    def time(self) -> datetime:
        """`at` as a point in time."""
        return datetime.fromisoformat(self.at)

    @property
    def path(self) -> str:
        """Where it lies below the ledger's folder."""
        return f"{self.author}/{self.sequence:06d}-{self.id}.json"

    def knew(self, other: Entry) -> bool:
        """Could the author have known `other` when writing this?"""
        if other.author == self.author:
            return other.sequence < self.sequence
        seen = self.seen.get(other.author)
        return seen is not None and seen.sequence >= other.sequence


class Signs(Protocol):
    """Who can sign."""

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""

    def sign(self, data: bytes) -> bytes:
        """An Ed25519 signature, 64 bytes."""


def now() -> str:
    """The time as ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def make(
    signer: Signs,
    kind: Kind,
    body: dict[str, Any],
    *,
    before: Entry | None,
    seen: dict[str, Seen],
    at: str | None = None,
) -> Entry:
    """A new signed entry after `before`.

    Raises:
        BadInput: the body has no canonical form.
    """
    fields: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "author": sha256(signer.public),
        "key": base64.b64encode(signer.public).decode(),
        "sequence": 1 if before is None else before.sequence + 1,
        "previous": START if before is None else before.id,
        "at": at or now(),
        "seen": {author: head.model_dump() for author, head in seen.items()},
        "body": body,
    }
    signature = signer.sign(_CONTEXT + canonical(fields))
    return parse(canonical({**fields, "signature": base64.b64encode(signature).decode()}))


def parse(data: bytes) -> Entry:
    """The entry in a file's bytes, with its signature checked.

    Raises:
        BadInput: it is none, or was not signed by the author that it names.
    """
    value = read_canonical(data)
    try:
        entry = Entry.model_validate(value)
        _ = entry.time
    except (ValidationError, ValueError, OverflowError) as error:
        raise BadInput("This is no entry of a ledger.") from error
    if entry.format > FORMAT:
        raise BadInput("The entry was written by a newer version.", todo="Use that version.")
    public, signature = _bytes(entry.key, 32), _bytes(entry.signature, 64)
    if sha256(public) != entry.author:
        raise BadInput("The entry's key is not that of its author.")
    signed = {name: part for name, part in value.items() if name != "signature"}
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _CONTEXT + canonical(signed))
    except InvalidSignature:
        raise BadInput("The signature does not fit: the entry was changed.") from None
    return entry


def _bytes(text: str, length: int) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput("A key or signature is not written as base64.") from error
    if len(data) != length or base64.b64encode(data).decode() != text:
        raise BadInput("A key or signature has the wrong length.")
    return data
