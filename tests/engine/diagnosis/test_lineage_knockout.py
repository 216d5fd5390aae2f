"""Lineage: rows that are in no value, but keep another row out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lineage_made import made

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.diagnosis.lineage import trace_cell
from engine.diagnosis.lineage.cell import person
from engine.diagnosis.lineage.extract import extract
from engine.diagnosis.lineage.knockout import KEEPS_OUT, Trials
from engine.diagnosis.lineage.model import Value
from engine.references import find_target, list_targets
from engine.references.state import parquet_path
from engine.references.targets import kind_of
from engine.sources import find_source

HERE = "mimiciv_icu.chartevents"


def needed(home: Path, sql: str, rows: list[dict[str, object]], value: Value) -> set[int]:
    """Numbers of the rows without which a stay's ``value`` is another."""
    _, part = made(sql, {HERE: rows})
    trials = Trials(Home(home), part, frozenset(), {"stay_id": 1}, "value", value, SimpleJob())
    return {part.unpack(address)[1] for address in trials.needed(set(part.addresses()))}


def charted(*values: object) -> list[dict[str, object]]:
    return [
        {"stay_id": 1, "charttime": number, "value": value} for number, value in enumerate(values)
    ]


FIRST_DEVICE = f"""
    WITH device AS (
        SELECT stay_id, value, row_number() OVER (PARTITION BY stay_id ORDER BY value) AS slot
        FROM {HERE}
    )
    SELECT
        stay_id,
        max(if(value = 'Tube', 2, NULL)) FILTER (WHERE slot = 1) AS value
    FROM device
    GROUP BY stay_id
"""


def test_a_row_that_takes_the_place_of_another(home_dir: Path):
    """The first device in the alphabet counts, and it is none; the next would be one."""
    rows = charted("Tube", "Other", "Tube", "Venti")
    assert needed(home_dir, FIRST_DEVICE, rows, None) == {1}


def test_a_row_among_many_is_found_by_few_trials(home_dir: Path):
    rows = charted(*["Tube"] * 150, "Other", *["Venti"] * 249)
    assert needed(home_dir, FIRST_DEVICE, rows, None) == {150}


def test_rows_that_only_together_keep_another_out_are_not_told_alone(home_dir: Path):
    sql = f"""
        SELECT s.stay_id, max(s.value) AS value
        FROM {HERE} AS s
        WHERE NOT exists(SELECT 1 FROM {HERE} AS f WHERE f.stay_id = s.stay_id AND f.value < 0)
            OR s.value = 5
        GROUP BY s.stay_id
    """
    assert needed(home_dir, sql, charted(5, 9, -1, 7, -1), 5) == {0}
    assert needed(home_dir, sql, charted(5, 9, -1, 7), 5) == {0, 2}
    many = [5, *[9] * 40, -1, *[7] * 40, -1, -1]
    assert needed(home_dir, sql, charted(*many), 5) == {0}


def test_what_does_not_matter_is_not_needed(home_dir: Path):
    sql = f"SELECT stay_id, max(value) AS value FROM {HERE} GROUP BY stay_id"
    assert needed(home_dir, sql, charted(3.5, 1.0, 2.0), 3.5) == {0}
    assert needed(home_dir, sql, charted(3.5, 3.5), 3.5) == set()  # one of them will do


@pytest.mark.shared_data
@pytest.mark.parametrize("target", list(list_targets()))
def test_copies_of_a_patient_do_not_mix(request: pytest.FixtureRequest, target: str):
    """Nothing left out changes no copy; all left out changes that copy alone."""
    query = find_target(target)
    eicu = kind_of(query) == "eicu"
    home: Home = request.getfixturevalue("eicu_built" if eicu else "mimic_built")
    source = "eicu-demo" if eicu else "mimic-demo"
    rows = pq.read_table(parquet_path(home, source, target)).to_pylist()
    info = find_source(home, source)
    row = rows[len(rows) // 2]
    key = {name: row[name] for name in query.key}
    patient = person(info, key)
    part = extract(info, query, (patient,))
    others, all_rows = part.of_others(patient), set(part.addresses())
    for column in set(row) - set(key):
        trials = Trials(home, part, others, key, column, row[column], SimpleJob())
        assert trials.changing([set(), all_rows, set()]) == [1]


def role_and_rule(
    home: Home, target: str, key: Mapping[str, Value], column: str, row: int
) -> tuple[str, str]:
    cell = trace_cell(home, "mimic-demo", target, key, column, job=SimpleJob())
    (event,) = [e for e in cell.events if (e.table, e.row) == (HERE, row)]
    return event.role, event.rule


@pytest.mark.shared_data
def test_a_device_that_takes_the_first_slot_counts_as_entered(mimic_built: Home):
    """It is no ventilation, but without it the mask of the same minute would be."""
    key = {"stay_id": 33281088, "ventilation_seq": 7}
    assert role_and_rule(mimic_built, "ventilation", key, "endtime", 630644) == (
        "entered",
        f"{KEEPS_OUT}: itself not met: NOT ventilation_status IS NULL",
    )


@pytest.mark.shared_data
def test_a_score_that_stops_an_older_one_from_being_carried_on_counts_as_entered(mimic_built: Home):
    """Without this verbal response the total of its minute would be the lowest."""
    role, rule = role_and_rule(mimic_built, "apsiii-24h", {"stay_id": 33383124}, "apsiii", 243515)
    assert role == "entered"
    assert rule.startswith(f"{KEEPS_OUT}: itself another row goes before it: ROW_NUMBER() OVER ")


@pytest.mark.shared_data
def test_of_rows_that_matter_only_together_none_is_told_to_matter(mimic_built: Home):
    """Four totals of the day are the same: to leave one out changes nothing."""
    cell = trace_cell(
        mimic_built, "mimic-demo", "gcs-24h", {"stay_id": 39061571}, "gcs_min", job=SimpleJob()
    )
    assert cell.value == 15
    four = {597819, 597958, 598173, 598391}
    told = {e.row: e.rule for e in cell.events if e.table == HERE and e.row in four}
    assert set(told) == four
    assert not [rule for rule in told.values() if rule.startswith(KEEPS_OUT)]


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("key", "column", "row"),
    [
        ({"subject_id": 10037975, "ab_id": 2}, "positive_culture", 338),
        ({"subject_id": 10018423, "ab_id": 2}, "positive_culture", 126),
        ({"subject_id": 10015860, "ab_id": 37}, "culture_time", 736),
    ],
)
def test_a_culture_that_is_first_for_its_own_order_is_not_told_to_be_behind(
    mimic_built: Home, key: Mapping[str, Value], column: str, row: int
):
    """It is behind another one for other orders only."""
    cell = trace_cell(
        mimic_built, "mimic-demo", "suspicion-infection", key, column, job=SimpleJob()
    )
    (culture,) = [e for e in cell.events if e.table.endswith("microbiologyevents") and e.row == row]
    assert culture.rule
    assert not culture.rule.startswith("another row goes before it")


@pytest.mark.shared_data
def test_no_other_stay_is_decisive_where_the_value_does_without_it(mimic_built: Home):
    cell = trace_cell(
        mimic_built, "mimic-demo", "sepsis3", {"stay_id": 35146796},
        "suspected_infection_time", job=SimpleJob(),
    )  # fmt: skip
    assert cell.verified
    stays = [e for e in cell.events if e.table.endswith("icustays") and e.role == "decisive"]
    assert len(stays) == 1
    assert 7601 not in {
        e.row for e in cell.events if e.table.endswith("prescriptions") and e.role == "decisive"
    }


@pytest.mark.shared_data
def test_a_row_of_another_stay_outside_of_the_window_is_told_by_its_stay(mimic_built: Home):
    at = datetime(2150, 3, 26, 8)  # noqa: DTZ001 - source times have no zone
    key = {"stay_id": 35889503, "charttime": at}
    cell = trace_cell(
        mimic_built, "mimic-demo", "urine-output-rate", key, "weight", job=SimpleJob()
    )
    weights = [e.rule for e in cell.events if "Weight" in e.item and e.role == "outside"]
    assert sum(rule.startswith("of another stay: ") for rule in weights) >= 11


@pytest.mark.shared_data
def test_rows_of_another_stay_are_told_as_such(mimic_built: Home):
    """What another row goes before in another stay is no reason here."""
    cell = trace_cell(
        mimic_built, "mimic-demo", "apsiii-24h", {"stay_id": 32895909}, "apsiii", job=SimpleJob()
    )
    rules = [e.rule for e in cell.events if e.item.startswith("GCS") and "stay" in e.rule]
    assert any(rule.startswith("of another stay: ") for rule in rules)
    assert not any(rule.startswith("another row goes before it") for rule in rules)
