"""Commit by hash first, reveal after: verdicts that nobody can read or change until then.

ChaCha20-Poly1305 under a key that is used once. Such a cipher alone would let its author make one
ciphertext that two keys open to two texts; so the entry also holds a hash over key and text.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from pydantic import BaseModel, ConfigDict, ValidationError

from engine.base.errors import BadInput
from engine.reviews.canonical import canonical, read_canonical, sha256
from engine.reviews.entry import Hash
from engine.reviews.identity import Signer
from engine.reviews.verdicts import Verdict

_REVIEW, _ANNEX = bytes(12), bytes([1]) * 12
_COMMIT = b"m4review commitment 1\n"
_BLOCK = 8192
_LONGEST = 1 << 20
KEY_BYTES = 32


class Sealed(BaseModel):
    """Verdicts under seal, as the ledger holds them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    salt: str
    """Random, hex; with the author's secret it makes the key."""
    data: str
    """Ciphertext, base64; its length says nothing of how much was written."""
    commitment: Hash
    """SHA-256 over key and verdicts."""


def seal(signer: Signer, verdicts: Sequence[Verdict], bound: bytes) -> tuple[Sealed, bytes]:
    """Seal verdicts.

    Args:
        signer: whose.
        verdicts: complete, in order.
        bound: what they belong to (assignment, author, texts); it cannot be opened as another's.

    Returns:
        What goes into the ledger, and the key (kept by nobody: the signer can make it again).

    Raises:
        BadInput: they are too long.
    """
    salt = secrets.token_bytes(32)
    key = signer.sealing_key(salt)
    plain = canonical({"format": 1, "verdicts": [each.model_dump() for each in verdicts]})
    if len(plain) > _LONGEST:
        raise BadInput("The review is too long (more than 1 MiB).", todo="Attach less evidence.")
    padded = _padded(plain)
    data = ChaCha20Poly1305(key).encrypt(_REVIEW, padded, bound)
    made = Sealed(
        salt=salt.hex(),
        data=base64.b64encode(data).decode(),
        commitment=sha256(_COMMIT + key + padded),
    )
    return made, key


def unseal(sealed: Sealed, key: bytes, bound: bytes) -> list[Verdict]:
    """The verdicts.

    Raises:
        BadInput: the key does not open them, or opens something else than was committed to.
    """
    try:
        padded = ChaCha20Poly1305(key).decrypt(_REVIEW, _decoded(sealed.data), bound)
    except (InvalidTag, ValueError) as error:
        raise BadInput("The key does not open the sealed review.") from error
    if sha256(_COMMIT + key + padded) != sealed.commitment:
        raise BadInput("The review that was opened is not the one that was committed to.")
    try:
        value = read_canonical(padded.rstrip(b" "))
        return [Verdict.model_validate(each) for each in value["verdicts"]]
    except (ValidationError, KeyError, TypeError) as error:
        raise BadInput("The opened review holds no verdicts.") from error


def seal_annex(key: bytes, rows: dict[str, list[str]]) -> bytes:
    """Addresses of rows by item, encrypted like the review that they belong to."""
    return ChaCha20Poly1305(key).encrypt(_ANNEX, _padded(canonical(rows)), b"annex")


def open_annex(key: bytes, data: bytes) -> dict[str, list[str]]:
    """The addresses of rows by item.

    Raises:
        BadInput: the key does not open them.
    """
    try:
        value: Any = read_canonical(
            ChaCha20Poly1305(key).decrypt(_ANNEX, data, b"annex").rstrip(b" ")
        )
    except (InvalidTag, ValueError) as error:
        raise BadInput("The key does not open the rows of this review.") from error
    return {str(item): [str(row) for row in rows] for item, rows in value.items()}


def key_of(text: str) -> bytes:
    """A key as a reveal holds it.

    Raises:
        BadInput: it is none.
    """
    key = _decoded(text)
    if len(key) != KEY_BYTES:
        raise BadInput("This is no key of a sealed review.")
    return key


def _padded(plain: bytes) -> bytes:
    return plain + b" " * (-len(plain) % _BLOCK)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput("This is not base64.") from error
