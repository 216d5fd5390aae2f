"""Every derived table equals the golden one on the open demo."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_tables import check_against_golden, golden_facts

from engine.base.paths import Home
from engine.concepts import concept_graph
from engine.concepts.query import DERIVED
from engine.sources import find_source, open_source

pytestmark = pytest.mark.shared_data


@pytest.mark.parametrize("name", sorted(concept_graph().concepts))
def test_equal_to_golden(name: str, mimic_built: Home, golden: Path) -> None:
    con = open_source(find_source(mimic_built, "mimic-demo"))
    try:
        check_against_golden(con, f"{DERIVED}.{name}", golden / "mimic-iv-demo", "concepts", name)
    finally:
        con.close()


def test_the_key_of_each_header_names_one_row(mimic_built: Home) -> None:
    con = open_source(find_source(mimic_built, "mimic-demo"))
    try:
        for name, query in concept_graph().concepts.items():
            if query.key:
                listed = ", ".join(query.key)
                twice = con.execute(
                    f"SELECT 1 FROM {DERIVED}.{name} GROUP BY {listed} HAVING count(*) > 1 LIMIT 1"
                ).fetchall()
                assert not twice, f"{name}: the key {listed} repeats"
    finally:
        con.close()


def test_a_wrong_table_is_found(mimic_built: Home, golden: Path) -> None:
    con = open_source(find_source(mimic_built, "mimic-demo"))
    folder = golden / "mimic-iv-demo"
    assert golden_facts(folder, "concepts")["age"]["rows"] > 0
    try:
        for wrong in (
            f"(SELECT * REPLACE (age + 0.001 AS age) FROM {DERIVED}.age)",
            f"(SELECT * FROM {DERIVED}.age LIMIT 274)",
        ):
            with pytest.raises(AssertionError):
                check_against_golden(con, wrong, folder, "concepts", "age")
        almost = f"(SELECT * REPLACE (age + 1e-9 AS age) FROM {DERIVED}.age)"
        check_against_golden(con, almost, folder, "concepts", "age")
    finally:
        con.close()
