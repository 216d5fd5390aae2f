"""Numbers that may name a person in a review, and those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from engine.reviews.identifiers import may_name_a_person, values_name_a_person


@pytest.mark.parametrize(
    "text",
    [
        "stay 30000001",
        "It is 30000001.",
        "(see 10000032, hour 3)",
        "stay_30000001",
        "uniquepid 002-33870",
        "031-1234.",
        "stay 141168",
        "Stay 141168.",
        "unit stay 3353263",
        "patientunitstayid = 3353263",
        "WHERE patientunitstayid IN (141168, 141203)",
        "patienthealthsystemstayid: 128919",
        "patient #141168",
        "stays 141168 and 141203 lack it",
        "stays 3, 141203",
        "icu_stay_id 141168",
        "for pid 141168 only",
        "unitstayid=141168",
        "admission no. 141168",
    ],
)
def test_what_may_name_a_person(text: str):
    assert may_name_a_person(text)


@pytest.mark.parametrize(
    "text",
    [
        "item 220045 and itemid 223901",
        "itemid IN (220045, 220050)",
        "stays with itemid 220045",
        "patients with 220045 charted",
        "labitem 50912",
        "200859 stays and 139367 patients",
        "stays: 200859, patients = 139367",
        "412345 rows, 1234567 of them null",
        "in patients 412345 values are null",
        "313645063 chart events",
        "1,234,567 stays",
        "0.30000001 and 12345678.5",
        "2026-11-30 08:15",
        "ICD 410-41091 and I50.9",
        "lines 100-120, 002-003",
        "sha256 a1230000001bf30000001",
        "within 24 hours of the stay, 6 mg",
        "the patient is 65; stay of 120000 minutes",
        "",
    ],
)
def test_what_does_not(text: str):
    assert not may_name_a_person(text)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"stay_id": 30000001}, True),
        ({"patientunitstayid": 141168}, True),
        ({"patientunitstayid": "141168"}, True),
        ([{"patientunitstayid": [3, 3353263]}], True),
        ({"rows": 30000001, "stays": 200859, "itemid": 220045, "ok": True}, False),
        ({"query": "SELECT count(*) FROM t WHERE itemid = 220045", "date": "2026-01-01"}, False),
        ({"query": "… WHERE patientunitstayid = 141168"}, True),
        ({"002-33870": 1}, True),
    ],
)
def test_values_are_told_by_their_names(value: Any, names: bool):
    assert values_name_a_person(value) is names


def test_long_texts_take_no_time():
    for part in ("stay ", "stay", "1, ", "patients in ", " ", "1234567"):
        assert not may_name_a_person(part * (20_000 // len(part)) + "x")
