"""The SQLite file that remembers sources, runs and what happened to them.

Opened through sqlite-utils, in WAL mode with full fsync; changed by named steps that each
run once, in a transaction. Every package that keeps state brings its own steps.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlite_utils import Database

from engine.base.errors import BadInput, Busy, HarnessFault, M4Error, StorageFull
from engine.base.files import os_error


@dataclass(frozen=True)
class Step:
    """One named change of the tables."""

    name: str
    """Unique for ever, e.g. ``runs/001-first``."""
    apply: Callable[[Database], object]
    """Makes the change; runs inside a transaction."""


def open_store(path: Path, steps: Sequence[Step]) -> Database:
    """Open (and make, and bring up to date) the state file.

    The connection may be used by one thread at a time; open one per thread.

    Raises:
        Busy, StorageFull: in words.
        BadInput: the file is no SQLite database, or was written by a newer program.
    """
    connection: sqlite3.Connection | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
        connection = sqlite3.connect(
            path, timeout=30, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        database = Database(connection)
        _bring_up_to_date(database, steps)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error):
            raise in_words(error, "opening the program's state") from error
        if isinstance(error, OSError):
            raise os_error(error, "opening the program's state") from error
        raise
    return database


def _make(path: Path) -> None:
    """An empty file, only for its owner (runs keep what agents print), where there is none.

    One that is there is never opened and closed beside SQLite: that would take the locks of
    every other connection of this process away, and another program could then delete the log
    in which they write. SQLite's other files take its mode.

    Raises:
        OSError: it cannot be made, read or written.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.is_file() and not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None


def _bring_up_to_date(database: Database, steps: Sequence[Step]) -> None:
    connection = database.conn
    connection.execute("CREATE TABLE IF NOT EXISTS _steps (name TEXT PRIMARY KEY)")
    done = {str(row[0]) for row in connection.execute("SELECT name FROM _steps")}
    packages = {step.name.split("/")[0] for step in steps}
    known = {step.name for step in steps}
    unknown = sorted(name for name in done - known if name.split("/")[0] in packages)
    if unknown:
        raise BadInput(
            "The program's state was written by a newer version.",
            todo="Use that version, or another home folder with --home.",
            details=", ".join(unknown),
        )
    for step in steps:
        if step.name in done:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            row = connection.execute("SELECT 1 FROM _steps WHERE name = ?", [step.name]).fetchone()
            if row is None:
                step.apply(database)
                connection.execute("INSERT INTO _steps VALUES (?)", [step.name])
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if connection.in_transaction:
            connection.execute("COMMIT")


def in_words(error: sqlite3.Error, doing: str) -> M4Error:
    """Known trouble (full, locked, corrupt) and bugs, told apart in one place."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error).lower()
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or "locked" in text:
        return Busy(
            f"Another program is using the state file while {doing}.",
            todo="Wait until it is done and try again.",
        )
    # Room for the shared index beside the file is asked for at each opening.
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")) or "disk is full" in text:
        return StorageFull(
            f"There is no room left on the disk while {doing}.", todo="Free some space and go on."
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "not a database" in text:
        return BadInput(
            "The program's state file is damaged.",
            todo="Put it aside (state.db in the home folder) and start again: the runs' own "
            "folders still hold their records.",
        )
    return HarnessFault(f"The state file failed while {doing}.", details=name or str(error))
