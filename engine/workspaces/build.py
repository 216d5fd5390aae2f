"""Writing, caching and copying the database that an agent gets."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from engine import audit
from engine.base.duck import connect, in_words, interruptible, quote, quote_text
from engine.base.errors import BadInput, HarnessFault, UsageError
from engine.base.files import os_error, write_json, writing
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.concepts import build_concepts, concept_graph
from engine.concepts.query import DERIVED
from engine.concepts.tables import fingerprints, fresh_concepts
from engine.sources import SourceInfo, known_source, open_source
from engine.workspaces.contents import absent_names, must_fit, needs_derived, tables_of
from engine.workspaces.proof import hash_and_search, tables_in

FORMAT = 2
CATALOGUE = "database"
"""What the file calls itself: as it is called in a run's folder, `database.duckdb`."""
SCHEMAS = ("native", "obfuscated", "restructured")


@dataclass(frozen=True)
class WorkspaceInfo:
    """A finished workspace."""

    path: Path
    """The DuckDB file (the cached one, or the copy that was asked for)."""
    sha256: str
    """Of its bytes."""
    size_bytes: int
    """Its size."""
    tables: tuple[str, ...]
    """What is in it, as ``schema.table``, sorted."""


class _Manifest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    inputs_sha256: str
    sha256: str
    size_bytes: int
    mtime_ns: int
    tables: tuple[str, ...]


def build_workspace(
    home: Home,
    task: Task,
    source: str,
    *,
    schema: str = "native",
    out: Path | None = None,
    job: Job,
) -> WorkspaceInfo:
    """The task's database, from the cache where that holds.

    Args:
        home: where everything is kept.
        task: the task.
        source: name of the source.
        schema: ``native``; the transformed ones are not there yet.
        out: also write a copy here (whole or not at all) and tell of that one.
        job: progress by table; a cancel leaves no half file.

    Raises:
        UsageError: unknown schema, or a source of the other kind.
        BadInput: the source has none of the tables.
        Cancelled, Busy, StorageFull.
        HarnessFault: the finished file holds what it must not; it is not kept.
    """
    _must_know(schema)
    info = known_source(home, source, job=job)
    must_fit(task, info)
    if needs_derived(task):
        build_concepts(home, source, job=job)
    path = home.workspaces / source / f"{task.name}.duckdb"
    with _locked(path, job):
        prints = _derived(info) if needs_derived(task) else {}
        tables = tables_of(task, info, frozenset(prints))
        if not tables:
            raise BadInput(
                "The source has no table that this task's database could hold.",
                todo="Add the files to the source's folder and register it again.",
            )
        inputs = _inputs(task, info, schema, tables, prints)
        manifest = _cached(path, inputs)
        if manifest is None:
            _manifest_path(path).unlink(missing_ok=True)
            with audit.recorded(home, "workspace.build", source=source, object=task.name) as found:
                digest = _write(home, info, path, tables, absent_names(task), job=job)
                manifest = _remember(path, tables, inputs, digest)
                found |= {"schema": schema, "tables": len(tables), "sha256": digest}
        if out is not None:
            facts: audit.Facts = {"task": task.name, "sha256": manifest.sha256}
            with (
                audit.recorded(
                    home, "export.workspace", source=source, object=out.name, facts=facts
                ),
                writing(out, "copying the workspace") as part,
            ):
                shutil.copyfile(path, part)
    return WorkspaceInfo(
        path=out or path,
        sha256=manifest.sha256,
        size_bytes=manifest.size_bytes,
        tables=manifest.tables,
    )


def _must_know(schema: str) -> None:
    if schema not in SCHEMAS:
        raise UsageError(
            f"There is no schema called {schema}.", todo=f"Use one of {', '.join(SCHEMAS)}."
        )
    if schema != "native":
        raise UsageError(
            f"Workspaces with the {schema} schema cannot be made yet.",
            todo="Use --schema native.",
        )


@contextlib.contextmanager
def _locked(path: Path, job: Job) -> Iterator[None]:
    """Wait for whoever builds the same workspace: both want the same file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_suffix(".lock"))
        while True:
            job.check()
            try:
                lock.acquire(timeout=0.5)
                break
            except Timeout:
                job.progress("workspace", 0, 1, "waiting: the same database is being written")
    except OSError as error:
        raise os_error(error, "preparing the workspace") from error
    try:
        for left in path.parent.glob(f".{path.name}.*.part*"):  # by a program that was killed
            left.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


def _derived(info: SourceInfo) -> dict[str, str]:
    """Derived tables that stand and hold, with their fingerprints."""
    graph = concept_graph()
    con = open_source(info)
    try:
        fresh = fresh_concepts(con, graph, info.digest)
    except duckdb.Error as error:
        raise in_words(error, "looking at the derived tables") from error
    finally:
        con.close()
    prints = fingerprints(graph, info.digest)
    return {name: prints[name] for name in sorted(fresh)}


def _inputs(
    task: Task, info: SourceInfo, schema: str, tables: tuple[str, ...], prints: dict[str, str]
) -> str:
    told = {
        "format": FORMAT,
        "source": info.digest,
        "schema": schema,
        "tables": tables,
        "derived": {n: p for n, p in prints.items() if f"{DERIVED}.{n}" in tables},
        "absent": absent_names(task),
        "duckdb": duckdb.__version__,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _manifest_path(path: Path) -> Path:
    return path.with_suffix(".manifest.json")


def _cached(path: Path, inputs: str) -> _Manifest | None:
    try:
        manifest = _Manifest.model_validate_json(_manifest_path(path).read_bytes())
        facts = path.stat()
    except (OSError, ValidationError):
        return None
    holds = (manifest.format, manifest.inputs_sha256) == (FORMAT, inputs)
    untouched = (manifest.size_bytes, manifest.mtime_ns) == (facts.st_size, facts.st_mtime_ns)
    return manifest if holds and untouched else None


def _write(
    home: Home,
    info: SourceInfo,
    path: Path,
    tables: tuple[str, ...],
    absent: tuple[str, ...],
    *,
    job: Job,
) -> str:
    """Write the file, read it back, and give its SHA-256."""
    with writing(path, "writing the workspace") as part:
        part.unlink()  # DuckDB makes the file itself
        try:
            _copy_tables(home, info, part, tables, job)
        finally:
            part.with_name(f"{part.name}.wal").unlink(missing_ok=True)
        digest, leaked = hash_and_search(part, absent, job)
        found = tables_in(part)
        if leaked or found != tables:
            raise HarnessFault(
                "The workspace holds something else than it must, so it is not used.",
                details=", ".join(sorted({*leaked, *(set(found) ^ set(tables))})),
            )
    job.progress("workspace", len(tables), len(tables), "the workspace is written")
    return digest


def _remember(path: Path, tables: tuple[str, ...], inputs: str, digest: str) -> _Manifest:
    facts = path.stat()
    manifest = _Manifest(
        format=FORMAT,
        inputs_sha256=inputs,
        sha256=digest,
        size_bytes=facts.st_size,
        mtime_ns=facts.st_mtime_ns,
        tables=tables,
    )
    write_json(_manifest_path(path), manifest.model_dump(mode="json"))
    return manifest


def _copy_tables(home: Home, info: SourceInfo, to: Path, tables: tuple[str, ...], job: Job) -> None:
    home.scratch.mkdir(parents=True, exist_ok=True)
    open_source(info).close()  # says in words if the source cannot be read now
    into = quote(CATALOGUE)
    con = connect(scratch=home.scratch)
    try:
        with interruptible(con, job):
            # DuckDB writes this name into the file's catalogue. Left to itself it would take the
            # file's, and with it the task's, which often names what was dropped.
            con.execute(f"ATTACH {quote_text(str(to))} AS {into}")
            con.execute(f"ATTACH {quote_text(str(info.path))} AS source (READ_ONLY)")
            for name in sorted({table.split(".")[0] for table in tables}):
                con.execute(f"CREATE SCHEMA {into}.{quote(name)}")
            for position, table in enumerate(tables):
                job.check()
                job.progress("workspace", position, len(tables), table)
                dotted = ".".join(quote(part) for part in table.split("."))
                con.execute(f"CREATE TABLE {into}.{dotted} AS FROM source.{dotted}")
            con.execute("DETACH source")
            con.execute(f"CHECKPOINT {into}")
            con.execute(f"DETACH {into}")
    except duckdb.Error as error:
        raise in_words(error, "writing the workspace") from error
    finally:
        con.close()
