"""What is a number and what is a timestamp: the published reader's rules, in SQL where possible.

The published scorer reads with pandas. Its rules for numbers are one regular expression here;
timestamps that are not all spelt ``YYYY-MM-DD HH:MM:SS`` go through pandas itself, in pieces.
DuckDB's own casts take more (``1_000``, ``0x1F``, `` 2150-1-1``), so they never decide alone.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
from pandas.tseries.api import guess_datetime_format

from engine.base.duck import interruptible
from engine.base.jobs import Job

_SPACE = r"[\t-\r ]*"
_NUMBER = rf"{_SPACE}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?{_SPACE}"
_INTEGER = rf"{_SPACE}[+-]?[0-9]+{_SPACE}"
_INFINITY = r"(?i)[+-]?inf(inity)?"
_TIME_LOOK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}|T[0-9]{2}:|[0-9]:[0-9]{2}"

STAMP_LENGTH = 19
_BATCH = 50_000

_DEFINITIONS = {
    "is_number(x)": (f"regexp_full_match(x, '{_NUMBER}') OR regexp_full_match(x, '{_INFINITY}')"),
    "to_number(x)": "CASE WHEN is_number(x) THEN TRY_CAST(x AS DOUBLE) END",
    "to_integer(x)": f"CASE WHEN regexp_full_match(x, '{_INTEGER}') THEN TRY_CAST(x AS BIGINT) END",
    # Two that take part of the above, and quicker: what they refuse is looked at again. The
    # engine's own cast takes no finite number that the pattern refuses but for underscores, and
    # an integer's canonical spelling survives the way there and back.
    "plain_number(x)": (
        "CASE WHEN isfinite(TRY_CAST(x AS DOUBLE)) AND NOT contains(x, '_') "
        "THEN TRY_CAST(x AS DOUBLE) END"
    ),
    "plain_integer(x)": (
        "CASE WHEN CAST(TRY_CAST(x AS BIGINT) AS VARCHAR) = x THEN TRY_CAST(x AS BIGINT) END"
    ),
    "to_stamp(x)": (
        f"CASE WHEN length(x) = {STAMP_LENGTH} AND CAST(TRY_CAST(x AS TIMESTAMP) AS VARCHAR) = x "
        "THEN TRY_CAST(x AS TIMESTAMP) END"
    ),
    # A column is boolean only where all of it is; then it counts as 1 and 0.
    "to_boolean(x)": (
        "CASE WHEN x IN ('True', 'TRUE', 'true') THEN true "
        "WHEN x IN ('False', 'FALSE', 'false') THEN false END"
    ),
    "looks_like_time(x)": f"regexp_matches(x, '{_TIME_LOOK}')",
}
"""SQL functions that the other modules use."""


def define_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Make the functions of this module known to `con`."""
    for name, meaning in _DEFINITIONS.items():
        con.execute(f"CREATE OR REPLACE MACRO {name} AS {meaning}")


def fetch_row(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    """The first row of a query; empty where there is none."""
    return con.execute(sql).fetchone() or ()


def parse_times(
    con: duckdb.DuckDBPyConnection,
    *,
    table: str,
    relation: str,
    column: str,
    order: str,
    job: Job | None,
    enough_failures: int = 100_000,
) -> bool:
    """Read a text column as timestamps in the one format of its first value.

    Makes `table` (text VARCHAR, stamp TIMESTAMP; null where it is none; UTC where the text
    has an offset) of its distinct texts. Out of core: they come and go in pieces.

    Args:
        con: the connection; `table` must not be there yet.
        table: the table to make.
        relation: where the column is.
        column: its name.
        order: the relation's column by which a value is the first.
        job: progress and cancel.
        enough_failures: stop when this many distinct texts were none; the rest is missing
            from `table`, which the caller reads as "no timestamp" too.

    Returns:
        Whether all texts are timestamps.
    """
    some = f"FROM {relation} WHERE {column} IS NOT NULL"
    first = fetch_row(con, f"SELECT {column} {some} ORDER BY {order} LIMIT 1")
    layout = (guess_datetime_format(str(first[0])) if first else None) or "mixed"
    con.execute(f"CREATE TABLE {table} (text VARCHAR, stamp TIMESTAMP)")
    failures = 0
    with con.cursor() as reader, interruptible(reader, job):
        reader.execute(f"SELECT DISTINCT {column} {some}")
        batch = 1_000  # a column of no dates at all is found out early
        while rows := reader.fetchmany(batch):
            if job is not None:
                job.check()
            values = [row[0] for row in rows]
            stamps = _stamps(values, layout)
            failures += int(stamps.isna().sum())
            piece = pa.table(
                {
                    "text": pa.array(values, pa.string()),
                    "stamp": pa.array(stamps.dt.tz_localize(None), pa.timestamp("us")),
                }
            )
            con.register("piece_of_times", piece)
            con.execute(f"INSERT INTO {table} SELECT text, stamp FROM piece_of_times")  # noqa: S608  (ours)
            con.unregister("piece_of_times")
            if failures >= enough_failures or (layout == "mixed" and failures):
                break  # "mixed" is slow, and its column is lost already
            batch = _BATCH
    return failures == 0


def _stamps(values: list[str], layout: str) -> pd.Series:
    series = pd.Series(values, dtype="object")
    try:
        parsed = pd.to_datetime(series, format=layout, errors="coerce", utc=True)
        stamps: pd.Series = parsed.dt.as_unit("us")
    except (ValueError, OverflowError, TypeError):
        stamps = pd.Series(pd.NaT, index=series.index, dtype="datetime64[us, UTC]")
    return stamps
