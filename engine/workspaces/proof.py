"""Reading a finished workspace back: its hash, its catalogue, and what must not be in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from engine.base.duck import connect
from engine.base.jobs import Job

_CHUNK = 1 << 22


def hash_and_search(path: Path, needles: Iterable[str], job: Job) -> tuple[str, tuple[str, ...]]:
    """SHA-256 of the file, and those of `needles` that occur in its bytes, in one pass."""
    wanted = {needle: needle.encode() for needle in needles}
    overlap = max((len(found) for found in wanted.values()), default=1) - 1
    digest = hashlib.sha256()
    present: set[str] = set()
    tail = b""
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            job.check()
            digest.update(block)
            seen = tail + block
            present.update(name for name, text in wanted.items() if text in seen)
            tail = seen[-overlap:] if overlap else b""
    return digest.hexdigest(), tuple(sorted(present))


def tables_in(path: Path) -> tuple[str, ...]:
    """Every table and view of a DuckDB file as ``schema.table``, and every empty schema."""
    con = connect(path, read_only=True)
    try:
        rows = con.execute(
            "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal "
            "UNION ALL SELECT schema_name || '.' || view_name FROM duckdb_views() "
            "WHERE NOT internal "
            "UNION ALL SELECT schema_name FROM duckdb_schemas() "
            "WHERE NOT internal AND schema_name <> 'main' "
            "AND database_name = current_database() "
            "AND schema_name NOT IN (SELECT schema_name FROM duckdb_tables())"
        ).fetchall()
    finally:
        con.close()
    return tuple(sorted(str(row[0]) for row in rows))
