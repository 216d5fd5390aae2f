"""Views of a diff against a naive reading of all its rows."""

from __future__ import annotations

import statistics as st_naive
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from diff_factory import Made, make_diff
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.errors import BadInput, Busy, Cancelled
from engine.base.jobs import SimpleJob
from m4review.diff.query import CELL_KINDS, KEY_KINDS, Kind, Pair, Query, Sort
from m4review.diff.reader import DiffFile, Record
from m4review.diff.words import printed

ROWS = 1_700
SORTED_BY = ("k0", "k1", "r0", "a1", "a2", "r3")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_diff(tmp_path_factory.mktemp("diff") / "diff.duckdb", ROWS)


@pytest.fixture(scope="module")
def file(made: Made) -> Iterator[DiffFile]:
    opened = DiffFile(made.path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def everything(made: Made, file: DiffFile) -> list[Record]:
    with file.cursor() as con:
        fields = ", ".join(f'"{name}"' for name in file.fields)
        return con.execute(f"SELECT {fields} FROM diff ORDER BY row").fetchall()


def rows_of(file: DiffFile, query: Query) -> list[int]:
    view = file.view(query, SimpleJob())
    with file.cursor() as cursor:
        records = file.read(cursor, view, 0, view.count)
    shown = [record[0] for record in records]
    assert shown == [view.row_at(at) for at in range(view.count)]
    return shown


def status(record: Record, column: int) -> int:
    return int(record[5 + 3 * column + 2])


def naive(everything: list[Record], query: Query) -> list[Record]:
    """The filter, written out over plain rows."""

    def passes(record: Record) -> bool:
        columns = range(4) if query.column is None else (query.column,)
        if query.only_mismatches and not any(record[2] >> c & 1 for c in columns):
            return False
        if query.kinds:
            key = {int(KEY_KINDS[k]) for k in query.kinds if k in KEY_KINDS}
            cell = {int(s) for k in query.kinds if k in CELL_KINDS for s in CELL_KINDS[k]}
            if record[1] not in key and not any(status(record, c) in cell for c in columns):
                return False
        keys = {"stay_id": str(record[3]), "episode": str(record[4])}
        for word in query.text.split():
            name, equals, value = word.partition("=")
            if equals and name in keys:
                if keys[name] != value:
                    return False
            elif not any(word in text for text in keys.values()):
                return False
        return True

    return [record for record in everything if passes(record)]


queries = st.builds(
    Query,
    only_mismatches=st.booleans(),
    column=st.one_of(st.none(), st.integers(0, 3)),
    kinds=st.frozensets(st.sampled_from(Kind), max_size=3),
    text=st.sampled_from(
        ["", "0001", "7 2", "episode=2", "stay_id=30000007", "0003 episode=1", "x"]
    ),
)


@settings(max_examples=60, deadline=None)
@given(query=queries)
def test_filters_show_what_their_words_say(
    file: DiffFile, everything: list[Record], query: Query
) -> None:
    assert rows_of(file, query) == [record[0] for record in naive(everything, query)]


@settings(max_examples=25, deadline=None)
@given(
    query=queries, field=st.sampled_from(["k0", "k1", "r0", "a1", "a2", "r3"]), down=st.booleans()
)
def test_order_is_that_of_the_column_with_nulls_last(
    file: DiffFile, everything: list[Record], query: Query, field: str, down: bool
) -> None:
    at = file.fields.index(field)
    expected = naive(everything, query)
    full = [r for r in expected if r[at] is not None]
    full.sort(key=lambda r: r[at], reverse=down)
    ordered = full + [r for r in expected if r[at] is None]
    assert rows_of(file, replace(query, sort=(Sort(field, down),))) == [r[0] for r in ordered]


@settings(max_examples=25, deadline=None)
@given(query=queries, sort=st.booleans(), start=st.integers(0, ROWS))
def test_next_and_previous_mismatch(
    file: DiffFile, everything: list[Record], query: Query, sort: bool, start: int
) -> None:
    query = replace(query, sort=(Sort("r0", True),) if sort else ())
    view = file.view(query, SimpleJob())
    bits = {r[0]: r[2] for r in everything}
    mask = (1 << 64) - 1 if query.column is None else 1 << query.column
    departs = [at for at in range(view.count) if bits[view.row_at(at)] & mask]
    assert view.departures.tolist() == departs
    assert view.next_departure(start, 1) == next((a for a in departs if a > start), None)
    assert view.next_departure(start, -1) == next((a for a in reversed(departs) if a < start), None)


def test_typed_words_are_values_never_sql(file: DiffFile) -> None:
    for text in ("'; DROP TABLE diff; --", '" OR 1=1', "%", "_", "stay_id='x'", "a\\"):
        assert rows_of(file, Query(text=text)) == []
    assert len(rows_of(file, Query())) == ROWS


def test_position_of_a_row(file: DiffFile) -> None:
    view = file.view(Query(only_mismatches=True), SimpleJob())
    for position in (0, 5, view.count - 1):
        assert view.position_of(view.row_at(position)) == position
    assert view.position_of(0) is None  # the first row matches
    assert file.view(Query(), SimpleJob()).position_of(ROWS) is None


def test_picked_rows_come_in_the_views_order(file: DiffFile) -> None:
    view = file.view(Query(sort=(Sort("a2", True),)), SimpleJob())
    with file.cursor() as cursor:
        part = file.read(cursor, view, 700, 50)
    assert view.rows is not None
    assert [r[0] for r in part] == view.rows[700:750].tolist()
    assert view.rows.dtype == np.int32


def test_counts_of_the_file_and_of_the_rows_agree(file: DiffFile, everything: list[Record]) -> None:
    layout = file.layout
    assert dict(layout.key_counts) == Counter(r[1] for r in everything)
    for column in range(4):
        assert dict(layout.cell_counts[column]) == Counter(status(r, column) for r in everything)
        wrong = sum(1 for r in everything if r[2] >> column & 1)
        assert layout.mismatches_of(column) == wrong
        of_reference = [r for r in everything if r[1] < 2]
        matching = sum(1 for r in of_reference if not r[2] >> column & 1)
        assert layout.match_rate(column) == pytest.approx(matching / len(of_reference))


@pytest.mark.parametrize("column", [0, 1])
def test_statistics_of_a_number(file: DiffFile, everything: list[Record], column: int) -> None:
    at = 5 + 3 * column
    apart = [r[at + 1] - r[at] for r in everything if r[1] == 0 and r[at + 2] == 2]
    found = file.statistics(column, SimpleJob())
    assert found.differences is not None
    assert found.differences.n == len(apart)
    assert found.differences.mean == pytest.approx(st_naive.mean(apart))
    assert found.differences.median == pytest.approx(st_naive.median(apart))
    assert found.differences.positive == sum(d > 0 for d in apart)
    pairs = Counter((r[at], r[at + 1]) for r in everything if r[1] == 0 and r[at + 2] in (2, 3, 4))
    assert found.mismatches == sum(pairs.values())
    assert found.distinct_pairs == len(pairs)
    for counted in found.pairs:
        assert pairs[counted.pair.reference, counted.pair.agent] == counted.count
    assert [c.count for c in found.pairs] == sorted(pairs.values(), reverse=True)[
        : len(found.pairs)
    ]


def test_statistics_of_times_are_in_seconds(file: DiffFile) -> None:
    found = file.statistics(2, SimpleJob()).differences
    assert found is not None
    assert (found.mean, found.smallest, found.largest) == (3600, 3600, 3600)


def test_texts_have_pairs_and_no_differences(file: DiffFile) -> None:
    found = file.statistics(3, SimpleJob())
    assert found.differences is None
    assert found.pairs


def test_a_pair_shows_its_rows_also_with_null(file: DiffFile, everything: list[Record]) -> None:
    for counted in (*file.statistics(0, SimpleJob()).pairs, *file.statistics(3, SimpleJob()).pairs):
        assert len(rows_of(file, Query(pair=counted.pair))) >= counted.count
    nulls = Pair(3, None, "InvasiveVent")
    expected = [r[0] for r in everything if r[1] == 0 and r[14] is None and r[15] == "InvasiveVent"]
    assert rows_of(file, Query(pair=nulls)) == expected


def test_a_key_that_is_a_time_is_found_as_it_is_shown(made: Made, tmp_path: Path) -> None:
    timed = tmp_path / "timed.duckdb"
    with duckdb.connect(str(timed)) as con:
        con.execute(f"ATTACH '{made.path}' AS d (READ_ONLY)")
        for table in ("diff_columns", "diff_counts"):
            con.execute(f"CREATE TABLE {table} AS FROM d.{table}")
        con.execute("CREATE TABLE diff AS SELECT * REPLACE (coalesce(r2, a2) AS k1) FROM d.diff")
        row = con.execute("SELECT row, k0, k1 FROM diff WHERE row = 700").fetchone()
    assert row is not None
    opened = DiffFile(timed)
    for text in (str(row[2]), row[2].isoformat(), str(row[2])[:16]):
        assert opened.find_key([str(row[1]), text], SimpleJob()) == row[0]
    opened.close()


def test_find_key(file: DiffFile, everything: list[Record]) -> None:
    target = everything[1234]
    assert file.find_key([str(target[3]), str(target[4])], SimpleJob()) == 1234
    assert file.find_key([str(target[3])], SimpleJob()) == next(
        r[0] for r in everything if r[3] == target[3]
    )
    assert file.find_key(["no such key"], SimpleJob()) is None


def test_a_cancelled_job_computes_nothing(file: DiffFile) -> None:
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled):
        file.view(Query(only_mismatches=True), job)


def test_files_that_are_no_diff(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gone"):
        DiffFile(tmp_path / "absent.duckdb")
    junk = tmp_path / "junk.duckdb"
    junk.write_bytes(b"not a database" * 1000)
    with pytest.raises(BadInput):
        DiffFile(junk)
    empty = tmp_path / "empty.duckdb"
    with duckdb.connect(str(empty)) as con:
        con.execute("CREATE TABLE diff (row BIGINT)")
    with pytest.raises(BadInput, match="part"):
        DiffFile(empty)


def test_a_diff_without_rows(tmp_path: Path) -> None:
    empty = DiffFile(make_diff(tmp_path / "d.duckdb", 0).path)
    view = empty.view(Query(only_mismatches=True), SimpleJob())
    assert (view.count, view.next_departure(0, 1), empty.layout.match_rate(0)) == (0, None, 0)
    empty.close()


def test_busy_file_is_told(tmp_path: Path) -> None:
    made = make_diff(tmp_path / "d.duckdb", 10)
    script = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('held', flush=True); "
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(made.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(Busy) as caught:
            DiffFile(made.path)
        assert caught.value.todo
        holder.communicate(b"")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0, "0"), (-0.5, "-0.5"), (1e300, "1e+300"), (0.1 + 0.2, "0.30000000000000004"),
     (True, "true"), ("", ""), ("None", "None"), (12, "12")],
)  # fmt: skip
def test_values_are_printed_exactly(value: Any, text: str) -> None:
    assert printed(value) == text
