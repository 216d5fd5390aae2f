"""Lineage: decisive, entered or refused, where several ways and stays meet.

The expected rows are looked up in the open demo by SQL of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from lineage_made import made

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.diagnosis.lineage import CellLineage, trace_cell
from engine.diagnosis.lineage.blocks import blocks_of
from engine.diagnosis.lineage.cell import of_row, used
from engine.diagnosis.lineage.conditions import refusal
from engine.diagnosis.lineage.knockout import KEEPS_OUT
from engine.diagnosis.lineage.lost import lost
from engine.diagnosis.lineage.ways import Ways
from engine.sources import find_source, open_source

USED = ("decisive", "entered")


def traced(home: Home, target: str, key: Mapping[str, object], column: str) -> CellLineage:
    cell = trace_cell(home, "mimic-demo", target, key, column, job=SimpleJob())
    assert cell.verified
    return cell


def numbers(home: Home, sql: str, *values: object) -> set[int]:
    """Row numbers that a query of the demo gives."""
    con = open_source(find_source(home, "mimic-demo"))
    try:
        return {int(row) for (row,) in con.execute(sql, list(values)).fetchall()}
    finally:
        con.close()


@pytest.mark.shared_data
def test_what_each_of_two_filters_refuses_is_told_by_both(mimic_built: Home):
    """A gas without ventilation at 50 %: neither the pO2's rule nor the gradient's lets it in."""
    cell = traced(mimic_built, "apsiii-24h", {"stay_id": 35128235}, "pao2_aado2_score")
    assert cell.value == 0
    of_it = [e for e in cell.events if (e.item, e.value) in {("pO2", 60.0)}]
    of_it += [e for e in cell.events if e.item == "Inspired O2 Fraction" and "nor" in e.rule]
    assert {e.item for e in of_it} == {"pO2", "Inspired O2 Fraction"}
    both = "not met: is_ventilated, nor COALESCE(fio2, 21) < 50"
    # Without a fraction of 50 % its pO2 would count.
    assert {(e.item, e.role, e.rule) for e in of_it} == {
        ("pO2", "outside", both),
        ("Inspired O2 Fraction", "entered", f"{KEEPS_OUT}: itself {both}"),
    }
    assert "pO2" not in {e.item for e in cell.events if e.role in USED}


@pytest.mark.shared_data
def test_only_what_the_value_needs_is_decisive(mimic_built: Home):
    cell = traced(mimic_built, "apsiii-24h", {"stay_id": 30057454}, "pao2_aado2_score")
    measured = [e for e in cell.events if e.table.endswith("events")]
    assert cell.value == 2
    assert {e.item for e in measured if e.role == "decisive"} == {"Specimen Type", "pO2"}


@pytest.mark.shared_data
def test_the_parts_of_a_total_that_chose_the_hour_entered(mimic_built: Home):
    cell = traced(mimic_built, "sepsis3", {"stay_id": 35026312}, "cardiovascular")
    used_items = {e.item for e in cell.events if e.role in USED}
    assert {"Platelet Count", "Bilirubin, Total", "Creatinine"} <= used_items


@pytest.mark.shared_data
def test_a_branch_that_is_not_reached_is_not_decisive(mimic_built: Home):
    cell = traced(mimic_built, "sofa-24h", {"stay_id": 34617352}, "cardiovascular")
    assert cell.value == 4
    roles = {e.role for e in cell.events if e.item == "Non Invasive Blood Pressure mean"}
    assert "entered" in roles
    assert "decisive" not in roles


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("target", "stay", "column"),
    [("kdigo-48h", 34577403, "aki_stage"), ("sepsis3", 38017367, "culture_time")],
)
def test_what_was_missed_is_of_the_same_stay_or_admission(
    mimic_built: Home, target: str, stay: int, column: str
):
    whose = {
        "chartevents": ("stay", "stay_id = ?"),
        "labevents": (
            "admission",
            "hadm_id = (SELECT hadm_id FROM mimiciv_icu.icustays WHERE stay_id = ?)",
        ),
    }
    cell = traced(mimic_built, target, {"stay_id": stay}, column)
    missed = [e for e in cell.events if e.role == "missed"]
    for table in {e.table for e in missed}:
        told, where = whose[table.partition(".")[2]]
        own = numbers(mimic_built, f"SELECT rowid FROM {table} WHERE {where}", stay)
        assert {e.row for e in missed if e.table == table} <= own
        assert all(f"of the same {told}" in e.rule for e in missed if e.table == table)


@pytest.mark.shared_data
def test_what_has_a_partner_in_another_stay_is_told_by_that_stay(mimic_built: Home):
    """A device whose flow stands at its very minute, of a stay before, was said to have none."""
    cell = traced(mimic_built, "sofa-24h", {"stay_id": 38229329}, "respiration")
    with_flow = numbers(
        mimic_built,
        "SELECT device.rowid FROM mimiciv_icu.chartevents AS device WHERE device.itemid = 226732 "
        "AND EXISTS (SELECT 1 FROM mimiciv_icu.chartevents AS flow WHERE "
        "flow.itemid IN (223834, 227582, 227287) AND flow.value IS NOT NULL "
        "AND flow.subject_id = device.subject_id AND flow.charttime = device.charttime)",
    )
    pair = "flow.charttime = device.charttime"
    devices = {e.row: e.rule for e in cell.events if e.item.startswith("O2 Delivery Device")}
    alone = {row for row, rule in devices.items() if rule == f"not met: {pair}"}
    foreign = {row for row, rule in devices.items() if rule.startswith("of another stay: ")}
    before = numbers(
        mimic_built,
        "SELECT rowid FROM mimiciv_icu.chartevents WHERE itemid = 226732 AND stay_id = ?",
        31248398,
    )
    assert alone == {495579}
    assert not alone & with_flow
    assert foreign <= before
    assert len(foreign & with_flow) == 5


@pytest.mark.shared_data
def test_a_pairing_of_many_rows_is_not_called_a_window(mimic_built: Home):
    """An oxygen fraction in the window, after which no gas was taken."""
    cell = traced(mimic_built, "sofa-24h", {"stay_id": 32895909}, "respiration")
    within = numbers(
        mimic_built,
        "SELECT ce.rowid FROM mimiciv_icu.chartevents AS ce "
        "INNER JOIN mimiciv_icu.icustays AS stay USING (subject_id) WHERE stay.stay_id = ? "
        "AND ce.itemid = 223835 AND ce.charttime <= stay.intime + INTERVAL 24 HOURS "
        "AND ce.charttime >= stay.intime - INTERVAL 6 HOURS",
        32895909,
    )
    inside = [e for e in cell.events if e.table.endswith("chartevents") and e.row in within]
    assert inside
    assert not [e for e in inside if e.rule.startswith(("before the", "after the"))]
    (last,) = [e for e in inside if "the window" in e.rule]
    assert last.rule == ("read for what lies after the window: time_window.endtime >= bg.charttime")


@pytest.mark.shared_data
def test_a_culture_is_told_the_bound_of_every_choice(mimic_built: Home):
    key = {"subject_id": 10039708, "ab_id": 22}
    cell = traced(mimic_built, "suspicion-infection", key, "culture_time")
    early = {e.rule for e in cell.events if e.rule.startswith("before the window: ordered")}
    (told,) = early
    assert told == (
        "before the window: ordered.starttime < culture.charttime, "
        "nor ordered.starttime <= culture.charttime + INTERVAL '72' HOURS"
    )


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("CASE WHEN a.valuenum > 1 THEN b.rate ELSE 7 END", {0: [0], 1: []}),
        ("CASE WHEN a.valuenum > 1 THEN 7 ELSE b.rate END", {0: [0], 1: [0]}),
        ("CASE WHEN b.rate IS NULL THEN 1 WHEN a.valuenum > 1 THEN 2 END", {0: [0], 1: [0]}),
        ("if(a.valuenum > 9, b.rate, a.valuenum)", {0: [0], 1: []}),
        ("CASE a.valuenum WHEN 1 THEN 0 WHEN 5 THEN b.rate END", {0: [0], 1: []}),
    ],
)
def test_of_a_case_only_what_it_comes_to_is_needed(
    home_dir: Path, sql: str, rows: Mapping[int, list[int]]
):
    """One value of 1: only a branch that is taken, or a condition before it, reads the other."""
    query, part = made(
        f"SELECT a.stay_id, {sql} AS value FROM mimiciv_icu.chartevents AS a "
        "LEFT JOIN mimiciv_icu.procedureevents AS b ON a.stay_id = b.stay_id",
        {
            "mimiciv_icu.chartevents": [{"stay_id": 1, "valuenum": 1.0}],
            "mimiciv_icu.procedureevents": [{"stay_id": 1, "rate": 3.0}],
        },
    )
    with part.database(Home(home_dir)) as con:
        relation = part.build(con, mode="decisive")
        ((addresses,),) = of_row(con, {"stay_id": 1}, used(relation, query, "value"))
    found = {0: [], 1: []}
    for address in sorted(addresses):
        table, number = part.unpack(address)
        found[part.tables.index(table)].append(number)
    assert found == rows


def test_a_rule_says_what_it_means_that_a_row_fails_it():
    assert refusal("valuenum > 0") == "out of range: valuenum > 0"
    assert refusal("valuenum BETWEEN 1 AND 9") == "out of range: valuenum BETWEEN 1 AND 9"
    assert refusal("NOT value IS NULL") == "not met: NOT value IS NULL"
    assert refusal("specimen = 'ART.'") == "not met: specimen = 'ART.'"
    assert refusal("icd_version = 9 AND icd_code > '5'").startswith("not met: ")
    assert refusal("CONTAINS(LOWER(curr_service), 'surg')").startswith("not met: ")


@pytest.mark.shared_data
def test_a_row_that_states_several_things_shows_each_by_name(eicu_built: Home):
    cell = trace_cell(
        eicu_built, "eicu-demo", "eicu-oasis", {"patientunitstayid": 211144}, "mechvent_score",
        job=SimpleJob(),
    )  # fmt: skip
    shown = {e.item: e.value for e in cell.events if e.role == "decisive"}
    assert shown["APACHE variables"] == "intubated 1, urine -1.0"
    assert shown["APACHE prediction"] == "oobintubday1 1, electivesurgery 1"


@pytest.mark.shared_data
def test_a_row_of_the_own_stay_is_not_told_to_be_of_another(mimic_built: Home):
    """Gases are joined by patient: each has an hour in the grid of another stay, too."""
    cell = traced(mimic_built, "sepsis3", {"stay_id": 37293400}, "liver")
    own = {
        table: numbers(mimic_built, f"SELECT rowid FROM {table} WHERE stay_id = ?", 37293400)
        for table in ("mimiciv_icu.chartevents", "mimiciv_icu.inputevents")
    }
    own["mimiciv_hosp.labevents"] = numbers(
        mimic_built,
        "SELECT lab.rowid FROM mimiciv_hosp.labevents AS lab "
        "INNER JOIN mimiciv_icu.icustays AS stay ON lab.hadm_id = stay.hadm_id "
        "WHERE stay.stay_id = ? AND lab.charttime BETWEEN stay.intime AND stay.outtime",
        37293400,
    )
    told = {e.rule for e in cell.events if e.row in own.get(e.table, ())}
    assert told
    assert not {rule for rule in told if rule.startswith("of another stay")}
    # A gas is no blood pressure and no bilirubin.
    values = [e.rule for e in cell.events if e.rule.startswith("makes no value")]
    assert values
    assert not [rule for rule in values if "vital." in rule or "lab." in rule or "gcs." in rule]


@pytest.mark.shared_data
def test_what_only_another_admissions_rows_go_with_is_told_so(mimic_built: Home):
    """An oxygen fraction for which a gas was taken within minutes, in another admission."""
    cell = traced(mimic_built, "sofa-24h", {"stay_id": 39544395}, "respiration")
    (fraction,) = [e for e in cell.events if e.table.endswith("chartevents") and e.row == 273056]
    assert fraction.item == "Inspired O2 Fraction"
    assert fraction.rule == (
        "met only by rows of another stay or admission: gas.charttime >= usable.charttime"
    )


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("max(valuenum) FILTER (WHERE itemid = 1)", "not met: (itemid = 1)"),
        ("max(valuenum) FILTER (WHERE itemid = 2)", "makes no value: valuenum"),
    ],
)
def test_what_a_filter_leaves_out_is_told_by_the_filter(home_dir: Path, sql: str, rule: str):
    query, part = made(
        f"SELECT stay_id, {sql} AS value FROM mimiciv_icu.chartevents GROUP BY stay_id",
        {"mimiciv_icu.chartevents": [
            {"stay_id": 1, "itemid": 2, "valuenum": None},
            {"stay_id": 1, "itemid": 1, "valuenum": 1.0},
        ]},
    )  # fmt: skip
    with part.database(Home(home_dir)) as con:
        part.build(con, mode="all")
        found = lost(
            Ways(con, part, SimpleJob()),
            blocks_of(query, part.columns)[0],
            "value",
            part.columns,
            {"stay_id": 1},
            rows=frozenset(part.addresses()),
        )
    assert {part.unpack(a)[1]: told for a, told in found.items()}[0] == rule


@pytest.mark.shared_data
def test_rows_of_other_patients_are_not_shown_where_those_of_other_admissions_are_needed(
    mimic_built: Home,
):
    """The number of an order counts the patient's orders before it, of earlier admissions too."""
    key = {"subject_id": 10021487, "ab_id": 31}
    cell = traced(mimic_built, "suspicion-infection", key, "suspected_infection")
    ordered = {e.row for e in cell.events if e.table.endswith("prescriptions")}
    own = numbers(
        mimic_built,
        "SELECT rowid FROM mimiciv_hosp.prescriptions WHERE subject_id = ?",
        10021487,
    )
    assert len(ordered) == 31
    assert ordered <= own
