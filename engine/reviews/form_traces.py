"""What of a form can still be read when its answers are sealed or encrypted, and how it goes."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from engine.reviews.place import Place

_COPIES = ("{}~", "{}.bak", "{}.orig", ".{}.swp", ".{}.swo", "#{}#", ".#{}", ".{}.un~", "{}.save")
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


def empty(place: Place, form: Path, assignment: str, what: str) -> Left:
    """Take what was said out of a form: in the private folder the file goes, elsewhere it stays.

    In place, so that a link to the file leads to nothing either.
    """
    copies = copies_of(form)
    try:
        if inside(place, form):
            form.unlink(missing_ok=True)
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
    names = (pattern.format(form.name) for pattern in _COPIES)
    return tuple(name for name in names if os.path.lexists(form.with_name(name)))
