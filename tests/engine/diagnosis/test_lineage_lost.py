"""Lineage: where a row that no condition alone refuses is lost, and why.

Small tables are made by hand, the expected rows of the demo are looked up by SQL of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from lineage_made import made

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.diagnosis.lineage import trace_cell
from engine.diagnosis.lineage.blocks import blocks_of
from engine.diagnosis.lineage.candidates import ELSEWHERE
from engine.diagnosis.lineage.cell import of_row, used
from engine.diagnosis.lineage.lost import lost
from engine.diagnosis.lineage.ways import Ways
from engine.sources import find_source, open_source

HERE = "mimiciv_icu.chartevents"
THERE = "mimiciv_icu.procedureevents"


def told(
    home_dir: Path,
    sql: str,
    rows: Mapping[str, list[dict[str, object]]],
    column: str = "value",
) -> dict[str, dict[int, str]]:
    """By table, number of the row to why it is lost on the way to the stay 1's value."""
    query, part = made(sql, rows)
    with part.database(Home(home_dir)) as con:
        part.build(con, mode="all")
        found = lost(
            Ways(con, part, SimpleJob()),
            blocks_of(query, part.columns)[0],
            column,
            part.columns,
            {"stay_id": 1},
            rows=frozenset(part.addresses()),
        )
    by_table: dict[str, dict[int, str]] = {table: {} for table in part.tables}
    for address, rule in found.items():
        table, number = part.unpack(address)
        by_table[table][number] = rule
    return by_table


def charted(*pairs: tuple[int, float | None]) -> list[dict[str, object]]:
    return [{"stay_id": 1, "charttime": at, "valuenum": value} for at, value in pairs]


def test_conditions_that_a_row_meets_one_by_one_but_not_together(home_dir: Path):
    found = told(
        home_dir,
        """
        SELECT ce.stay_id, max(ce.valuenum) AS value
        FROM mimiciv_icu.chartevents AS ce
        INNER JOIN mimiciv_icu.procedureevents AS vent
            ON ce.charttime >= vent.starttime AND ce.charttime <= vent.endtime
        GROUP BY ce.stay_id
        """,
        {
            HERE: charted((1, 10.0), (5, 20.0), (9, 30.0)),
            THERE: [{"starttime": 0, "endtime": 2}, {"starttime": 8, "endtime": 10}],
        },
    )
    assert found[HERE][1] == (
        "not met together: ce.charttime >= vent.starttime AND ce.charttime <= vent.endtime"
    )
    assert not {0, 2} & {n for n, rule in found[HERE].items() if "together" in rule}


def test_an_exists_is_asked_with_all_its_conditions(home_dir: Path):
    found = told(
        home_dir,
        """
        SELECT ce.stay_id, ce.valuenum AS value
        FROM mimiciv_icu.chartevents AS ce
        WHERE exists(
            SELECT 1
            FROM mimiciv_icu.procedureevents AS vent
            WHERE vent.starttime <= ce.charttime AND vent.endtime >= ce.charttime
        )
        """,
        {
            HERE: charted((1, 10.0), (5, 20.0)),
            THERE: [{"starttime": 0, "endtime": 2}, {"starttime": 3, "endtime": 4}],
        },
    )
    assert found[THERE][1].startswith("not met together: vent.starttime <= ce.charttime")
    assert "not met" not in found[THERE].get(0, "")


def test_what_makes_no_value_is_told_with_what_it_should_have_made(home_dir: Path):
    found = told(
        home_dir,
        """
        WITH rated AS (
            SELECT stay_id, CASE WHEN charttime > 3 THEN valuenum / 2 END AS rate
            FROM mimiciv_icu.chartevents
        )

        SELECT stay_id, max(rate) AS value
        FROM rated
        GROUP BY stay_id
        """,
        {HERE: charted((1, 10.0), (5, 20.0))},
    )
    assert found[HERE][0] == "makes no value: CASE WHEN charttime > 3 THEN valuenum / 2 END"
    assert not found[HERE].get(1, "").startswith("makes no value")


def test_the_value_that_goes_before_in_a_coalesce_is_named(home_dir: Path):
    found = told(
        home_dir,
        """
        SELECT ce.stay_id, coalesce(ce.valuenum, vent.rate) AS value
        FROM mimiciv_icu.chartevents AS ce
        LEFT JOIN mimiciv_icu.procedureevents AS vent ON ce.stay_id = vent.stay_id
        """,
        {HERE: charted((1, 10.0)), THERE: [{"stay_id": 1, "rate": 7.0}]},
    )
    assert found[THERE] == {0: "another value goes before it: ce.valuenum"}


def test_another_row_and_a_condition_on_the_group_are_told(home_dir: Path):
    found = told(
        home_dir,
        """
        WITH latest AS (
            SELECT stay_id, valuenum
            FROM mimiciv_icu.chartevents
            QUALIFY row_number() OVER (PARTITION BY stay_id ORDER BY charttime DESC) = 1
        )

        SELECT stay_id, max(valuenum) AS value
        FROM latest
        GROUP BY stay_id
        """,
        {HERE: charted((1, 10.0), (5, 20.0))},
    )
    assert found[HERE][0].startswith("another row goes before it: ROW_NUMBER() OVER")
    found = told(
        home_dir,
        """
        WITH often AS (
            SELECT stay_id, charttime, max(valuenum) AS valuenum
            FROM mimiciv_icu.chartevents
            GROUP BY stay_id, charttime
            HAVING count(*) > 1
        )

        SELECT stay_id, max(valuenum) AS value
        FROM often
        GROUP BY stay_id
        """,
        {HERE: charted((1, 10.0), (5, 20.0), (5, 30.0))},
    )
    assert found[HERE][0] == "not met: COUNT(*) > 1"
    assert not {1, 2} & {n for n, rule in found[HERE].items() if rule.startswith("not met")}


def test_rows_of_another_row_of_the_target_do_not_meet_its_conditions(home_dir: Path):
    found = told(
        home_dir,
        """
        SELECT stay.stay_id, max(ce.valuenum) AS value
        FROM mimiciv_icu.procedureevents AS stay
        INNER JOIN mimiciv_icu.chartevents AS ce
            ON stay.starttime <= ce.charttime AND stay.endtime >= ce.charttime
        GROUP BY stay.stay_id
        """,
        {
            HERE: charted((1, 10.0), (9, 30.0)),
            THERE: [
                {"stay_id": 1, "starttime": 0, "endtime": 2},
                {"stay_id": 2, "starttime": 8, "endtime": 10},
            ],
        },
    )
    assert found[HERE][1].startswith("not met together: stay.starttime <= ce.charttime")


TWINS = [{"stay_id": 1, "charttime": at, "valuenum": 5.0} for at in range(3)]


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("SELECT stay_id, min(valuenum) AS value FROM {} GROUP BY stay_id", 0),
        ("SELECT stay_id, max(valuenum) AS value FROM {} GROUP BY stay_id", 2),
        ("SELECT DISTINCT stay_id, valuenum AS value FROM {}", 0),
        ("SELECT stay_id, 1 AS value FROM {} GROUP BY stay_id", 0),
        ("SELECT DISTINCT stay_id, valuenum AS value FROM {} AS ce WHERE {found}", 0),
        ("SELECT stay_id, max(valuenum) AS value FROM {} AS ce WHERE {found} GROUP BY stay_id", 2),
    ],
)
def test_of_rows_that_are_alike_always_the_same_is_decisive(home_dir: Path, sql: str, row: int):
    found = f"exists(SELECT 1 FROM {HERE} AS own WHERE own.charttime = ce.charttime)"
    query, part = made(sql.format(HERE, found=found), {HERE: TWINS})
    with part.database(Home(home_dir)) as con:
        relation = part.build(con, mode="decisive")
        ((addresses,),) = of_row(con, {"stay_id": 1}, used(relation, query, "value"))
    assert [part.unpack(address)[1] for address in addresses] == [row]


@pytest.mark.shared_data
def test_of_eicu_a_component_has_no_part_where_a_total_is_charted(eicu_built: Home):
    con = open_source(find_source(eicu_built, "eicu-demo"))
    try:
        rows = con.execute(
            "SELECT rowid FROM eicu_crd.nursecharting WHERE patientunitstayid = 2841632 "
            "AND nursingchartoffset = -54 AND nursingchartcelltypevalname IN "
            "('Eyes', 'Motor', 'Verbal')"
        ).fetchall()
    finally:
        con.close()
    cell = trace_cell(
        eicu_built, "eicu-demo", "eicu-gcs", {"patientunitstayid": 2841632}, "gcs_min",
        job=SimpleJob(),
    )  # fmt: skip
    parts = [event for event in cell.events if (event.row,) in rows]
    assert len(parts) == 3
    total = "CASE WHEN total_charted > 2 AND total_charted < 16 THEN total_charted END"
    assert {event.rule for event in parts} == {f"another value goes before it: {total}"}


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("target", "key", "column"),
    [
        ("kdigo-48h", {"stay_id": 35024147}, "aki_stage_uo"),
        ("sapsii-24h", {"stay_id": 38430513}, "pao2fio2_score"),
    ],
)
def test_every_refused_row_has_a_reason(
    mimic_built: Home, target: str, key: Mapping[str, object], column: str
):
    cell = trace_cell(mimic_built, "mimic-demo", target, key, column, job=SimpleJob())
    assert cell.verified
    rules = {event.rule for event in cell.events if event.role in ("outside", "rejected")}
    assert not {rule for rule in rules if rule == ELSEWHERE or rule.startswith("takes no part")}
    begin = cell.stay[0] or datetime.min  # noqa: DTZ901 - source times have no zone
    if target == "kdigo-48h":
        late = [e for e in cell.events if e.rule.startswith("makes no value: CASE WHEN uo.uo_rt_6")]
        assert len(late) == 2
        assert all(e.start is not None and e.start < begin + timedelta(hours=48) for e in late)
