"""Runs the edge cases of concepts and reference targets from TOML files.

A file holds tables as text, one row a line, cells between bars::

    defaults."mimiciv_icu.chartevents" = { subject_id = 1, stay_id = 10, valuenum = "=value" }

    [[case]]
    name = "2: PEEP set 100, total PEEP 101"
    input."mimiciv_icu.chartevents" = '''
    charttime | itemid | value
    08:00     | 220339 | 100
    08:00     | 224700 | 101
    '''
    expected = '''
    charttime | peep
    08:00     | 100
    '''

Cells: an empty cell or NULL is null; "in double quotes" is taken as it stands (spaces too); in
a time column ``H:MM[:SS]`` counts from 2150-01-01 00:00 (hours may exceed 23 or be negative).
A default ``"=column"`` copies that cell (null where it is no number). `expected` lists only the
columns that matter; a header alone means no rows. A derived table that is not given is built by
its own SQL from the given base tables; a base table that is not given is empty. Tables have
exactly the columns that the headers declare.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import random
import re
import tomllib
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from engine.base.duck import quote
from engine.concepts.graph import concept_graph
from engine.concepts.query import DERIVED, Query
from engine.sources.schema import Kind, facts

Row = dict[str, str | None]

SEEDS = () if os.environ.get("M4REVIEW_TEST_QUICK") else (1, 2)
"""Further orders of rows in which each case is tried; none in the inner loop (`make test-fast`)."""
START = datetime(2150, 1, 1)  # noqa: DTZ001 - the sources have no zones
_CLOCK = re.compile(r"^(-?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?$")


@dataclass(frozen=True)
class Case:
    """One edge case of one query."""

    name: str
    inputs: dict[str, list[Row]]
    expected_columns: list[str]
    expected: list[Row]


def load_cases(path: Path) -> list[Case]:
    """Read a case file."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    unknown = set(data) - {"case", "defaults"}
    assert not unknown, f"{path.name}: unknown keys {unknown}"
    cases = []
    for item in data["case"]:
        assert set(item) <= {"name", "input", "expected", "defaults"}, f"{path.name}: {set(item)}"
        inputs = {}
        for table, text in item.get("input", {}).items():
            defaults = {
                **data.get("defaults", {}).get(table, {}),
                **item.get("defaults", {}).get(table, {}),
            }
            inputs[table] = [_filled(row, defaults) for row in _table(text)[1]]
        columns, rows = _table(item["expected"])
        cases.append(Case(item["name"], inputs, columns, rows))
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), f"{path.name}: a case's name occurs twice"
    return cases


def all_cases(folder: Path) -> list[tuple[str, Case]]:
    """(name of the query, case) of every file in `folder`."""
    return [(p.stem, case) for p in sorted(folder.glob("*.toml")) for case in load_cases(p)]


def _table(text: str) -> tuple[list[str], list[Row]]:
    lines = [line for line in text.splitlines() if line.strip()]
    columns = [cell.strip() for cell in lines[0].split("|")]
    rows = []
    for line in lines[1:]:
        cells = [_cell(cell) for cell in line.split("|")]
        assert len(cells) == len(columns), f"{len(columns)} cells wanted: {line}"
        rows.append(dict(zip(columns, cells, strict=True)))
    return columns, rows


def _cell(text: str) -> str | None:
    text = text.strip()
    if text in ("", "NULL"):
        return None
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text


def _filled(row: Row, defaults: dict[str, Any]) -> Row:
    filled = dict(row)
    for column, default in defaults.items():
        if column in filled:
            continue
        if isinstance(default, str) and default.startswith("="):
            value = filled.get(default[1:])
            try:
                filled[column] = str(float(value)) if value is not None else None
            except ValueError:
                filled[column] = None
        else:
            filled[column] = str(default)
    return filled


def _value(cell: str | None, type_name: str) -> str | None:
    if cell is not None and type_name in ("TIMESTAMP", "DATE") and (match := _CLOCK.match(cell)):
        sign, hours, minutes, seconds = match.groups()
        span = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds or 0))
        return (START - span if sign else START + span).isoformat(sep=" ")
    return cell


@functools.cache
def derived_types(name: str) -> dict[str, str]:
    """Columns and types of a derived table, as its SQL gives them."""
    con = duckdb.connect()
    graph = concept_graph()
    query = graph.concepts[name]
    for table, columns in query.reads.items():
        _create(con, table, {column: column_type(table, column) for column in columns})
    described = con.execute(f"DESCRIBE {query.sql}").fetchall()
    assert not con.execute(query.sql).fetchall(), f"{name} has rows without any input"
    con.close()
    return {str(row[0]): str(row[1]) for row in described}


def column_type(table: str, column: str) -> str:
    """DuckDB type of a column of a base or derived table."""
    schema, name = table.split(".")
    if schema == DERIVED:
        return derived_types(name)[column]
    kind: Kind = "eicu" if schema == "eicu_crd" else "mimic-iv"
    return facts(kind).tables[name].columns[column]


def _create(con: duckdb.DuckDBPyConnection, table: str, columns: dict[str, str]) -> None:
    schema, name = table.split(".")
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    listed = ", ".join(f"{quote(column)} {type_name}" for column, type_name in columns.items())
    con.execute(f"CREATE TABLE {schema}.{quote(name)} ({listed})")


def fill(
    con: duckdb.DuckDBPyConnection,
    query: Query,
    inputs: dict[str, list[Row]],
    *,
    seed: int | None = None,
) -> None:
    """Make and fill the tables that `query` needs; rows shuffled by `seed`."""
    order = _needed(query.concepts, frozenset(inputs))
    columns: dict[str, dict[str, str]] = {}
    built = [part for part in order if f"{DERIVED}.{part.name}" not in inputs]
    for part in (*built, query):
        for table in part.base_tables:
            columns.setdefault(table, {}).update(
                {column: column_type(table, column) for column in part.reads[table]}
            )
    for part in order:
        table = f"{DERIVED}.{part.name}"
        if table in inputs:
            columns[table] = derived_types(part.name)
    unread = set(inputs) - set(columns)
    assert not unread, f"{query.name} does not read {unread}"
    for table, types in columns.items():
        _create(con, table, types)
        rows = list(inputs.get(table, ()))
        if seed is not None:
            random.Random(seed).shuffle(rows)
        # A column that the query does not declare cannot matter to it.
        for found, alike in itertools.groupby(rows, key=tuple):
            named = [name for name in found if column_type(table, name) and name in types]
            marks = ", ".join(f"CAST(? AS {types[name]})" for name in named)
            listed = ", ".join(quote(name) for name in named)
            cells = [[_value(row[name], types[name]) for name in named] for row in alike]
            con.execute(
                f"INSERT INTO {table} ({listed}) VALUES {', '.join([f'({marks})'] * len(cells))}",
                [cell for line in cells for cell in line],
            )
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {DERIVED}")
    filled = {table for table, rows in inputs.items() if rows}
    for part in built:
        table = f"{DERIVED}.{part.name}"
        if filled.isdisjoint(part.reads):  # nothing comes of nothing, see derived_types
            _create(con, table, derived_types(part.name))
        else:
            con.execute(f"CREATE TABLE {table} AS {part.sql}")
            filled.add(table)


@functools.cache
def _needed(names: tuple[str, ...], given: frozenset[str]) -> tuple[Query, ...]:
    """The named concepts, and what they need unless they are given as tables; needed ones first."""
    graph = concept_graph()
    found: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            if f"{DERIVED}.{name}" not in given:
                stack += graph.concepts[name].concepts
    return tuple(part for part in graph.order(names) if part.name in found)


@functools.cache
def _connection(threads: int) -> duckdb.DuckDBPyConnection:
    """One in-memory database per process: opening one costs more than most cases."""
    con = duckdb.connect(config={"threads": threads})
    con.execute("SET TimeZone = 'UTC'")
    return con


def _empty(con: duckdb.DuckDBPyConnection) -> None:
    schemas = con.execute(
        "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() "
        "AND NOT internal AND schema_name <> 'main'"
    ).fetchall()
    for (name,) in schemas:
        con.execute(f"DROP SCHEMA {quote(name)} CASCADE")


def run_query(
    query: Query, inputs: dict[str, list[Row]], *, seed: int | None = None, threads: int = 1
) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """Columns with types, and the rows that `query` gives on `inputs`."""
    con = _connection(threads)
    _empty(con)
    fill(con, query, inputs, seed=seed)
    result = con.execute(query.sql)
    types = {str(item[0]): str(item[1]) for item in result.description or ()}
    return types, result.fetchall()


def check_case(query: Query, case: Case, *, seed: int | None = None, threads: int = 1) -> None:
    """Fail unless `query` gives exactly the expected rows, in whatever order."""
    con = _connection(threads)
    _empty(con)
    fill(con, query, case.inputs, seed=seed)
    types = {str(r[0]): str(r[1]) for r in con.execute(f"DESCRIBE {query.sql}").fetchall()}
    unknown = set(case.expected_columns) - set(types)
    assert not unknown, f"{query.name} has no columns {unknown}"
    listed = ", ".join(quote(name) for name in case.expected_columns)
    got = con.execute(f"SELECT {listed} FROM ({query.sql})").fetchall()
    marks = ", ".join(f"CAST(? AS {types[name]})" for name in case.expected_columns)
    wanted = [
        con.execute(
            f"SELECT {marks}",
            [_value(row[name], types[name]) for name in case.expected_columns],
        ).fetchone()
        for row in case.expected
    ]
    left = list(got)
    absent = []
    for row in wanted:
        match = next((found for found in left if same_row(row, found)), None)
        if match is None:
            absent.append(row)
        else:
            left.remove(match)
    told = f"{case.expected_columns}\nexpected but absent: {absent}\nthere but not expected: {left}"
    assert not absent, told
    assert not left, told


def same_row(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Equal cell by cell; floats to 1e-9 of their size, decimals by value."""
    return all(same_cell(x, y) for x, y in zip(a, b, strict=True))


def same_cell(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """Equal values; null equals null only."""
    if a is None or b is None:
        return a is b
    if isinstance(a, float | Decimal) or isinstance(b, float | Decimal):
        x, y = float(a), float(b)
        if math.isnan(x) or math.isnan(y):
            return math.isnan(x) and math.isnan(y)
        return math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance)
    return bool(a == b)
