"""Where the texts lie that are edited, and the way to a folder of one's own."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from engine.base.content import content_folder, is_installed, shipped_folder, use_content
from engine.base.errors import BadInput, UsageError
from engine.base.files import os_error, write_json
from engine.base.jobs import Job
from engine.base.paths import Home

_PARTS = ("tasks", "skills")


@dataclass(frozen=True)
class ContentPlace:
    """Where tasks and skills are read from."""

    root: Path
    """The folder that holds `tasks/` and `skills/`."""
    own: bool
    """Did the user choose it?"""
    editable: bool
    """May texts be changed there?"""
    problem: str
    """What is wrong with the chosen folder, for people; empty when nothing."""


def content_place(home: Home, given: Path | None = None) -> ContentPlace:
    """Where tasks and skills are now.

    Args:
        home: remembers what was chosen.
        given: a folder that this start of the program was told to work on.
    """
    if given is not None:
        return ContentPlace(given, True, os.access(given, os.W_OK), "")
    root = content_folder("tasks").parent
    own = home.own_content
    used = own is not None and root == own
    shipped_only = not used and is_installed()
    problem = ""
    if own is not None and not used:
        problem = (
            f"The folder that you chose for the texts is not there: {own}. What you see are the "
            "texts that came with the program. Bring the folder back and start again, or choose "
            "another one."
        )
    return ContentPlace(root, used, not shipped_only and os.access(root, os.W_OK), problem)


def choose_content(home: Home, folder: Path, job: Job) -> ContentPlace:
    """Use a folder of the user's own: as it is where it holds tasks and skills, else with a copy.

    Args:
        home: remembers the choice.
        folder: an empty one, a new one, or one with `tasks/` and `skills/`.
        job: progress and cancel.

    Raises:
        UsageError: it holds other things.
        StorageFull, MissingPrerequisite: it cannot be written; nothing is left there.
    """
    folder = folder.expanduser().absolute()
    if not all((folder / part).is_dir() for part in _PARTS):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                "This folder holds other things.",
                todo="Choose an empty or new folder, or one that holds tasks/ and skills/.",
            )
        _copy(folder, job)
    if not list((folder / "tasks").glob("*/*/task.toml")):
        raise BadInput("There is no task in this folder.", todo="Choose another one.")
    home.content.parent.mkdir(parents=True, exist_ok=True)
    write_json(home.content, {"root": str(folder)}, "remembering the folder of texts")
    use_content(folder)
    return content_place(home)


def use_shipped(home: Home) -> ContentPlace:
    """Read the shipped texts again; the user's own folder stays as it is."""
    home.content.unlink(missing_ok=True)
    use_content(None)
    return content_place(home)


def _copy(folder: Path, job: Job) -> None:
    files = [
        (path, Path(part) / path.relative_to(shipped_folder(part)))
        for part in ("tasks", "skills")
        for path in sorted(shipped_folder(part).rglob("*"))
        if path.is_file()
    ]
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        for number, (path, name) in enumerate(files):
            job.check()
            job.progress("copy", number, len(files), "Copying tasks and skills")
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, part / name)
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    except OSError as error:
        raise os_error(error, "copying tasks and skills") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
