"""One way to write a document (RFC 8785), so that its hash and signature mean its content."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import rfc8785

from engine.base.errors import BadInput

MOST_BYTES = 2 << 20
"""A longer entry is none of ours."""
_DEEPEST = 20


def canonical(value: Any) -> bytes:
    """The bytes of a document of texts, whole numbers, truths, nulls, lists and objects.

    Raises:
        BadInput: it holds something else (a fraction has no one form), or is nested too deep.
    """
    _plain(value, 0)
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError) as error:
        raise BadInput("A text or number here has no canonical form.") from error


def read_canonical(data: bytes) -> Any:
    """The document in `data`.

    Raises:
        BadInput: it is none, is too long, or is not written in the canonical form.
    """
    if len(data) > MOST_BYTES:
        raise BadInput("The document is too long.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput("This is no JSON document.") from error
    if canonical(value) != data:
        raise BadInput("The document is not written in the canonical form.")
    return value


def sha256(data: bytes) -> str:
    """SHA-256 as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any, depth: int) -> None:
    if depth > _DEEPEST:
        raise BadInput("The document is nested too deep.")
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        for part in value.values():
            _plain(part, depth + 1)
    elif isinstance(value, list | tuple):
        for part in value:
            _plain(part, depth + 1)
    else:
        raise BadInput(
            f"A {type(value).__name__} cannot be signed: only texts and whole numbers can.",
            todo="Write it as a text.",
        )
