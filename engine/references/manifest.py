"""What a reference was built from, beside it as ``KEY.manifest.json``."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.base.files import write_json
from engine.base.paths import Home

FORMAT = 1


class Column(BaseModel):
    """One column of a reference."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """As agents must write it."""
    type: str
    """DuckDB type."""


class Manifest(BaseModel):
    """Everything that must still be so for a reference to hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    """Of this file."""
    key: str
    """The target."""
    source: str
    """Name of the source."""
    source_digest: str
    """Content digest of the source when it was built."""
    sql_sha256: str
    """Over the target's SQL and that of every concept that goes into it."""
    duckdb_version: str
    """The engine that computed it."""
    rows: int
    """Rows of the table."""
    duplicate_keys: int
    """Rows whose key occurred before (0 in sound data); such a reference cannot be scored on."""
    columns: tuple[Column, ...]
    """In order."""
    sort_keys: tuple[str, ...]
    """The key; the file is sorted by it, then by the other columns."""
    content_sha256: str
    """Of the canonical CSV form: header, comma, newline, empty field for null, DuckDB's texts."""
    parquet_sha256: str
    """Of the Parquet file's bytes."""
    parquet_bytes: int
    """Size of the Parquet file."""
    parquet_mtime_ns: int
    """When the Parquet file was written: a cheap sign that nobody touched it."""
    built_at: str
    """ISO 8601, UTC."""


def parquet_path(home: Home, source: str, key: str) -> Path:
    """Where a reference is kept."""
    return home.references / source / f"{key}.parquet"


def manifest_path(home: Home, source: str, key: str) -> Path:
    """Where its manifest is kept."""
    return home.references / source / f"{key}.manifest.json"


def read_manifest(path: Path) -> Manifest | None:
    """The manifest; None when there is none, or it cannot be read as one."""
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write it whole or not at all."""
    write_json(path, manifest.model_dump(mode="json"), "writing a reference's manifest")
