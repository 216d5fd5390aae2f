"""Lineage: a cell computed again from only the rows shown as used has the reference's value.

``make proofs`` tries a thousand cells of every target, ``make test`` a hundred.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from proofs import WHOLE

from engine.base.duck import quote_text
from engine.base.errors import HarnessFault, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.concepts.graph import concept_graph
from engine.diagnosis.lineage import CellLineage, Window, trace_cell
from engine.diagnosis.lineage.annotate import annotated
from engine.diagnosis.lineage.candidates import why_not
from engine.diagnosis.lineage.cell import of_row, used
from engine.diagnosis.lineage.events import SHAPES
from engine.diagnosis.lineage.extract import Extract, extract, is_dictionary
from engine.diagnosis.lineage.knockout import KEEPS_OUT
from engine.diagnosis.lineage.model import EPOCH
from engine.diagnosis.lineage.scope import Relation
from engine.references import find_target, list_targets
from engine.references.state import parquet_path
from engine.references.targets import kind_of
from engine.sources import find_source

CELLS = 1000 if WHOLE else 100
MIMIC = [key for key, target in list_targets().items() if kind_of(target) == "mimic-iv"]
EICU = [key for key, target in list_targets().items() if kind_of(target) == "eicu"]


def home_of(request: pytest.FixtureRequest, target: str) -> tuple[Home, str]:
    eicu = kind_of(find_target(target)) == "eicu"
    home: Home = request.getfixturevalue("eicu_built" if eicu else "mimic_built")
    return home, "eicu-demo" if eicu else "mimic-demo"


def rounds_of_cells(con: duckdb.DuckDBPyConnection, whole: Extract, columns: list[str]):
    """Random cells, one a patient in each round, `CELLS` in all."""
    key = whole.target.key
    people = "subject_id" if "subject_id" in whole.columns.of(whole.tables[-1]) else key[0]
    if people not in key and people == "subject_id":
        ids = "mimiciv_icu.icustays" if "stay_id" in key else "mimiciv_hosp.admissions"
        name = "stay_id" if "stay_id" in key else "hadm_id"
        people = f"(SELECT any_value(i.subject_id) FROM {ids} AS i WHERE i.{name} = t.{name})"
    # Always the same cells: the order of the table's rows is by chance.
    order = ", ".join(f"t.{name}" for name in key)
    rows = con.execute(
        f"SELECT t.rowid, {people} FROM main.target AS t ORDER BY {order}"
    ).fetchall()
    chance = random.Random(f"{whole.target.name}")
    left = CELLS
    while left > 0:
        chance.shuffle(rows)
        one_each = {person: row for row, person in rows}
        cells = [(row, chance.choice(columns)) for row in list(one_each.values())[:left]]
        left -= len(cells)
        yield cells


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.shared_data
@pytest.mark.parametrize("target", [*MIMIC, *EICU])
def test_cells_come_out_of_the_rows_shown_as_used(request: pytest.FixtureRequest, target: str):
    home, source = home_of(request, target)
    query = find_target(target)
    whole = extract(find_source(home, source), query, None)
    key = list(query.key)
    tested = 0
    doubtful: list[tuple[dict[str, object], str]] = []
    with whole.database(home) as con:
        relation = whole.build(con, mode="decisive")
        values_are_untouched(con, relation, parquet_path(home, source, target))
        columns = [name for name in relation.columns if name not in key]
        for cells in rounds_of_cells(con, whole, columns):
            wanted = {}
            alone: dict[tuple[object, ...], set[int]] = {}
            for row, column in cells:
                values = con.execute(
                    f"SELECT {used(relation, query, column)}, {column}, {', '.join(key)} "
                    f"FROM main.target WHERE rowid = {row}"
                ).fetchone()
                assert values is not None
                cell = (*values[2:], column)
                wanted[cell], alone[cell] = values[1], set(values[0])
            tested += len(wanted)
            # One patient's rows may lend another's a drug that counts: those are tried alone.
            together = set[int]().union(*alone.values())
            wrong = not_again(home, whole, together, wanted)
            for cell in wrong:
                if not_again(home, whole, alone[cell], {cell: wanted[cell]}):
                    *at, column = cell
                    doubtful.append((dict(zip(key, at, strict=True)), column))
    assert tested >= CELLS
    # Where a row that is left out changes its neighbours, the cell is shown with more rows.
    assert len(doubtful) <= tested // 100
    for row_key, column in doubtful:
        assert trace_cell(home, source, target, row_key, column, job=SimpleJob()).verified


def not_again(
    home: Home,
    whole: Extract,
    addresses: set[int],
    wanted: Mapping[tuple[object, ...], object],
) -> list[tuple[object, ...]]:
    """Cells (key and column) that do not come out of these rows alone as they should."""
    wrong = []
    with whole.database(home, only=addresses) as small:
        whole.build(small, mode=None)
        for (*at, column), value in wanted.items():
            row_key = dict(zip(whole.target.key, at, strict=True))
            if [r[0] for r in of_row(small, row_key, column)] != [value]:
                wrong.append((*at, column))
    return wrong


def values_are_untouched(con: duckdb.DuckDBPyConnection, relation: Relation, path: Path) -> None:
    names = ", ".join(relation.columns)
    built, kept = (
        f"SELECT {names} FROM main.target",
        f"SELECT {names} FROM read_parquet({quote_text(str(path))})",
    )
    for one, other in ((built, kept), (kept, built)):
        assert con.execute(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchone() == (0,)


@pytest.mark.shared_data
@pytest.mark.parametrize("target", [*MIMIC, *EICU])
def test_a_cell_is_traced(request: pytest.FixtureRequest, target: str):
    home, source = home_of(request, target)
    query = find_target(target)
    path = quote_text(str(parquet_path(home, source, target)))
    with duckdb.connect() as con:
        cursor = con.execute(f"SELECT * FROM read_parquet({path}) USING SAMPLE 1 (reservoir, 7)")
        names = [d[0] for d in cursor.description]
        row = dict(zip(names, cursor.fetchone(), strict=True))
    key = {name: row[name] for name in query.key}
    column = next(n for n in names if n not in query.key and n not in ("subject_id", "hadm_id"))
    traced = trace_cell(home, source, target, key, column, job=SimpleJob())
    assert (traced.value, traced.verified, traced.notes) == (row[column], True, ())
    assert any(event.role == "decisive" for event in traced.events)
    for event in traced.events:
        told = event.role in ("outside", "rejected", "missed") or event.rule.startswith(KEEPS_OUT)
        assert bool(event.rule) == told
    stamps = [event.start for event in traced.events if event.start]
    assert stamps == sorted(stamps)


@pytest.mark.shared_data
def test_the_parts_of_a_sofa_component(mimic_built: Home):
    """Worked out by hand from the rows of one stay of the open demo."""
    traced = trace_cell(
        mimic_built, "mimic-demo", "sofa-24h", {"stay_id": 34107647}, "coagulation",
        job=SimpleJob(),
    )  # fmt: skip
    assert traced.value == 0
    (decisive,) = [
        e for e in traced.events if e.role == "decisive" and e.table.endswith("labevents")
    ]
    assert (decisive.item, decisive.number, decisive.unit) == ("Platelet Count", 221.0, "K/uL")
    roles = {e.role for e in traced.events if e.item == "Platelet Count"}
    assert roles == {"decisive", "entered", "outside", "rejected"}
    (window,) = traced.windows
    for event in traced.events:
        if event.item == "Platelet Count" and event.role in ("decisive", "entered"):
            assert window.start <= event.start <= window.end
        if event.role == "outside":
            assert not window.start <= event.start <= window.end
            assert event.rule.startswith(("before the window", "after the window"))
        if event.role == "rejected":
            assert event.rule == "not recorded: valuenum > 0"
            assert event.number is None
    names = [(step.name, step.value) for step in traced.steps]
    assert names[1] == ("first_day_sofa.coagulation", 0)
    assert names[2] == ("first_day_lab.platelets_min", 221.0)


def traced(home: Home, target: str, key: Mapping[str, object], column: str) -> CellLineage:
    return trace_cell(home, "mimic-demo", target, key, column, job=SimpleJob())


@pytest.mark.shared_data
def test_a_value_out_of_range_is_rejected_by_that_rule(mimic_built: Home):
    """Three respiratory rates of 0 in the window of one stay, looked up in the open demo."""
    cell = traced(mimic_built, "sirs-24h", {"stay_id": 32155744}, "resp_score")
    nought = [e for e in cell.events if e.number == 0 and e.item == "Respiratory Rate"]
    assert [(e.role, e.rule) for e in nought] == [("rejected", "out of range: valuenum > 0")] * 3
    window = cell.windows[0]
    assert all(window.start <= e.start <= window.end for e in nought)


@pytest.mark.shared_data
def test_a_gas_of_another_specimen_and_a_result_without_an_admission_are_told_so(
    mimic_built: Home,
):
    cell = traced(mimic_built, "sepsis3", {"stay_id": 30757476}, "sofa_score")
    rules = {e.rule for e in cell.events if e.role == "outside"}
    assert "not met: bg.specimen = 'ART.'" in rules
    # Three platelet counts of the patient were recorded without an admission.
    assert any(rule.startswith("no admission is recorded with it: lab.hadm_id") for rule in rules)
    gases = {
        (e.start, e.rule) for e in cell.events if e.item == "Specimen Type" and e.value != "ART."
    }
    assert gases
    assert all("specimen = 'ART.'" in rule or rule.startswith("of an") for _, rule in gases)
    cell = traced(mimic_built, "creatinine-baseline", {"hadm_id": 25561728}, "scr_min")
    assert {e.rule for e in cell.events if e.item == "Creatinine"} == {
        "no admission is recorded with it: adult.hadm_id = lowest.hadm_id",
        "of another admission: adult.hadm_id = lowest.hadm_id",
    }


@pytest.mark.shared_data
def test_the_measurements_behind_a_score_out_of_a_list_of_bands_are_shown(mimic_built: Home):
    cell = traced(mimic_built, "apsiii-24h", {"stay_id": 32155744}, "resp_rate_score")
    items = {e.item for e in cell.events if e.role == "entered"}
    assert items >= {"Respiratory Rate", "Respiratory Rate (Total)"}
    # Under ventilation other bands count: that was looked into as well.
    assert "Ventilator Mode" in {e.item for e in cell.events}
    rates = [e for e in cell.events if e.item == "Respiratory Rate" and e.role == "rejected"]
    assert {e.number for e in rates} == {0}


def test_an_event_on_a_bound_that_does_not_count_is_told_so():
    at = EPOCH
    strict = Window(at, at + timedelta(days=1), "a < b AND b <= c", (True, False))
    assert (
        why_not(at, [[strict]]) == "on the window's bound, which does not count: a < b AND b <= c"
    )
    assert why_not(at + timedelta(days=1), [[strict]]) == ""
    assert why_not(at - timedelta(seconds=1), [[strict]]).startswith("before the window")
    assert why_not(None, [[strict]]) == ""


@pytest.mark.shared_data
def test_a_row_of_an_admission_lies_in_its_hospital_stay(mimic_built: Home):
    cell = traced(mimic_built, "creatinine-baseline", {"hadm_id": 20044587}, "scr_min")
    stay = datetime(2113, 8, 25, 7, 15), datetime(2113, 8, 30, 14, 15)  # noqa: DTZ001 - as all
    assert cell.stay == stay


@pytest.mark.shared_data
def test_wrong_questions_are_answered_in_words(mimic_built: Home):
    def ask(target: str, key: Mapping[str, object], column: str) -> None:
        trace_cell(mimic_built, "mimic-demo", target, key, column, job=SimpleJob())

    with pytest.raises(UsageError, match="no such stay"):
        ask("sofa-24h", {"stay_id": 1}, "sofa")
    with pytest.raises(UsageError, match="no column nothing"):
        ask("sofa-24h", {"stay_id": 34107647}, "nothing")
    with pytest.raises(UsageError, match="not named whole"):
        ask("sofa-24h", {}, "sofa")
    with pytest.raises(UsageError, match="not made from"):
        ask("eicu-gcs", {"patientunitstayid": 1}, "gcs")


@pytest.mark.shared_data
def test_rows_say_what_they_are_where_their_codes_alone_do_not(mimic_built: Home):
    cell = traced(mimic_built, "charlson", {"hadm_id": 20044587}, "charlson_comorbidity_index")
    used = [event for event in cell.events if event.role == "decisive"]
    said = {e.table.partition(".")[2]: (e.item, e.value, e.unit) for e in used}
    without = "without mention of having achieved remission"
    assert said == {
        "admissions": ("Admission ELECTIVE", "SKILLED NURSING FACILITY", "(discharged to)"),
        "diagnoses_icd": (
            f"Diagnosis, ICD 9 20300: Multiple myeloma, {without}",
            2,
            "(seq_num)",
        ),
        "patients": ("Patient, age in the anchor year", 70, "years"),
    }


def test_every_table_behind_a_target_has_a_shape():
    graph = concept_graph()
    tables = {t for target in list_targets().values() for t in graph.base_tables(target)}
    assert {t for t in tables if not is_dictionary(t)} <= set(SHAPES)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT (SELECT max(b.x) AS m FROM s.t AS b) AS x FROM s.t",
        "SELECT a.x FROM s.t AS a RIGHT JOIN s.t AS b ON a.x = b.x",
        "SELECT x FROM s.t EXCEPT SELECT y FROM s.t",
        "SELECT z FROM s.t",
    ],
)
def test_what_is_not_known_is_refused(sql: str):
    with pytest.raises(HarnessFault, match="lineage"):
        annotated(sql, {"s.t": Relation(("x", "y"), row=True)}, "decisive")
