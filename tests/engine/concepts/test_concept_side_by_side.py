"""Several derived tables at once: order, room, failure, stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from concept_cases import fill
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.errors import Cancelled, StorageFull
from engine.base.jobs import SimpleJob
from engine.concepts.build import side_by_side
from engine.concepts.graph import Graph, concept_graph
from engine.concepts.query import Query, read_query
from engine.concepts.side_by_side import in_order
from engine.concepts.tables import build_tables, source_columns

HEADER = "-- purpose: p\n-- grain: g\n-- key: none\n-- reads:\n{}\n-- deviations: none\n"


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    yield connection
    connection.close()


def queries(folder: Path, needs: dict[str, list[str]]) -> list[Query]:
    """Concepts that need each other so, in an order that holds."""
    found: dict[str, Query] = {}
    folder.mkdir(exist_ok=True)
    for name, needed in needs.items():
        reads = "\n".join(f"--   mimiciv_derived.{each} (a)" for each in needed) or "--   s.t (a)"
        tables = " UNION ALL ".join(f"SELECT a FROM mimiciv_derived.{each}" for each in needed)
        path = folder / f"{name}.sql"
        path.write_text(HEADER.format(reads) + (tables or "SELECT a FROM s.t") + "\n")
        found[name] = read_query(path)
    return list(Graph(found).order())


def run(
    con: duckdb.DuckDBPyConnection,
    todo: list[Query],
    work: Callable[[duckdb.DuckDBPyConnection, Query], str],
    at_once: int = 2,
) -> list[str]:
    return [
        result
        for _, result in in_order(con, todo, work, at_once=at_once, started=lambda query: None)
    ]


@settings(max_examples=25, deadline=None)
@given(
    edges=st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=1, max_size=8),
    at_once=st.integers(1, 4),
)
def test_each_once_and_never_before_what_it_needs(
    tmp_path_factory: pytest.TempPathFactory, edges: list[set[int]], at_once: int
) -> None:
    needs = {f"c{i}": [f"c{j}" for j in sorted(needed) if j < i] for i, needed in enumerate(edges)}
    todo = queries(tmp_path_factory.mktemp("order"), needs)
    done: list[str] = []

    def work(own: duckdb.DuckDBPyConnection, query: Query) -> str:
        assert set(query.concepts) <= set(done)
        done.append(query.name)
        return query.name

    with duckdb.connect() as con:
        told = run(con, todo, work, at_once)
    assert sorted(told) == sorted(needs)
    if at_once == 1:
        assert told == [query.name for query in todo]


def test_two_are_at_work_at_the_same_time(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    meeting = threading.Barrier(2, timeout=20)

    def work(own: duckdb.DuckDBPyConnection, query: Query) -> str:
        meeting.wait()
        zone = own.execute("SELECT current_setting('TimeZone')").fetchone()
        return str(zone and zone[0])

    # A connection of its own would have the machine's time zone.
    assert run(con, queries(tmp_path, {"one": [], "two": []}), work) == ["Asia/Tokyo"] * 2


def test_what_finds_no_room_is_done_again_alone(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    at_work: set[str] = set()
    beside: dict[str, set[str]] = {}
    lock = threading.Lock()
    meeting = threading.Barrier(2, timeout=20)

    def work(own: duckdb.DuckDBPyConnection, query: Query) -> str:
        with lock:
            again = query.name in beside
            beside[query.name] = set(at_work)
            at_work.add(query.name)
        try:
            if query.name in ("big", "small") and not again:
                meeting.wait()
            if query.name == "big" and not again:
                raise StorageFull("no room", todo="") from duckdb.OutOfMemoryException("no room")
        finally:
            with lock:
                at_work.remove(query.name)
        return query.name

    todo = queries(tmp_path, {"big": [], "small": [], "third": [], "last": ["big"]})
    assert sorted(run(con, todo, work)) == ["big", "last", "small", "third"]
    assert beside["big"] == set()


def test_no_room_alone_is_told(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    def work(own: duckdb.DuckDBPyConnection, query: Query) -> str:
        raise duckdb.OutOfMemoryException("no room")

    with pytest.raises(duckdb.OutOfMemoryException):
        run(con, queries(tmp_path, {"one": [], "two": []}), work)


def test_a_failure_ends_what_runs_beside_it(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    ended: list[str] = []
    begun = threading.Event()

    def work(own: duckdb.DuckDBPyConnection, query: Query) -> str:
        if query.name == "bad":
            assert begun.wait(20)
            raise ValueError("broken")
        try:
            begun.set()
            while True:  # until the interrupt comes, also when it came between two queries
                own.execute("SELECT count(*) FROM range(100000000) AS r (i) WHERE hash(i) = 1")
        except duckdb.InterruptException:
            ended.append(query.name)
            raise

    with pytest.raises(ValueError, match="broken"):
        run(con, queries(tmp_path, {"bad": [], "long": [], "later": ["long"]}), work)
    assert ended == ["long"]


def test_a_stop_reaches_all_that_run(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute("CREATE SCHEMA s; CREATE TABLE s.t (a BIGINT)")
    found = {}
    for name in ("one", "two"):
        path = tmp_path / f"{name}.sql"
        path.write_text(
            HEADER.format("--   s.t (a)")
            + "SELECT count(*) AS n FROM s.t AS t, range(1000000000000) AS r (i) "
            "WHERE hash(r.i) = t.a\n"
        )
        found[name] = read_query(path)
    con.execute("INSERT INTO s.t VALUES (1)")
    job = SimpleJob()
    begun: list[str] = []

    def stop_when_both_run(stage: str, done: float, total: float, text: str) -> None:
        begun.append(text)
        if len(begun) == 2:
            threading.Timer(0.2, job.cancel).start()

    job.on_progress = stop_when_both_run
    graph = Graph(found)
    with pytest.raises(Cancelled):
        build_tables(con, graph, graph.order(), digest="d", job=job, at_once=2)
    assert begun == ["one", "two"]
    assert not [name for name in source_columns(con) if name.startswith("mimiciv_derived.")]


def test_side_by_side_makes_the_same_tables(con: duckdb.DuckDBPyConnection) -> None:
    graph = concept_graph()
    events = {
        "mimiciv_icu.chartevents": [
            {"subject_id": "1", "stay_id": "10", "charttime": f"{hour}:00", "itemid": item,
             "value": value}
            for hour in range(4)
            for item, value in (("226732", "Nasal cannula"), ("223834", "2"), ("223849", "CMV"))
        ]
    }  # fmt: skip
    fill(con, graph.concepts["ventilation"], events)
    tables = []
    for digest, at_once in (("one", 1), ("two", 4)):
        order = graph.order(["ventilation", "oxygen_delivery"])
        built = build_tables(con, graph, order, digest=digest, job=SimpleJob(), at_once=at_once)
        assert [each.name for each in built] == [query.name for query in order]
        assert {each.status for each in built} == {"built"}
        tables.append(con.execute("FROM mimiciv_derived.ventilation ORDER BY ALL").fetchall())
    assert tables[0]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("memory", "threads", "expected"),
    [("3GB", 2, 2), ("3GB", 8, 3), ("1GB", 8, 1), ("200MB", 8, 1), ("64GB", 16, 4), ("2GiB", 1, 1)],
)
def test_how_many_follows_from_memory_and_processors(
    con: duckdb.DuckDBPyConnection, memory: str, threads: int, expected: int
) -> None:
    con.execute(f"SET memory_limit = '{memory}'")
    con.execute(f"SET threads = {threads}")
    assert side_by_side(con) == expected
