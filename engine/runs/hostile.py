"""Reading a folder that an untrusted program has written.

Nothing is ever opened by a path: every step goes through the file descriptor of the folder
above, without following links, without blocking on a FIFO, and what was opened is checked to
be what was seen. The program has ended, so nothing moves; but it chose every name and kind.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAX_DEPTH = 32
"""Folders inside folders that are looked into."""


class Refused(Exception):
    """The entry is not an ordinary file that only this folder holds; the text says what."""


class TooMany(Exception):
    """There are more entries, or deeper ones, than anybody looks through."""


@dataclass(frozen=True)
class Entry:
    """Something in the folder that is not itself a folder."""

    name: str
    """Path relative to the top, parts joined by "/"; undecodable bytes as surrogates."""
    status: os.stat_result
    """Of the entry itself (links are not followed)."""
    _folder: int
    _base: str

    @property
    def size(self) -> int:
        """Bytes."""
        return self.status.st_size

    @property
    def refusal(self) -> str | None:
        """Why it is not an ordinary file of this folder's own, or None."""
        return refusal(self.status)

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Read it; only valid while the walk stands at this entry.

        Raises:
            Refused: it is a link, a FIFO, a device, a socket, or has another name elsewhere.
        """
        with _open_below(self._folder, self._base, self.status) as file:
            yield file


def refusal(status: os.stat_result) -> str | None:
    """Why something is not an ordinary file with one name, in words, or None."""
    mode = status.st_mode
    kinds = (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    for test, words in kinds:
        if test(mode):
            return words
    if not stat.S_ISREG(mode):
        return "not an ordinary file"
    if status.st_nlink != 1:
        return "a file with more than one name (hard link)"
    return None


@contextlib.contextmanager
def open_top(folder: Path) -> Iterator[int]:
    """The folder's file descriptor; the folder itself must not be a link."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def open_file(top: int, name: str) -> Iterator[BinaryIO]:
    """Open the ordinary file `name` (one part, no "/") of the folder `top`.

    Raises:
        FileNotFoundError: there is nothing of that name.
        Refused: it is not an ordinary file with one name.
    """
    status = os.stat(name, dir_fd=top, follow_symlinks=False)
    with _open_below(top, name, status) as file:
        yield file


def walk(folder: Path, *, max_entries: int = 100_000) -> Iterator[Entry]:
    """Everything in `folder` but folders, in the order of names.

    Raises:
        TooMany: more than `max_entries`, or deeper than `MAX_DEPTH`.
    """
    count = [0]

    def inside(handle: int, prefix: str, depth: int) -> Iterator[Entry]:
        if depth > MAX_DEPTH:
            raise TooMany("folders too deep")
        with os.scandir(handle) as listing:
            names = sorted(entry.name for entry in listing)
        for name in names:
            count[0] += 1
            if count[0] > max_entries:
                raise TooMany("too many files")
            status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                yield Entry(f"{prefix}{name}", status, handle, name)
                continue
            below = _open_checked(handle, name, status, os.O_DIRECTORY)
            try:
                yield from inside(below, f"{prefix}{name}/", depth + 1)
            finally:
                os.close(below)

    with open_top(folder) as top:
        yield from inside(top, "", 1)


def remove(folder: Path) -> None:
    """Delete a folder, however deep, long-named or shut a program has made it.

    No link is followed. What lies below is moved up beside its parent first, so that no path
    grows long and no more than two folders are open.

    Raises:
        OSError: something cannot be deleted.
    """
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    folder.chmod(0o700)
    with open_top(folder) as top:
        moved = 0
        while True:
            with os.scandir(top) as listing:
                entries = [(e.name, e.is_dir(follow_symlinks=False)) for e in listing]
            if not entries:
                break
            for name, is_folder in entries:
                if is_folder:
                    moved = _empty(top, name, moved)
                    os.rmdir(name, dir_fd=top)
                else:
                    os.unlink(name, dir_fd=top)
    folder.rmdir()


def _empty(top: int, name: str, moved: int) -> int:
    """Delete the files of a folder of `top` and move its folders up into `top`."""
    _unlock(top, name)
    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
    try:
        with os.scandir(below) as listing:
            entries = [(e.name, e.is_dir(follow_symlinks=False)) for e in listing]
        for child, is_folder in entries:
            if not is_folder:
                os.unlink(child, dir_fd=below)
                continue
            _unlock(below, child)
            target = f".removing-{moved}"
            while os.path.lexists(f"/proc/self/fd/{top}/{target}"):
                moved += 1
                target = f".removing-{moved}"
            os.rename(child, target, src_dir_fd=below, dst_dir_fd=top)
            moved += 1
    finally:
        os.close(below)
    return moved


def _unlock(folder: int, name: str) -> None:
    """Give back the permissions that a program took away, by descriptor."""
    path = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        Path(f"/proc/self/fd/{path}").chmod(0o700)
    finally:
        os.close(path)


@contextlib.contextmanager
def _open_below(folder: int, name: str, status: os.stat_result) -> Iterator[BinaryIO]:
    why = refusal(status)
    if why is not None:
        raise Refused(why)
    handle = _open_checked(folder, name, status, 0)
    with os.fdopen(handle, "rb") as file:
        yield file


def _open_checked(folder: int, name: str, seen: os.stat_result, flags: int) -> int:
    flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused("a symbolic link") from error
        if error.errno != errno.EACCES:
            raise
        _unlock(folder, name)  # ours, but the program took away its permissions
        handle = os.open(name, flags, dir_fd=folder)
    found = os.fstat(handle)
    if (found.st_dev, found.st_ino) != (seen.st_dev, seen.st_ino):
        os.close(handle)
        raise Refused("changed while it was read")
    return handle
