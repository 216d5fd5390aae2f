"""What `state.db` remembers about sources: their rows, and nothing of the user's paths."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engine.base.paths import Home
from engine.base.store import Step, in_words, open_store
from engine.sources.importer import Imported
from engine.sources.info import Access, MissingTable, SourceInfo, TableInfo
from engine.sources.schema import Kind, facts
from engine.sources.seal import is_sealed

if TYPE_CHECKING:
    from sqlite_utils import Database


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


def _policy(database: Database) -> None:
    # What was allowed belongs to one registration, never to a name.
    database.execute("ALTER TABLE sources ADD COLUMN registration TEXT NOT NULL DEFAULT ''")
    database.execute("UPDATE sources SET registration = lower(hex(randomblob(16)))")
    database.execute(
        "CREATE TABLE source_rulings (id INTEGER PRIMARY KEY, source TEXT NOT NULL, "
        "registration TEXT NOT NULL, at TEXT NOT NULL, act TEXT NOT NULL, provider TEXT, "
        "by TEXT NOT NULL, why TEXT NOT NULL, actor TEXT NOT NULL) STRICT"
    )
    for change in ("UPDATE", "DELETE"):
        database.execute(
            f"CREATE TRIGGER source_rulings_no_{change.lower()} BEFORE {change} "
            "ON source_rulings BEGIN SELECT RAISE(ABORT, 'rulings are for ever'); END"
        )


def _hosts(database: Database) -> None:
    # A provider is allowed at one host; what was allowed before that was kept holds no more.
    database.execute("ALTER TABLE source_rulings ADD COLUMN host TEXT")


STEPS = (
    Step("sources/001-first", _first),
    Step("sources/002-policy", _policy),
    Step("sources/003-hosts", _hosts),
)
"""This package's tables in `state.db`."""


class SourceRows:
    """The sources' rows, through one open connection (see `source_rows`)."""

    def __init__(self, home: Home, database: Database) -> None:
        self._home = home
        self._con: sqlite3.Connection = database.conn

    def _query(self, sql: str, values: list[object]) -> list[dict[str, Any]]:
        cursor = self._con.execute(sql, values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._con.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._con.execute("ROLLBACK")
            raise
        self._con.execute("COMMIT")

    def names(self) -> list[str]:
        """All names, sorted."""
        return [str(row["name"]) for row in self._query("SELECT name FROM sources ORDER BY 1", [])]

    def get(self, name: str) -> SourceInfo | None:
        """One source."""
        rows = self._query("SELECT * FROM sources WHERE name = ?", [name])
        return self._info(rows[0]) if rows else None

    def input_mark(self, name: str) -> str | None:
        """What the files of its import looked like."""
        rows = self._query("SELECT input_mark FROM sources WHERE name = ?", [name])
        return str(rows[0]["input_mark"]) if rows else None

    def digest(self, name: str) -> str:
        """The digest that was noted last, also where the file has been changed since."""
        rows = self._query("SELECT digest FROM sources WHERE name = ?", [name])
        return str(rows[0]["digest"]) if rows else ""

    def begin(self, name: str, kind: Kind, access: Access, input_mark: str) -> None:
        """An import starts, or goes on."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._con.execute(
            "INSERT INTO sources VALUES (?, ?, 'importing', ?, ?, NULL, '', ?, "
            "lower(hex(randomblob(16)))) "
            "ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, access = excluded.access, "
            "input_mark = excluded.input_mark, stays = NULL, digest = '', state = 'importing'",
            [name, kind, access, input_mark, now],
        )

    def add_table(self, name: str, table: Imported) -> None:
        """A table is in."""
        self._con.execute(
            "INSERT OR REPLACE INTO source_tables VALUES (?, ?, ?)", [name, table.name, table.rows]
        )

    def finish(
        self, name: str, access: Access, stays: int | None, digest: str, tables: Sequence[Imported]
    ) -> None:
        """Everything is in, and `tables` is everything."""
        with self._transaction():
            self._con.execute("DELETE FROM source_tables WHERE source = ?", [name])
            for table in tables:
                self.add_table(name, table)
            self._con.execute(
                "UPDATE sources SET state = 'ready', access = ?, stays = ?, digest = ? "
                "WHERE name = ?",
                [access, stays, digest, name],
            )

    def looked_at(self, name: str, tables: Sequence[Imported], digest: str, access: Access) -> None:
        """What is in the database now, after somebody else changed it."""
        with self._transaction():
            self._con.execute("DELETE FROM source_tables WHERE source = ?", [name])
            for table in tables:
                self.add_table(name, table)
            self._con.execute(
                "UPDATE sources SET digest = ?, access = ? WHERE name = ?", [digest, access, name]
            )

    def rulings(self, name: str) -> list[dict[str, Any]]:
        """What was decided about this registration of a source, oldest first."""
        return self._query(
            "SELECT at, act, provider, host, by, why, actor FROM source_rulings WHERE source = ? "
            "AND registration = (SELECT registration FROM sources WHERE name = ?) ORDER BY id",
            [name, name],
        )

    def add_ruling(self, name: str, **values: str | None) -> None:
        """Add a decision about a registered source."""
        columns = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self._con.execute(
            f"INSERT INTO source_rulings (source, registration, {columns}) "  # noqa: S608 - ours
            f"SELECT name, registration, {marks} FROM sources WHERE name = ?",
            [*values.values(), name],
        )

    def delete(self, name: str) -> None:
        """Forget it."""
        self._con.execute("DELETE FROM sources WHERE name = ?", [name])

    def _info(self, row: dict[str, Any]) -> SourceInfo:
        name = str(row["name"])
        path = self._home.sources / name / "source.duckdb"
        tables = tuple(
            TableInfo(name=str(entry["name"]), rows=int(entry["rows"]))
            for entry in self._query(
                "SELECT name, rows FROM source_tables WHERE source = ? ORDER BY name", [name]
            )
        )
        there = {table.name for table in tables}
        touched = row["state"] == "ready" and path.exists() and not is_sealed(path)
        files = (path, path.with_name(path.name + ".wal"))
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
            size_bytes=sum(file.stat().st_size for file in files if file.exists()),
            added_at=row["added_at"],
            # Nothing that was made from what it was holds for what it may be now.
            digest="" if touched else row["digest"],
            touched=touched,
        )


@contextlib.contextmanager
def source_rows(home: Home) -> Iterator[SourceRows]:
    """Open `state.db` for a moment.

    Raises:
        Busy, StorageFull, BadInput: in words.
    """
    database = open_store(home.state, STEPS)
    try:
        yield SourceRows(home, database)
    except sqlite3.Error as error:
        raise in_words(error, "reading or writing the list of sources") from error
    finally:
        database.conn.close()
