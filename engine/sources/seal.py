"""Was a source's database changed by anybody but this program?

Whenever we close the file that we wrote, its size and time are noted beside it: the seal. While
we write, the seal names the writing process instead, so that a kill in between is seen. A file
that differs from its seal counts as changed until its content has been looked at again
(`known_source` in `registry.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from engine.base.files import write_json


def seal_path(database: Path) -> Path:
    """Where the seal of a ``source.duckdb`` is."""
    return database.with_name("seal.json")


def seal(database: Path) -> None:
    """Note what the closed file looks like now."""
    write_json(seal_path(database), {"files": _look(database)}, "sealing the source")


@contextlib.contextmanager
def writing(database: Path) -> Iterator[None]:
    """We write the file inside this block (its lock is held); sealed anew at the end."""
    me = {"pid": os.getpid(), "started": psutil.Process().create_time()}
    write_json(seal_path(database), {"writer": me}, "sealing the source")
    try:
        yield
    finally:
        seal(database)


def is_sealed(database: Path) -> bool:
    """Is the file as we left it, or being written by a living program of ours?"""
    try:
        noted: dict[str, Any] = json.loads(seal_path(database).read_text(encoding="utf-8"))
        writer = noted.get("writer")
        if writer is not None:
            return bool(psutil.Process(writer["pid"]).create_time() == writer["started"])
        return bool(noted["files"] == _look(database))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, psutil.Error):
        return False


def _look(database: Path) -> list[list[int]]:
    """Size and time of the database and of its log, where there is one."""
    files = (database, database.with_name(database.name + ".wal"))
    facts = [file.stat() for file in files if file.exists()]
    return [[fact.st_size, fact.st_mtime_ns] for fact in facts]
