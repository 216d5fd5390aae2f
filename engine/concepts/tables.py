"""Building derived tables on an open connection: what is fresh, what is missing, the rest.

Each table is written in one transaction together with its record in `m4_meta.concepts`, so a
stop at any moment leaves whole tables that the next build finds fresh.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb

from engine.base.duck import in_words, interruptible, quote
from engine.base.errors import BadInput
from engine.base.jobs import Job
from engine.concepts.graph import Graph
from engine.concepts.honesty import must_be_honest
from engine.concepts.query import DERIVED, Query
from engine.concepts.side_by_side import in_order

META = "m4_meta"
"""Schema of the program's own records; never copied into a workspace."""

Columns = Mapping[str, frozenset[str]]
"""Table (``schema.table``) to its columns, in lower case."""


@dataclass(frozen=True)
class Built:
    """What became of one concept."""

    name: str
    """The derived table."""
    status: Literal["built", "fresh", "left out"]
    """``fresh``: it stood there already; ``left out``: the source lacks what it needs."""
    rows: int | None
    """Rows of the table; None when left out."""
    seconds: float
    """Wall time of the query; of the earlier build where it was fresh."""
    missing: tuple[str, ...] = ()
    """Source tables (or ``table (columns)``) that are lacking."""


def source_columns(con: duckdb.DuckDBPyConnection) -> Columns:
    """Every table and view of the open database, with its columns."""
    rows = con.execute(
        "SELECT lower(schema_name || '.' || table_name), list(lower(column_name)) "
        "FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal "
        "GROUP BY ALL"
    ).fetchall()
    return {str(table): frozenset(columns) for table, columns in rows}


def missing_for(graph: Graph, query: Query, present: Columns) -> tuple[str, ...]:
    """What `query` needs (also through other concepts) and the source lacks, in words."""
    missing: list[str] = []
    for table, columns in sorted(graph.base_tables(query).items()):
        if table not in present:
            missing.append(table)
        elif lost := sorted(columns - present[table]):
            missing.append(f"{table} ({', '.join(lost)})")
    return tuple(missing)


def must_be_there(graph: Graph, queries: Iterable[Query], present: Columns) -> None:
    """Refuse when the source lacks what the queries need.

    Raises:
        BadInput: names each missing table and everything that needs it.
    """
    needed_by: dict[str, list[str]] = {}
    for query in queries:
        for lost in missing_for(graph, query, present):
            needed_by.setdefault(lost, []).append(query.name)
    if needed_by:
        listed = "; ".join(
            f"{lost} is needed by {', '.join(names)}" for lost, names in sorted(needed_by.items())
        )
        raise BadInput(
            f"The source lacks tables or columns: {listed}.",
            todo="Add the files to the source's folder and register it again.",
        )


def fingerprints(graph: Graph, digest: str, names: Iterable[str] | None = None) -> dict[str, str]:
    """Per concept a hash of its SQL, of all that it is built from, and of the data.

    Args:
        graph: the concepts.
        digest: the source's content digest.
        names: the concepts asked about (with what they need); all when None.
    """
    prints: dict[str, str] = {}
    for query in graph.order(names):
        parts = [query.sql, digest, duckdb.__version__, *(prints[n] for n in query.concepts)]
        prints[query.name] = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return prints


def fresh_concepts(
    con: duckdb.DuckDBPyConnection, graph: Graph, digest: str
) -> dict[str, tuple[int, float]]:
    """The derived tables that stand and hold: name to (rows, seconds of the build)."""
    present = source_columns(con)
    if f"{META}.concepts" not in present:
        return {}
    now = fingerprints(graph, digest)
    rows = con.execute(
        f"SELECT name, fingerprint, rows, seconds FROM {META}.concepts"  # noqa: S608 - a constant
    ).fetchall()
    return {
        str(name): (int(count), float(seconds))
        for name, found, count, seconds in rows
        if now.get(str(name)) == found and f"{DERIVED}.{name}" in present
    }


def build_tables(
    con: duckdb.DuckDBPyConnection,
    graph: Graph,
    order: Sequence[Query],
    *,
    digest: str,
    job: Job,
    at_once: int = 1,
) -> tuple[Built, ...]:
    """Build `order` (which must be complete and in order) where it is not fresh.

    Concepts whose source tables are missing are left out and say so. Up to `at_once` are built
    side by side; what comes out is the same, in the same order.

    Raises:
        Cancelled: finished concepts stay.
        HarnessFault, StorageFull: the concept at work is not there, earlier ones are.
    """
    with _words("preparing the derived tables"):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {DERIVED}")
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {META}")
        con.execute(
            f"CREATE TABLE IF NOT EXISTS {META}.concepts (name VARCHAR PRIMARY KEY, "
            "fingerprint VARCHAR, rows BIGINT, seconds DOUBLE, built_at TIMESTAMP)"
        )
        present = source_columns(con)
        fresh = fresh_concepts(con, graph, digest)
    prints = fingerprints(graph, digest, [query.name for query in order])
    results: dict[str, Built] = {}
    for query in order:
        if missing := missing_for(graph, query, present):
            results[query.name] = Built(query.name, "left out", None, 0.0, missing)
            job.message(f"{query.name}: left out, the source lacks {', '.join(missing)}")
        elif query.name in fresh:
            results[query.name] = Built(query.name, "fresh", *fresh[query.name])

    def started(query: Query) -> None:
        job.check()
        job.progress("concepts", len(results), len(order), query.name)

    def work(own: duckdb.DuckDBPyConnection, query: Query) -> Built:
        return _build_one(own, query, prints[query.name], job)

    todo = [query for query in order if query.name not in results]
    for query, result in in_order(con, todo, work, at_once=at_once, started=started):
        results[query.name] = result
        job.message(f"{query.name}: {result.rows} rows in {result.seconds:.2f} s")
    job.progress("concepts", len(order), len(order), "concepts are built")
    return tuple(results[query.name] for query in order)


def _build_one(con: duckdb.DuckDBPyConnection, query: Query, fingerprint: str, job: Job) -> Built:
    must_be_honest(query)
    table = f"{DERIVED}.{quote(query.name)}"
    begun = time.perf_counter()
    with _words(f"building the concept {query.name}"), interruptible(con, job):
        con.execute("BEGIN")
        try:
            con.execute(f"CREATE OR REPLACE TABLE {table} AS {query.sql}")
            seconds = time.perf_counter() - begun
            found = con.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - quoted
            rows = int(found[0]) if found else 0
            con.execute(
                f"INSERT OR REPLACE INTO {META}.concepts "  # noqa: S608 - a constant
                "VALUES (?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
                [query.name, fingerprint, rows, seconds],
            )
            con.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                con.execute("ROLLBACK")
            raise
    return Built(query.name, "built", rows, seconds)


@contextlib.contextmanager
def _words(doing: str) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise in_words(error, doing) from error
