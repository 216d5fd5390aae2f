"""Headers, what they declare, and the graph they make."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.base.errors import HarnessFault, UsageError
from engine.concepts.graph import SQL_FOLDER, Graph, concept_graph
from engine.concepts.honesty import lies, must_be_honest
from engine.concepts.query import DERIVED, Query, read_query
from engine.sources.schema import facts

HEADER = """-- purpose: Something.
-- grain: one row per stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (stay_id, intime)
-- deviations: none
"""


def query_of(tmp_path: Path, sql: str, header: str = HEADER, name: str = "thing") -> Query:
    path = tmp_path / "area" / f"{name}.sql"
    path.parent.mkdir(exist_ok=True)
    path.write_text(header + sql, encoding="utf-8")
    return read_query(path)


@pytest.mark.parametrize("name", sorted(concept_graph().concepts))
def test_every_header_says_what_the_sql_reads(name: str) -> None:
    query = concept_graph().concepts[name]
    assert lies(query) == ()
    known = {table.full_name: table for table in facts("mimic-iv").tables.values()}
    for table in query.base_tables:
        assert set(query.reads[table]) <= set(known[table].columns)


def test_there_is_nothing_but_concepts_among_the_sql_files() -> None:
    assert len(list(SQL_FOLDER.rglob("*"))) - len(list(SQL_FOLDER.iterdir())) == len(
        concept_graph().concepts
    )


def test_an_honest_query(tmp_path: Path) -> None:
    query = query_of(tmp_path, "SELECT stay_id, intime AS t FROM mimiciv_icu.icustays\n")
    assert lies(query) == ()
    assert query.area == "area"
    assert query.key == ("stay_id",)
    assert query.sql.startswith("SELECT")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT stay_id FROM mimiciv_icu.icustays", "lists intime of mimiciv_icu.icustays"),
        ("SELECT stay_id, intime, los FROM mimiciv_icu.icustays", "reads los of"),
        (
            """SELECT i.stay_id, i.intime FROM mimiciv_icu.icustays i
            JOIN mimiciv_derived.age a ON a.hadm_id = i.stay_id""",
            "reads mimiciv_derived.age, which",
        ),
        (
            """SELECT i.stay_id, i.intime FROM mimiciv_icu.icustays i WHERE EXISTS
            (SELECT 1 FROM mimiciv_icu.icustays j WHERE j.los > i.stay_id)""",
            "reads los of",
        ),
        (
            "WITH a AS (FROM mimiciv_icu.icustays) SELECT a.stay_id, a.intime, a.los FROM a",
            "cannot be traced",
        ),
        ("SELECT stay_id, intime FROM icustays", "must be named with its schema"),
        ("SELECT * FROM mimiciv_icu.icustays", "must name its columns"),
        ("SELECT intime FROM mimiciv_icu.icustays WHERE stay_id > 1", "The key names stay_id"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("CREATE TABLE x AS SELECT 1", "one SELECT"),
        ("SELECT FROM WHERE", "cannot be parsed"),
    ],
)
def test_a_lie_is_found(tmp_path: Path, sql: str, told: str) -> None:
    query = query_of(tmp_path, sql)
    assert told in " ".join(lies(query))
    with pytest.raises(HarnessFault, match="header of thing is wrong"):
        must_be_honest(query)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (HEADER.replace("-- grain: one row per stay\n", ""), "lacks grain"),
        (HEADER.replace("purpose", "purpos"), "no field 'purpos'"),
        (HEADER + "-- key: stay_id\n", "key is given twice"),
        (HEADER.replace("(stay_id, intime)", "stay_id"), "not understood"),
        (HEADER.replace("(stay_id, intime)", "(stay id)"), "`reads` is wrong"),
        (HEADER.replace("key: stay_id", "key: stay id"), "not a list of column names"),
        ("-- hello\n" + HEADER, "line 1"),
    ],
)
def test_a_wrong_header_is_refused(tmp_path: Path, header: str, told: str) -> None:
    with pytest.raises(HarnessFault, match=told.replace("(", r"\(")):
        query_of(tmp_path, "SELECT 1\n", header)


def _graph(tmp_path: Path, needs: dict[str, list[str]]) -> Graph:
    for name, others in needs.items():
        reads = "".join(f"--   {DERIVED}.{other} (stay_id)\n" for other in others)
        header = HEADER.replace(
            "--   mimiciv_icu.icustays (stay_id, intime)\n", reads or "--   a.b (c)\n"
        )
        query_of(tmp_path, "SELECT 1\n", header, name)
    return concept_graph(tmp_path)


def test_order_puts_needed_ones_first_and_is_stable(tmp_path: Path) -> None:
    graph = _graph(tmp_path, {"d": ["b", "c"], "c": ["a"], "b": ["a"], "a": [], "e": []})
    assert [q.name for q in graph.order()] == ["a", "e", "b", "c", "d"]
    assert [q.name for q in graph.order(["c"])] == ["a", "c"]


def test_rows_without_a_key(tmp_path: Path) -> None:
    header = HEADER.replace("key: stay_id", "key: none")
    query = query_of(tmp_path, "SELECT stay_id, intime FROM mimiciv_icu.icustays\n", header)
    assert query.key == ()
    assert lies(query) == ()


def test_a_circle_and_an_unknown_need_are_told(tmp_path: Path) -> None:
    graph = _graph(tmp_path, {"a": ["b"], "b": ["a"], "c": ["x"]})
    with pytest.raises(HarnessFault, match="need each other"):
        graph.order(["a"])
    with pytest.raises(HarnessFault, match="needs x, which does not exist"):
        graph.order(["c"])


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean ventilation"):
        concept_graph().order(["ventilaton"])
