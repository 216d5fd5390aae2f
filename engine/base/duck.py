"""DuckDB connections as this program wants them, and DuckDB's errors in words.

One connection has one pinned time zone, never downloads an extension, has a memory
limit and spills into the home's scratch folder.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from engine.base.errors import (
    BadInput,
    Busy,
    Cancelled,
    HarnessFault,
    M4Error,
    StorageFull,
    UsageError,
)
from engine.base.jobs import Job

MEMORY_LIMIT = "3GB"
"""Default limit of a connection, so that the whole process stays under 4 GB."""


_SIZE = re.compile(r"\d+(\.\d+)? ?[KMGT]i?B", re.IGNORECASE)


def connect(
    path: Path | None = None,
    *,
    read_only: bool = False,
    memory_limit: str = MEMORY_LIMIT,
    threads: int | None = None,
    scratch: Path | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file (or an in-memory database when `path` is None).

    Args:
        path: the database file.
        read_only: open for reading; several programs may do so at once.
        memory_limit: in DuckDB's words ("512MB", "3GB").
        threads: worker threads; DuckDB's own choice when None.
        scratch: where to spill; the system's temporary folder when None.

    Raises:
        UsageError: `memory_limit` is no size.
        Busy: another program holds the file for writing.
        BadInput: the file is not a DuckDB database, or of a newer version.
    """
    if not _SIZE.fullmatch(memory_limit):
        raise UsageError("The memory limit is not a size.", todo="Write it like 3GB or 800MB.")
    spill = scratch or Path(tempfile.gettempdir())
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory_limit,
        "temp_directory": str(spill / "duckdb-spill"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "true",
    }
    if threads is not None:
        config["threads"] = threads
    try:
        con = duckdb.connect(str(path) if path else ":memory:", read_only=read_only, config=config)
    except duckdb.Error as error:
        raise in_words(error, "opening the database") from error
    if not is_locked(con):
        con.execute("SET TimeZone = 'UTC'")
    return con


def is_locked(con: duckdb.DuckDBPyConnection) -> bool:
    """Are the settings locked? So they are where this program has the same file open, locked."""
    row = con.execute("SELECT current_setting('lock_configuration')").fetchone()
    return row is not None and bool(row[0])


def quote(identifier: str) -> str:
    """An SQL identifier in double quotes, whatever characters it has."""
    return '"' + identifier.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """An SQL string literal. Only for places where DuckDB takes no parameter."""
    return "'" + text.replace("'", "''") + "'"


@contextlib.contextmanager
def interruptible(con: duckdb.DuckDBPyConnection, job: Job | None) -> Iterator[None]:
    """Let `job`'s cancel interrupt the queries on `con` inside this block."""
    forget = job.on_cancel(con.interrupt) if job is not None else None
    try:
        if job is not None:
            job.check()
        yield
    except duckdb.InterruptException as error:
        raise Cancelled from error
    finally:
        if forget is not None:
            forget()


_LOCKED = re.compile(
    r"could not set lock|conflicting lock|being used by another|different configuration"
    r"|file handle conflict",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"no space left|disk.*full|could not write (all|file)|ENOSPC|max_temp_directory_size",
    re.IGNORECASE,
)
_NOT_DUCKDB = re.compile(r"not a valid DuckDB|unable to read|magic bytes|serialization", re.I)


def in_words(error: duckdb.Error, doing: str) -> M4Error:
    """Decide in one place what a DuckDB error means for the user.

    `doing` completes the sentence "... while <doing>". The result carries no data: DuckDB's
    own text may quote cells, so it stays in the exception chain and out of ours.
    """
    text = str(error)
    if isinstance(error, duckdb.InterruptException):
        return Cancelled()
    if _LOCKED.search(text):
        return Busy(
            f"Another program is using the database while {doing}.",
            todo="Close it there (or wait until it is done) and try again.",
        )
    if isinstance(error, duckdb.OutOfMemoryException) and "temp" not in text.lower():
        return StorageFull(
            f"The memory limit was reached while {doing}.",
            todo="Give it more with --memory, or close other programs.",
        )
    if _FULL.search(text):
        return StorageFull(
            f"There is no room left on the disk while {doing}.",
            todo="Free some space (or move the home folder with --home) and do it again.",
        )
    if _NOT_DUCKDB.search(text):
        return BadInput(
            f"The file is not a DuckDB database of a version that can be read, while {doing}.",
            todo="Check that it is the right file; if a newer DuckDB made it, export it again.",
        )
    return HarnessFault(f"The database engine failed while {doing}.", details=type(error).__name__)
