"""What is a number and what is a timestamp: pandas, the published reader, is the oracle."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.scoring.values import define_macros, parse_times

ODD = ["1", "1.0", " 1", "1 ", "\t1", "+1", "--1", "1_000", "0x1F", "0b1", "inf", "-inf", "+INF",
       "Infinity", "inf ", " inf", "infin", "nan", "NaN", "1e309", "-1e309", "1e-400", "1e", "1e+",
       "1e5", "1E5", "1d5", ".5", "5.", ".", "+.5", "1.2.3", "1,0", "True", "t", "1 000", "\u0661",
       "9007199254740993", "9223372036854775808", "007", "-0", "1\xa0", "1\x0b", "1e 5", "- 1",
       "1e00000000000005", "1e99999999999", "0e999999", "1f", "1L", "$1", "1%", "1e5_0", "_1",
       "1__0", "1e0x", "e5", "+", "-", "", "NULL", "None"]  # fmt: skip
PIECES = st.text("0123456789.eE+-_ \tinfaxINF,", max_size=9)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        define_macros(con)
        yield con


def pandas_number(text: str) -> float | None:
    value = pd.to_numeric(pd.Series([text, "x"], dtype=object), errors="coerce").iloc[0]
    return None if pd.isna(value) else float(value)


@given(st.lists(PIECES | st.sampled_from(ODD), min_size=1, max_size=200))
@settings(max_examples=100, deadline=None)
def test_numbers_are_pandas_numbers(con: duckdb.DuckDBPyConnection, texts: list[str]) -> None:
    rows = con.execute(
        "SELECT x, to_number(x), plain_number(x), is_number(x) FROM unnest(?) t(x)", [texts]
    ).fetchall()
    for text, number, quick, is_number in rows:
        expected = pandas_number(text)
        close = None if expected is None else pytest.approx(expected, rel=1e-15)
        assert number == close, repr(text)
        assert is_number == (expected is not None)
        assert quick in (None, number), repr(text)


def test_every_odd_number_alone(con: duckdb.DuckDBPyConnection) -> None:
    for text in ODD:
        found = con.execute("SELECT to_number(?), plain_number(?)", [text, text]).fetchone()
        assert found is not None
        assert found[0] == pandas_number(text), repr(text)
        assert found[1] in (None, found[0]), repr(text)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), min_size=1))
@settings(max_examples=50, deadline=None)
def test_whole_numbers_stay_exact(con: duckdb.DuckDBPyConnection, values: list[int]) -> None:
    texts = [f" +{v}" if v >= 0 and v % 2 else str(v) for v in values]
    found = con.execute("SELECT to_integer(x) FROM unnest(?) t(x)", [texts]).fetchall()
    assert [row[0] for row in found] == values
    assert pd.to_numeric(pd.Series(texts), errors="coerce").tolist() == values


def test_the_readers_own_columns_are_told_alike(con: duckdb.DuckDBPyConnection) -> None:
    """A lone column of each odd text: numeric for pandas' reader exactly where it is for us."""
    for text in ODD:
        if not text or "," in text:
            continue
        frame = pd.read_csv(io.StringIO(f"k,x\n1,{text}\n"), keep_default_na=False, na_values=[""])
        read = frame["x"]
        numeric = pd.api.types.is_numeric_dtype(read) or isinstance(read.iloc[0], int)
        row = con.execute("SELECT is_number(?), to_boolean(?)", [text, text]).fetchone()
        assert row is not None
        assert numeric == (row[0] or row[1] is not None), repr(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300, deadline=None)
def test_doubles_are_printed_as_pandas_prints_them(
    con: duckdb.DuckDBPyConnection, value: float
) -> None:
    assert con.execute("SELECT ?::DOUBLE::VARCHAR", [value]).fetchone() == (str(value),)


FORMATS = [
    ["2150-01-01 00:00:00", "2150-01-01 00:00"],
    ["2150-01-01T00:00:00", "2150-01-01T10:00:00", "2150-01-01 00:00:00"],
    ["2150-01-01", "2151-12-31"],
    ["2150-01-01", "2150-01-01 00:00:00"],
    ["2150-01-01 00:00:00.25", "2150-01-01 00:00:00.5"],
    ["2150-01-01 00:00:00Z", "2150-01-01 02:00:00+02:00"],
    ["2150-01-01 00:00:00+01:00", "2150-01-01 00:00:00"],
    ["01/02/2150", "31/01/2150"],
    ["01/02/2150", "12/31/2150"],
    ["2150-01-01 00:00:00", "2150-02-30 00:00:00"],
    ["2150-01-01 00:00:00", "2150-1-1 0:00:00"],
    ["2150-01-01 00:00:00", "2150-01-01 24:00:00"],
    ["2150-01-01 00:00:00", "2150-01-01 00:00:60"],
    ["0001-01-01 00:00:00", "9999-12-31 00:00:00"],
    ["12:30", "13:45"],
    ["foo", "bar"],
    ["1577836800000000000"],
]


@pytest.mark.parametrize("texts", FORMATS, ids=lambda t: t[-1])
def test_times_are_pandas_times_in_the_format_of_the_first(texts: list[str]) -> None:
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute(
            "CREATE TABLE t AS SELECT unnest(?) AS x, unnest(range(?)) AS n", [texts, len(texts)]
        )
        whole = parse_times(con, table="m", relation="t", column="x", order="n", job=None)
        found = dict(con.execute("SELECT text, epoch_us(stamp) FROM m").fetchall())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parsed = pd.to_datetime(pd.Series(texts), errors="coerce", utc=True).dt.as_unit("us")
    assert whole == parsed.notna().all()
    if whole:
        assert [found[text] for text in texts] == parsed.astype("int64").tolist()


@given(st.datetimes().map(lambda d: d.replace(microsecond=0)))
@settings(max_examples=100, deadline=None)
def test_the_quick_way_reads_canonical_times_alike(con: duckdb.DuckDBPyConnection, moment) -> None:
    text = moment.isoformat(sep=" ")
    assert con.execute("SELECT to_stamp(?)", [text]).fetchone() == (moment,)
    for other in (text[:16], text.replace(" ", "T"), text + ".5", text + "Z", " " + text[:18]):
        assert con.execute("SELECT to_stamp(?)", [other]).fetchone() == (None,)
