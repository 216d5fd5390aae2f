"""May anyone have this data? Decided from the rows, not from a folder's name or licence file.

A source counts as open only when it is provably nothing but an official open demo: its stays
or patients are exactly the demo's, every other table speaks of these alone, and no table has
more rows than the demo's. Everything else is taken for credentialed.
"""

from __future__ import annotations

import hashlib
import tomllib
from importlib import resources
from typing import cast

import duckdb

from engine.base.duck import quote
from engine.sources.importer import Imported
from engine.sources.info import Access
from engine.sources.schema import Kind


def judge_access(con: duckdb.DuckDBPyConnection, kind: Kind, tables: list[Imported]) -> Access:
    """``open`` for an official open demo, else ``credentialed``."""
    text = resources.files("engine.sources").joinpath("schemas", "open.toml").read_text("utf-8")
    demo = tomllib.loads(text)[kind]
    limits = cast("dict[str, int]", demo["rows"])
    if any(table.rows > limits.get(table.name, 0) for table in tables):
        return "credentialed"
    people, key = str(demo["table"]), str(demo["key"])
    names = {table.name for table in tables}
    if people not in names or ids_digest(con, people, key) != demo["ids"]:
        return "credentialed"
    for name in names - {people}:
        if _strangers(con, name, people, key):
            return "credentialed"
    return "open"


def ids_digest(con: duckdb.DuckDBPyConnection, table: str, key: str) -> str:
    """SHA-256 over the distinct ids of a table in numeric order, separated by commas."""
    column = quote(key)
    sql = f"SELECT DISTINCT {column} FROM {_dotted(table)} ORDER BY {column}"  # noqa: S608 - quoted
    ids = ",".join(str(row[0]) for row in con.execute(sql).fetchall())
    return hashlib.sha256(ids.encode()).hexdigest()


def _strangers(con: duckdb.DuckDBPyConnection, table: str, people: str, key: str) -> bool:
    described = con.execute(f"DESCRIBE {_dotted(table)}").fetchall()
    if key not in {row[0] for row in described}:
        return False
    column = quote(key)
    sql = (
        f"SELECT count(*) FROM {_dotted(table)} WHERE {column} NOT IN "  # noqa: S608 - quoted
        f"(SELECT {column} FROM {_dotted(people)})"
    )
    row = con.execute(sql).fetchone()
    return bool(row and row[0])


def _dotted(full_name: str) -> str:
    return ".".join(quote(part) for part in full_name.split("."))
