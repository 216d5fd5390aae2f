"""Reference tables from a source: concepts first, then one Parquet and one manifest each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from engine import audit
from engine.base.duck import in_words, interruptible, quote, quote_text
from engine.base.errors import Busy, UsageError
from engine.base.files import os_error, sha256_of, writing
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.concepts import build_concepts, concept_graph
from engine.concepts.honesty import must_be_honest
from engine.concepts.query import Query
from engine.concepts.tables import missing_for, must_be_there, source_columns
from engine.references.canonical import canonical_sha256, copy_file
from engine.references.manifest import (
    FORMAT,
    Column,
    Manifest,
    manifest_path,
    parquet_path,
    write_manifest,
)
from engine.references.state import reference_state
from engine.references.targets import find_target, kind_of, list_targets, sql_sha256
from engine.sources import SourceInfo, find_source, known_source, open_source


@dataclass(frozen=True)
class BuiltReference:
    """What became of one target."""

    key: str
    """The target."""
    rows: int
    """Rows of the reference."""
    seconds: float
    """Wall time of the target's own query and writing; 0 where it was fresh."""
    fresh: bool
    """It stood there already."""
    path: Path
    """The Parquet file."""
    duplicate_keys: int
    """Rows whose key occurred before; 0 in sound data."""


@dataclass(frozen=True)
class LeftOut:
    """A target that the source lacks tables for."""

    key: str
    """The target."""
    missing: tuple[str, ...]
    """Source tables (or ``table (columns)``) that are lacking."""


def targets_left_out(home: Home, source: str) -> tuple[LeftOut, ...]:
    """The targets of the source's kind that it lacks tables for.

    Raises:
        UsageError: unknown source.
    """
    info = find_source(home, source)
    found = _missing(info, _targets(info, None))
    return tuple(LeftOut(key, lost) for key, lost in found.items())


def build_references(
    home: Home,
    source: str,
    keys: Sequence[str] | None = None,
    *,
    job: Job,
    out: Path | None = None,
) -> tuple[BuiltReference, ...]:
    """Build targets, and first the concepts that they need; what holds is kept.

    Args:
        home: where everything is kept.
        source: name of the source.
        keys: the targets; when None all that fit the source's kind and that it has the
            tables for (`targets_left_out` names the others).
        job: progress by target; a cancel keeps what is finished.
        out: a folder that gets a copy ``KEY.parquet`` of each.

    Raises:
        UsageError: unknown target, or one of the other kind of source.
        BadInput: the source lacks tables for a target of `keys`, or for all; names them and
            what needs them.
        Cancelled, Busy, StorageFull, HarnessFault.
    """
    info = known_source(home, source, job=job)
    targets = _targets(info, keys)
    if keys is None:
        lacking = _missing(info, targets)
        targets = tuple(t for t in targets if t.name not in lacking) or targets
        for key, lost in lacking.items():
            job.message(f"{key}: left out, the source lacks {', '.join(lost)}")
    done: list[BuiltReference] = []
    with _locked(home, source):
        stale = [t for t in targets if reference_state(home, source, t.name).state != "ready"]
        needed = {name for target in stale for name in target.concepts}
        _must_have_tables(info, stale)
        if needed:
            build_concepts(home, source, sorted(needed), job=job)
        with _told(home, source, stale, targets, out) as (built_now, copied):
            for position, target in enumerate(targets):
                job.check()
                job.progress("references", position, len(targets), target.name)
                if target in stale:
                    built = _build_one(home, info, target, job)
                    built_now[built.key] = built.rows
                    _say_built(built, job)
                else:
                    built = _as_it_stands(home, source, target.name)
                if out is not None:
                    copy_file(built.path, out / f"{target.name}.parquet", "copying a reference")
                    copied[built.key] = built.rows
                done.append(built)
    job.progress("references", len(targets), len(targets), "references are built")
    return tuple(done)


@contextlib.contextmanager
def _told(
    home: Home, source: str, stale: Sequence[Query], targets: Sequence[Query], out: Path | None
) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """The audit log hears what is built and what is copied out: rows by key, filled inside."""
    built: dict[str, int] = {}
    copied: dict[str, int] = {}
    with contextlib.ExitStack() as stack:
        if stale:
            keys: audit.Facts = {"keys": [target.name for target in stale]}
            stack.enter_context(
                audit.recorded(home, "references.build", source=source, facts=keys)
            )["rows"] = built
        if out is not None:
            keys = {"keys": [target.name for target in targets]}
            stack.enter_context(
                audit.recorded(
                    home, "export.references", source=source, object=out.name, facts=keys
                )
            )["rows"] = copied
        yield built, copied


def _say_built(built: BuiltReference, job: Job) -> None:
    job.message(f"{built.key}: {built.rows:,} rows in {built.seconds:.2f} s")
    if built.duplicate_keys:
        job.message(
            f"{built.key}: {built.duplicate_keys} rows repeat a key, so nothing can "
            "be scored on it: the source's tables hold rows twice."
        )


def _targets(info: SourceInfo, keys: Sequence[str] | None) -> tuple[Query, ...]:
    if keys is None:
        return tuple(t for t in list_targets().values() if kind_of(t) == info.kind)
    targets = tuple(find_target(key) for key in dict.fromkeys(keys))
    for target in targets:
        if kind_of(target) != info.kind:
            raise UsageError(
                f"The target {target.name} is built from {kind_of(target)}; this source is "
                f"{info.kind}.",
                todo="Name another source, or leave out --target.",
            )
    return targets


def _missing(info: SourceInfo, targets: Sequence[Query]) -> dict[str, tuple[str, ...]]:
    """Key of each target that the source lacks something for, and what."""
    con = open_source(info)
    try:
        present = source_columns(con)
    finally:
        con.close()
    lacking = {t.name: missing_for(concept_graph(), t, present) for t in targets}
    return {key: lost for key, lost in lacking.items() if lost}


def _must_have_tables(info: SourceInfo, targets: Sequence[Query]) -> None:
    if not targets:
        return
    con = open_source(info)
    try:
        must_be_there(concept_graph(), targets, source_columns(con))
    finally:
        con.close()


@contextlib.contextmanager
def _locked(home: Home, source: str) -> Iterator[None]:
    folder = home.references / source
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=0)
        lock.acquire()
    except Timeout as error:
        raise Busy(
            "Another program is building this source's references.",
            todo="Wait until it is done and try again.",
        ) from error
    except OSError as error:
        raise os_error(error, "building the references") from error
    try:
        for left in folder.glob(".*.part"):  # by a program that was killed
            left.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


def _build_one(home: Home, info: SourceInfo, target: Query, job: Job) -> BuiltReference:
    must_be_honest(target)
    begun = time.perf_counter()
    path = parquet_path(home, info.name, target.name)
    digest, version = info.digest, duckdb.__version__
    con = open_source(info)
    try:
        with interruptible(con, job), writing(path, f"writing the reference {target.name}") as part:
            # No old manifest may stand beside the new table if we are killed in between.
            manifest_path(home, info.name, target.name).unlink(missing_ok=True)
            columns = _write_sorted(con, target, part)
            key = ", ".join(quote(name) for name in target.key)
            counted = con.execute(
                f"SELECT coalesce(sum(n), 0), count(*) FROM (SELECT count(*) AS n "  # noqa: S608
                f"FROM read_parquet({quote_text(str(part))}) GROUP BY {key})"
            ).fetchone()
            rows, distinct = (int(counted[0]), int(counted[1])) if counted else (0, 0)
            content = canonical_sha256(con, part, target.key, home.scratch)
        seconds = time.perf_counter() - begun
    except duckdb.Error as error:
        raise in_words(error, f"building the reference {target.name}") from error
    finally:
        con.close()
    facts = path.stat()
    manifest = Manifest(
        format=FORMAT,
        key=target.name,
        source=info.name,
        source_digest=digest,
        sql_sha256=sql_sha256(target),
        duckdb_version=version,
        rows=rows,
        duplicate_keys=rows - distinct,
        columns=columns,
        sort_keys=target.key,
        content_sha256=content,
        parquet_sha256=sha256_of(path),
        parquet_bytes=facts.st_size,
        parquet_mtime_ns=facts.st_mtime_ns,
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_manifest(manifest_path(home, info.name, target.name), manifest)
    return BuiltReference(target.name, rows, seconds, False, path, manifest.duplicate_keys)


def _write_sorted(con: duckdb.DuckDBPyConnection, target: Query, to: Path) -> tuple[Column, ...]:
    described = con.execute(f"DESCRIBE {target.sql}").fetchall()
    columns = tuple(Column(name=str(row[0]), type=str(row[1])) for row in described)
    rest = [column.name for column in columns if column.name not in target.key]
    order = ", ".join(quote(name) for name in (*target.key, *rest))
    con.execute(
        f"COPY (SELECT * FROM ({target.sql}) ORDER BY {order}) "  # noqa: S608 - our own SQL
        f"TO {quote_text(str(to))} (FORMAT parquet, COMPRESSION zstd)"
    )
    return columns


def _as_it_stands(home: Home, source: str, key: str) -> BuiltReference:
    state = reference_state(home, source, key)
    manifest = state.manifest
    rows, twice = (manifest.rows, manifest.duplicate_keys) if manifest else (0, 0)
    return BuiltReference(key, rows, 0.0, True, parquet_path(home, source, key), twice)
