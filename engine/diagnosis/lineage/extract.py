"""The part of a source that one cell can rest on, in a database in memory.

Every row keeps its address in the source: the number of its table and its ``rowid``, packed into
one integer. Dictionaries have no addresses: they are no evidence of a patient.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from engine.base.duck import connect, in_words, interruptible, quote
from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED, Query
from engine.diagnosis.lineage.annotate import Mode, annotated
from engine.diagnosis.lineage.blocks import Columns
from engine.diagnosis.lineage.scope import ROW, Relation
from engine.sources import SourceInfo, open_source

_BITS = 40
_PERSON = ("subject_id", "patientunitstayid")
_ACROSS = {"mimiciv_hosp.prescriptions": ("drug", "drug_type", "route")}
"""Tables that a concept reads across patients (which drug texts are antibiotics), and the columns
it reads then: one row of each combination comes along."""


_IDENTIFIERS = frozenset(
    {
        "subject_id", "hadm_id", "stay_id", "specimen_id", "micro_specimen_id", "orderid",
        "linkorderid", "patientunitstayid", "patienthealthsystemstayid",
    }
)  # fmt: skip
"""Numbers by which our queries tell patients, stays, specimens and orders apart."""
_APART = 10**11
"""More than any identifier, between those of two copies of a patient."""
_FRAME = ("mimiciv_hosp.admissions",)
"""Tables that come along where the source has them: they frame the row in the picture."""


def is_dictionary(table: str) -> bool:
    """Does it describe codes, not patients?"""
    return table.partition(".")[2].startswith("d_")


@dataclass(frozen=True)
class Extract:
    """Base tables with addresses."""

    info: SourceInfo
    """The source."""
    target: Query
    """What it is enough for."""
    tables: tuple[str, ...]
    """Base tables, sorted; an address's number counts in here."""
    columns: Columns
    """Their columns."""
    data: Mapping[str, pa.Table]
    """Their rows, with ``row__p`` where they have addresses."""

    @property
    def recorded(self) -> tuple[str, ...]:
        """The tables whose rows have addresses."""
        return tuple(table for table in self.tables if not is_dictionary(table))

    def relations(self) -> dict[str, Relation]:
        """The base tables as the annotation sees them."""
        return {t: Relation(self.columns.of(t), not is_dictionary(t)) for t in self.tables}

    def addresses(self) -> Iterator[int]:
        """Those of all rows."""
        for table in self.recorded:
            yield from pc.list_flatten(self.data[table][ROW]).to_pylist()

    def of_others(self, person: int) -> frozenset[int]:
        """Addresses of rows that only say what counts, and are not this patient's."""
        found: set[int] = set()
        for table in set(self.tables) & set(_ACROSS):
            rows = self.data[table]
            others = rows.filter(pc.not_equal(rows["subject_id"], person))
            found |= set(pc.list_flatten(others[ROW]).to_pylist())
        return frozenset(found)

    def unpack(self, address: int) -> tuple[str, int]:
        """Table and rowid."""
        return self.tables[address >> _BITS], address & ((1 << _BITS) - 1)

    @contextlib.contextmanager
    def database(
        self, home: Home, *, only: Iterable[int] | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A database in memory with the base tables.

        Args:
            home: where to spill.
            only: addresses of the rows that it gets, without the addresses themselves; all, with
                addresses, when None.
        """
        if only is None:
            with self._filled(home, {}, lambda _: "SELECT * FROM rows_") as con:
                yield con
            return
        kept = pa.table({"id": pa.array(sorted(only), pa.int64())})

        def what(table: str) -> str:
            if is_dictionary(table):
                return "SELECT * FROM rows_"
            return (
                f"SELECT * EXCLUDE ({ROW}) FROM rows_ "  # noqa: S608 - our own names
                f"WHERE {ROW}[1] IN (SELECT id FROM kept)"
            )

        with self._filled(home, {"kept": kept}, what) as con:
            yield con

    @contextlib.contextmanager
    def copies(
        self, home: Home, without: Sequence[Set[int]], *, once: Set[int]
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A database with a copy of the patient for each of some groups of rows, without them.

        A copy has identifiers of its own: `shifted` by its number. There are no addresses.

        Args:
            home: where to spill.
            without: by copy the addresses of the rows that it lacks.
            once: addresses of other patients' rows, which are not copied.
        """
        gone = [(copy, address) for copy, each in enumerate(without) for address in each]
        more = {
            "gone": pa.table(
                {
                    "copy": pa.array([copy for copy, _ in gone], pa.int64()),
                    "id": pa.array([address for _, address in gone], pa.int64()),
                }
            ),
            "once": pa.table({"id": pa.array(sorted(once), pa.int64())}),
            "numbers": pa.table({"copy": pa.array(range(-1, len(without)), pa.int64())}),
        }

        def what(table: str) -> str:
            if is_dictionary(table):
                return "SELECT * FROM rows_"
            own = {n: f"r.{quote(n)}{self.shifted(n, 'copy')}" for n in self.columns.of(table)}
            columns = ", ".join(f"{sql} AS {quote(name)}" for name, sql in own.items())
            return (
                f"SELECT {columns} FROM rows_ AS r, numbers "  # noqa: S608 - our own names
                f"WHERE (copy = -1) = (r.{ROW}[1] IN (SELECT id FROM once)) "
                f"AND NOT EXISTS (SELECT 1 FROM gone WHERE gone.copy = numbers.copy "
                f"AND gone.id = r.{ROW}[1])"
            )

        with self._filled(home, more, what) as con:
            yield con

    @staticmethod
    def shifted(column: str, copy: str) -> str:
        """SQL to be put behind a column's value, for what it is in a copy; mostly nothing."""
        return f"::BIGINT + ({copy} + 1) * {_APART}" if column in _IDENTIFIERS else ""

    @contextlib.contextmanager
    def _filled(
        self, home: Home, more: Mapping[str, pa.Table], what: Callable[[str], str]
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A database whose tables are what `what` reads of ``rows_`` and of `more`."""
        con = connect(scratch=home.scratch)
        try:
            con.execute("SET preserve_insertion_order = false")
            con.execute(f"CREATE SCHEMA {DERIVED}")
            for name, rows in more.items():
                con.register(name, rows)
            for table in self.tables:
                con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.partition('.')[0]}")
                con.register("rows_", self.data[table])
                con.execute(f"CREATE TABLE {table} AS {what(table)}")
                con.unregister("rows_")
            yield con
        except duckdb.Error as error:
            raise in_words(error, "following a value back to its rows") from error
        finally:
            con.close()

    def build(
        self, con: duckdb.DuckDBPyConnection, *, mode: Mode | None, job: Job | None = None
    ) -> Relation:
        """Build the concepts and the table ``main.target``, with lists unless `mode` is None."""
        with interruptible(con, job):
            queries = concept_graph().order(self.target.concepts) if self.target.concepts else ()
            for number, query in enumerate(queries):
                if job is not None:
                    job.progress("lineage", number, len(queries) + 1, query.name)
                sql = query.sql if mode is None else self._annotated(query, mode)[0]
                con.execute(f"CREATE OR REPLACE TABLE {DERIVED}.{query.name} AS {sql}")
            sql, relation = self._annotated(self.target, mode or "decisive")
            what = self.target.sql if mode is None else sql
            con.execute(f"CREATE OR REPLACE TABLE main.target AS {what}")
        return relation

    def annotated(self, query: Query, mode: Mode) -> str:
        """The SQL of a concept or target with the lists of addresses."""
        return self._annotated(query, mode)[0]

    def _annotated(self, query: Query, mode: Mode) -> tuple[str, Relation]:
        base = tuple(self.relations().items())
        return _annotated_query(query.concepts, query.sql, base, mode)


@functools.cache
def _annotated_query(
    concepts: tuple[str, ...],
    sql: str,
    base: tuple[tuple[str, Relation], ...],
    mode: Mode,
) -> tuple[str, Relation]:
    tables = dict(base)
    for name in concepts:
        below = concept_graph().concepts[name]
        found = _annotated_query(below.concepts, below.sql, base, mode)
        tables[f"{DERIVED}.{name}"] = found[1]
    return annotated(sql, tables, mode)


def extract(
    info: SourceInfo, target: Query, people: Sequence[int] | None, *, job: Job | None = None
) -> Extract:
    """Read from a source what the target needs of some patients.

    Args:
        info: the source.
        target: the target.
        people: ``subject_id`` (MIMIC-IV) or ``patientunitstayid`` (eICU); everybody when None.
        job: its cancel interrupts the reading.

    Raises:
        UsageError: the source lacks a table that the target needs.
        Busy, Cancelled, BadInput: as for every reading of a source.
    """
    needed = sorted(concept_graph().base_tables(target))
    if info.kind == "mimic-iv":
        needed = sorted({*needed, "mimiciv_icu.icustays"})
    con = open_source(info)
    try:
        with interruptible(con, job):
            have = _columns(con)
            dictionaries = [t for t in have if _names_what(t, needed)]
            frame = [t for t in _FRAME if t in have and info.kind == "mimic-iv"]
            tables = tuple(sorted({*needed, *frame, *dictionaries}))
            if lost := [table for table in tables if table not in have]:
                raise UsageError(f"The source lacks {', '.join(lost)}.")
            columns = Columns(tuple((t, have[t]) for t in tables))
            data = {
                table: _rows(con, number, table, columns.of(table), people)
                for number, table in enumerate(tables)
            }
    except duckdb.Error as error:
        raise in_words(error, "reading a patient's rows") from error
    finally:
        con.close()
    return Extract(info, target, tables, columns, data)


_OF_CODES = {"mimiciv_hosp.d_icd_diagnoses": "mimiciv_hosp.diagnoses_icd"}
"""Dictionaries of codes with the table that they name: only the patient's codes come along."""


def _names_what(table: str, needed: Sequence[str]) -> bool:
    if table in _OF_CODES:
        return _OF_CODES[table] in needed
    return table in ("mimiciv_icu.d_items", "mimiciv_hosp.d_labitems")


def _columns(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    rows = con.execute(
        "SELECT schema_name, table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal ORDER BY table_name, column_index"
    ).fetchall()
    for schema, table, column in rows:
        found.setdefault(f"{schema}.{table}", []).append(str(column).lower())
    return {table: tuple(names) for table, names in found.items()}


def _rows(
    con: duckdb.DuckDBPyConnection,
    number: int,
    table: str,
    columns: tuple[str, ...],
    people: Sequence[int] | None,
) -> pa.Table:
    names = ", ".join(quote(column) for column in columns)
    if is_dictionary(table):
        what = f"SELECT {names} FROM {table}"  # noqa: S608 - our own names
        if (coded := _OF_CODES.get(table)) is None or people is None:
            return con.sql(what).to_arrow_table()
        what += (
            " WHERE (icd_version, icd_code) IN (SELECT (icd_version, icd_code) "  # noqa: S608
            f"FROM {coded} WHERE list_contains($people, subject_id))"
        )
        return con.sql(what, params={"people": list(people)}).to_arrow_table()
    what = f"SELECT {names}, [({number}::BIGINT << {_BITS}) + rowid] AS {ROW} FROM {table}"  # noqa: S608
    person = next((name for name in _PERSON if name in columns), None)
    if people is None or person is None:
        return con.sql(what).to_arrow_table()
    what += f" WHERE list_contains($people, {person})"
    if (across := _ACROSS.get(table)) is not None:
        by = ", ".join(across)
        what += f" OR rowid IN (SELECT min(rowid) FROM {table} GROUP BY {by})"  # noqa: S608
    return con.sql(what, params={"people": list(people)}).to_arrow_table()
