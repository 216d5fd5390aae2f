"""Which shared libraries programs and modules need, as the dynamic loader itself says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from engine.base.errors import MissingPrerequisite

_NEEDED = re.compile(r"^\s+(?P<name>\S+) => (?P<path>/\S+) \(0x", re.MULTILINE)
_ABSENT = re.compile(r"^\s+(\S+) => not found", re.MULTILINE)
_LOADER = re.compile(r"^\s+(?P<path>/\S*ld-\S+) \(0x", re.MULTILINE)
_CHUNK = 100


def needed_libraries(files: Iterable[Path]) -> tuple[dict[str, Path], Path]:
    """The libraries that `files` need, all the way down.

    Args:
        files: ELF programs and libraries of this machine; others are passed over.

    Returns:
        Name as asked for (``libc.so.6``) -> where it lies; and the loader's path as the
        programs name it (``/lib64/ld-linux-x86-64.so.2``).

    Raises:
        MissingPrerequisite: ``ldd`` is not there, or this is no glibc system.
    """
    libraries: dict[str, Path] = {}
    loader: Path | None = None
    todo = list(files)
    for start in range(0, len(todo), _CHUNK):
        text = _ldd(todo[start : start + _CHUNK])
        for found in _NEEDED.finditer(text):
            libraries.setdefault(found["name"], Path(found["path"]))
        if loader is None and (found_loader := _LOADER.search(text)):
            loader = Path(found_loader["path"])
    if loader is None or "libc.so.6" not in libraries:
        raise MissingPrerequisite(
            "The sandbox's root can only be made on a Linux with glibc.",
            todo="Use a Debian, Ubuntu, Fedora or a similar system.",
        )
    return libraries, loader


def missing_libraries(file: Path) -> tuple[str, ...]:
    """Names of the libraries that `file` needs and the loader does not find.

    Raises:
        MissingPrerequisite: ``ldd`` is not there.
    """
    return tuple(sorted(set(_ABSENT.findall(_ldd([file])))))


def _ldd(files: list[Path]) -> str:
    try:
        done = subprocess.run(
            ["ldd", *map(str, files)], capture_output=True, text=True, check=False, timeout=120
        )
    except FileNotFoundError as error:
        raise MissingPrerequisite(
            "The program ldd is missing.", todo="Install it: apt-get install libc-bin"
        ) from error
    return done.stdout
