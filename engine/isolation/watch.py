"""What a running sandbox uses at this moment, measured from outside.

Where no control group can be had (every ordinary user's machine) this is what enforces the limits
on memory, processes and disk: `supervise` looks some twenty times a second and kills. It reads the
sandbox's own process list (its ``/proc`` seen through ``/proc/PID/root``), so that no process of
the host is looked at. The folder is hostile: it is walked by open folders, never by path, no
symlink is followed, and depth and number are bounded.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

DEEPEST = 200
"""Folders within folders in the job folder; deeper counts as too many files."""

_KIB = 1024
_INODE = 1024
"""What an empty file in memory costs the kernel, about."""


@dataclass(frozen=True)
class Usage:
    """One look at the processes."""

    processes: int
    """Processes and threads, the sandbox's own first process not counted."""
    memory_bytes: int
    """Anonymous and shared memory of all processes, page tables, and the files in memory."""


@dataclass(frozen=True)
class FolderUsage:
    """One look at the job folder."""

    bytes: int
    """Disk blocks taken, those of deleted but still open files included."""
    files: int
    """Files and folders; one more than the bound when there are more."""


class Inside:
    """Looks into one sandbox.

    Args:
        pid: its first process (1 inside), seen from the host, after the sandbox is set up.
    """

    def __init__(self, pid: int) -> None:
        self._root = Path(f"/proc/{pid}/root")
        self._proc = self._root / "proc"

    def usage(self, doubt_above: int) -> Usage:
        """Processes and memory.

        Memory shared between processes is counted for each of them at first; only when the sum
        is above `doubt_above` bytes it is divided among them, which is exact and slow.

        Raises:
            OSError: the sandbox is gone (or goes at this moment).
        """
        pids = [name for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208 - quick
        processes = memory = 0
        for pid in pids:
            with contextlib.suppress(OSError):  # it ended just now
                fields = self._status(pid)
                processes += fields.get(b"Threads", 0) if pid != "1" else 0
                memory += _KIB * sum(
                    fields.get(name, 0) for name in (b"RssAnon", b"RssShmem", b"VmPTE")
                )
        files = self._in_memory_files()
        if memory + files > doubt_above:
            memory = self._exact(pids)
        return Usage(processes, memory + files)

    def _status(self, pid: str) -> dict[bytes, int]:
        fields = {}
        for line in (self._proc / pid / "status").read_bytes().splitlines():
            name, _, value = line.partition(b":")
            if name in (b"Threads", b"RssAnon", b"RssShmem", b"VmPTE"):
                fields[name] = int(value.split()[0])
        return fields

    def _exact(self, pids: list[str]) -> int:
        total = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                text = (self._proc / pid / "smaps_rollup").read_bytes()
                for line in text.splitlines():
                    if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")):
                        total += _KIB * int(line.split()[1])
        return total

    def _in_memory_files(self) -> int:
        total = 0
        for place in ("tmp", "dev/shm"):
            seen = os.statvfs(self._root / place)
            total += (seen.f_blocks - seen.f_bfree) * seen.f_frsize
            total += (seen.f_files - seen.f_ffree) * _INODE
        return total

    def deleted_but_open(self, device: int) -> int:
        """Bytes of files on `device` that have no name any more but are still open."""
        seen: dict[int, int] = {}
        for pid in os.listdir(self._proc):  # noqa: PTH208 - quick
            if not pid.isdigit():
                continue
            folder = self._proc / pid / "fd"
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):  # noqa: PTH208 - quick
                    with contextlib.suppress(OSError):
                        found = (folder / name).stat()
                        unnamed = found.st_nlink == 0 and stat.S_ISREG(found.st_mode)
                        if unnamed and found.st_dev == device:
                            seen[found.st_ino] = found.st_blocks * 512
        return sum(seen.values())


def folder_usage(folder: int, *, most_files: int) -> FolderUsage:
    """Disk taken below an open folder; stops counting at `most_files` + 1.

    Args:
        folder: descriptor of the job folder.
        most_files: no need to count further.
    """
    total = files = 0
    seen: set[int] = set()  # a file with several names is there once

    def walk(handle: int, depth: int) -> None:
        nonlocal total, files
        with os.scandir(handle) as entries:
            for entry in entries:
                files += 1
                if files > most_files:
                    return
                with contextlib.suppress(OSError):  # it went just now
                    found = entry.stat(follow_symlinks=False)
                    if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                        if found.st_ino in seen:
                            continue
                        seen.add(found.st_ino)
                    total += found.st_blocks * 512
                    if stat.S_ISDIR(found.st_mode):
                        if depth >= DEEPEST:
                            files = most_files + 1
                            return
                        _into(handle, entry.name, depth)

    def _into(handle: int, name: str, depth: int) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        inner = os.open(name, flags, dir_fd=handle)
        try:
            walk(inner, depth + 1)
        finally:
            os.close(inner)

    walk(folder, 0)
    return FolderUsage(total, files)


def free_bytes(folder: int) -> int:
    """Room left on the disk under an open folder."""
    seen = os.fstatvfs(folder)
    return seen.f_bavail * seen.f_frsize
