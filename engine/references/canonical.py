"""The canonical CSV form of a reference, and its hash."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import duckdb

from engine.base.duck import quote, quote_text
from engine.base.files import sha256_of, writing


def write_canonical_csv(
    con: duckdb.DuckDBPyConnection, parquet: Path, key: tuple[str, ...], to: Path
) -> None:
    """Write a table as CSV: header, commas, empty for null, sorted by key, then all columns."""
    where = f"read_parquet({quote_text(str(parquet))})"
    described = con.execute(f"DESCRIBE SELECT * FROM {where}").fetchall()  # noqa: S608 - quoted
    rest = [str(row[0]) for row in described if str(row[0]) not in key]
    order = ", ".join(quote(name) for name in (*key, *rest))
    con.execute(
        f"COPY (SELECT * FROM {where} ORDER BY {order}) TO {quote_text(str(to))} "  # noqa: S608
        "(FORMAT csv, HEADER, DELIMITER ',', NULLSTR '')"
    )


def canonical_sha256(
    con: duckdb.DuckDBPyConnection, parquet: Path, key: tuple[str, ...], scratch: Path
) -> str:
    """SHA-256 of the canonical CSV form; needs room for it in `scratch`."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        path = Path(folder) / "canonical.csv"
        write_canonical_csv(con, parquet, key, path)
        return sha256_of(path)


def copy_file(path: Path, to: Path, doing: str) -> None:
    """Copy a file so that it appears whole or not at all."""
    with writing(to, doing) as part:
        shutil.copyfile(path, part)
