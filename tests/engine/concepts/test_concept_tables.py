"""Building on an open connection: fresh, stale, missing, stopped."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from concept_cases import fill, load_cases, run_query
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.errors import BadInput, Cancelled, HarnessFault
from engine.base.jobs import SimpleJob
from engine.concepts.graph import Graph, concept_graph
from engine.concepts.query import read_query
from engine.concepts.tables import (
    build_tables,
    fingerprints,
    fresh_concepts,
    must_be_there,
    source_columns,
)

CHARTED = {
    "mimiciv_icu.chartevents": [
        {
            "subject_id": "1",
            "stay_id": "10",
            "charttime": f"{hour}:00",
            "itemid": item,
            "value": value,
        }
        for hour in (0, 2, 3)
        for item, value in (("226732", "Nasal cannula"), ("223834", "2"))
    ]
}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    fill(connection, concept_graph().concepts["ventilation"], CHARTED)
    connection.execute("DROP SCHEMA mimiciv_derived CASCADE")
    yield connection
    connection.close()


def build(
    con: duckdb.DuckDBPyConnection,
    *names: str,
    digest: str = "one",
    job: SimpleJob | None = None,
    graph: Graph | None = None,
) -> dict[str, str]:
    graph = graph or concept_graph()
    built = build_tables(
        con, graph, graph.order(names or None), digest=digest, job=job or SimpleJob()
    )
    return {item.name: item.status for item in built}


def test_needed_ones_are_built_first_and_only_once(con: duckdb.DuckDBPyConnection) -> None:
    assert build(con, "ventilation") == {
        "oxygen_delivery": "built",
        "ventilator_setting": "built",
        "ventilation": "built",
    }
    assert con.execute("SELECT count(*) FROM mimiciv_derived.ventilation").fetchone() == (1,)
    assert set(build(con, "ventilation").values()) == {"fresh"}


def test_other_data_make_everything_stale(con: duckdb.DuckDBPyConnection) -> None:
    build(con, "ventilation")
    assert set(build(con, "ventilation", digest="two").values()) == {"built"}


def test_a_table_that_somebody_dropped_is_built_again(con: duckdb.DuckDBPyConnection) -> None:
    build(con, "ventilation")
    con.execute("DROP TABLE mimiciv_derived.oxygen_delivery")
    assert build(con, "oxygen_delivery") == {"oxygen_delivery": "built"}


def test_other_sql_makes_what_needs_it_stale_and_a_comment_does_not(tmp_path: Path) -> None:
    header = "-- purpose: p\n-- grain: g\n-- key: a\n-- reads:\n--   {}\n-- deviations: none\n"
    for name, reads in (("one", "s.t (a)"), ("two", "mimiciv_derived.one (a)")):
        (tmp_path / "x").mkdir(exist_ok=True)
        (tmp_path / "x" / f"{name}.sql").write_text(header.format(reads) + "SELECT a FROM s.t\n")

    def prints() -> dict[str, str]:
        queries = [read_query(p) for p in sorted(tmp_path.glob("*/*.sql"))]
        return fingerprints(Graph({query.name: query for query in queries}), "digest")

    before = prints()
    path = tmp_path / "x" / "one.sql"
    path.write_text(path.read_text().replace("grain: g", "grain: h"))
    assert prints() == before
    path.write_text(path.read_text().replace("SELECT a", "SELECT DISTINCT a"))
    after = prints()
    assert after["one"] != before["one"]
    assert after["two"] != before["two"]


def test_what_the_source_lacks_is_left_out_and_named(con: duckdb.DuckDBPyConnection) -> None:
    told: list[str] = []
    statuses = build(con, job=SimpleJob(on_message=told.append))
    assert statuses["ventilation"] == "built"
    assert statuses["charlson"] == "left out"
    line = next(text for text in told if text.startswith("charlson"))
    assert "mimiciv_hosp.diagnoses_icd" in line
    assert "mimiciv_hosp.patients" in line  # through age


def test_asked_for_by_name_it_is_an_error(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("ALTER TABLE mimiciv_icu.chartevents DROP COLUMN storetime")
    graph = concept_graph()
    with pytest.raises(BadInput) as error:
        must_be_there(graph, graph.order(["charlson", "ventilation"]), source_columns(con))
    text = error.value.text
    assert "mimiciv_hosp.admissions is needed by age, charlson" in text
    assert "mimiciv_icu.chartevents (storetime) is needed by oxygen_delivery, ventilation" in text


def test_a_stop_keeps_what_is_finished(con: duckdb.DuckDBPyConnection) -> None:
    job = SimpleJob()

    def stop_after_the_first(text: str) -> None:
        job.cancel()

    job.on_message = stop_after_the_first
    with pytest.raises(Cancelled):
        build(con, "ventilation", job=job)
    graph = concept_graph()
    assert list(fresh_concepts(con, graph, "one")) == ["oxygen_delivery"]
    assert build(con, "ventilation")["oxygen_delivery"] == "fresh"


def test_a_failure_leaves_neither_table_nor_record(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    (tmp_path / "x").mkdir()
    path = tmp_path / "x" / "bad.sql"
    path.write_text(
        "-- purpose: p\n-- grain: g\n-- key: n\n-- reads:\n--   mimiciv_icu.chartevents (value)\n"
        "-- deviations: none\nSELECT value::INTEGER AS n FROM mimiciv_icu.chartevents\n"
    )
    graph = Graph({"bad": read_query(path)})
    with pytest.raises(HarnessFault, match="building the concept bad") as error:
        build(con, graph=graph)
    assert "Nasal" not in str(error.value)
    assert "mimiciv_derived.bad" not in source_columns(con)
    assert con.execute("SELECT count(*) FROM m4_meta.concepts").fetchone() == (0,)


def test_a_lying_header_is_not_built(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    path = tmp_path / "x" / "liar.sql"
    path.write_text(
        "-- purpose: p\n-- grain: g\n-- key: value\n-- reads:\n"
        "--   mimiciv_icu.chartevents (itemid)\n"
        "-- deviations: none\nSELECT value FROM mimiciv_icu.chartevents\n"
    )
    with pytest.raises(HarnessFault, match="reads value"):
        build(con, graph=Graph({"liar": read_query(path)}))
    assert "mimiciv_derived.liar" not in source_columns(con)


DEVICES = [None, "Nasal cannula", "None", "Endotracheal tube", "Bipap mask ", "Other"]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["223834", "227582", "227287", "226732", "223849", "229314"]),
        st.sampled_from([None, "10", "11"]),
        st.integers(0, 40),
        st.sampled_from([*DEVICES, "CMV", "NIV", "ASV", "2", "6"]),
        st.sampled_from([None, 1, 2]),
    ),
    max_size=25,
)


@settings(max_examples=12, deadline=None)
@given(events=EVENTS, seed=st.integers(0, 1000))
def test_neither_row_order_nor_threads_matter(
    events: list[tuple[str, str | None, int, str | None, int | None]], seed: int
) -> None:
    rows = [
        {
            "subject_id": "1",
            "stay_id": stay,
            "charttime": f"{hour}:00",
            "storetime": None if stored is None else f"{hour}:0{stored}",
            "itemid": item,
            "value": value,
            "valuenum": value if value in ("2", "6") else None,
        }
        for item, stay, hour, value, stored in events
    ]
    for name in ("oxygen_delivery", "ventilator_setting", "ventilation"):
        query = concept_graph().concepts[name]
        first = run_query(query, {"mimiciv_icu.chartevents": rows})[1]
        again = run_query(query, {"mimiciv_icu.chartevents": rows}, seed=seed, threads=2)[1]
        assert sorted(map(repr, first)) == sorted(map(repr, again))
        keys = [row[:3:2] if name != "ventilation" else row[:2] for row in first]
        assert len(set(keys)) == len(keys)


def _naive_episodes(points: dict[int, str]) -> list[tuple[int, int, str]]:
    """Respiratory support of one stay by its definition, hours to status."""
    episodes: list[list[tuple[int, str]]] = []
    before: tuple[int, str] | None = None
    for hour, status in sorted(points.items()):
        if before is None or status != before[1] or hour - before[0] >= 14:
            episodes.append([])
        episodes[-1].append((hour, status))
        before = (hour, status)
    result = []
    for run in episodes:
        last = run[-1][0]
        later = min((hour for hour in points if hour > last), default=None)
        end = later if later is not None and later - last < 14 else last
        if len(run) > 1:
            result.append((run[0][0], end, run[0][1]))
    return result


@settings(max_examples=25, deadline=None)
@given(
    points=st.dictionaries(
        st.integers(0, 60), st.sampled_from(["None", "Nasal cannula", "Tracheostomy tube"])
    )
)
def test_ventilation_is_its_definition(points: dict[int, str]) -> None:
    names = {
        "None": "None",
        "Nasal cannula": "SupplementalOxygen",
        "Tracheostomy tube": "Tracheostomy",
    }
    rows = [
        {"subject_id": "1", "stay_id": "1", "charttime": f"{h}:00", "o2_delivery_device_1": device}
        for h, device in points.items()
    ]
    random.Random(0).shuffle(rows)
    _, got = run_query(
        concept_graph().concepts["ventilation"], {"mimiciv_derived.oxygen_delivery": rows}
    )
    hours = [
        (round((r[1] - r[1].replace(year=2150, month=1, day=1, hour=0)).total_seconds()) // 3600,
         round((r[2] - r[1]).total_seconds()) // 3600, r[3])
        for r in got
    ]  # fmt: skip
    wanted = _naive_episodes({hour: names[device] for hour, device in points.items()})
    assert sorted(hours) == sorted((a, b - a, c) for a, b, c in wanted)


def test_the_case_runner_can_fail(tmp_path: Path) -> None:
    from concept_cases import check_case  # noqa: PLC0415 - only here

    path = tmp_path / "ventilation.toml"
    path.write_text(
        """[[case]]
name = "wrong on purpose"
input."mimiciv_derived.oxygen_delivery" = '''
stay_id | charttime | o2_delivery_device_1
1       | 0:00      | None
1       | 1:00      | None
'''
expected = '''
stay_id | endtime
1       | 2:00
'''
"""
    )
    with pytest.raises(AssertionError, match="expected but absent"):
        check_case(concept_graph().concepts["ventilation"], load_cases(path)[0])
