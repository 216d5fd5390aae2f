"""One entry of the audit log: a line of JSON that holds the hash of the line before."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

Fact = str | int | float | bool | None | Sequence[str] | Mapping[str, int]
Facts = Mapping[str, Fact]
"""Counts, hashes, names of tables and files; never a cell value, a key or an absolute path."""

Stage = Literal["done", "begin", "end"]

START = "0" * 64
"""What stands before the first entry."""
MOST_BYTES = 64 << 10
"""A longer line is none of ours."""
_LONGEST_NAME = 500

_HASH = re.compile(r"[0-9a-f]{64}")


class Entry(BaseModel):
    """One thing that happened."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    sequence: int
    """Counted from 1, without gaps."""
    at: str
    """ISO 8601 in UTC with milliseconds."""
    actor: str
    """The operating system's user."""
    what: str
    """A stable name: ``source.import``, ``run``, ``export.diff`` …"""
    stage: Stage
    """``begin`` and ``end`` of something that takes time, else ``done``."""
    source: str | None
    """The source that was touched; None for what concerns the log itself."""
    object: str
    """Of it: a task, a run, a file name; may be empty."""
    facts: dict[str, Any]
    """See `Facts`."""
    previous: str
    """`hash` of the entry before; `START` for the first."""
    hash: str
    """SHA-256 over everything else."""

    @property
    def time(self) -> datetime:
        """`at` as a point in time."""
        return datetime.fromisoformat(self.at)

    def line(self) -> bytes:
        """The whole line, with its end."""
        return _canonical(self.model_dump()) + b"\n"

    @property
    def holds(self) -> bool:
        """Does the hash fit the rest?"""
        return self.hash == hash_of(self.model_dump())


def make(
    *,
    sequence: int,
    previous: str,
    what: str,
    stage: Stage,
    source: str | None,
    object: str,  # noqa: A002 - the field's name
    facts: Facts,
) -> Entry:
    """A new entry, now, by this user."""
    given: dict[str, Any] = {
        "actor": actor(),
        "what": what,
        "source": source,
        "object": object[:_LONGEST_NAME],
        "facts": dict(facts),
    }
    # Through JSON, so that it is hashed as it will be read; a file's name need not be Unicode.
    text = json.dumps(given, ensure_ascii=False, allow_nan=False, default=_plain)
    fields = json.loads(text.encode("utf-8", "replace"))
    if len(_canonical(fields)) > MOST_BYTES - 1000:
        fields["facts"] = {"left_out": f"too long: {len(text)} characters"}
    fields |= {"sequence": sequence, "at": now(), "stage": stage, "previous": previous}
    return Entry(**fields, hash=hash_of(fields))


def parse(line: bytes) -> Entry | None:
    """The entry in a line without its end; None if it is none."""
    if len(line) > MOST_BYTES:
        return None
    try:
        entry = Entry.model_validate_json(line)
        _ = entry.time.timestamp()
    except (ValidationError, ValueError, OverflowError, RecursionError):
        return None
    if entry.time.tzinfo is None or not _HASH.fullmatch(entry.hash):
        return None
    # One way to write an entry: bytes that mean the same are not the same.
    return entry if entry.line() == line + b"\n" else None


def hash_of(fields: Mapping[str, Any]) -> str:
    """SHA-256 over all fields but `hash`, as 64 hex digits."""
    rest = {name: value for name, value in fields.items() if name != "hash"}
    return hashlib.sha256(_canonical(rest)).hexdigest()


def now() -> str:
    """The time as ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def actor() -> str:
    """The operating system's user; its number where it has no name.

    Not from the environment, which anybody can set.
    """
    try:
        import pwd  # noqa: PLC0415 - not on Windows

        return pwd.getpwuid(os.getuid()).pw_name
    except ImportError:
        return os.getlogin()
    except KeyError:
        return str(os.getuid())


def _canonical(fields: Mapping[str, Any]) -> bytes:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is nothing for the audit log")
