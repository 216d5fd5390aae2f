"""The two tables as relations of a scratch database, each column with what it holds.

A column is stored as what *all* of its values are: ``int``, ``float``, ``bool``, ``time`` (every
text spelt ``YYYY-MM-DD HH:MM:SS``), else ``text``. Nothing is compared in here.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from engine.base.duck import quote, quote_text
from engine.base.errors import StorageFull, bad_file
from engine.base.jobs import Job
from engine.scoring.output import (
    MAX_CELL,
    Metered,
    OpenTable,
    Unreadable,
    no_table,
    open_table,
)
from engine.scoring.values import fetch_row

Stored = Literal["int", "float", "bool", "time", "text"]

_SAMPLE = 5_000
_BUFFER = 8 << 20
_PIECE_ROWS = 20_000
_REFERENCE_BYTES = 1 << 40

_CAST: dict[Stored, str] = {
    "int": "to_integer({0})",
    "float": "to_number({0})",
    "bool": "to_boolean({0})",
    "time": "to_stamp({0})",
    "text": "{0}",
}
_QUICK: dict[Stored, str] = {"int": "plain_integer({0})", "float": "plain_number({0})"}
_TYPE: dict[Stored, str] = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP",
    "text": "VARCHAR",
}


@dataclass(frozen=True)
class Column:
    """One column of a side."""

    name: str
    """As the task calls it."""
    sql: str
    """Its column in the side's relation."""
    stored: Stored
    """What all of its values are."""
    count: int
    """Its non-null values."""

    @property
    def type(self) -> str:
        """DuckDB type in the relation."""
        return _TYPE[self.stored]

    @property
    def numeric(self) -> bool:
        """Are all values numbers (booleans count as 1 and 0; vacuously true)?"""
        return self.stored in ("int", "float", "bool") or not self.count


@dataclass(frozen=True)
class Side:
    """A table: relation ``{name}`` with a column ``rn`` (0, 1, … in file order) and others."""

    name: str
    """``reference`` or ``agent``."""
    rows: int
    """How many."""
    columns: dict[str, Column]
    """Those wanted that it has, by the task's name."""


def load_output(
    con: duckdb.DuckDBPyConnection, table: OpenTable, wanted: Sequence[str], *, job: Job | None
) -> Side:
    """Bring the wanted columns of an opened CSV into `con` as relation ``agent``.

    Raises:
        Unreadable: it is no CSV of equal rows; names the line.
    """
    return _load_csv(con, table, wanted, "agent", job)


def no_output(con: duckdb.DuckDBPyConnection) -> Side:
    """The side of an agent that left nothing to read."""
    con.execute("CREATE OR REPLACE VIEW agent AS SELECT 0::BIGINT AS rn WHERE false")
    return Side("agent", 0, {})


def load_reference(
    con: duckdb.DuckDBPyConnection, path: Path, wanted: Sequence[str], *, job: Job | None
) -> Side:
    """Bring the wanted columns of a Parquet, CSV or CSV.gz file into `con` as ``reference``.

    Raises:
        BadInput: the file is not there or cannot be read as what its name says.
    """
    if not path.is_file():
        raise bad_file(path, "There is no reference file.", todo="Build it, or name another.")
    try:
        if path.suffix == ".parquet":
            return _load_parquet(con, path, wanted)
        if path.suffix == ".gz":
            return _load_gz(con, path, wanted, job)
        with open_table(path.resolve(), max_bytes=_REFERENCE_BYTES, job=job) as table:
            return _load_csv(con, table, wanted, "reference", job)
    except Unreadable as error:
        raise bad_file(path, error.text.replace("output", "reference")) from error


def _load_csv(
    con: duckdb.DuckDBPyConnection,
    table: OpenTable,
    wanted: Sequence[str],
    side: str,
    job: Job | None,
) -> Side:
    places = {name: table.header.index(name) for name in wanted if name in table.header}
    if table.plain:
        try:
            loaded = _load_plain(con, table.path, len(table.header), places, side)
            if table.commas == (loaded.rows + 1) * (len(table.header) - 1):
                return loaded
            # A quoted comma, or an empty field too many, which the quick reader lets pass.
        except (duckdb.InterruptException, duckdb.OutOfMemoryException):
            raise
        except duckdb.IOException as error:
            if "space" in str(error) or "write" in str(error):
                raise
        except duckdb.Error:
            pass  # not so plain: the slow reader says what it is, and in which line
    _load_slowly(con, table, places, side, job)
    return _classified(con, side, dict.fromkeys(places, "text"))


def _load_plain(
    con: duckdb.DuckDBPyConnection, path: str, width: int, places: dict[str, int], side: str
) -> Side:
    """The quick way: DuckDB reads, each column is tried as what its first rows look like."""
    fields = ", ".join(f"'f{i}': 'VARCHAR'" for i in range(width))
    reader = (
        f"read_csv({quote_text(path)}, columns = {{{fields}}}, auto_detect = false, "
        f"header = true, delim = ',', quote = '\"', escape = '\"', nullstr = '', "
        f"strict_mode = true, max_line_size = {2 * MAX_CELL}, buffer_size = {_BUFFER})"
    )
    guess = _guess(con, reader, places)
    tried = {
        i: (f"f{place}", _QUICK.get(guess[name], _CAST[guess[name]]).format(f"f{place}"))
        for i, (name, place) in enumerate(places.items())
        if guess[name] != "text"
    }
    failed = {i: f"({raw} IS NOT NULL AND {value} IS NULL)" for i, (raw, value) in tried.items()}
    for _ in range(2):
        shown = [
            f"{tried[i][1] if i in tried else f'f{place}'} AS c{i}"
            for i, place in enumerate(places.values())
        ]
        bad = " OR ".join(failed[i] for i in tried) or "false"
        query = f"SELECT {', '.join([*shown, f'({bad}) AS bad'])} FROM {reader}"  # noqa: S608  (our own names; the path is quoted)
        con.execute(f"CREATE OR REPLACE TABLE {side}_table AS {query}")
        if not fetch_row(con, f"SELECT bool_or(bad) FROM {side}_table")[0]:  # noqa: S608  (our own names)
            break
        tests = ", ".join(f"bool_or({failed[i]})" for i in tried)
        found = fetch_row(con, f"SELECT {tests} FROM {reader}")  # noqa: S608  (our own names)
        for i, wrong in zip(list(tried), found, strict=True):
            if wrong:
                del tried[i]
                guess[list(places)[i]] = "text"
    return _classified(con, side, guess)


def _guess(
    con: duckdb.DuckDBPyConnection, reader: str, places: dict[str, int]
) -> dict[str, Stored]:
    """What the first rows of each column look like."""
    if not places:
        return {}
    fields = ", ".join(f"f{place} AS c{i}" for i, place in enumerate(places.values()))
    con.execute(f"CREATE OR REPLACE TABLE sample AS SELECT {fields} FROM {reader} LIMIT {_SAMPLE}")  # noqa: S608  # fmt: skip
    kinds = _kinds(con, "sample", [f"c{i}" for i in range(len(places))])
    con.execute("DROP TABLE sample")
    return {
        name: kind if count else "text" for name, (kind, count) in zip(places, kinds, strict=True)
    }


def _kinds(
    con: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[str]
) -> list[tuple[Stored, int]]:
    """What all texts of each column are, and how many there are."""
    tests = []
    for c in columns:
        tests.append(f"count({c})")
        tests += [f"count({_CAST[kind].format(c)})" for kind in ("int", "float", "bool", "time")]
    row = fetch_row(con, f"SELECT {', '.join(tests)} FROM {relation}")  # noqa: S608  (our own names)
    found: list[tuple[Stored, int]] = []
    kinds: tuple[Stored, ...] = ("int", "float", "bool", "time")
    for i in range(len(columns)):
        count, *fits = row[5 * i : 5 * i + 5]
        kind: Stored = next((k for k, fit in zip(kinds, fits, strict=True) if fit == count), "text")
        found.append((kind if count else "text", count))
    return found


def _classified(
    con: duckdb.DuckDBPyConnection, side: str, stored: dict[str, Stored], position: str = "rowid"
) -> Side:
    """The side's relation over ``{side}_table``; a text column all of one kind becomes it."""
    base = f"{side}_table"
    names = list(stored)
    texts = [i for i, name in enumerate(names) if stored[name] == "text"]
    hopeful = []
    if texts:
        # A look at a few rows spares most text columns the whole test.
        con.execute(f"CREATE OR REPLACE TABLE sample AS SELECT * FROM {base} LIMIT {_SAMPLE}")  # noqa: S608  (our own names)
        kinds = _kinds(con, "sample", [f"c{i}" for i in texts])
        hopeful = [i for i, (kind, n) in zip(texts, kinds, strict=True) if kind != "text" or not n]
        con.execute("DROP TABLE sample")
    whole = (
        dict(zip(hopeful, _kinds(con, base, [f"c{i}" for i in hopeful]), strict=True))
        if hopeful
        else {}
    )
    tests = ", ".join(["count(*)", *(f"count(c{i})" for i in range(len(names)))])
    counts = fetch_row(con, f"SELECT {tests} FROM {base}")  # noqa: S608  (our own names)
    columns: dict[str, Column] = {}
    shown = []
    for i, name in enumerate(names):
        kind = whole[i][0] if i in whole else stored[name]
        cast = _CAST[kind] if i in whole else "{0}"
        shown.append(f"{cast.format(f'c{i}')} AS c{i}")
        columns[name] = Column(name, f"c{i}", kind, counts[1 + i])
    con.execute(
        f"CREATE OR REPLACE VIEW {side} AS "  # noqa: S608  (our own names)
        f"SELECT {', '.join([f'{position} AS rn', *shown])} FROM {base}"
    )
    return Side(side, counts[0], columns)


def _load_slowly(
    con: duckdb.DuckDBPyConnection,
    table: OpenTable,
    places: dict[str, int],
    side: str,
    job: Job | None,
) -> None:
    """The slow way, for files that are spelt oddly: the published reader itself, in pieces."""
    fields = ", ".join(f"c{i} VARCHAR" for i in range(len(places))) or "unused VARCHAR"
    con.execute(f"CREATE OR REPLACE TABLE {side}_table ({fields})")
    stream = Metered(table.descriptor)
    rows = 0
    try:
        with pd.read_csv(
            io.BufferedReader(stream),
            keep_default_na=False,
            na_values=[""],
            dtype=str,
            chunksize=_PIECE_ROWS,
            encoding="utf-8",
        ) as pieces:
            for frame in pieces:
                stream.next_piece()
                if job is not None:
                    job.check()
                arrays = {
                    f"c{i}": pa.array(frame.iloc[:, place], pa.string(), from_pandas=True)
                    for i, place in enumerate(places.values())
                } or {"unused": pa.nulls(len(frame), pa.string())}
                _check_cells(arrays, rows)
                con.register("piece_of_rows", pa.table(arrays))
                con.execute(f"INSERT INTO {side}_table SELECT * FROM piece_of_rows")  # noqa: S608  (our own names)
                con.unregister("piece_of_rows")
                rows += len(frame)
    except pd.errors.ParserError as error:
        raise no_table(error) from error
    except UnicodeDecodeError as error:
        raise Unreadable(
            "has_rows", f"The output is not UTF-8 text (after data row {rows})."
        ) from error


def _check_cells(arrays: dict[str, pa.Array], before: int) -> None:
    for array in arrays.values():
        lengths = pc.binary_length(array)
        if (pc.max(lengths).as_py() or 0) > MAX_CELL:
            first = pc.index(pc.greater(lengths, MAX_CELL), True).as_py()
            raise Unreadable(
                "has_rows",
                f"A cell in data row {before + first + 1} of the output has more than "
                f"{MAX_CELL:,} bytes.",
            )


def _load_parquet(con: duckdb.DuckDBPyConnection, path: Path, wanted: Sequence[str]) -> Side:
    """Parquet counts as the CSV that it would be written as: number-like texts are numbers."""
    reader = f"read_parquet({quote_text(str(path))}, file_row_number = true)"
    try:
        described = con.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()  # noqa: S608  (the path is quoted)
        types = {row[0]: str(row[1]) for row in described}
        names = [name for name in wanted if name in types and name != "file_row_number"]
        shown = ["file_row_number AS rn"]
        stored: dict[str, Stored] = {}
        for i, name in enumerate(names):
            stored[name], value = _typed(quote(name), types[name])
            shown.append(f"{value} AS c{i}")
        query = f"SELECT {', '.join(shown)} FROM {reader}"  # noqa: S608  (names and path are quoted)
        con.execute(f"CREATE OR REPLACE VIEW reference_table AS {query}")
        side = _classified(con, "reference", stored, "rn")
    except duckdb.Error as error:
        if isinstance(error, duckdb.InterruptException | duckdb.OutOfMemoryException):
            raise
        raise bad_file(
            path, "The reference is not a readable Parquet file.", todo="Build it again."
        ) from error
    return side


def _typed(column: str, kind: str) -> tuple[Stored, str]:
    """How a Parquet column is stored here, and the SQL for it."""
    if kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"):
        return "int", f"{column}::BIGINT"
    if kind == "DOUBLE":
        return "float", f"CASE WHEN NOT isnan({column}) THEN {column} END"
    if kind == "FLOAT":  # as it is printed: 0.1, not 0.10000000149
        return "float", f"CASE WHEN NOT isnan({column}) THEN {column}::VARCHAR::DOUBLE END"
    if kind == "BOOLEAN":
        return "bool", column
    if kind.startswith("TIMESTAMP"):
        return "time", f"{column}::TIMESTAMP"
    return "text", f"nullif({column}::VARCHAR, '')"


def _load_gz(
    con: duckdb.DuckDBPyConnection, path: Path, wanted: Sequence[str], job: Job | None
) -> Side:
    """A packed reference is unpacked beside the spill files first; it is ours, and small."""
    folder = Path(fetch_row(con, "SELECT current_setting('temp_directory')")[0]).parent
    with tempfile.NamedTemporaryFile(suffix=".csv", dir=folder) as plain:
        try:
            with gzip.open(path) as packed:
                shutil.copyfileobj(packed, plain, 1 << 20)
            plain.flush()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise bad_file(
                path, "The packed reference is cut off or damaged.", todo="Copy or build it again."
            ) from error
        except OSError as error:
            raise StorageFull("There is no room to unpack the reference.") from error
        with open_table(Path(plain.name), max_bytes=_REFERENCE_BYTES, job=job) as table:
            return _load_csv(con, table, wanted, "reference", job)
