"""Which sources there are: list, find, open, write, remove.

`state.db` remembers them; the data is in ``sources/NAME/source.duckdb``. Whoever writes that
file holds ``sources/NAME/lock``.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from engine import audit
from engine.base.duck import MEMORY_LIMIT, connect, in_words, interruptible
from engine.base.errors import BadInput, Busy, UsageError
from engine.base.files import os_error
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.sources.access import judge_access
from engine.sources.importer import digest_of, measure_tables
from engine.sources.info import SourceInfo
from engine.sources.schema import facts
from engine.sources.seal import seal, writing
from engine.sources.state import source_rows

_NAME = re.compile(r"[a-z0-9-]{1,40}")


def check_name(name: str) -> None:
    """Refuse a name that cannot be a folder's on every machine.

    Raises:
        UsageError: as said.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            "The name of a source has 1 to 40 characters from a-z, 0-9 and the hyphen.",
            todo="Choose another name, e.g. mimic-demo.",
        )


def check_new(home: Home, name: str) -> None:
    """Refuse a name that is not allowed, or taken by a finished source.

    Raises:
        UsageError: as said.
    """
    check_name(name)
    with source_rows(home) as rows:
        info = rows.get(name)
    if info is not None and info.state == "ready":
        raise taken(name)


def taken(name: str) -> UsageError:
    """The name is in use."""
    return UsageError(
        f"There is a source called {name} already.",
        todo=f"Choose another name, or remove it first (m4bench source remove {name}).",
    )


def list_sources(home: Home) -> list[SourceInfo]:
    """All registered sources by name, unfinished ones too."""
    with source_rows(home) as rows:
        return [info for name in rows.names() if (info := rows.get(name)) is not None]


def find_source(home: Home, name: str) -> SourceInfo:
    """The source of that name.

    Raises:
        UsageError: there is none; names the nearest one.
    """
    with source_rows(home) as rows:
        info = rows.get(name)
        if info is not None:
            return info
        names = rows.names()
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        todo = f"Is {near[0]} meant?"
    elif names:
        todo = f"There are: {', '.join(names)}."
    else:
        todo = "None is registered yet: m4bench source add NAME PATH, or source synth."
    raise UsageError("There is no source of that name.", todo=todo)


def remove_source(home: Home, name: str) -> None:
    """Forget a source and delete its database, references and workspaces. Runs stay.

    Raises:
        UsageError: there is none of that name.
        Busy: another program is writing it.
    """
    info = find_source(home, name)
    facts: audit.Facts = {"access": info.access, "digest": info.digest}
    with (
        locked(home, name, "it was to be removed"),
        audit.recorded(home, "source.remove", source=name, facts=facts),
    ):
        forget(home, name)


def forget(home: Home, name: str) -> None:
    """Take a source off the list and delete its files; its lock is held.

    Off the list first, so that a kill in between leaves no half source on it.
    """
    with source_rows(home) as rows:
        rows.delete(name)
    try:
        for parent in (home.references, home.workspaces, home.sources):
            folder = parent / name
            if folder.exists():
                # Renamed first: the name is free at once, whatever happens to the deletion.
                folder.rename(parent / f".removed-{name}-{os.getpid()}")
            for leftover in parent.glob(".removed-*"):
                shutil.rmtree(leftover, ignore_errors=True)
    except OSError as error:
        raise os_error(error, "removing the source") from error


@contextlib.contextmanager
def locked(home: Home, name: str, when: str) -> Iterator[None]:
    """Hold a source's lock.

    Raises:
        Busy: another program (or thread) holds it; `when` completes the sentence.
    """
    folder = home.sources / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=0)
        lock.acquire()
    except Timeout as error:
        raise Busy(
            f"Another program was writing the source {name} when {when}.",
            todo="Wait until it is done and try again.",
        ) from error
    except OSError as error:
        raise os_error(error, "locking the source") from error
    try:
        yield
    finally:
        lock.release()


def _check_ready(info: SourceInfo) -> None:
    if info.state != "ready":
        raise UsageError(
            f"The import of {info.name} is not finished.",
            todo=f"Go on with: m4bench source add {info.name} PATH",
        )
    if not info.path.exists():
        raise BadInput(
            f"The database of {info.name} is gone.",
            todo=f"Remove the source (m4bench source remove {info.name}) and add it again.",
        )


def open_database(
    path: Path, *, read_only: bool, memory_limit: str | None = None
) -> duckdb.DuckDBPyConnection:
    """Connect to ``HOME/sources/NAME/source.duckdb``; spill files go to ``HOME/scratch``."""
    scratch = path.parent.parent.parent / "scratch"
    try:
        scratch.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise os_error(error, "opening the source") from error
    return connect(
        path, read_only=read_only, scratch=scratch, memory_limit=memory_limit or MEMORY_LIMIT
    )


def open_source(
    info: SourceInfo, *, read_only: bool = True, memory_limit: str | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection to a finished source; the caller closes it soon.

    All connections of one process that are open at the same time must agree on `read_only` and
    `memory_limit` (DuckDB shares one database between them); another wish is Busy.

    Raises:
        UsageError: the import is not finished.
        Busy: another program is writing it.
    """
    _check_ready(info)
    return open_database(info.path, read_only=read_only, memory_limit=memory_limit)


@contextlib.contextmanager
def writing_source(
    home: Home, name: str, *, memory_limit: str | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Hold a finished source's lock and a connection that may write (derived tables).

    Raises:
        UsageError: there is no such source, or it is not finished.
        Busy: another program reads or writes it.
    """
    info = find_source(home, name)
    _check_ready(info)
    with locked(home, name, "it was to be written"):
        con = open_database(info.path, read_only=False, memory_limit=memory_limit)
        with writing(info.path):
            try:
                yield con
            finally:
                con.close()


def known_source(home: Home, name: str, *, job: Job, thorough: bool = False) -> SourceInfo:
    """The source of that name with a digest of what is in its database now.

    Where the file is as we left it, what is noted holds; where another program changed it (or
    `thorough` asks for it), its tables are counted and digested anew.

    Raises:
        UsageError: there is no such source.
        Busy: another program is writing it.
        Cancelled: the user stopped it.
    """
    info = find_source(home, name)
    if info.state != "ready" or not info.path.exists() or not (info.touched or thorough):
        return info
    if info.touched:
        job.message(f"The database of {name} was changed by another program: looking at it again.")
    with source_rows(home) as rows:
        recorded = rows.digest(name)
    with locked(home, name, "it was to be looked at"):
        con = open_database(info.path, read_only=True)
        try:
            schemas = sorted({table.schema for table in facts(info.kind).tables.values()})
            with interruptible(con, job):
                tables = measure_tables(con, schemas, job)
                digest = digest_of(tables)
                access = info.access
                if digest != recorded:  # what was proved of it holds no more
                    access = judge_access(con, info.kind, tables)
        except duckdb.Error as error:
            raise in_words(error, "looking at the source's tables") from error
        finally:
            con.close()
        with source_rows(home) as rows:
            rows.looked_at(name, tables, digest, access)
        seal(info.path)
        if digest != recorded:
            found: audit.Facts = {"digest": digest, "was": recorded, "access": access}
            audit.note(home, "source.changed-outside", source=name, facts=found)
    return find_source(home, name)
