"""Every edge case of the targets, in two orders of rows and two thread counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from concept_cases import Case, all_cases, check_case, load_cases

from engine.catalogue.task import Task, list_tasks
from engine.concepts.honesty import lies
from engine.references import find_target, list_targets
from engine.references.targets import kind_of

HERE = Path(__file__).parent
CASES = HERE / "cases"
CONCEPT_CASES = HERE.parent / "concepts" / "cases"
# Targets that are a concept unchanged: its cases hold for them too.
SAME = ("charlson",)
ALL = [
    *all_cases(CASES),
    *((key, case) for key in SAME for case in load_cases(CONCEPT_CASES / f"{key}.toml")),
]


@pytest.mark.parametrize(("key", "case"), [pytest.param(k, c, id=f"{k}-{c.name}") for k, c in ALL])
def test_edge_case(key: str, case: Case) -> None:
    target = find_target(key)
    check_case(target, case)
    for seed in (1, 2):
        check_case(target, case, seed=seed, threads=2)


def test_every_target_has_edge_cases() -> None:
    assert {path.stem for path in CASES.glob("*.toml")} == set(list_targets())


@pytest.mark.parametrize("key", sorted(list_targets()))
def test_every_header_says_what_the_sql_reads(key: str) -> None:
    assert lies(find_target(key)) == ()


@pytest.mark.parametrize("task", list_tasks(), ids=lambda task: task.name)
def test_every_task_has_its_target(task: Task) -> None:
    target = find_target(task.target)
    assert task.evaluation.key_columns == target.key
    assert task.source_kind == kind_of(target)
