"""Finding a source's tables in what the user points at: a folder, or a DuckDB file.

Only names and headers are looked at here; no row is read.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engine.base.errors import BadInput, bad_file
from engine.sources.schema import KINDS, Kind, KindFacts, Table, facts

Format = Literal["csv", "parquet", "duckdb"]

_SUFFIXES: dict[str, Format] = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet"}
_DEPTH = 2
"""Levels of folders below the given one that are searched: version/module. Not deeper: beside
the tables there may be folders with a million waveforms or images."""
_TABLE_DEPTH = 3
"""Levels below a folder that is called like a table (its partitions)."""
_DUCKDB_MAGIC = b"DUCK"


@dataclass(frozen=True)
class TableInput:
    """Where one table comes from."""

    table: Table
    """What it is."""
    format: Format
    """How it is stored."""
    files: tuple[Path, ...]
    """One CSV file, one or more Parquet files, or the DuckDB file."""
    size: int
    """Bytes (for a DuckDB table: its estimated rows); weighs the progress."""
    fingerprint: str
    """Names, sizes and times of the files; when it changes, the table is imported again."""


@dataclass(frozen=True)
class Layout:
    """Everything that was found."""

    facts: KindFacts
    """The kind."""
    tables: tuple[TableInput, ...]
    """In the order in which they are imported: the smallest first, so that errors come early."""
    ignored: tuple[str, ...] = field(default=())
    """Data files that belong to no known table, by name."""


@dataclass(frozen=True)
class _Found:
    name: str
    """Lower-case table name, known or not."""
    format: Format
    path: Path


def is_duckdb(path: Path) -> bool:
    """Does the file begin like a DuckDB database?"""
    try:
        with path.open("rb") as file:
            return file.read(12)[8:12] == _DUCKDB_MAGIC
    except OSError:
        return False


def find_in_folder(folder: Path, kind: Kind | None) -> Layout:
    """The tables in a PhysioNet-style folder; `kind` is detected when None.

    Raises:
        BadInput: nothing known is in it, both kinds are, or a table is there twice.
    """
    found = list(_walk(folder))
    names = {item.name for item in found}
    decided = facts(decide_kind(names, folder) if kind is None else kind)
    by_table: dict[str, list[_Found]] = {}
    ignored: list[str] = []
    for item in found:
        if item.name in decided.tables:
            by_table.setdefault(item.name, []).append(item)
        else:
            ignored.append(item.path.name)
    check_enough(set(by_table), decided, folder)
    inputs = [_table_input(decided.tables[name], group, folder) for name, group in by_table.items()]
    return Layout(
        facts=decided,
        tables=tuple(sorted(inputs, key=lambda i: (i.size, i.table.full_name))),
        ignored=tuple(sorted(set(ignored))),
    )


def _walk(folder: Path) -> Iterator[_Found]:
    """Data files below `folder`; links are followed (the user put them there)."""
    known = {name for kind in KINDS for name in facts(kind).tables}

    def visit(place: Path, depth: int, table: str | None) -> Iterator[_Found]:
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError as error:
            raise bad_file(
                place,
                f"The folder cannot be read: {error.strerror or 'unknown reason'}.",
                todo="Check that it is there and that you may read it.",
            ) from error
        for entry in entries:
            if entry.name.startswith((".", "_")):
                continue
            path = Path(entry.path)
            if entry.is_dir():
                inner = table or _table_folder(entry.name, known)
                # Within a table's folder the count begins anew.
                level = depth + 1 if inner == table else 0
                if level <= (_DEPTH if inner is None else _TABLE_DEPTH):
                    yield from visit(path, level, inner)
                continue
            stem, form = _split(entry.name)
            if form is not None:
                name = table if table is not None and form == "parquet" else stem
                if name in known and path.exists() and not path.is_file():  # a pipe blocks for ever
                    raise bad_file(
                        path,
                        "This is no file but a pipe, a socket or a device.",
                        todo="Put the file itself there, or take it away.",
                    )
                yield _Found(name=name, format=form, path=path)

    yield from visit(folder, 0, None)


def _table_folder(name: str, known: set[str]) -> str | None:
    """The table whose Parquet parts a folder of that name holds: chartevents[.parquet]."""
    stem, _ = _split(name)
    return stem if stem in known else None


def _split(name: str) -> tuple[str, Format | None]:
    lower = name.lower()
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if lower.endswith(suffix) and len(lower) > len(suffix):
            return lower[: -len(suffix)], _SUFFIXES[suffix]
    return lower, None


def decide_kind(names: set[str], where: Path) -> Kind:
    """The kind whose table names are there.

    Other data beside it may share a name (the emergency module of MIMIC-IV has a table called
    diagnosis): what decides then is the table of stays.

    Raises:
        BadInput: none or more than one.
    """
    hits = {kind: sorted(names & set(facts(kind).tables)) for kind in KINDS}
    having = [kind for kind in KINDS if hits[kind]]
    if len(having) > 1:
        having = [kind for kind in having if facts(kind).stays in names] or having
    if len(having) == 1:
        return having[0]
    if not having:
        raise _nothing(where, KINDS, names)
    raise bad_file(
        where,
        "There are tables of MIMIC-IV ("
        + ", ".join(hits["mimic-iv"][:5])
        + ") and of eICU ("
        + ", ".join(hits["eicu"][:5])
        + ").",
        todo="Say which to import with --kind mimic-iv or --kind eicu.",
    )


def _nothing(where: Path, kinds: Sequence[Kind], names: set[str]) -> BadInput:
    looked = "; ".join(
        f"{facts(kind).title}: " + ", ".join(sorted(t.name for t in _read(facts(kind))))
        for kind in kinds
    )
    known = [name for kind in kinds for name in facts(kind).tables]
    near = sorted(
        f"{name} (meant: {match[0]}?)"
        for name in names
        if (match := difflib.get_close_matches(name, known, n=1, cutoff=0.8))
    )[:5]
    return BadInput(
        "No table of a known kind was found."
        + (f" Similar names: {', '.join(near)}." if near else ""),
        todo="Give the folder that holds the .csv, .csv.gz or .parquet files (or their hosp and "
        "icu folders), or a DuckDB file with the schemas mimiciv_hosp, mimiciv_icu or eicu_crd.",
        place=bad_file(where, "").place,
        details=f"Looked for {looked}, and others.",
    )


def _read(of: KindFacts) -> list[Table]:
    return [table for table in of.tables.values() if table.columns]


def check_enough(names: set[str], of: KindFacts, where: Path) -> None:
    """Refuse when a table is missing without which nothing can be built.

    Raises:
        BadInput: naming what is missing.
    """
    if not any(table.name in names for table in _read(of)):
        raise _nothing(where, (of.kind,), names)
    table = of.indispensable
    if table is not None and table.name not in names:
        raise bad_file(
            where,
            f"The table {table.full_name} is missing, and every target needs it.",
            todo=f"Put {table.name}.csv.gz (or .csv, .parquet) into the folder.",
        )


def _table_input(table: Table, group: list[_Found], folder: Path) -> TableInput:
    formats = {item.format for item in group}
    if len(group) > 1 and formats != {"parquet"}:
        shown = ", ".join(str(item.path.relative_to(folder)) for item in group[:3])
        raise bad_file(
            folder,
            f"The table {table.full_name} is there more than once: {shown}.",
            todo="Leave one of them in the folder.",
        )
    files = tuple(item.path for item in group)
    size = 0
    marks: list[str] = []
    for path in files:
        try:
            status = path.stat()
        except OSError as error:
            raise bad_file(
                path,
                f"The file cannot be read: {error.strerror or 'unknown reason'}.",
                todo="Check the file, or where the link points to.",
            ) from error
        size += status.st_size
        marks.append(f"{path.relative_to(folder)}:{status.st_size}:{status.st_mtime_ns}")
    return TableInput(
        table=table,
        format=formats.pop(),
        files=files,
        size=size,
        fingerprint="|".join(marks),
    )


def find_in_duckdb(path: Path, rows: Mapping[tuple[str, str], int], kind: Kind | None) -> Layout:
    """The tables of an existing DuckDB file, from its `(schema, table) -> estimated rows`.

    Raises:
        BadInput: none of the known schemas, or both kinds.
    """
    known = {
        (table.schema, table.name): candidate
        for candidate in KINDS
        for table in facts(candidate).tables.values()
    }
    names = {table for schema, table in rows if (schema, table.lower()) in known}
    lower = {name.lower() for name in names}
    decided = facts(decide_kind(lower, path) if kind is None else kind)
    check_enough(lower, decided, path)
    status = path.stat()
    mark = f"{path.name}:{status.st_size}:{status.st_mtime_ns}"
    inputs = []
    ignored = []
    for (schema, name), estimate in rows.items():
        table = decided.tables.get(name.lower())
        if table is not None and table.schema == schema:
            inputs.append(
                TableInput(
                    table=table,
                    format="duckdb",
                    files=(path,),
                    size=max(estimate, 1),
                    fingerprint=f"{mark}:{name}",
                )
            )
        else:
            ignored.append(f"{schema}.{name}")
    return Layout(
        facts=decided,
        tables=tuple(sorted(inputs, key=lambda i: (i.size, i.table.full_name))),
        ignored=tuple(sorted(ignored)),
    )
