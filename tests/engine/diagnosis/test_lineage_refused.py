"""Lineage: what a cell looked at and refused, where it rests on EXISTS, on codes or on a filter.

The expected rows are looked up in the open demo by SQL of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest
import sqlglot
from lineage_made import made

from engine.base.errors import Cancelled
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.concepts.graph import concept_graph
from engine.concepts.query import Query
from engine.diagnosis.lineage import CellLineage, Event, trace_cell
from engine.diagnosis.lineage.blocks import blocks_of
from engine.diagnosis.lineage.conditions import refusing
from engine.diagnosis.lineage.events import Part, events
from engine.diagnosis.lineage.extract import Extract, extract, is_dictionary
from engine.diagnosis.lineage.frames import filled, frames, told
from engine.diagnosis.lineage.leaves import FRAME, leaves
from engine.diagnosis.lineage.unmet import unmet_on_the_way
from engine.diagnosis.lineage.ways import Ways
from engine.references import find_target, list_targets
from engine.references.targets import kind_of
from engine.sources import find_source, open_source

DAY = timedelta(hours=24)


def traced(home: Home, target: str, key: Mapping[str, object], column: str) -> CellLineage:
    source = "eicu-demo" if kind_of(find_target(target)) == "eicu" else "mimic-demo"
    cell = trace_cell(home, source, target, key, column, job=SimpleJob())
    assert cell.verified
    return cell


def asked(home: Home, sql: str, *values: object) -> list[tuple[object, ...]]:
    con = open_source(find_source(home, "mimic-demo"))
    try:
        return con.execute(sql, list(values)).fetchall()
    finally:
        con.close()


def of_table(cell: CellLineage, name: str) -> list[Event]:
    return [event for event in cell.events if event.table.endswith(f".{name}")]


@pytest.mark.parametrize("target", sorted(list_targets()))
@pytest.mark.shared_data
def test_every_table_of_a_target_is_looked_into_by_some_column(
    request: pytest.FixtureRequest, target: str
):
    eicu = kind_of(find_target(target)) == "eicu"
    home: Home = request.getfixturevalue("eicu_built" if eicu else "mimic_built")
    info = find_source(home, "eicu-demo" if eicu else "mimic-demo")
    query = find_target(target)
    part = extract(info, query, (-1,))
    block = blocks_of(query, part.columns)[0]
    found = {leaf.table for c in block.outputs for leaf in leaves(block, c, part.columns)}
    read = {t for t in concept_graph().base_tables(query) if not is_dictionary(t)}
    assert found - FRAME == read - FRAME


@pytest.mark.shared_data
@pytest.mark.parametrize(("stay", "stage"), [(34100191, 3), (30932571, 0)])
def test_renal_replacement_outside_the_window_is_shown(mimic_built: Home, stay: int, stage: int):
    cell = traced(mimic_built, "kdigo-48h", {"stay_id": stay}, "aki_stage_crrt")
    ((within, after),) = asked(
        mimic_built,
        "SELECT count(*) FILTER (WHERE charttime <= intime + INTERVAL 48 HOURS), "
        "count(*) FILTER (WHERE charttime > intime + INTERVAL 48 HOURS) "
        "FROM mimiciv_icu.chartevents INNER JOIN mimiciv_icu.icustays USING (stay_id) "
        "WHERE stay_id = ? AND itemid = 227290 AND value IS NOT NULL",
        stay,
    )
    assert cell.value == stage
    roles = Counter(event.role for event in of_table(cell, "chartevents"))
    assert roles["decisive"] + roles["entered"] == within
    assert roles["outside"] == after > 0
    for event in of_table(cell, "chartevents"):
        assert event.item == "CRRT mode"
        assert event.rule.startswith("after the window") == (event.role == "outside")


@pytest.mark.shared_data
def test_a_ventilation_that_does_not_count_is_shown_with_the_reason(mimic_built: Home):
    """Of one stay: devices that are no ventilation, and a ventilation from the fourth day on."""
    cell = traced(mimic_built, "oasis-24h", {"stay_id": 31316840}, "mechvent_score")
    assert cell.value == 0
    modes = [e for e in cell.events if e.item == "Ventilator Mode"]
    charted = asked(
        mimic_built,
        "SELECT rowid FROM mimiciv_icu.chartevents WHERE stay_id = ? AND itemid = 223849",
        31316840,
    )
    of_stay = [e for e in modes if (e.row,) in charted]
    assert len(of_stay) == len(charted)
    assert all(e.role == "outside" and e.start > cell.stay[0] + DAY for e in of_stay)
    assert any(e.rule.startswith("after the window: vent.") for e in of_stay)
    cell = traced(mimic_built, "oasis-24h", {"stay_id": 35514836}, "mechvent_score")
    devices = {e.rule for e in cell.events if e.item == "O2 Delivery Device(s)"}
    # Cannula and masks: an episode of its own that is no ventilation, and single chart times.
    assert "not met: vent.ventilation_status = 'InvasiveVent'" in devices
    assert "not met: MIN(charttime) < MAX(charttime)" in devices


@pytest.mark.shared_data
def test_a_service_is_refused_by_its_kind_or_its_admission(mimic_built: Home):
    rows = asked(
        mimic_built,
        "SELECT stay_id, curr_service FROM mimiciv_icu.icustays INNER JOIN "
        "mimiciv_hosp.services USING (hadm_id) WHERE transfertime < intime + INTERVAL 24 HOURS "
        "AND NOT contains(lower(curr_service), 'surg') AND curr_service != 'ORTHO' "
        "ORDER BY stay_id LIMIT 1",
    )
    cell = traced(mimic_built, "oasis-24h", {"stay_id": rows[0][0]}, "electivesurgery_score")
    services = [e for e in of_table(cell, "services") if e.item == f"Service {rows[0][1]}"]
    assert services
    for service in services:
        assert service.role == "rejected"
        assert "CONTAINS(LOWER(curr_service), 'surg')" in service.rule
    cell = traced(mimic_built, "oasis-24h", {"stay_id": 32283063}, "electivesurgery_score")
    told = {e.rule for e in of_table(cell, "services")}
    assert told == {"", "of another admission: service.hadm_id = stay.hadm_id"}


@pytest.mark.shared_data
def test_every_diagnosis_of_the_admission_is_told_why_it_makes_no_condition(mimic_built: Home):
    admission = 22130791
    cell = traced(mimic_built, "charlson", {"hadm_id": admission}, "myocardial_infarct")
    diagnoses = {e.item_id: e for e in of_table(cell, "diagnoses_icd")}
    codes = asked(
        mimic_built,
        "SELECT concat_ws(' ', icd_version, trim(icd_code)) FROM mimiciv_hosp.diagnoses_icd "
        "WHERE hadm_id = ?",
        admission,
    )
    assert {code for (code,) in codes} == set(diagnoses)
    assert [c for c, e in diagnoses.items() if e.role == "decisive"] == ["10 I214"]
    others = [e for e in diagnoses.values() if e.role != "decisive"]
    assert {e.role for e in others} == {"rejected"}
    # J44.9 is a code of another condition, I48.91 of none.
    assert "code_meaning.condition = 'myocardial_infarct'" in diagnoses["10 J449"].rule
    assert diagnoses["10 J449"].rule.startswith("listed, but not as this")
    assert diagnoses["10 I4891"].rule.startswith("not in the list")


@pytest.mark.shared_data
def test_a_code_of_another_admission_is_told_so_and_its_other_codes_are_left_out(
    mimic_built: Home,
):
    cell = traced(mimic_built, "charlson", {"hadm_id": 24357615}, "diabetes_with_cc")
    own = {code for (code,) in asked(
        mimic_built,
        "SELECT concat_ws(' ', icd_version, trim(icd_code)) FROM mimiciv_hosp.diagnoses_icd "
        "WHERE hadm_id = ?", 24357615,
    )}  # fmt: skip
    by_role: dict[str, set[str]] = {}
    for event in of_table(cell, "diagnoses_icd"):
        by_role.setdefault(event.role, set()).add(event.item_id)
        if event.role == "outside":
            assert event.rule.startswith("of another admission")
            assert event.item_id.startswith("10 E11")
    assert by_role["decisive"] | by_role["rejected"] == own
    assert by_role["outside"]


@pytest.mark.shared_data
def test_what_every_way_refuses_is_not_used(mimic_built: Home):
    """Each once told otherwise: a code of another admission, gases after the day, a twin code."""
    cell = traced(mimic_built, "charlson", {"hadm_id": 25384176}, "congestive_heart_failure")
    own = {row for (row,) in asked(
        mimic_built, "SELECT rowid FROM mimiciv_hosp.diagnoses_icd WHERE hadm_id = ?", 25384176
    )}  # fmt: skip
    for event in of_table(cell, "diagnoses_icd"):
        assert event.rule.startswith("of another admission") == (event.row not in own)
    used = {e.item_id for e in cell.events if e.role in ("decisive", "entered") and e.item_id}
    assert used >= {"9 4280", "9 42833"}
    cell = traced(mimic_built, "charlson", {"hadm_id": 25384176}, "charlson_comorbidity_index")
    twin = {e.role for e in cell.events if e.item_id == "9 42833" and e.row in own}
    assert twin <= {"decisive", "entered"}
    cell = traced(mimic_built, "charlson", {"hadm_id": 27417763}, "mild_liver_disease")
    assert {e.role for e in of_table(cell, "diagnoses_icd")} <= {"rejected", "outside"}
    cell = traced(mimic_built, "apsiii-24h", {"stay_id": 35514836}, "acidbase_score")
    for event in of_table(cell, "labevents"):
        late = event.start >= cell.stay[0] + DAY
        assert event.rule.startswith("after the window") == late
    cell = traced(mimic_built, "meld-24h", {"stay_id": 32119961}, "meld")
    present = [e for e in cell.events if e.item == "Dialysis Catheter Site Appear"]
    assert "entered" in {e.role for e in present}


@pytest.mark.shared_data
def test_what_chose_the_rows_of_an_outer_join_is_looked_into(mimic_built: Home):
    cell = traced(mimic_built, "sirs-24h", {"stay_id": 39497668}, "resp_score")
    specimens = [e for e in cell.events if e.item == "Specimen Type"]
    used = {e.value for e in specimens if e.role in ("decisive", "entered")}
    assert used == {"ART."}
    mixed = {e.rule for e in specimens if e.value == "MIX."}
    assert "not met: bg.specimen = 'ART.'" in mixed


@pytest.mark.shared_data
def test_a_measurement_that_only_shows_that_there_was_a_specimen_is_not_decisive(
    mimic_built: Home,
):
    cell = traced(mimic_built, "sapsii-24h", {"stay_id": 35514836}, "pao2fio2_score")
    assert "decisive" not in {e.role for e in cell.events if e.item == "Temperature"}


@pytest.mark.shared_data
def test_where_the_first_choice_gave_the_value_the_second_has_no_part(mimic_built: Home):
    key = {"subject_id": 10039708, "ab_id": 22}
    cell = traced(mimic_built, "suspicion-infection", key, "culture_time")
    used = {e.start for e in of_table(cell, "microbiologyevents") if e.role == "decisive"}
    assert used == {cell.value}


@pytest.mark.shared_data
def test_of_prescriptions_only_those_of_the_drugs_looked_for_are_shown(mimic_built: Home):
    key = {"subject_id": 10039708, "ab_id": 22}
    cell = traced(mimic_built, "suspicion-infection", key, "suspected_infection_time")
    drugs = of_table(cell, "prescriptions")
    topical = [e for e in drugs if e.item == "Neomycin-Polymyxin-Bacitracin TP"]
    assert topical
    assert {(e.role, "rx.route IN ('OU'" in e.rule) for e in topical} == {("rejected", True)}
    shown = {e.item for e in drugs}
    assert not {d for d in shown if "Heparin" in d or "Sodium Chloride" in d}
    ((taken,),) = asked(
        mimic_built,
        "SELECT count(*) FROM mimiciv_hosp.prescriptions WHERE subject_id = ? "
        "AND contains(lower(drug), 'vancomycin')",
        10039708,
    )
    own = [e for e in drugs if "(of another patient)" not in e.item]
    assert len([e for e in own if "vancomycin" in e.item.lower()]) == taken


@pytest.mark.shared_data
def test_cultures_lie_in_the_windows_around_the_antibiotic(mimic_built: Home):
    key = {"subject_id": 10039708, "ab_id": 22}
    cell = traced(mimic_built, "suspicion-infection", key, "culture_time")
    (ordered,) = asked_row(cell, mimic_built)
    spans = {(w.start, w.end) for w in cell.windows}
    begins = [w.start for w in cell.windows if w.start is not None]
    assert begins == sorted(begins)  # so that a window keeps its number
    assert (ordered - timedelta(hours=72), ordered) in spans
    assert (ordered, ordered + timedelta(hours=24)) in spans
    timed = asked(
        mimic_built,
        "SELECT charttime FROM mimiciv_hosp.microbiologyevents WHERE subject_id = ? "
        "AND charttime IS NOT NULL",
        10039708,
    )
    beyond = Counter(
        "before" if at < ordered - timedelta(hours=72) else "after"
        for (at,) in timed
        if not ordered - timedelta(hours=72) <= at <= ordered + timedelta(hours=24)
    )
    told = Counter(
        event.rule.split(" ", 1)[0]
        for event in of_table(cell, "microbiologyevents")
        if event.start is not None
        and not ordered - timedelta(hours=72) <= event.start <= ordered + timedelta(hours=24)
        and event.start.time() != datetime.min.time()
    )
    assert set(told) <= {"before", "after"}
    assert told["before"] == beyond["before"]
    assert told["after"] == beyond["after"]


def asked_row(cell: CellLineage, home: Home) -> tuple[datetime]:
    again = traced(home, cell.target, cell.key, "antibiotic_time")
    assert isinstance(again.value, datetime)
    return (again.value,)


@pytest.mark.shared_data
def test_a_suspicion_outside_of_a_unit_stay_lies_in_its_hospital_stay(mimic_built: Home):
    cell = traced(
        mimic_built, "suspicion-infection", {"subject_id": 10000032, "ab_id": 1}, "stay_id"
    )
    assert cell.value is None
    ((begin, end),) = asked(
        mimic_built,
        "SELECT admittime, dischtime FROM mimiciv_hosp.admissions WHERE hadm_id = ?",
        22841357,
    )
    assert cell.stay == (begin, end)


@pytest.mark.shared_data
def test_urine_outside_the_frame_of_the_sum_is_told_so(mimic_built: Home):
    at = datetime(2133, 12, 31, 3)  # noqa: DTZ001 - source times have no zone
    key = {"stay_id": 37293400, "charttime": at}
    cell = traced(mimic_built, "urine-output-rate", key, "urineoutput_24hr")
    assert (at - timedelta(hours=23), at) in {(w.start, w.end) for w in cell.windows}
    for event in of_table(cell, "outputevents"):
        inside = at - timedelta(hours=23) <= event.start <= at
        assert inside == (event.role in ("decisive", "entered"))
        if not inside and not event.rule.startswith("of another stay"):
            assert event.rule.startswith("before" if event.start < at else "after")
    # The first heart rate starts the clock; the frame of the sum does not bound heart rates.
    cell = traced(mimic_built, "urine-output-rate", key, "uo_mlkghr_24hr")
    rules = {e.rule for e in cell.events if e.item == "Heart Rate"}
    assert not {rule for rule in rules if "this_row" in rule}


@pytest.mark.shared_data
def test_a_gas_without_ventilation_is_refused_by_what_was_looked_for(mimic_built: Home):
    cell = traced(mimic_built, "sapsii-24h", {"stay_id": 38507547}, "pao2fio2_score")
    rules = {e.rule for e in cell.events if e.item == "pO2"}
    assert any(
        rule.startswith("not met: EXISTS(SELECT 1 FROM mimiciv_derived.ventilation")
        for rule in rules
    )


@pytest.mark.shared_data
def test_a_device_without_a_flow_and_another_gcs_that_goes_before_are_told(mimic_built: Home):
    cell = traced(
        mimic_built, "ventilation", {"stay_id": 38554095, "ventilation_seq": 3},
        "ventilation_status",
    )  # fmt: skip
    assert "not met: flow.charttime = device.charttime" in {e.rule for e in cell.events}
    cell = traced(mimic_built, "gcs-24h", {"stay_id": 35514836}, "gcs_motor")
    (begin, _) = cell.stay
    for event in cell.events:
        if event.role == "outside" and event.start <= begin + DAY:
            assert event.rule.startswith("another row goes before it: ROW_NUMBER()")


@pytest.mark.shared_data
def test_temperatures_in_fahrenheit_were_missed(eicu_built: Home):
    cell = traced(eicu_built, "eicu-oasis", {"patientunitstayid": 1825654}, "temp_score")
    missed = {e.item for e in cell.events if e.role == "missed"}
    assert missed == {"Temperature Temperature (F)"}


@pytest.mark.shared_data
def test_what_lasts_has_to_meet_a_moment_that_no_row_lies_in(mimic_built: Home):
    at = datetime(2133, 12, 31, 3)  # noqa: DTZ001 - source times have no zone
    key = {"stay_id": 37293400, "charttime": at}
    cell = traced(mimic_built, "urine-output-rate", key, "weight")
    assert {(w.start, w.end, w.without) for w in cell.windows if w.start == w.end} == {
        (at, at, (False, False))
    }


@pytest.mark.shared_data
def test_looking_for_what_was_refused_can_be_cancelled_and_says_how_far_it_is(mimic_built: Home):
    done: list[float] = []

    def progress(_stage: str, at: float, _whole: float, _text: str) -> None:
        done.append(at)
        if 2 < at < 3:
            job.cancel()

    job = SimpleJob(on_progress=progress)
    with pytest.raises(Cancelled):
        trace_cell(mimic_built, "mimic-demo", "meld-24h", {"stay_id": 32119961}, "meld", job=job)
    assert 2 < done[-1] < 3


# --- without data


def test_another_patients_order_that_only_shows_what_counts_stands_at_no_time(home_dir: Path):
    when = datetime(2100, 1, 1)  # noqa: DTZ001 - source times have no zone
    order = {"drug": "Vancomycin", "route": "IV", "starttime": when, "stoptime": when}
    _, part = made(
        "SELECT 1",
        {"mimiciv_hosp.prescriptions": [{"subject_id": n, **order} for n in (1, 2)]},
    )
    assert part.of_others(1) == {1}
    with part.database(Home(home_dir)) as con:
        parts = {0: Part("decisive"), 1: Part("decisive")}
        other, own = events(con, part, parts, part.of_others(1))
    assert (own.item, own.start) == ("Vancomycin IV", when)
    assert (other.item, other.start, other.end) == (
        "Vancomycin IV (of another patient)",
        None,
        None,
    )


FILTERED = """
WITH gas AS (
    SELECT
        lab.stay_id,
        lab.valuenum AS po2,
        exists(
            SELECT 1
            FROM mimiciv_icu.procedureevents AS vent
            WHERE
                vent.stay_id = lab.stay_id
                AND vent.value = 'on'
                AND vent.charttime <= lab.charttime
        ) AS is_ventilated
    FROM mimiciv_hosp.labevents AS lab
    WHERE lab.itemid = 50821
)

SELECT
    stay_id,
    max(po2) FILTER (WHERE NOT is_ventilated) AS po2
FROM gas
GROUP BY stay_id
"""


@pytest.fixture
def filtered(home_dir: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, Query, Extract]]:
    gases = [(1, 90.0), (3, 80.0), (5, 70.0)]
    query, part = made(
        FILTERED,
        {
            "mimiciv_hosp.labevents": [
                {"stay_id": 1, "itemid": 50821, "charttime": hour, "valuenum": value}
                for hour, value in gases
            ],
            "mimiciv_icu.procedureevents": [
                {"stay_id": 1, "charttime": 2, "value": "off"},
                {"stay_id": 1, "charttime": 4, "value": "on"},
            ],
        },
    )
    with part.database(Home(home_dir)) as con:
        part.build(con, mode="all")
        yield con, query, part


def test_what_a_filter_refuses_and_what_made_it_refuse_are_followed(
    filtered: tuple[duckdb.DuckDBPyConnection, Query, Extract],
):
    con, query, part = filtered
    block = blocks_of(query, part.columns)[0]
    trails = leaves(block, "po2", part.columns)
    by_table = {leaf.table: leaf for leaf in trails}
    assert set(by_table) == {"mimiciv_hosp.labevents", "mimiciv_icu.procedureevents"}
    vent = by_table["mimiciv_icu.procedureevents"]
    assert ("true", "value = 'on'") in vent.rules
    unmet = unmet_on_the_way(Ways(con, part, SimpleJob()), trails, {"stay_id": 1})
    refused = unmet[by_table["mimiciv_hosp.labevents"]].rules
    assert {address & 0xFF: rule for address, rule in refused.items() if address >> 40 == 0} == {
        2: "not met: NOT is_ventilated"
    }


def test_a_comparison_refuses_only_where_no_other_value_takes_its_place():
    def rules(sql: str) -> list[str]:
        return [t.sql() for t in refusing(sqlglot.parse_one(sql, read="duckdb"))]

    assert rules("CASE WHEN rate > 0 THEN rate / weight ELSE rate END") == []
    assert rules("CASE WHEN rate > 0 THEN rate END") == ["rate > 0"]
    assert rules("if(rate > 0, rate, NULL)") == ["rate > 0"]
    assert rules("if(rate > 0, rate, 0)") == []
    assert rules("max(rate) FILTER (WHERE rate > 0)") == ["rate > 0"]


def test_a_frame_is_filled_from_the_key():
    query, part = made(
        "SELECT stay_id, charttime, sum(uo) OVER w AS total, sum(uo) OVER () AS whole "
        "FROM s.urine WINDOW w AS (PARTITION BY stay_id ORDER BY charttime "
        "RANGE BETWEEN INTERVAL 5 HOURS PRECEDING AND CURRENT ROW)",
        {"s.urine": [{"stay_id": 1, "charttime": datetime(2100, 1, 1), "uo": 5.0}]},  # noqa: DTZ001
    )
    block = blocks_of(query, part.columns)[0]
    assert frames(block, block.outputs["whole"]) == ()
    lower, upper = sorted(frames(block, block.outputs["total"]), key=told, reverse=True)
    assert told(upper) == "charttime <= this_row.charttime"
    assert told(lower) == "charttime >= this_row.charttime - INTERVAL '5' HOURS"
    assert filled(lower, {"stay_id": 1}) is None
    at = datetime(2100, 1, 2, 3, 4)  # noqa: DTZ001
    bound = filled(lower.expression, {"charttime": at})
    assert duckdb.execute(f"SELECT {bound.sql(dialect='duckdb')}").fetchone() == (
        at - timedelta(hours=5),
    )
