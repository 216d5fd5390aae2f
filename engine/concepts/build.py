"""`concepts build` and `concepts export` on a registered source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from engine import audit
from engine.base.duck import in_words, interruptible, quote, quote_text
from engine.base.errors import BadInput, UsageError
from engine.base.files import writing
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED, Query
from engine.concepts.tables import (
    Built,
    build_tables,
    fresh_concepts,
    must_be_there,
    source_columns,
)
from engine.sources import SourceInfo, find_source, known_source, open_source, writing_source


@dataclass(frozen=True)
class Exported:
    """One derived table as a file."""

    name: str
    """The derived table."""
    rows: int
    """Rows written."""
    path: Path
    """The Parquet file."""


def build_concepts(
    home: Home,
    source: str,
    only: Sequence[str] | None = None,
    *,
    job: Job,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> tuple[Built, ...]:
    """Build derived tables into the source's `mimiciv_derived`, needed ones first.

    Args:
        home: where the source is kept.
        source: its name.
        only: these and what they need; every concept that the source has the tables for
            when None.
        job: progress by concept; a cancel keeps what is finished.
        threads: DuckDB's worker threads.
        memory_limit: in DuckDB's words ("4GB").

    Returns:
        One entry per concept, in the order of building; those that the source lacks tables
        for are "left out".

    Raises:
        UsageError: unknown concept, a source that is not MIMIC-IV, a wrong memory limit.
        BadInput: a concept of `only` needs a table that the source lacks.
        Cancelled, Busy, StorageFull, HarnessFault.
    """
    info = known_source(home, source, job=job)
    if info.kind != "mimic-iv":
        raise UsageError(
            "Derived tables are made from MIMIC-IV; this source is another kind.",
            todo="Its references are built from its own tables: `m4bench references build`.",
        )
    graph = concept_graph()
    order = graph.order(only)
    if (fresh := _if_all_fresh(info, order)) is not None:
        return fresh
    with writing_source(home, source) as con:
        set_limits(con, threads=threads, memory_limit=memory_limit)
        if only is not None:
            must_be_there(graph, order, source_columns(con))
        asked: audit.Facts = {"asked": "all" if only is None else list(only)}
        with audit.recorded(home, "concepts.build", source=source, facts=asked) as found:
            done = build_tables(
                con, graph, order, digest=info.digest, job=job, at_once=side_by_side(con)
            )
            found["rows"] = {q.name: q.rows or 0 for q in done if q.status == "built"}
    return done


def _if_all_fresh(info: SourceInfo, order: Sequence[Query]) -> tuple[Built, ...] | None:
    """Looked up read-only, so that a finished source is neither locked nor touched."""
    con = open_source(info)
    try:
        fresh = fresh_concepts(con, concept_graph(), info.digest)
    except duckdb.Error as error:
        raise in_words(error, "looking at the derived tables") from error
    finally:
        con.close()
    if any(query.name not in fresh for query in order):
        return None
    return tuple(Built(query.name, "fresh", *fresh[query.name]) for query in order)


def set_limits(
    con: duckdb.DuckDBPyConnection, *, threads: int | None, memory_limit: str | None
) -> None:
    """Set what one build may use; the order of rows is not kept, which saves memory.

    Raises:
        UsageError: DuckDB does not understand the value.
    """
    con.execute("SET preserve_insertion_order = false")
    try:
        if memory_limit is not None:
            con.execute(f"SET memory_limit = {quote_text(memory_limit)}")
        if threads is not None:
            con.execute(f"SET threads = {int(threads)}")
    except duckdb.Error as error:
        raise UsageError(
            "This limit of memory or threads is not understood.",
            todo="Write the memory like 4GB or 512MB, and at least one thread.",
        ) from error


def side_by_side(con: duckdb.DuckDBPyConnection) -> int:
    """How many concepts are built at once: by processors, and as far as memory allows.

    At least 1 GB each, so that none has to spill for the sake of the others; never more than four,
    since DuckDB spreads each over all processors anyway.
    """
    row = con.execute(
        "SELECT current_setting('threads'), current_setting('memory_limit')"
    ).fetchone()
    threads, limit = row if row is not None else (1, "0 bytes")
    return max(1, min(int(threads), int(_gigabytes(str(limit))), 4))


def _gigabytes(size: str) -> float:
    """DuckDB's own words for a size ("2.7 GiB") in units of 10⁹ bytes."""
    number, unit = size.split()
    power = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit)
    # It rounds to a tenth: 3 GB are told as 2.7 GiB.
    return (float(number) + 0.1) * 1024.0**power / 1e9


def export_concepts(home: Home, source: str, out: Path, *, job: Job) -> tuple[Exported, ...]:
    """Write every built concept as `NAME.parquet` below `out`, sorted by its key.

    Raises:
        BadInput: nothing is built, or what is there was built from other data or SQL.
    """
    info = find_source(home, source)
    graph = concept_graph()
    con = open_source(info)
    try:
        fresh = fresh_concepts(con, graph, info.digest)
        stale = sorted(
            name
            for name in graph.concepts
            if name not in fresh and f"{DERIVED}.{name}" in source_columns(con)
        )
        if stale or not fresh:
            raise BadInput(
                f"These concepts are out of date: {', '.join(stale)}."
                if stale
                else "No concept has been built for this source.",
                todo=f"Run `m4bench concepts build {source}` first.",
            )
        done: list[Exported] = []
        with audit.recorded(home, "export.concepts", source=source, object=out.name) as found:
            for position, name in enumerate(sorted(fresh)):
                job.progress("export", position, len(fresh), name)
                path = out / f"{name}.parquet"
                _export_one(con, graph.concepts[name], path, job)
                done.append(Exported(name, fresh[name][0], path))
                found["rows"] = {item.name: item.rows for item in done}
        job.progress("export", len(fresh), len(fresh), "concepts are exported")
    except duckdb.Error as error:
        raise in_words(error, "exporting the concepts") from error
    finally:
        con.close()
    return tuple(done)


def _export_one(con: duckdb.DuckDBPyConnection, concept: Query, path: Path, job: Job) -> None:
    order = ", ".join(quote(column) for column in concept.key) or "ALL"
    with writing(path, f"exporting {concept.name}") as part, interruptible(con, job):
        con.execute(
            f"COPY (SELECT * FROM {DERIVED}.{quote(concept.name)} ORDER BY {order}) "  # noqa: S608
            f"TO {quote_text(str(part))} (FORMAT parquet, COMPRESSION zstd)"
        )
