"""Job folders: opened, handed over to the sandbox's user, measured for room, removed.

What was in a sandbox is hostile: no symlink is followed, and trees may be deeper than any path.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from engine.base.errors import StorageFull, UsageError
from engine.base.files import os_error
from engine.isolation.interface import MIB

_LEAST_ROOM = 16 * MIB


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A descriptor of the job folder.

    Raises:
        UsageError: no folder, a symlink, or not absolute.
    """
    if not folder.is_absolute():
        raise UsageError("The job folder's path must be absolute.")
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(
            "The job folder does not exist, is no folder, or is a symlink.", details=error.strerror
        ) from error
    try:
        yield handle
    finally:
        os.close(handle)


def hand_over(folder: int, user: int) -> None:
    """As root: give the open folder and all below it to `user`.

    Files with further names are left alone: the other name may belong to somebody.

    Raises:
        UsageError: folders too deep to have been made by us.
        M4Error: the operating system refused.
    """
    try:
        os.fchown(folder, user, user)
        os.fchmod(folder, 0o700)
        for _, folders, files, handle in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
            for name in folders + files:
                found = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
                    os.chown(name, user, user, dir_fd=handle, follow_symlinks=False)
    except RecursionError as error:
        raise UsageError("The job folder is not a fresh one: its folders are too deep.") from error
    except OSError as error:
        raise os_error(error, "preparing the job folder") from error


def check_room(folder: int) -> None:
    """Refuse to start on a full disk.

    Raises:
        StorageFull: less than 16 MiB are left under the open folder.
    """
    seen = os.fstatvfs(folder)
    if seen.f_bavail * seen.f_frsize < _LEAST_ROOM:
        raise StorageFull(
            "There is no room left on the disk for a run.",
            todo="Free some space (or move the home folder with --home) and do it again.",
        )


def remove_tree(folder: Path) -> None:
    """Remove a folder that a sandbox may have written to, however deep; quiet if it cannot."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        # Folders without permissions, and deeper ones than Python's own way can go.
        for options in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run(
                [*options, "--", str(folder)],
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
