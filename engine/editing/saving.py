"""A text onto the disk: whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine.base.errors import MissingPrerequisite, bad_file
from engine.base.files import os_error, sync
from engine.editing.textfile import TextFile, decode, encode


@dataclass(frozen=True)
class Saved:
    """What became of a save."""

    file: TextFile | None
    """What is on disk now; None where the file is gone."""
    outside: bool
    """Somebody else wrote it meanwhile: nothing was saved."""


def on_disk(path: Path) -> bytes | None:
    """The bytes of a text now; None where it is gone.

    Raises:
        MissingPrerequisite, Busy: it cannot be read.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise os_error(error, "reading a text") from error


def save(path: Path, text: str, base: TextFile) -> Saved:
    """Save a text that was made from `base`.

    The mode of the file stays; of a link the file that it leads to is written.

    Raises:
        MissingPrerequisite: the file or its folder may not be written.
        StorageFull, Busy: from the operating system. The old file is there, untouched.
        BadInput: the text cannot be written as UTF-8.
    """
    target = path.resolve()
    data = encode(text, base, path)
    now = on_disk(target)
    if now != base.data:
        return Saved(_decoded(now, path), outside=True)
    if data == now:
        return Saved(base, outside=False)
    refuse_read_only(target)
    if not _replace(target, data, base.data):
        return Saved(_decoded(on_disk(target), path), outside=True)
    return Saved(decode(data, path), outside=False)


def write_anew(path: Path, text: str, like: TextFile) -> TextFile:
    """Write a text whose file is gone.

    Raises:
        BadInput: it is there after all.
        StorageFull, MissingPrerequisite, Busy: from the operating system.
    """
    data = encode(text, like, path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        sync(path.parent)
    except FileExistsError as error:
        raise bad_file(path, "The file is there again.", todo="Read it again (F5).") from error
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise os_error(error, "writing a text") from error
    return decode(data, path)


def refuse_read_only(path: Path) -> None:
    """A file that is marked as not to be written is not replaced, though its folder allows it.

    Raises:
        MissingPrerequisite: it may not be written.
    """
    mode = path.stat().st_mode
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise MissingPrerequisite(
            f"{path.name} may only be read: the file is write-protected.",
            todo="Allow writing it (its properties in the file manager, or chmod u+w), or choose a "
            "folder of your own for the texts. What you typed is kept in the home meanwhile.",
        )
    if not os.access(path.parent, os.W_OK):
        raise MissingPrerequisite(
            f"The folder of {path.name} may only be read.",
            todo="Choose a folder of your own for the texts. What you typed is kept meanwhile.",
        )


def _decoded(data: bytes | None, path: Path) -> TextFile | None:
    return None if data is None else decode(data, path)


def _replace(target: Path, data: bytes, expected: bytes) -> bool:
    """Put `data` in the file's place unless it is no longer `expected`; False then."""
    doing = f"saving {target.name}"
    part: Path | None = None
    try:
        was = target.stat()
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".part", dir=target.parent
        )
        part = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(handle, stat.S_IMODE(was.st_mode))
            with contextlib.suppress(PermissionError):
                os.fchown(handle, was.st_uid, was.st_gid)
            os.fsync(handle)
        if on_disk(target) != expected:  # looked at as late as can be
            return False
        part.replace(target)
        part = None
        sync(target.parent)
    except OSError as error:
        raise os_error(error, doing) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
    return True
