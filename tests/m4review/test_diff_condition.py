"""What an expert may type as a condition, and what never gets through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from diff_factory import make_diff

from engine.base.errors import M4Error, UsageError
from engine.base.jobs import SimpleJob
from m4review.diff.condition import FUNCTIONS, checked, names
from m4review.diff.query import Chosen, Query
from m4review.diff.reader import DiffFile


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiffFile]:
    made = make_diff(tmp_path_factory.mktemp("condition") / "diff.duckdb", 1_200)
    with_file = DiffFile(made.path)
    yield with_file
    with_file.close()


@pytest.mark.parametrize(
    ("typed", "same_as"),
    [
        ("heart_rate__agent > 80", "a0 > 80"),
        ("HEART_RATE__agent > 80 or stay_id = 30000001", "a0 > 80 OR k0 = 30000001"),
        ("heart_rate__status = 'different'", "s0 = 2"),
        ("row_status IN ('missing', 'extra')", "key_status IN (1, 2)"),
        ("abs(score__agent - score__reference) >= 1", "abs(a1 - r1) >= 1"),
        ("status__reference IS NULL AND status__agent > ''", "r3 IS NULL AND a3 > ''"),
        ("status__agent = ''", "a3 = ''"),
        ("starttime__agent - starttime__reference = INTERVAL 1 HOUR", "a2 - r2 = INTERVAL 1 HOUR"),
        ("date_trunc('day', starttime__reference) = DATE '2180-01-01'",
         "date_trunc('day', r2) = DATE '2180-01-01'"),
        ("status__agent ILIKE '%vent%' -- and a remark", "a3 ILIKE '%vent%'"),
        ("s0 BETWEEN 2 AND 4", "s0 BETWEEN 2 AND 4"),
        ("CASE WHEN score__agent > 20 THEN TRUE ELSE FALSE END", "a1 > 20"),
    ],
)  # fmt: skip
def test_conditions_show_the_rows_they_say(file: DiffFile, typed: str, same_as: str) -> None:
    view = file.view(Query(chosen=Chosen(checked(typed, file.layout), typed)), SimpleJob())
    with file.cursor() as cursor:
        expected = cursor.execute(f"SELECT row FROM diff WHERE {same_as} ORDER BY row").fetchall()
    assert expected
    assert view.rows is not None
    assert view.rows.tolist() == [row for (row,) in expected]


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "1=1; DROP TABLE diff",
        "TRUE) OR (SELECT count(*) FROM diff) > 0 --",
        "row IN (SELECT row FROM diff)",
        "EXISTS (SELECT 1 FROM read_csv('/etc/passwd'))",
        "read_csv('/etc/passwd')",
        "read_text('/etc/passwd') IS NOT NULL",
        "row = (SELECT 1)",
        "SELECT 1",
        "TRUE UNION SELECT 1",
        "COPY diff TO '/tmp/x.csv'",
        "ATTACH '/tmp/x.duckdb'",
        "INSTALL httpfs",
        "LOAD '/tmp/x.so'",
        "PRAGMA database_list",
        "SET memory_limit = '99GB'",
        "current_setting('temp_directory') = ''",
        "getvariable('x') = 1",
        "getenv('HOME') = ''",
        "query('SELECT 1')",
        "query_table('diff')",
        "sum(row) > 1",
        "row_number() OVER () = 1",
        "unnest([1, 2]) = 1",
        "COLUMNS('a.*') > 1",
        "row = ?",
        "row = $1",
        "diff.row = 1",
        "main.diff.row = 1",
        "sqlite_master = 1",
        "no_such_column = 1",
        "sleep(10)",
        "list_transform([1], x -> x) IS NOT NULL",
        "a0 > 1 \0 OR TRUE",
        "x" * 5_000,
        "((((",
        "'",
    ],
)
def test_anything_but_a_condition_is_refused_in_words(file: DiffFile, typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(typed, file.layout)
    assert caught.value.todo


@pytest.mark.parametrize("typed", ["status__agent > INTERVAL 1 HOUR", "score__agent = 'many'"])
def test_values_of_another_kind_are_told(file: DiffFile, typed: str) -> None:
    query = Query(chosen=Chosen(checked(typed, file.layout), typed))
    with pytest.raises(UsageError) as caught:
        file.view(query, SimpleJob())
    assert "many" not in f"{caught.value} {caught.value.details}"


@pytest.mark.parametrize(
    "sql",
    [
        "row IN (SELECT 1 FROM read_csv('/etc/passwd'))",
        "row IN (SELECT 1 FROM read_text('/etc/hostname'))",
    ],
)
def test_beneath_the_check_the_connection_reaches_no_file(file: DiffFile, sql: str) -> None:
    with pytest.raises(M4Error):
        file.view(Query(chosen=Chosen(sql, "")), SimpleJob())


def test_the_connection_cannot_be_opened_up_again(file: DiffFile, tmp_path: Path) -> None:
    with file.cursor() as cursor:
        for sql in (
            "SET enable_external_access = true",
            f"COPY diff TO '{tmp_path / 'x.csv'}'",
            f"ATTACH '{tmp_path / 'x.duckdb'}'",
            "UPDATE diff SET row = 0",
        ):
            with pytest.raises(duckdb.Error):
                cursor.execute(sql)
    assert not list(tmp_path.iterdir())


def test_names_that_are_offered_are_those_of_an_export(file: DiffFile) -> None:
    assert list(names(file.layout))[:3] == ["stay_id", "episode", "heart_rate__reference"]


_NUMBERS = "abs ceil exp floor ln log round sign sqrt"
EXAMPLES = {
    **{name: f"{name}(score__agent + 1) >= 0" for name in _NUMBERS.split()},
    **{name: f"{name}(heart_rate__agent)" for name in ("isfinite", "isinf", "isnan")},
    **{
        name: f"{name}(starttime__agent) >= 0"
        for name in ["day", "dayofweek", "epoch", "hour", "minute", "month", "second", "year"]
    },
    **{
        name: f"{name}(status__agent) <> ''"
        for name in ["lower", "ltrim", "reverse", "rtrim", "trim", "upper"]
    },
    **{
        name: f"{name}(status__agent, 'In')"
        for name in ["contains", "ends_with", "regexp_full_match", "regexp_matches", "starts_with"]
    },
    "bit_count": "bit_count(mismatches) > 0",
    "coalesce": "coalesce(score__agent, 0) > 1",
    "concat": "concat(status__agent, 'x') = 'x'",
    "date_diff": "date_diff('hour', starttime__reference, starttime__agent) = 1",
    "date_trunc": "date_trunc('hour', starttime__agent) = starttime__agent",
    "greatest": "greatest(score__agent, 3) > 3",
    "if": "if(score__agent > 1, true, false)",
    "least": "least(score__agent, 3) < 3",
    "left": "left(status__agent, 2) = 'In'",
    "length": "length(status__agent) > 3",
    "nullif": "nullif(score__agent, 0) IS NULL",
    "pow": "pow(score__agent, 2) > 4",
    "replace": "replace(status__agent, 'I', 'J') <> status__agent",
    "right": "right(status__agent, 2) = 'nt'",
    "substring": "substring(status__agent, 1, 2) = 'In'",
}


def test_every_function_that_is_offered_can_be_used(file: DiffFile) -> None:
    assert set(EXAMPLES) == FUNCTIONS
    names_of = names(file.layout)
    for typed in EXAMPLES.values():
        plain = re.sub(r"\w+__\w+", lambda found: names_of[found.group()], typed)
        with file.cursor() as cursor:
            wanted = cursor.execute(f"SELECT count(*) FROM diff WHERE {plain}").fetchone()
        query = Query(chosen=Chosen(checked(typed, file.layout), typed))
        assert (file.view(query, SimpleJob()).count,) == wanted, typed


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("heart_rate > 3", "heart_rate__reference or heart_rate__agent"),
        ("hart_rate__agent > 3", "heart_rate__agent"),
        ("zzz = 1", "There are: stay_id, episode"),
        ("score__agent >", "heart_rate__agent IS NOT NULL"),
    ],
)
def test_a_wrong_condition_is_told_what_there_is(file: DiffFile, typed: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(typed, file.layout)
    assert told in str(caught.value.todo)
    assert "k0" not in str(caught.value.todo)


def test_a_broken_pattern_is_the_users_and_no_fault_of_the_program(file: DiffFile) -> None:
    typed = "regexp_matches(status__agent, '(')"
    with pytest.raises(UsageError):
        file.view(Query(chosen=Chosen(checked(typed, file.layout), typed)), SimpleJob())
