"""Files that appear whole or not at all, their hashes, and disk trouble in words."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.base.errors import Busy, M4Error, MissingPrerequisite, StorageFull

_CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes as 64 hex digits, read in blocks of 1 MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def os_error(error: OSError, doing: str) -> M4Error:
    """The operating system's error as one that says what to do.

    `doing` completes the sentence "... while <doing>" and names no source path.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(
            f"There is no room left on the disk while {doing}.",
            todo="Free some space (or move the home folder with --home) and do it again; "
            "nothing that was finished is lost.",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return MissingPrerequisite(
            f"The permission is missing while {doing}.",
            todo="Check who owns the folder and that it can be written.",
            details=os.strerror(error.errno),
        )
    if error.errno in (errno.EAGAIN, errno.EBUSY, errno.ETXTBSY):
        return Busy(
            f"Another program is using a file while {doing}.",
            todo="Close it there and try again.",
        )
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return MissingPrerequisite(
        f"The operating system refused while {doing}: {reason}.",
        todo="Check the folder and the disk, then do it again.",
    )


@contextlib.contextmanager
def writing(path: Path, doing: str, *, mode: int = 0o644) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it becomes `path`, on failure it goes.

    The content is fsynced and so is the folder, so that after a power loss there is
    either the old file or the whole new one. It has `mode` from the moment that it
    can be seen; before that it is its owner's alone.

    Raises:
        StorageFull, Busy, MissingPrerequisite: in words, from the operating system.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise os_error(error, doing) from error
    part = Path(name)
    try:
        yield part
        part.chmod(mode)
        sync(part)
        part.replace(path)
        sync(path.parent)
    except OSError as error:
        raise os_error(error, doing) from error
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Fsync a file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str, doing: str = "writing a file", *, mode: int = 0o644) -> None:
    """Write UTF-8 text whole or not at all."""
    with writing(path, doing, mode=mode) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any, doing: str = "writing a file") -> None:
    """Write a JSON document (two spaces, UTF-8, no NaN) whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", doing)
