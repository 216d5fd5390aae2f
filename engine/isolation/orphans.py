"""Ends sandboxes whose program is gone, known by what they stand on: a root below our home.

The kernel ends a sandbox when bubblewrap ends, at the word of the sandbox's first process. That
process is out of reach inside (nothing of it is in ``/proc``, tracing is refused), but should a
program make it take the word back, and this program be killed before it can kill the sandbox
itself, processes would stay (still shut in, without a network). And a first process can stay that
bubblewrap, killed within some microseconds of its start, did not let go: it waits for ever and has
run nothing; it is known by its command line.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from engine.base.paths import Home
from engine.isolation.supervise import SHELL


def end_orphans(home: Home) -> int:
    """Kill the sandboxes on a root of `home` that no living bubblewrap watches; how many."""
    roots = {_inode(folder) for folder in home.sandbox.glob("*/root")} - {None}
    ended = 0
    for entry in Path("/proc").glob("[0-9]*"):
        ours = _inode(entry / "root") in roots or _waits(entry)
        if ours and _is_orphaned_first(entry):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(entry.name), signal.SIGKILL)
                ended += 1
    return ended


def _waits(entry: Path) -> bool:
    """Is it a bubblewrap of this program (of any home)?"""
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[:1] == [b"bwrap"] and SHELL.encode() in words


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:  # it ended, or is somebody else's
        return None
    return found.st_dev, found.st_ino


def _is_orphaned_first(entry: Path) -> bool:
    """Is it the first process of its namespace, and no child of a bubblewrap any more?"""
    try:
        text = (entry / "status").read_text(encoding="ascii", errors="replace")
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        if fields["NSpid"].split()[-1] != "1":
            return False
        parent = Path("/proc", fields["PPid"], "comm").read_text(encoding="utf-8")
    except (OSError, KeyError, IndexError):
        return False
    return parent.strip() != "bwrap"
