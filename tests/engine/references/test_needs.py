"""A missing table is told with everything that rests on it, also through derived tables."""

from __future__ import annotations

from engine.references.needs import needed_for


def test_laboratory_values_are_needed_by_scores_that_read_only_derived_tables() -> None:
    needs = needed_for("mimiciv_hosp.labevents")
    assert {"concept bg", "concept first_day_lab", "concept sofa"} <= set(needs)
    assert {"target sofa-24h", "target meld-24h", "target sepsis3"} <= set(needs)
    assert "target charlson" not in needs
    assert list(needs) == sorted(needs)


def test_eicu_tables_are_needed_by_their_targets_alone() -> None:
    assert needed_for("eicu_crd.nursecharting") == ("target eicu-gcs", "target eicu-oasis")
    assert needed_for("eicu_crd.lab") == ()
