"""Aligned rows written out of a diff file: CSV or Parquet, in pieces, whole or not at all.

Null is an empty field without quotes, an empty text is ``""``; a cell that does not exist has the
status "no agent value" or "no reference value" beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from engine.base import duck
from engine.base.duck import quote
from engine.base.errors import UsageError
from engine.base.files import writing
from engine.base.jobs import Job
from engine.scoring.diff import readable_columns

_PIECE = 50_000
"""Rows written at once."""
FORMATS = (".csv", ".parquet")
"""What a file may end in."""


def write_rows(
    con: duckdb.DuckDBPyConnection,
    out: Path,
    *,
    rows: npt.NDArray[np.int32] | None = None,
    names: Sequence[str] | None = None,
    job: Job,
) -> int:
    """Write rows of an open diff file with readable names; returns how many.

    Args:
        con: a connection (or cursor) of its own to the diff file.
        out: the file to write; its ending is one of `FORMATS`.
        rows: row numbers in the order in which they are written; all as they lie when None.
        names: which readable columns (`readable_columns`), in order; all when None.
        job: progress and cancel; a cancelled export leaves no file.

    Raises:
        UsageError: the ending is none of `FORMATS`, or there is no such column.
        StorageFull: there is no room.
    """
    kind = out.suffix.casefold()
    if kind not in FORMATS:
        raise UsageError(
            "The file's name must end in .csv or .parquet.", todo="Give it one of these endings."
        )
    known = readable_columns(con)
    chosen = list(known) if names is None else list(names)
    if unknown := [name for name in chosen if name not in known]:
        raise UsageError(f"There is no column {unknown[0]} in this diff.")
    shown = ", ".join(f"{known[name]} AS {quote(name)}" for name in chosen)
    if rows is None:
        source, total = 'diff ORDER BY diff."row"', _total(con)
    else:
        total = len(rows)
        table = pa.table({"position": np.arange(total, dtype=np.int64), "row": rows})
        con.register("chosen_rows", table)
        source = 'diff JOIN chosen_rows USING ("row") ORDER BY chosen_rows.position'
    try:
        with duck.interruptible(con, job), writing(out, "writing the rows") as part:
            relation = con.sql(f"SELECT {shown} FROM {source}")  # noqa: S608 - quoted
            if kind == ".csv":
                relation = relation.project(_as_text(relation.columns, relation.types))
            reader = relation.to_arrow_reader(_PIECE)
            return _write(reader, part, kind, total, job)
    except duckdb.Error as error:
        raise duck.in_words(error, "writing the rows") from error
    finally:
        if rows is not None:
            con.unregister("chosen_rows")


def _write(reader: pa.RecordBatchReader, part: Path, kind: str, total: int, job: Job) -> int:
    done = 0
    sink = (
        pa_csv.CSVWriter(part, reader.schema)
        if kind == ".csv"
        else pa_parquet.ParquetWriter(part, reader.schema, compression="zstd")
    )
    with sink:
        for batch in _pieces(reader, job):
            sink.write_batch(batch)
            done += batch.num_rows
            job.progress("diff:export", done, total, "Writing the rows")
    return done


def _pieces(reader: pa.RecordBatchReader, job: Job) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        job.check()
        yield batch


def _as_text(names: Sequence[str], types: Sequence[object]) -> str:
    """The columns of a CSV: lists as words, times without needless fractions of a second."""
    shown = []
    for name, kind in zip(names, types, strict=True):
        column = quote(name)
        if str(kind).endswith("[]"):
            column = f"array_to_string({column}, ' ') AS {column}"
        elif str(kind).startswith("TIMESTAMP"):
            column = f"CAST({column} AS VARCHAR) AS {column}"
        shown.append(column)
    return ", ".join(shown)


def _total(con: duckdb.DuckDBPyConnection) -> int:
    # All of it is fetched: an open result would keep the connection from the rows.
    return int(con.execute("SELECT count(*) FROM diff").fetchall()[0][0])
