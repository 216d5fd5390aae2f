"""Registering a source: find its tables, import them, remember it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import duckdb

from engine import audit
from engine.base.duck import connect, in_words, quote, quote_text
from engine.base.errors import BadInput, HarnessFault, UsageError, bad_file
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.sources.access import judge_access
from engine.sources.importer import Imported, digest_of, import_layout
from engine.sources.info import Access, SourceInfo
from engine.sources.layout import Layout, find_in_duckdb, find_in_folder, is_duckdb
from engine.sources.reading import ATTACHED
from engine.sources.registry import check_name, forget, locked, open_database, taken
from engine.sources.schema import KINDS, Kind
from engine.sources.seal import seal
from engine.sources.state import SourceRows, source_rows

_SHOWN = 10
"""So many ignored files are named."""


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
    check_name(name)
    given = Path(path).expanduser().absolute()
    wanted = _wanted(kind)
    adding = _Adding(
        home=home,
        name=name,
        given=given,
        layout=_find(given, wanted),
        job=job or SimpleJob(),
        synthetic=synthetic,
        memory_limit=memory_limit,
    )
    return adding.run()


def _wanted(kind: str) -> Kind | None:
    if kind == "auto":
        return None
    for known in KINDS:
        if kind == known:
            return known
    raise UsageError(
        "This kind of source is not known.", todo=f"Use one of {', '.join(KINDS)}, auto."
    )


def _find(given: Path, kind: Kind | None) -> Layout:
    try:
        there = given.exists()
    except OSError as error:  # a folder on the way may not be entered
        raise bad_file(
            given,
            f"It cannot be looked at: {error.strerror or 'unknown reason'}.",
            todo="Check that you may read it and the folders above it.",
        ) from error
    if not there:
        raise bad_file(
            given,
            "There is no such file or folder.",
            todo="Check the path, and that the drive is mounted.",
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
        if isinstance(known, BadInput | HarnessFault):
            known = bad_file(
                path,
                "The DuckDB file cannot be opened: it is damaged, or made by a newer version.",
                todo="Open it with the program that made it and export it again.",
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


@dataclass(frozen=True, kw_only=True)
class _Adding:
    """One call of `add_source`."""

    home: Home
    name: str
    given: Path
    layout: Layout
    job: Job
    synthetic: bool
    memory_limit: str | None

    def run(self) -> SourceInfo:
        with locked(self.home, self.name, "it was to be added"), source_rows(self.home) as rows:
            before = rows.get(self.name)
            if before is not None and before.state == "ready":
                if rows.input_mark(self.name) == self._mark() and before.path.exists():
                    self.job.message(f"{self.name} is imported already; nothing has changed.")
                    return before
                raise taken(self.name)
            self._say_ignored()
            with audit.recorded(
                self.home,
                "source.synth" if self.synthetic else "source.import",
                source=self.name,
                facts={"kind": self.layout.facts.kind, "tables": len(self.layout.tables)},
            ) as found:
                self._begin_and_import(rows, before)
                info = rows.get(self.name)
                if info is not None:
                    found |= {
                        "access": info.access,
                        "digest": info.digest,
                        "rows": {table.name: table.rows for table in info.tables},
                        "stays": info.stays,
                    }
        if info is None:
            raise HarnessFault("The source vanished from the list while it was added.")
        return info

    def _begin_and_import(self, rows: SourceRows, before: SourceInfo | None) -> None:
        rows.begin(self.name, self.layout.facts.kind, self._assumed(), self._mark())
        try:
            self._import(rows)
        except BadInput:
            after = rows.get(self.name)
            if before is None and (after is None or not after.tables):
                forget(self.home, self.name)  # refused at once: leave nothing behind
            raise

    def _assumed(self) -> Access:
        return "synthetic" if self.synthetic else "credentialed"

    def _mark(self) -> str:
        lines = sorted(f"{t.table.full_name} {t.fingerprint}" for t in self.layout.tables)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def _say_ignored(self) -> None:
        ignored = self.layout.ignored
        if ignored:
            more = f" and {len(ignored) - _SHOWN} more" if len(ignored) > _SHOWN else ""
            self.job.message(
                f"Not read, because they are no tables of {self.layout.facts.title}: "
                f"{', '.join(ignored[:_SHOWN])}{more}"
            )

    def _import(self, rows: SourceRows) -> None:
        def imported(table: Imported) -> None:
            rows.add_table(self.name, table)

        path = self.home.sources / self.name / "source.duckdb"
        con = open_database(path, read_only=False, memory_limit=self.memory_limit)
        try:
            if self.layout.tables[0].format == "duckdb":
                _attach(con, self.given)
            tables = import_layout(con, self.layout, self.job, imported)
            access = self._assumed()
            if not self.synthetic:
                access = judge_access(con, self.layout.facts.kind, tables)
        except duckdb.Error as error:
            raise in_words(error, "looking at the imported tables") from error
        finally:
            con.close()
        seal(path)
        stay_table = self.layout.facts.tables[self.layout.facts.stays].full_name
        stays = next((table.rows for table in tables if table.name == stay_table), None)
        rows.finish(self.name, access, stays, digest_of(tables), tables)
