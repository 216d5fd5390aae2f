"""Which sources there are: register, list, find, open, remove.

`state.db` remembers them; the data is in ``sources/NAME/source.duckdb``. Whoever writes that
file holds ``sources/NAME/lock``.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import duckdb
from filelock import FileLock, Timeout
from sqlite_utils import Database

from engine.base.duck import connect, in_words, quote, quote_text
from engine.base.errors import BadInput, Busy, UsageError, bad_file
from engine.base.files import os_error
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.base.store import Step, open_store
from engine.base.store import in_words as store_in_words
from engine.sources.access import judge_access
from engine.sources.importer import META, Imported, digest_of, import_layout
from engine.sources.info import Access, MissingTable, SourceInfo, TableInfo
from engine.sources.layout import Layout, find_in_duckdb, find_in_folder, is_duckdb
from engine.sources.reading import ATTACHED
from engine.sources.schema import KINDS, Kind, facts

_NAME = re.compile(r"[a-z0-9-]{1,40}")


def _first(database: Database) -> None:
    database.execute(
        "CREATE TABLE sources (name TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, "
        "access TEXT NOT NULL, input_mark TEXT NOT NULL, stays INTEGER, digest TEXT NOT NULL, "
        "added_at TEXT NOT NULL) STRICT"
    )
    database.execute(
        "CREATE TABLE source_tables (source TEXT NOT NULL REFERENCES sources(name) "
        "ON DELETE CASCADE, name TEXT NOT NULL, rows INTEGER NOT NULL, "
        "PRIMARY KEY (source, name)) STRICT"
    )


STEPS = (Step("sources/001-first", _first),)
"""This package's tables in `state.db`."""


@contextlib.contextmanager
def _store(home: Home) -> Iterator[Database]:
    database = open_store(home.state, STEPS)
    try:
        yield database
    except sqlite3.Error as error:
        raise store_in_words(error, "reading or writing the list of sources") from error
    finally:
        database.conn.close()


@contextlib.contextmanager
def _transaction(database: Database) -> Iterator[None]:
    database.conn.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.conn.execute("ROLLBACK")
        raise
    database.conn.execute("COMMIT")


def source_folder(home: Home, name: str) -> Path:
    """Where a source's files are."""
    return home.sources / name


def _database_path(home: Home, name: str) -> Path:
    return source_folder(home, name) / "source.duckdb"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            "The name of a source has 1 to 40 characters from a-z, 0-9 and the hyphen.",
            todo="Choose another name, e.g. mimic-demo.",
        )
    return name


@contextlib.contextmanager
def _locked(home: Home, name: str, doing: str) -> Iterator[None]:
    folder = source_folder(home, name)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=0)
        lock.acquire()
    except Timeout as error:
        raise Busy(
            f"Another program is writing the source {name} while {doing}.",
            todo="Wait until it is done and try again.",
        ) from error
    except OSError as error:
        raise os_error(error, doing) from error
    try:
        yield
    finally:
        lock.release()


def add_source(
    home: Home,
    name: str,
    path: Path | str,
    *,
    kind: Kind | str = "auto",
    job: Job | None = None,
    synthetic: bool = False,
    memory_limit: str | None = None,
) -> SourceInfo:
    """Register and import a PhysioNet-style folder or a DuckDB file.

    Called again after a kill, a cancel or an error, it goes on with the tables that are not
    done or whose files have changed. Called again for a finished source whose input is
    unchanged, it does nothing.

    Args:
        home: where the program keeps things.
        name: of the new source.
        path: the folder or file; only read.
        kind: ``mimic-iv``, ``eicu`` or ``auto``.
        job: progress by table (``import:TABLE``) and overall (``import``), in bytes.
        synthetic: the data was made by this program.
        memory_limit: of the database engine, e.g. ``"3GB"``.

    Raises:
        UsageError: the name is not allowed or taken, or the kind is unknown.
        BadInput: with file, line and column.
        Busy, StorageFull, Cancelled: what is finished stays.
    """
    job = job or SimpleJob()
    _checked(name)
    wanted = _wanted_kind(kind)
    given = Path(path).expanduser().absolute()
    layout = _find(given, wanted)
    if layout.ignored:
        shown = ", ".join(layout.ignored[:10])
        more = f" and {len(layout.ignored) - 10} more" if len(layout.ignored) > 10 else ""  # noqa: PLR2004
        job.message(f"Not read, because they are no tables of {layout.facts.title}: {shown}{more}")
    with _locked(home, name, "adding it"):
        return _add_locked(home, name, given, layout, job, synthetic, memory_limit)


def check_new(home: Home, name: str) -> None:
    """Refuse a name that is not allowed, or taken by a finished source.

    Raises:
        UsageError: as said.
    """
    _checked(name)
    with _store(home) as database:
        row = _row(database, name)
    if row is not None and row["state"] == "ready":
        raise _taken(name)


def _taken(name: str) -> UsageError:
    return UsageError(
        f"There is a source called {name} already.",
        todo=f"Choose another name, or remove it first (m4bench source remove {name}).",
    )


def _wanted_kind(kind: str) -> Kind | None:
    if kind == "auto":
        return None
    if kind not in KINDS:
        raise UsageError(
            "This kind of source is not known.", todo=f"Use one of {', '.join(KINDS)}, auto."
        )
    return cast("Kind", kind)


def _find(given: Path, kind: Kind | None) -> Layout:
    if not given.exists():
        raise bad_file(
            given,
            "There is no such file or folder.",
            todo="Check the path (and that it is mounted).",
        )
    if given.is_dir():
        return find_in_folder(given, kind)
    if is_duckdb(given):
        return _find_in_duckdb(given, kind)
    raise bad_file(
        given,
        "This is neither a folder nor a DuckDB database.",
        todo="Give the folder that holds the tables (with hosp and icu in it for MIMIC-IV).",
    )


def _attach(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        con.execute(f"ATTACH {quote_text(str(path))} AS {quote(ATTACHED)} (READ_ONLY)")
    except duckdb.Error as error:
        known = in_words(error, "opening the database to import")
        if known.exit_code == 70:  # noqa: PLR2004 - our own bug's exit code
            known = bad_file(
                path,
                "The DuckDB file cannot be opened: it is damaged, or made by a newer version.",
                todo="Open it with its own program and export it again.",
            )
        raise known from error


def _find_in_duckdb(path: Path, kind: Kind | None) -> Layout:
    con = connect()
    try:
        _attach(con, path)
        sql = (
            "SELECT schema_name, table_name, estimated_size FROM duckdb_tables() "
            "WHERE database_name = ? UNION ALL SELECT schema_name, view_name, 0 "
            "FROM duckdb_views() WHERE database_name = ? AND NOT internal"
        )
        found = con.execute(sql, [ATTACHED, ATTACHED]).fetchall()
    finally:
        con.close()
    return find_in_duckdb(path, {(str(s), str(t)): int(n or 0) for s, t, n in found}, kind)


def _input_mark(layout: Layout) -> str:
    lines = sorted(f"{t.table.full_name} {t.fingerprint}" for t in layout.tables)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _add_locked(
    home: Home,
    name: str,
    given: Path,
    layout: Layout,
    job: Job,
    synthetic: bool,
    memory_limit: str | None,
) -> SourceInfo:
    mark = _input_mark(layout)
    with _store(home) as database:
        before = _row(database, name)
        if before is not None and before["state"] == "ready":
            if before["input_mark"] == mark and _database_path(home, name).exists():
                job.message(f"{name} is imported already, and its files have not changed.")
                return _info(home, database, before)
            raise _taken(name)
        with _transaction(database):
            database.execute("DELETE FROM sources WHERE name = ?", [name])
            database["sources"].insert(
                {
                    "name": name,
                    "kind": layout.facts.kind,
                    "state": "importing",
                    "access": "synthetic" if synthetic else "credentialed",
                    "input_mark": mark,
                    "stays": None,
                    "digest": "",
                    "added_at": datetime.now(UTC).isoformat(timespec="seconds"),
                }
            )
        try:
            _import(home, database, name, given, layout, job, synthetic, memory_limit)
        except BadInput:
            if (
                before is None
                and not database.execute(
                    "SELECT 1 FROM source_tables WHERE source = ?", [name]
                ).fetchone()
            ):
                _forget(home, database, name)  # refused at once: leave nothing behind
            raise
        return _info(home, database, _row(database, name) or {})


def _import(
    home: Home,
    database: Database,
    name: str,
    given: Path,
    layout: Layout,
    job: Job,
    synthetic: bool,
    memory_limit: str | None,
) -> None:
    def imported(table: Imported) -> None:
        database["source_tables"].insert(
            {"source": name, "name": table.name, "rows": table.rows}, replace=True
        )

    con = _open_for_writing(home, name, memory_limit)
    try:
        if layout.tables[0].format == "duckdb":
            _attach(con, given)
        tables = import_layout(con, layout, job, imported)
        try:
            access: Access = (
                "synthetic" if synthetic else judge_access(con, layout.facts.kind, tables)
            )
        except duckdb.Error as error:
            raise in_words(error, "looking at the imported tables") from error
    finally:
        con.close()
    stay_table = layout.facts.tables[layout.facts.stays].full_name
    stays = next((table.rows for table in tables if table.name == stay_table), None)
    with _transaction(database):
        database["sources"].update(
            name,
            {"state": "ready", "access": access, "stays": stays, "digest": digest_of(tables)},
        )


def _open_for_writing(
    home: Home, name: str, memory_limit: str | None = None
) -> duckdb.DuckDBPyConnection:
    try:
        home.scratch.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise os_error(error, "opening the source") from error
    path = _database_path(home, name)
    if memory_limit is None:
        return connect(path, scratch=home.scratch)
    return connect(path, scratch=home.scratch, memory_limit=memory_limit)


def _row(database: Database, name: str) -> dict[str, Any] | None:
    rows = list(database["sources"].rows_where("name = ?", [name]))
    return rows[0] if rows else None


def _info(home: Home, database: Database, row: dict[str, Any]) -> SourceInfo:
    name = str(row["name"])
    path = _database_path(home, name)
    tables = tuple(
        TableInfo(name=str(entry["name"]), rows=int(entry["rows"]))
        for entry in database["source_tables"].rows_where("source = ?", [name], order_by="name")
    )
    there = {table.name for table in tables}
    size = sum(
        file.stat().st_size for file in (path, path.with_name(path.name + ".wal")) if file.exists()
    )
    return SourceInfo(
        name=name,
        kind=row["kind"],
        state=row["state"],
        access=row["access"],
        path=path,
        tables=tables,
        missing=tuple(
            MissingTable(name=table.full_name, needed_for=table.needed_for)
            for table in facts(row["kind"]).tables.values()
            if table.full_name not in there
        ),
        stays=row["stays"],
        size_bytes=size,
        added_at=row["added_at"],
        digest=row["digest"],
    )


def list_sources(home: Home) -> list[SourceInfo]:
    """All registered sources by name, unfinished ones too."""
    with _store(home) as database:
        rows = list(database["sources"].rows_where(order_by="name"))
        return [_info(home, database, row) for row in rows]


def find_source(home: Home, name: str) -> SourceInfo:
    """The source of that name.

    Raises:
        UsageError: there is none; names the nearest one.
    """
    with _store(home) as database:
        row = _row(database, name)
        if row is not None:
            return _info(home, database, row)
        names = [str(entry["name"]) for entry in database["sources"].rows]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        todo = f"Is {near[0]} meant?"
    elif names:
        todo = f"There are: {', '.join(sorted(names))}."
    else:
        todo = "None is registered yet: m4bench source add NAME PATH, or source synth."
    raise UsageError("There is no source of that name.", todo=todo)


def remove_source(home: Home, name: str) -> None:
    """Forget a source and delete its database, references and workspaces. Runs stay.

    Raises:
        UsageError: there is none of that name.
        Busy: another program is writing it.
    """
    find_source(home, name)
    with _locked(home, name, "removing it"), _store(home) as database:
        _forget(home, database, name)


def _forget(home: Home, database: Database, name: str) -> None:
    """Take it off the list first, so that a kill in between leaves no half source on it."""
    with _transaction(database):
        database.execute("DELETE FROM sources WHERE name = ?", [name])
    try:
        for parent in (home.references, home.workspaces, home.sources):
            folder = parent / name
            if folder.exists():
                # Renamed first: the name is free at once, whatever happens to the deletion.
                gone = parent / f".removed-{name}-{os.getpid()}"
                folder.rename(gone)
            for leftover in parent.glob(".removed-*"):
                shutil.rmtree(leftover, ignore_errors=True)
    except OSError as error:
        raise os_error(error, "removing the source") from error


def _ready(info: SourceInfo) -> None:
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


def open_source(
    info: SourceInfo, *, read_only: bool = True, memory_limit: str | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection to a finished source; the caller closes it soon.

    Raises:
        UsageError: the import is not finished.
        Busy: another program is writing it.
    """
    _ready(info)
    scratch = info.path.parent.parent.parent / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    if memory_limit is None:
        return connect(info.path, read_only=read_only, scratch=scratch)
    return connect(info.path, read_only=read_only, scratch=scratch, memory_limit=memory_limit)


@contextlib.contextmanager
def writing_source(
    home: Home, name: str, *, memory_limit: str | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Hold a finished source's lock and a connection that may write (derived tables).

    Raises:
        UsageError: there is no such source, or it is not finished.
        Busy: another program reads or writes it.
    """
    _ready(find_source(home, name))
    with _locked(home, name, "writing it"):
        con = _open_for_writing(home, name, memory_limit)
        try:
            yield con
        finally:
            con.close()


__all__ = [
    "META",
    "STEPS",
    "add_source",
    "find_source",
    "list_sources",
    "open_source",
    "remove_source",
    "source_folder",
    "writing_source",
]
