"""Does a reference exist, and does it still hold? What does not hold is not opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from engine.base.duck import connect, in_words, interruptible, quote_text
from engine.base.errors import BadInput
from engine.base.files import sha256_of
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.references.canonical import canonical_sha256
from engine.references.manifest import (
    FORMAT,
    Manifest,
    manifest_path,
    parquet_path,
    read_manifest,
)
from engine.references.targets import find_target, kind_of, list_targets, sql_sha256
from engine.sources import find_source, known_source


@dataclass(frozen=True)
class ReferenceState:
    """Is a target's reference there for a source, and does it hold?"""

    key: str
    """The target."""
    state: Literal["ready", "stale", "absent"]
    """Stale: built from other data or another definition, or touched since."""
    why: str
    """What is stale or absent, in words; empty when ready."""
    manifest: Manifest | None
    """What it was built from; None when absent or unreadable."""


@dataclass(frozen=True)
class Verified:
    """Outcome of recomputing one reference's hashes."""

    key: str
    """The target."""
    rows: int | None
    """Rows by the manifest; None when absent."""
    problems: tuple[str, ...]
    """What does not hold, in words; none when it does."""


def reference_state(home: Home, source: str, key: str) -> ReferenceState:
    """Cheap check, without reading the table: fit for lists.

    Raises:
        UsageError: unknown source or target.
    """
    target = find_target(key)
    info = find_source(home, source)
    path = parquet_path(home, source, key)
    written = manifest_path(home, source, key)
    if not path.is_file() or not written.is_file():
        return ReferenceState(key, "absent", "It has not been built.", None)
    manifest = read_manifest(written)
    if manifest is None or manifest.format != FORMAT:
        return ReferenceState(key, "stale", "Its manifest cannot be read.", None)
    facts = path.stat()
    checks = (
        (manifest.key == key and manifest.source == source, "Its manifest is another's."),
        (manifest.source_digest == info.digest, "The source has changed since."),
        (manifest.sql_sha256 == sql_sha256(target), "Its definition has changed since."),
        (
            manifest.duckdb_version == duckdb.__version__,
            "It was computed by another version of the database engine.",
        ),
        (manifest.sort_keys == target.key, "Its key has changed since."),
        (
            (manifest.parquet_bytes, manifest.parquet_mtime_ns)
            == (facts.st_size, facts.st_mtime_ns),
            "Its file was touched after it was built.",
        ),
    )
    why = " ".join(text for holds, text in checks if not holds)
    return ReferenceState(key, "stale" if why else "ready", why, manifest)


def open_reference(home: Home, source: str, key: str) -> Path:
    """The reference's Parquet file, if it holds to the byte.

    Raises:
        BadInput: it is absent or stale, was changed, or has duplicate keys; says what to do.
        UsageError: unknown source or target.
    """
    state = reference_state(home, source, key)
    path = parquet_path(home, source, key)
    why = state.why
    if state.manifest is not None and not why:
        if sha256_of(path) != state.manifest.parquet_sha256:
            why = "Its file was changed after it was built."
        elif state.manifest.duplicate_keys:
            raise BadInput(
                f"The reference {key} has rows with the same key, so nothing can be scored on it.",
                todo="The source holds rows twice; register sound files.",
            )
    if why:
        raise BadInput(
            f"There is no reference {key} for this source that holds. {why}",
            todo=f"Run `m4bench references build {source} --target {key}`.",
        )
    return path


def verify_references(
    home: Home, source: str, keys: Sequence[str] | None = None, *, job: Job
) -> tuple[Verified, ...]:
    """Recompute what the manifests say from the Parquet files and the source's tables themselves.

    Args:
        home: where everything is kept.
        source: name of the source.
        keys: the targets; every one of the source's kind that has been built when None.
        job: progress by target.
    """
    info = known_source(home, source, job=job, thorough=True)
    if keys is None:
        keys = [
            key
            for key, target in list_targets().items()
            if kind_of(target) == info.kind and parquet_path(home, source, key).exists()
        ]
    results = []
    for position, key in enumerate(keys):
        job.check()
        job.progress("verify", position, len(keys), key)
        state = reference_state(home, source, key)
        problems = [state.why] if state.why else []
        if state.manifest is not None:
            problems += _differences(home, source, state.manifest, job)
        rows = state.manifest.rows if state.manifest else None
        results.append(Verified(key, rows, tuple(problems)))
    job.progress("verify", len(keys), len(keys), "references are verified")
    return tuple(results)


def _differences(home: Home, source: str, manifest: Manifest, job: Job) -> list[str]:
    path = parquet_path(home, source, manifest.key)
    if sha256_of(path) != manifest.parquet_sha256:
        return ["The file's bytes are not those that were written."]
    problems = []
    con = connect(scratch=home.scratch)
    try:
        with interruptible(con, job):
            where = f"read_parquet({quote_text(str(path))})"
            described = con.execute(f"DESCRIBE SELECT * FROM {where}").fetchall()  # noqa: S608
            columns = [(str(row[0]), str(row[1])) for row in described]
            counted = con.execute(f"SELECT count(*) FROM {where}").fetchone()  # noqa: S608
            if columns != [(column.name, column.type) for column in manifest.columns]:
                problems.append("Its columns are not those of the manifest.")
            if counted is None or int(counted[0]) != manifest.rows:
                problems.append("Its number of rows is not that of the manifest.")
            content = canonical_sha256(con, path, manifest.sort_keys, home.scratch)
            if content != manifest.content_sha256:
                problems.append("Its content is not that of the manifest.")
            if manifest.rows == 0:
                problems.append("It has no rows, so nothing can be scored on it.")
            if manifest.duplicate_keys:
                problems.append("Keys occur more than once.")
    except duckdb.Error as error:
        raise in_words(error, "verifying a reference") from error
    finally:
        con.close()
    return problems
