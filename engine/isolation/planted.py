"""Canary files in private folders: how they are called, and taking away those of dead programs."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from engine.base.paths import Home
from engine.isolation.owner import owner_label, owner_lives

MARK = ".m4review-canary-"
"""How planted files' names begin; whose they are follows."""
_STALE_SECONDS = 3600


def planted_name() -> str:
    """A new name for a file that this process plants."""
    return f"{MARK}{owner_label().replace(':', '-')}-{secrets.token_hex(8)}"


def planting_places(home: Home) -> tuple[Path, ...]:
    """Where canary files are planted, as far as it is there; more in single runs and sources."""
    user = Path("~").expanduser()
    run = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{_user()}")
    wanted = [home.root, *home.private, user, user / ".config"]
    wanted += [user / ".local/share/keyrings", user / ".local/share/python_keyring", user / ".ssh"]
    wanted += [Path(place) for place in ("/tmp", "/var/tmp", "/dev/shm", "/mnt")]  # noqa: S108
    wanted += [run]
    return tuple(dict.fromkeys(folder for folder in wanted if folder.is_dir()))


def remove_planted(home: Home) -> int:
    """Take away what killed programs planted, everywhere; how many files."""
    folders = list(planting_places(home))
    for place in (home.runs, home.sources):
        with contextlib.suppress(OSError):
            folders += [each for each in place.iterdir() if each.is_dir() and not each.is_symlink()]
    return remove_planted_in(folders)


def remove_planted_in(folders: Iterable[Path]) -> int:
    """The same in these folders."""
    removed = 0
    for folder in folders:
        with contextlib.suppress(OSError):
            for file in folder.glob(f"{MARK}*"):
                if _is_left(file):
                    file.unlink(missing_ok=True)
                    removed += 1
    return removed


def _is_left(file: Path) -> bool:
    """Is it ours, of a program that is gone?"""
    found = file.lstat()
    if found.st_uid != _user() or not file.is_file() or file.is_symlink():
        return False
    label, _, _ = file.name.removeprefix(MARK).rpartition("-")
    if label[:1].isdecimal():
        return not owner_lives(label.replace("-", ":"))
    return time.time() - found.st_mtime > _STALE_SECONDS  # named by nobody


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0
