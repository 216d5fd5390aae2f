"""References against their definitions written out naively, on random charting."""

from __future__ import annotations

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from concept_cases import run_query
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.concepts import concept_graph
from engine.references import find_target

LABELS = {
    ("Glasgow coma score", "GCS Total"): "total",
    ("Score (Glasgow Coma Scale)", "Value"): "total",
    ("Glasgow coma score", "Motor"): "motor",
    ("Glasgow coma score", "Verbal"): "verbal",
    ("Glasgow coma score", "Eyes"): "eyes",
    ("Glasgow coma score", "Value"): None,
}
CATEGORIES = ["Scores", "Scores", "Other Vital Signs and Infusions", "Vital Signs"]
VALUES = ["1", "2", "2.5", "3", "4", "6", "8", "15", "15.9", "16", "0", "-", "1 T", " 5 ", "7.0005"]
CHART = st.lists(
    st.tuples(
        st.sampled_from([-361, -360, -10, 0, 5, 1440, 1441]),
        st.sampled_from(CATEGORIES),
        st.sampled_from(sorted(LABELS)),
        st.sampled_from(VALUES),
    ),
    max_size=15,
)
Charted = list[tuple[int, str, tuple[str, str], str]]


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.strip()).quantize(Decimal("0.001"), ROUND_HALF_UP)
    except InvalidOperation:
        return None


def _naive_gcs(chart: Charted) -> tuple[Decimal, ...]:
    times: dict[int, dict[str, list[Decimal]]] = defaultdict(lambda: defaultdict(list))
    for offset, category, label, text in chart:
        part, number = LABELS[label], _number(text)
        if category != "Vital Signs" and part is not None and number is not None:
            times[offset][part].append(number)
    best: tuple[Decimal, int, tuple[Decimal, ...]] | None = None
    for offset, parts in times.items():
        if not -360 <= offset <= 1440:
            continue
        motor = min(parts.get("motor", [Decimal(6)]))
        verbal = min(parts.get("verbal", [Decimal(5)]))
        eyes = min(parts.get("eyes", [Decimal(4)]))
        total = min(parts.get("total", [Decimal(0)]))
        if not 2 < total < 16:
            total = eyes + motor + verbal
        if best is None or (total, offset) < best[:2]:
            best = (total, offset, (motor, verbal, eyes))
    return (best[0], *best[2]) if best else tuple(map(Decimal, (15, 6, 5, 4)))


@settings(max_examples=40, deadline=None)
@given(chart=CHART)
def test_eicu_gcs(chart: Charted) -> None:
    inputs = {
        "eicu_crd.patient": [
            {"patientunitstayid": "1", "uniquepid": "a", "patienthealthsystemstayid": "2"}
        ],
        "eicu_crd.nursecharting": [
            {
                "patientunitstayid": "1",
                "nursingchartoffset": str(offset),
                "nursingchartcelltypecat": category,
                "nursingchartcelltypevallabel": label[0],
                "nursingchartcelltypevalname": label[1],
                "nursingchartvalue": text,
            }
            for offset, category, label, text in chart
        ],
    }
    _, rows = run_query(find_target("eicu-gcs"), inputs, threads=2)
    assert [row[3:] for row in rows] == [_naive_gcs(chart)]


# Around both ends of ranges, short, long, of the wrong version.
CODES = [
    "410", "4109", "412", "425", "4253", "4254", "4259", "426", "40403", "40402", "4373", "572",
    "5721", "5722", "5728", "5729", "140", "172", "1729", "173", "1739", "174", "1740", "179",
    "1958", "1959", "196", "199", "200", "208", "209", "25000", "2504", "2507", "2508", "583",
    "5830", "5837", "5838", "V45", "V4511", "V434", "I21", "I20", "I252", "C43", "C44", "C45",
    "C4A0", "C58", "C59", "C77", "C7A1", "E109", "E1165", "E134", "K7030", "K7290", "B20", "i21",
]  # fmt: skip
WEIGHTS = {
    "myocardial_infarct": 1, "congestive_heart_failure": 1, "peripheral_vascular_disease": 1,
    "cerebrovascular_disease": 1, "dementia": 1, "chronic_pulmonary_disease": 1,
    "rheumatic_disease": 1, "peptic_ulcer_disease": 1, "paraplegia": 2, "renal_disease": 2,
    "aids": 6,
}  # fmt: skip
PAIRS = (
    (("mild_liver_disease", 1), ("severe_liver_disease", 3)),
    (("diabetes_without_cc", 1), ("diabetes_with_cc", 2)),
    (("malignant_cancer", 2), ("metastatic_solid_tumor", 6)),
)


@settings(max_examples=20, deadline=None)
@given(
    diagnoses=st.lists(
        st.tuples(st.sampled_from([1, 2, 3]), st.sampled_from(["9", "10"]), st.sampled_from(CODES)),
        max_size=12,
    ),
    age=st.integers(40, 91),
)
def test_charlson_index_is_the_weighted_sum_of_its_flags(
    diagnoses: list[tuple[int, str, str]], age: int
) -> None:
    patient = {"subject_id": "1", "anchor_age": str(age), "anchor_year": "2150"}
    admissions = [
        {"subject_id": "1", "hadm_id": str(n), "admittime": "2150-06-01"} for n in (1, 2, 3)
    ]
    codes = [{"hadm_id": str(n), "icd_version": v, "icd_code": c} for n, v, c in diagnoses]
    inputs = {
        "mimiciv_hosp.patients": [patient],
        "mimiciv_hosp.admissions": admissions,
        "mimiciv_hosp.diagnoses_icd": codes,
    }
    types, rows = run_query(find_target("charlson"), inputs)
    assert len(rows) == 3
    points = 0 if age < 50 else 1 if age < 60 else 2 if age < 70 else 3 if age < 80 else 4
    single = {}
    for row in rows:
        values = dict(zip(types, row, strict=True))
        assert values["age_score"] == points
        index = points + sum(weight * values[name] for name, weight in WEIGHTS.items())
        index += sum(max(a * values[x], b * values[y]) for (x, a), (y, b) in PAIRS)
        assert values["charlson_comorbidity_index"] == index
        single[values["hadm_id"]] = values
    # An admission's flags are those of its codes alone, whatever the other admissions have.
    query = concept_graph().concepts["charlson"]
    alone = [{**code, "hadm_id": "1"} for code in codes if code["hadm_id"] == "2"]
    types, rows = run_query(
        query, {**inputs, "mimiciv_hosp.diagnoses_icd": alone}, seed=1, threads=2
    )
    first = next(r for r in (dict(zip(types, x, strict=True)) for x in rows) if r["hadm_id"] == 1)
    assert {**first, "hadm_id": 2} == single[2]
