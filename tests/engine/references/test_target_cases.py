"""Every edge case of the targets, in two orders of rows and two thread counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from concept_cases import SEEDS, Case, all_cases, check_case, load_cases, run_query
from sqlglot import parse_one

from engine.catalogue.task import Task, list_tasks
from engine.concepts.honesty import lies
from engine.references import find_target, list_targets
from engine.references.targets import kind_of

HERE = Path(__file__).parent
CASES = HERE / "cases"
CONCEPT_CASES = HERE.parent / "concepts" / "cases"
# Targets that rest on a concept of the same rows: its cases hold for them too, but for the columns
# named here (and those that the target leaves out).
GASES = ("apsiii", "pao2_aado2_score", "acidbase_score")
RESTS_ON = {
    "apsiii-24h": ("apsiii", GASES),
    "charlson": ("charlson", ()),
    "creatinine-baseline": ("creatinine_baseline", ()),
    "meld-24h": ("meld", ()),
    "oasis-24h": ("oasis", ()),
    "sapsii-24h": ("sapsii", ()),
    "sepsis3": ("sepsis3", ("sepsis3",)),
    "sirs-24h": ("sirs", ()),
    "sofa-24h": ("first_day_sofa", ("sofa", "respiration", "cardiovascular")),
    "urine-output-rate": ("urine_output_rate", ()),
}
# What is missing there scores 0 here: these columns, by their ends.
ZERO = {
    "apsiii-24h": "_score",
    "oasis-24h": "_score",
    "sapsii-24h": "_score",
    "sirs-24h": "_score",
    "sofa-24h": ("coagulation", "liver", "cns", "renal"),
}


def _inherited(key: str) -> Iterator[tuple[str, Case]]:
    concept, differ = RESTS_ON[key]
    kept = set(parse_one(find_target(key).sql, dialect="duckdb").named_selects) - set(differ)
    for case in load_cases(CONCEPT_CASES / f"{concept}.toml"):
        columns = [column for column in case.expected_columns if column in kept]
        if columns:
            rows = [
                {name: _zero(key, name, row[name]) for name in columns} for row in case.expected
            ]
            yield key, replace(case, expected_columns=columns, expected=rows)


def _zero(key: str, column: str, cell: str | None) -> str | None:
    return "0" if cell is None and column.endswith(ZERO.get(key, ())) else cell


OWN = all_cases(CASES)
INHERITED = [found for key in RESTS_ON for found in _inherited(key)]


@pytest.mark.parametrize(("key", "case"), [pytest.param(k, c, id=f"{k}-{c.name}") for k, c in OWN])
def test_edge_case(key: str, case: Case) -> None:
    target = find_target(key)
    check_case(target, case)
    for seed in SEEDS:
        check_case(target, case, seed=seed, threads=2)


@pytest.mark.parametrize(
    ("key", "case"), [pytest.param(k, c, id=f"{k}-{c.name}") for k, c in INHERITED]
)
def test_edge_case_of_the_concept(key: str, case: Case) -> None:
    check_case(find_target(key), case)


def test_every_target_has_edge_cases() -> None:
    assert {path.stem for path in CASES.glob("*.toml")} == set(list_targets())


def test_types_of_decimals() -> None:
    decimals = {
        (key, column): type_name
        for key in list_targets()
        for column, type_name in run_query(find_target(key), {})[0].items()
        if type_name not in ("BIGINT", "INTEGER", "DOUBLE", "VARCHAR", "TIMESTAMP")
    }
    parts = ("gcs_min", "gcs_motor", "gcs_verbal", "gcs_eyes")
    dose = ("vasopressor-equivalents", "norepinephrine_equivalent_dose")
    assert decimals == {
        **{("eicu-gcs", part): "DECIMAL(18,3)" for part in parts},
        **{("urine-output-rate", f"uo_mlkghr_{h}hr"): "DECIMAL(18,3)" for h in (6, 12, 24)},
        **{("urine-output-rate", f"uo_tm_{h}hr"): "DECIMAL(18,2)" for h in (6, 12, 24)},
        dose: "DECIMAL(18,3)",
    }


@pytest.mark.parametrize("key", sorted(list_targets()))
def test_every_header_says_what_the_sql_reads(key: str) -> None:
    assert lies(find_target(key)) == ()


@pytest.mark.parametrize("task", list_tasks(), ids=lambda task: task.name)
def test_every_task_has_its_target(task: Task) -> None:
    target = find_target(task.target)
    assert task.evaluation.key_columns == target.key
    assert task.source_kind == kind_of(target)
