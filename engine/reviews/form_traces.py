"""What of a form can still be read when its answers are sealed or encrypted, and how it goes."""

from __future__ import annotations

import fnmatch
import glob
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.base.errors import M4Error
from engine.reviews.forms import read_form
from engine.reviews.place import Place

_COPIES = ("{}~", "{}.~*~", "{}.bak", "{}.orig", "{}.save*", "{}.swp", "#{}#", ".#{}", ".{}.*")
_EMPTIED = "What stood in this form was taken out of it when it was {}.\n"


@dataclass(frozen=True)
class Left:
    """What of it can still be read beside what is sealed or encrypted."""

    emptied: bool
    """Was it taken out of the form's file?"""
    copies: tuple[str, ...]
    """Names of files beside it that look like copies that an editor made."""


def inside(place: Place, form: Path) -> bool:
    """Does it lie in the private folder?"""
    return form.resolve().parent == place.drafts.resolve()


def empty(
    place: Place, form: Path, assignment: str, what: str, said: Mapping[str, Any] | None = None
) -> Left:
    """Take what was said out of a form: in the private folder the file goes, elsewhere it stays.

    In place, so that a link to the file leads to nothing either.

    Args:
        place: the folder of reviews.
        form: the file.
        assignment: what it belongs to.
        what: what was done with it.
        said: its data when it was read; where it says something else by now (somebody went on
            writing), it is left alone.
    """
    copies = copies_of(form)
    if said is not None and form.is_file() and not _still(form, said):
        return Left(False, copies)
    try:
        if inside(place, form):
            form.unlink(missing_ok=True)
            for name in copies:  # the folder is the program's own
                form.with_name(name).unlink(missing_ok=True)
            copies = ()
        elif stat.S_ISREG(form.stat().st_mode):
            toml = form.suffix == ".toml"
            body = f'assignment = "{assignment}"\n' if toml else f"assignment: {assignment}\n"
            rest = "items = []\n" if toml else "items: []\n"
            with form.open("r+", encoding="utf-8", newline="\n") as file:
                file.write(f"# {_EMPTIED.format(what)}{body}{rest}")
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
        else:
            return Left(False, copies)
    except OSError:
        return Left(False, copies)
    return Left(True, copies)


def copies_of(form: Path) -> tuple[str, ...]:
    """Names of files beside it that look like copies that an editor made of it."""
    patterns = [pattern.format(glob.escape(form.name)) for pattern in _COPIES]
    try:
        names = sorted(each.name for each in form.parent.iterdir())
    except OSError:
        return ()
    return tuple(
        name
        for name in names
        if name != form.name and any(fnmatch.fnmatchcase(name, each) for each in patterns)
    )


def _still(form: Path, said: Mapping[str, Any]) -> bool:
    try:
        return read_form(form) == said
    except M4Error:
        return False
