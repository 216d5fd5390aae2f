"""Taking over what an agent left: its artefacts, and a bounded copy of its own files."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from engine.base.errors import StorageFull
from engine.base.files import os_error, writing
from engine.runs import hostile

MAX_NAME = 100
"""Characters of a kept file's name."""


@dataclass(frozen=True)
class Bounds:
    """How much is taken over."""

    artefact_bytes: int = 2 << 30
    """Of one artefact."""
    files: int = 256
    """Of the agent's own."""
    file_bytes: int = 4 << 20
    """Of one of them."""
    total_bytes: int = 32 << 20
    """Of all of them."""


@dataclass(frozen=True)
class Collected:
    """What was taken over."""

    artefacts: Mapping[str, Path]
    """Artefact name to the copy in the run folder."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Artefact name to why it was not taken, in words."""
    files: int = 0
    """The agent's own files that were kept."""
    left_out: int = 0
    """Those that were not: too many, too large, or no ordinary files."""


def collect(
    work: Path,
    folder: Path,
    *,
    artefacts: tuple[str, ...],
    leave: frozenset[str],
    bounds: Bounds | None = None,
) -> Collected:
    """Copy the artefacts into `folder` and the agent's own files into `folder/agent/`.

    Args:
        work: the agent's folder; hostile.
        folder: the run folder.
        artefacts: file names at the top of `work`.
        leave: names (or, ending in "/", folders) that were given, not made: not copied.
        bounds: how much.

    Raises:
        StorageFull, MissingPrerequisite: in words.
    """
    bounds = bounds or Bounds()
    taken: dict[str, Path] = {}
    refused: dict[str, str] = {}
    with hostile.open_top(work) as top:
        for name in artefacts:
            target = folder / name
            target.unlink(missing_ok=True)
            try:
                with hostile.open_file(top, name) as file:
                    _copy_whole(file, target, bounds.artefact_bytes)
                taken[name] = target
            except FileNotFoundError:
                continue
            except hostile.Refused as error:
                refused[name] = f"{name} is {error}; only an ordinary file is taken."
    files, left_out = _own_files(work, folder / "agent", leave | frozenset(artefacts), bounds)
    return Collected(taken, refused, files, left_out)


def _copy_whole(file: BinaryIO, target: Path, limit: int) -> None:
    # Told by its length: a file full of holes costs its maker nothing, and its copy all of it.
    if os.fstat(file.fileno()).st_size > limit:
        raise hostile.Refused(f"larger than {limit >> 20} MiB")
    with writing(target, "collecting the agent's output") as part, part.open("wb") as out:
        left = limit
        while block := file.read(min(1 << 20, left + 1)):
            left -= len(block)
            if left < 0:
                raise hostile.Refused(f"larger than {limit >> 20} MiB")
            out.write(block)


def _own_files(work: Path, into: Path, leave: frozenset[str], bounds: Bounds) -> tuple[int, int]:
    shutil.rmtree(into, ignore_errors=True)
    folders = tuple(name for name in leave if name.endswith("/"))
    kept = left_out = total = 0
    used: set[str] = set()
    try:
        for entry in hostile.walk(work):
            if entry.name in leave or entry.name.startswith(folders):
                continue
            fits = (
                entry.refusal is None
                and kept < bounds.files
                and entry.size <= bounds.file_bytes
                and total + entry.size <= bounds.total_bytes
            )
            if not fits:
                left_out += 1
                continue
            target = into / free_name(entry.name, used)
            target.parent.mkdir(parents=True, exist_ok=True)
            with entry.open() as file, target.open("wb") as out:
                content = file.read(bounds.file_bytes)
                out.write(content)
            kept += 1
            total += len(content)
    except (hostile.TooMany, hostile.Refused):
        left_out += 1
    except OSError as error:
        problem = os_error(error, "collecting the agent's files")
        if isinstance(problem, StorageFull):
            raise problem from error
        left_out += 1
    return kept, left_out


def free_name(name: str, used: set[str]) -> str:
    """A harmless file name for what the agent called `name`; adds it to `used`.

    Letters, digits, dot, dash and underscore stay; folders become "__"; no name begins with
    a dot; names that fall together get a number.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name.replace("/", "__")).lstrip(".") or "_"
    if len(plain) > MAX_NAME:
        plain = f"{plain[: MAX_NAME - 20]}...{plain[-17:]}"
    result, number = plain, 1
    while result.casefold() in used:
        number += 1
        result = f"{number}-{plain}"
    used.add(result.casefold())
    return result
