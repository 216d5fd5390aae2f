"""One table's input as a query: columns matched, types declared or detected, cells converted.

Each reader can also find the first bad cell when the query fails, because DuckDB's own words
quote cells and count records instead of lines.
"""

from __future__ import annotations

import difflib
import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import duckdb

from engine.base.duck import in_words, quote, quote_text
from engine.base.errors import BadInput, Busy, Cancelled, M4Error, StorageFull, bad_file
from engine.sources.convert import Cell, from_text, from_typed, kept_as
from engine.sources.layout import TableInput
from engine.sources.schema import NULL_STRINGS, Table
from engine.sources.textfile import DAMAGED, damaged, line_of_record, read_header

ATTACHED = "m4_input"
"""Name under which the user's DuckDB file is attached, read-only."""

_CHECKED_IN_SQL = frozenset(("BIGINT", "DATE", "TIME"))
"""Types that the CSV reader would take too generously; it gives text and we convert."""


@dataclass(frozen=True)
class Column:
    """One column of the table to be."""

    name: str
    """In lower case."""
    type: str
    """DuckDB type."""
    declared: bool
    """From the schema facts; else detected."""


class Reader(Protocol):
    """A table's input that can be queried."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, declared ones first in their order, then the others in the file's."""

    @property
    def notes(self) -> Sequence[str]:
        """What a person should know about the columns."""

    def query(self) -> str:
        """A SELECT that gives `columns`."""

    def explain(self, con: duckdb.DuckDBPyConnection, error: duckdb.Error | None) -> M4Error | None:
        """Why the query failed, or (`error` None) where a cell is bad; None when unknown."""


def open_reader(con: duckdb.DuckDBPyConnection, source: TableInput) -> Reader:
    """The reader for a table's input; looks at headers only.

    Raises:
        BadInput: a required column is missing, or the file cannot be read.
    """
    if source.format == "csv":
        return CsvReader(source.table, source.files[0])
    return TypedReader(con, source)


def match_columns(table: Table, names: Iterable[str], file: Path, line: int | None) -> None:
    """Refuse when a required column is not among `names` (lower case).

    Raises:
        BadInput: naming the column, and the one that was perhaps meant.
    """
    there = list(names)
    for column in table.columns:
        if column in table.required and column not in there:
            free = [name for name in there if name not in table.columns]
            near = difflib.get_close_matches(column, free, n=1, cutoff=0.6)
            raise bad_file(
                file,
                f"The table {table.full_name} needs this column, and it is not there."
                + (f" Perhaps it is the one called {near[0]}?" if near else ""),
                line=line,
                column=column,
                todo="Correct the header, or take the file from the original release.",
            )


def _in_order(table: Table, names: Sequence[str]) -> list[str]:
    return [c for c in table.columns if c in names] + [n for n in names if n not in table.columns]


def _absent(table: Table, names: Sequence[str]) -> list[str]:
    gone = [column for column in table.columns if column not in names]
    return (
        [f"{table.full_name}: without the columns {', '.join(gone)} (not needed)"] if gone else []
    )


class CsvReader:
    """A CSV file, plain or gzip."""

    def __init__(self, table: Table, path: Path) -> None:
        self.table = table
        self.path = path
        self.header = [name.lower() for name in read_header(path)]
        match_columns(table, self.header, path, 1)
        self._detected: dict[str, str] = {}
        self.notes: Sequence[str] = _absent(table, self.header)

    @property
    def needs_detection(self) -> bool:
        """Are there columns whose types are not declared?"""
        return any(name not in self.table.columns for name in self.header)

    def detection_query(self) -> str:
        """A query for the types of all columns, by DuckDB over the whole file."""
        return (
            f"SELECT columns FROM sniff_csv({self._file()}, {self._options()}, sample_size=-1, "  # noqa: S608 - literals are quoted
            "dateformat='%Y-%m-%d', timestampformat='%Y-%m-%d %H:%M:%S')"
        )

    def set_detected(self, found: Sequence[dict[str, str]] | None) -> None:
        """Take the answer of `detection_query`; everything is text when it has none."""
        types = [kept_as(column["type"]) for column in found or ()]
        if len(types) != len(self.header):
            types = ["VARCHAR"] * len(self.header)
        self._detected = dict(zip(self.header, types, strict=True))

    @property
    def columns(self) -> list[Column]:
        """See `Reader.columns`."""
        return [
            Column(
                name=name,
                type=self.table.columns.get(name) or self._detected.get(name, "VARCHAR"),
                declared=name in self.table.columns,
            )
            for name in _in_order(self.table, self.header)
        ]

    def query(self) -> str:
        """See `Reader.query`."""
        types = {c.name: c.type for c in self.columns}
        as_text = {c.name for c in self.columns if c.declared and c.type in _CHECKED_IN_SQL}
        read = {name: "VARCHAR" if name in as_text else types[name] for name in self.header}
        chosen = ", ".join(
            f"{from_text(quote(c.name), c.type).value} AS {quote(c.name)}"
            if c.name in as_text
            else quote(c.name)
            for c in self.columns
        )
        return f"SELECT {chosen} FROM {self._scan(read)}"  # noqa: S608 - identifiers are quoted

    def explain(self, con: duckdb.DuckDBPyConnection, error: duckdb.Error | None) -> M4Error | None:
        """See `Reader.explain`."""
        if error is not None:
            known = self._in_words(error)
            if known is not None or isinstance(error, duckdb.IOException):
                return known
        cells = {
            c.name: from_text(quote(c.name), c.type)
            for c in self.columns
            if c.declared and c.type != "VARCHAR"
        }
        try:
            found = _first_bad(con, self._scan(dict.fromkeys(self.header, "VARCHAR")), cells)
        except duckdb.Error as second:
            return self._in_words(second)
        if found is None:
            return None
        row, column = found
        line = line_of_record(self.path, row + 1, count_blank=len(self.header) == 1)
        return _bad_cell(self.path, line, column, self.table.columns[column])

    def _in_words(self, error: duckdb.Error) -> M4Error | None:
        """DuckDB's CSV errors; only numbers and known column names are taken from its text."""
        text = str(error)
        placed = re.match(r"[\w ]*Error: CSV Error on Line: (\d+)", text)
        if placed is None:
            return self._unplaced(error, text)
        line = line_of_record(self.path, int(placed[1]), count_blank=True)
        if isinstance(error, duckdb.ConversionException):
            names = re.findall(r'\nError when converting column "([^"\n]*)"', text)
            column = next((n.lower() for n in names if n.lower() in self.header), None)
            kind = next((c.type for c in self.columns if c.name == column), None)
            return _bad_cell(self.path, line, column, kind)
        counts = re.search(r"\nExpected Number of Columns: (\d+) Found: (\d+)", text)
        if counts is not None:
            what = f"The line has {counts[2]} fields where the header has {len(self.header)}."
            todo = "Export the table again; texts with commas belong in quotation marks."
        elif "Invalid unicode" in text:
            what = "The line is not text in UTF-8."
            todo = "Save the file as UTF-8, or take it from the original release."
        elif "unterminated quote" in text:
            what = "A quotation mark is opened here and not closed as it should be."
            todo = "Export the table again; a quotation mark inside a text is doubled."
        elif "Maximum line size" in text:
            what = "The line is too long."
            todo = "A quotation mark that is never closed, or lost line ends, do this."
        else:
            what = "The line is not well-formed CSV."
            todo = "Export the table again as comma-separated text in UTF-8."
        return bad_file(self.path, what, line=line, todo=todo)

    def _unplaced(self, error: duckdb.Error, text: str) -> M4Error | None:
        if isinstance(error, duckdb.IOException):
            if "Unexpected end of GZIP" in text:
                return bad_file(
                    self.path, "The compressed file ends too early (truncated).", todo=DAMAGED
                )
            if "gzip stream" in text.lower():
                return damaged(self.path)
            if re.search(r"cannot open file|no files found|could not read", text, re.IGNORECASE):
                return bad_file(
                    self.path,
                    "The file cannot be read any more.",
                    todo="Check that it is still there and that the drive is in order.",
                )
            return None
        if "CSV" in text.split("\n", 1)[0]:
            return bad_file(
                self.path,
                "The file is not well-formed CSV.",
                todo="Look for mixed line ends, quotation marks that are not closed, and bytes "
                "that are no text; or export the table again.",
            )
        return None

    def _file(self) -> str:
        return quote_text(glob.escape(str(self.path)))

    def _options(self) -> str:
        nulls = ", ".join(quote_text(text) for text in NULL_STRINGS)
        return f"header=true, delim=',', quote='\"', escape='\"', comment='', nullstr=[{nulls}]"

    def _scan(self, types: dict[str, str]) -> str:
        columns = ", ".join(f"{quote_text(n)}: {quote_text(types[n])}" for n in self.header)
        options = f"auto_detect=false, encoding='utf-8', columns={{{columns}}}"
        return f"read_csv({self._file()}, {self._options()}, {options})"


class TypedReader:
    """Parquet files, or a table or view of a DuckDB file: they bring types along."""

    def __init__(self, con: duckdb.DuckDBPyConnection, source: TableInput) -> None:
        self.table = source.table
        self.path = source.files[0]
        self._parquet = source.format == "parquet"
        if self._parquet:
            files = ", ".join(quote_text(glob.escape(str(file))) for file in source.files)
            self._scan = f"read_parquet([{files}], union_by_name=true, hive_partitioning=false)"
        else:
            name = source.fingerprint.rsplit(":", 1)[1]
            self._scan = f"{quote(ATTACHED)}.{quote(source.table.schema)}.{quote(name)}"
        described = self._describe(con)
        self._source = {name.lower(): (name, kind) for name, kind in described}
        match_columns(self.table, self._source, self.path, None)
        self.columns: Sequence[Column] = [
            Column(
                name=name,
                type=self.table.columns.get(name) or kept_as(self._source[name][1]),
                declared=name in self.table.columns,
            )
            for name in _in_order(self.table, list(self._source))
        ]
        self._cells = {column.name: self._cell(con, column) for column in self.columns}
        self.notes: Sequence[str] = [*_absent(self.table, list(self._source)), *self._floats()]

    def _describe(self, con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
        try:
            rows = con.execute(f"DESCRIBE SELECT * FROM {self._scan}").fetchall()  # noqa: S608 - quoted
        except duckdb.Error as error:
            raise self._unreadable(error) from error
        return [(str(row[0]), str(row[1])) for row in rows]

    def _unreadable(self, error: duckdb.Error) -> M4Error:
        # Other kinds of errors quote cells, which must not be taken for the engine's own words.
        if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException):
            known = in_words(error, f"reading {self.table.full_name}")
            if isinstance(known, Busy | StorageFull):
                return known
        if isinstance(error, duckdb.InterruptException):
            return Cancelled()
        what = "The Parquet file" if self._parquet else f"The table {self.table.full_name}"
        return bad_file(
            self.path,
            f"{what} cannot be read: it is damaged, or not what its name says.",
            todo=DAMAGED if self._parquet else "Check that it can be queried in its own database.",
        )

    def _cell(self, con: duckdb.DuckDBPyConnection, column: Column) -> Cell:
        original, kind = self._source[column.name]
        cell = from_typed(quote(original), kind, column.type)
        if cell is None and not column.declared:
            cell = Cell(f"CAST({quote(original)} AS {column.type})", "false")
        if cell is None and self._only_nulls(con, original):
            cell = Cell(f"CAST(NULL AS {column.type})", "false")
        if cell is None:
            raise bad_file(
                self.path,
                f"The column of {self.table.full_name} has type {_shown(kind)}, "
                f"but {column.type} is needed.",
                column=column.name,
                todo="Export the table again with that type.",
            )
        return cell

    def _only_nulls(self, con: duckdb.DuckDBPyConnection, column: str) -> bool:
        sql = f"SELECT count({quote(column)}) = 0 FROM {self._scan}"  # noqa: S608 - quoted
        row = con.execute(sql).fetchone()
        return bool(row and row[0])

    def _floats(self) -> list[str]:
        short = [c.name for c in self.columns if self._source[c.name][1] == "FLOAT"]
        if not short:
            return []
        note = (
            f"{self.table.full_name}: {', '.join(short)} hold 32-bit numbers; the digits that were "
            "lost when they were made cannot come back, and results near a threshold may differ"
        )
        return [note]

    def query(self) -> str:
        """See `Reader.query`."""
        chosen = ", ".join(f"{self._cells[c.name].value} AS {quote(c.name)}" for c in self.columns)
        return f"SELECT {chosen} FROM {self._scan}"  # noqa: S608 - identifiers are quoted

    def explain(self, con: duckdb.DuckDBPyConnection, error: duckdb.Error | None) -> M4Error | None:
        """See `Reader.explain`."""
        if isinstance(error, duckdb.IOException):
            return self._unreadable(error)
        cells = {c.name: self._cells[c.name] for c in self.columns if c.declared}
        try:
            found = _first_bad(con, self._scan, cells)
        except duckdb.Error as second:
            return self._unreadable(second)
        if found is None:
            return self._unreadable(error) if error is not None else None
        row, column = found
        return bad_file(
            self.path,
            f"Row {row:,} of {self.table.full_name}: {_not_a(self.table.columns[column])}",
            column=column,
            todo="Correct it there, or export the table again.",
        )


def _shown(kind: str) -> str:
    return re.split(r"[(\[]", kind)[0] if len(kind) > 40 else kind  # noqa: PLR2004 - fits a line


def _first_bad(
    con: duckdb.DuckDBPyConnection, scan: str, cells: dict[str, Cell]
) -> tuple[int, str] | None:
    """Row (from 1) and column of the first bad cell in the input's order."""
    if not cells:
        return None
    cases = " ".join(f"WHEN {cell.bad} THEN {quote_text(name)}" for name, cell in cells.items())
    sql = (
        f"SELECT n, bad FROM (SELECT row_number() OVER () AS n, CASE {cases} END AS bad "  # noqa: S608 - quoted
        f"FROM {scan}) WHERE bad IS NOT NULL ORDER BY n LIMIT 1"
    )
    row = con.execute(sql).fetchone()
    return None if row is None else (int(row[0]), str(row[1]))


_WANTED = {
    "BIGINT": "a whole number (64 bit)",
    "DOUBLE": "a finite number",
    "TIMESTAMP": "a time like 2180-05-06 22:23:00",
    "DATE": "a date like 2180-05-06",
    "TIME": "a time of day like 22:23:00",
}


def _not_a(kind: str | None) -> str:
    return f"the cell is not {_WANTED.get(kind or '', f'of type {kind}')}."


def _bad_cell(file: Path, line: int, column: str | None, kind: str | None) -> BadInput:
    return bad_file(
        file,
        "The" + _not_a(kind)[3:],
        line=line,
        column=column,
        todo="Correct it there, or take the file from the original release.",
    )
