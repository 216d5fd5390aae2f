"""Every edge case in `cases/`, in two orders of rows and two thread counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from concept_cases import SEEDS, Case, all_cases, check_case

from engine.concepts.graph import concept_graph

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize(
    ("name", "case"), [pytest.param(n, c, id=f"{n}-{c.name}") for n, c in all_cases(CASES)]
)
def test_edge_case(name: str, case: Case) -> None:
    query = concept_graph().concepts[name]
    check_case(query, case)
    for seed in SEEDS:
        check_case(query, case, seed=seed, threads=2)


def test_every_concept_has_edge_cases() -> None:
    assert {path.stem for path in CASES.glob("*.toml")} == set(concept_graph().concepts)
