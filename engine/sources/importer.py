"""Bringing a layout's tables into one DuckDB file, table by table.

Each table and its entry in the journal (``m4_meta.tables``) are one transaction, so after a
kill or a cancel the next import goes on with what is not done.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import duckdb

from engine.base.duck import in_words, interruptible, quote
from engine.base.errors import Cancelled, M4Error
from engine.base.jobs import Job
from engine.sources.convert import FINITE
from engine.sources.layout import Layout, TableInput
from engine.sources.reading import CsvReader, Reader, open_reader
from engine.sources.schema import KINDS, facts
from engine.sources.textfile import SecondReader

META = "m4_meta"
"""Schema of the journal; no agent ever gets it."""
_VERSION = 1
"""Raise it when tables imported by older code must be imported again."""
_TICK = 0.1
"""Seconds between two looks at a running query."""


@dataclass(frozen=True)
class Imported:
    """A table that is in."""

    name: str
    """``schema.table``."""
    rows: int
    """Number of rows."""
    content: str
    """Digest of columns, types and rows, whatever the order of rows.

    It rests on DuckDB's `hash`: another version may give another digest, and references built
    before then count as stale.
    """


def import_layout(
    con: duckdb.DuckDBPyConnection,
    layout: Layout,
    job: Job,
    imported: Callable[[Imported], object],
) -> list[Imported]:
    """Import what is not yet imported; returns all tables by name.

    The connection is open for writing. Headers of all tables are checked before the first row
    of any is read. `imported` is called for each table that is in.

    Raises:
        BadInput: with file, line and column; tables finished before stay.
        StorageFull, Cancelled: likewise, everything finished stays.
    """
    readers = [(source, open_reader(con, source)) for source in layout.tables]
    job.check()
    journal = _prepare(con, layout)
    total = float(sum(source.size for source in layout.tables)) or 1.0
    done = 0.0
    for source, reader in readers:
        name = source.table.full_name
        if name not in journal:
            for note in reader.notes:
                job.message(note)
            task = _TableImport(con, source, reader, job, before=done, total=total)
            journal[name] = task.run()
        imported(journal[name])
        done += source.size
        job.progress(f"import:{source.table.name}", source.size, source.size, name)
        job.progress("import", done, total, "Importing")
    try:
        con.execute("CHECKPOINT")
    except duckdb.Error as error:
        raise in_words(error, "finishing the import") from error
    return [journal[name] for name in sorted(journal)]


def _mark(source: TableInput) -> str:
    return hashlib.sha256(f"{_VERSION}\0{source.fingerprint}".encode()).hexdigest()


def _prepare(con: duckdb.DuckDBPyConnection, layout: Layout) -> dict[str, Imported]:
    """Make schemas and journal, drop what is not of this layout; what is already in."""
    try:
        con.begin()
        for schema in (META, *layout.facts.schemas):
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(schema)}")
        con.execute(
            f"CREATE TABLE IF NOT EXISTS {META}.tables (schema VARCHAR, name VARCHAR, "
            "rows BIGINT, content VARCHAR, mark VARCHAR)"
        )
        marks = {source.table.full_name: _mark(source) for source in layout.tables}
        kept: dict[str, Imported] = {}
        sql = f"SELECT schema, name, rows, content, mark FROM {META}.tables"  # noqa: S608 - constant
        for schema, name, rows, content, mark in con.execute(sql).fetchall():
            full = f"{schema}.{name}"
            if marks.get(full) == mark:
                kept[full] = Imported(full, int(rows), str(content))
            else:
                con.execute(f"DROP TABLE IF EXISTS {quote(schema)}.{quote(name)}")
                con.execute(
                    f"DELETE FROM {META}.tables WHERE schema = ? AND name = ?",  # noqa: S608 - constant
                    [schema, name],
                )
        for kind in KINDS:
            for schema in set(facts(kind).schemas) - set(layout.facts.schemas):
                con.execute(f"DROP SCHEMA IF EXISTS {quote(schema)} CASCADE")
        con.commit()
    except duckdb.Error as error:
        _roll_back(con)
        raise in_words(error, "preparing the import") from error
    return kept


def _roll_back(con: duckdb.DuckDBPyConnection) -> None:
    with contextlib.suppress(duckdb.Error):  # nothing open, or the disk is full
        con.rollback()


class _TableImport:
    """One table's import."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        source: TableInput,
        reader: Reader,
        job: Job,
        *,
        before: float,
        total: float,
    ) -> None:
        self._con = con
        self._source = source
        self._reader = reader
        self._job = job
        self._before = before
        self._total = total
        self._share = 0.0
        self._name = source.table.full_name

    def run(self) -> Imported:
        """Import it in one transaction.

        Raises:
            BadInput, StorageFull, Busy, Cancelled: nothing of this table is left.
        """
        con = self._con
        second: SecondReader | None = None
        target = f"{quote(self._source.table.schema)}.{quote(self._source.table.name)}"
        try:
            self._detect()
            if isinstance(self._reader, CsvReader):
                second = SecondReader(self._reader.path)
            con.begin()
            con.execute(f"DROP TABLE IF EXISTS {target}")
            self._execute(f"CREATE TABLE {target} AS {self._reader.query()}", 0.95)
            done = self._measure(target)
            if second is not None:
                second.agree(done.rows, len(self._reader.columns), self._job.check)
            con.execute(
                f"INSERT INTO {META}.tables VALUES (?, ?, ?, ?, ?)",  # noqa: S608 - constant
                [
                    self._source.table.schema,
                    self._source.table.name,
                    done.rows,
                    done.content,
                    _mark(self._source),
                ],
            )
            con.commit()
        except duckdb.Error as error:
            _roll_back(con)
            raise self._in_words(error, second) from error
        except BaseException:
            _roll_back(con)
            raise
        finally:
            if second is not None:
                second.stop()
        return done

    def _detect(self) -> None:
        reader = self._reader
        if not isinstance(reader, CsvReader) or not reader.needs_detection:
            return
        try:
            rows = self._execute(reader.detection_query(), None)
        except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.FatalException):
            raise
        except duckdb.Error:
            rows = []  # reading it as text will say what is wrong, and where
        reader.set_detected(rows[0][0] if rows else None)

    def _measure(self, target: str) -> Imported:
        """Count the rows, look for infinite values, and take the digest."""
        finite = [c for c in self._reader.columns if c.declared and c.type in FINITE]
        checks = " OR ".join(f"NOT isfinite(t.{quote(c.name)})" for c in finite) or "false"
        sql = f"SELECT count(*), sum(hash(t)), count(*) FILTER ({checks}) FROM {target} AS t"  # noqa: S608 - quoted
        rows, content, infinite = self._execute(sql, None)[0]
        if infinite:
            problem = self._reader.explain(self._con, None)
            if problem is not None:
                raise problem
        columns = [(c.name, c.type) for c in self._reader.columns]
        return _imported(self._name, columns, int(rows), content)

    def _execute(self, sql: str, share: float | None) -> list[tuple[Any, ...]]:
        """Run a query while telling its progress as `share` of the table."""

        def tick() -> None:
            self._job.check()
            percent = self._con.query_progress()
            known = share is not None and percent > 0
            self._tell(share * min(percent, 100.0) / 100.0 if share and known else 0.0)

        return watched(self._con, sql, self._job, tick)

    def _tell(self, share: float) -> None:
        """Progress never goes back."""
        self._share = max(self._share, share)
        size = float(self._source.size)
        name = self._source.table.name
        self._job.progress(f"import:{name}", size * self._share, size, self._name)
        self._job.progress("import", self._before + size * self._share, self._total, "Importing")

    def _in_words(self, error: duckdb.Error, second: SecondReader | None) -> M4Error:
        if isinstance(error, duckdb.InterruptException):
            return Cancelled()
        # What other kinds say may quote cells, and is not taken for the engine's own words.
        fatal = isinstance(error, duckdb.OutOfMemoryException | duckdb.FatalException)
        if second is not None and second.problem is not None and not fatal:
            return second.problem
        known: M4Error | None = None
        if not fatal:
            with interruptible(self._con, self._job):
                known = self._reader.explain(self._con, error)
        return known or in_words(error, f"importing {self._name}")


def watched(
    con: duckdb.DuckDBPyConnection, sql: str, job: Job, tick: Callable[[], None]
) -> list[tuple[Any, ...]]:
    """Run a query in a thread of its own and call `tick` here until it is done.

    Whatever `tick` raises (a cancel) interrupts the query first.
    """

    def run() -> list[tuple[Any, ...]]:
        return con.execute(sql).fetchall()

    with ThreadPoolExecutor(1, thread_name_prefix="query") as pool, interruptible(con, job):
        future = pool.submit(run)
        try:
            while not wait([future], timeout=_TICK).done:
                tick()
        except BaseException:
            while not wait([future], timeout=_TICK).done:
                con.interrupt()
            raise
        return future.result()


def _imported(
    name: str, columns: Sequence[tuple[str, str]], rows: int, content: int | None
) -> Imported:
    listed = ",".join(f"{column} {type_name}" for column, type_name in columns)
    text = f"{name}({listed}) {rows} {content or 0}"
    return Imported(name, rows, hashlib.sha256(text.encode()).hexdigest())


def measure_tables(
    con: duckdb.DuckDBPyConnection, schemas: Sequence[str], job: Job
) -> list[Imported]:
    """Count and digest the tables of `schemas` as they stand, like those just imported.

    Raises:
        Cancelled: the user stopped it.
    """
    listed = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE list_contains(?, schema_name) "
        "ORDER BY ALL",
        [list(schemas)],
    ).fetchall()
    measured = []
    for position, (schema, table) in enumerate(listed):
        job.progress("digest", position, len(listed), f"looking at {table}")
        place = f"{quote(schema)}.{quote(table)}"
        described = con.execute(f"DESCRIBE {place}").fetchall()
        sql = f"SELECT count(*), sum(hash(t)) FROM {place} AS t"  # noqa: S608 - quoted
        [(rows, content)] = watched(con, sql, job, job.check)
        columns = [(str(row[0]), str(row[1])) for row in described]
        measured.append(_imported(f"{schema}.{table}", columns, int(rows), content))
    job.progress("digest", len(listed), len(listed), "the source's tables are looked at")
    return measured


def digest_of(tables: Sequence[Imported]) -> str:
    """One digest over all tables, whatever their order."""
    lines = "\n".join(sorted(table.content for table in tables))
    return hashlib.sha256(lines.encode()).hexdigest()
