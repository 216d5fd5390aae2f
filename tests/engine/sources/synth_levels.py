"""What a source of two thousand stays must contain: score levels, labels and bands.

`LEVELS`: every value that a scored column of a target can take (NULL as None), from the rules of
the targets. `BANDS`: the ranges that the scores cut their inputs into.
"""

from __future__ import annotations

from itertools import pairwise

Level = int | str | None
FLAG = (0, 1)

LEVELS: dict[str, dict[str, tuple[Level, ...]]] = {
    "charlson": {
        "age_score": (0, 1, 2, 3, 4, None),
        **dict.fromkeys(
            (
                "myocardial_infarct",
                "congestive_heart_failure",
                "peripheral_vascular_disease",
                "cerebrovascular_disease",
                "dementia",
                "chronic_pulmonary_disease",
                "rheumatic_disease",
                "peptic_ulcer_disease",
                "mild_liver_disease",
                "diabetes_without_cc",
                "diabetes_with_cc",
                "paraplegia",
                "renal_disease",
                "malignant_cancer",
                "severe_liver_disease",
                "metastatic_solid_tumor",
                "aids",
            ),
            FLAG,
        ),
        "charlson_comorbidity_index": (*range(13), None),
    },
    "ventilation": {
        "ventilation_status": (
            "Tracheostomy",
            "InvasiveVent",
            "NonInvasiveVent",
            "HFNC",
            "SupplementalOxygen",
            "None",
        )
    },
    "apsiii-24h": {
        "hr_score": (0, 1, 5, 7, 8, 13, 17),
        "mbp_score": (0, 4, 6, 7, 9, 10, 15, 23),
        "temp_score": (0, 2, 4, 8, 13, 16, 20),
        "resp_rate_score": (0, 6, 7, 8, 9, 11, 17, 18),
        "pao2_aado2_score": (0, 2, 5, 7, 9, 11, 14, 15),
        "hematocrit_score": (0, 3),
        "wbc_score": (0, 1, 5, 19),
        "creatinine_score": (0, 3, 4, 7, 10),
        "uo_score": (0, 1, 4, 5, 7, 8, 15),
        "bun_score": (0, 2, 7, 11, 12),
        "sodium_score": (0, 2, 3, 4),
        "albumin_score": (0, 4, 6, 11),
        "bilirubin_score": (0, 5, 6, 8, 16),
        "glucose_score": (0, 3, 5, 8, 9),
        "acidbase_score": (0, 1, 2, 3, 4, 5, 6, 9, 12),
        "gcs_score": (0, 3, 8, 10, 13, 15, 16, 24, 29, 33, 48),
    },
    "creatinine-baseline": {"ckd": FLAG, "gender": ("F", "M")},
    "gcs-24h": {
        "gcs_min": tuple(range(3, 16)),
        "gcs_motor": tuple(range(1, 7)),
        "gcs_verbal": tuple(range(6)),
        "gcs_eyes": tuple(range(1, 5)),
    },
    "kdigo-48h": {
        "aki_stage": (0, 1, 2, 3),
        "aki_stage_creat": (0, 1, 2, 3),
        "aki_stage_uo": (0, 1, 2, 3),
        "aki_stage_crrt": (0, 3),
    },
    "oasis-24h": {
        "preiculos_score": (0, 1, 2, 3, 5),
        "age_score": (0, 3, 6, 7, 9),
        "gcs_score": (0, 3, 4, 10),
        "heart_rate_score": (0, 1, 3, 4, 6),
        "mbp_score": (0, 2, 3, 4),
        "resp_rate_score": (0, 1, 6, 9, 10),
        "temp_score": (0, 2, 3, 4, 6),
        "urineoutput_score": (0, 1, 5, 8, 10),
        "mechvent_score": (0, 9),
        "electivesurgery_score": (0, 6),
    },
    "sapsii-24h": {
        "age_score": (0, 7, 12, 15, 16, 18),
        "hr_score": (0, 2, 4, 7, 11),
        "sysbp_score": (0, 2, 5, 13),
        "temp_score": (0, 3),
        "pao2fio2_score": (0, 6, 9, 11),
        "uo_score": (0, 4, 11),
        "bun_score": (0, 6, 10),
        "wbc_score": (0, 3, 12),
        "potassium_score": (0, 3),
        "sodium_score": (0, 1, 5),
        "bicarbonate_score": (0, 3, 6),
        "bilirubin_score": (0, 4, 9),
        "gcs_score": (0, 5, 7, 13, 26),
        "comorbidity_score": (0, 9, 10, 17),
        "admissiontype_score": (0, 6, 8),
    },
    "sepsis3": {
        "sepsis3": (1,),
        **dict.fromkeys(
            ("respiration", "coagulation", "liver", "cardiovascular", "cns", "renal"), range(5)
        ),
    },
    "sirs-24h": {
        "sirs": tuple(range(5)),
        **dict.fromkeys(("temp_score", "heart_rate_score", "resp_score", "wbc_score"), FLAG),
    },
    "sofa-24h": dict.fromkeys(
        ("respiration", "coagulation", "liver", "cardiovascular", "cns", "renal"), range(5)
    ),
    "suspicion-infection": {"suspected_infection": FLAG, "positive_culture": (0, 1, None)},
    "eicu-gcs": {
        "gcs_min": tuple(range(3, 16)),
        "gcs_motor": tuple(range(1, 7)),
        "gcs_verbal": tuple(range(1, 6)),
        "gcs_eyes": tuple(range(1, 5)),
    },
    "eicu-oasis": {
        "preiculos_score": (0, 1, 2, 3, 5),
        "age_score": (0, 3, 6, 7, 9),
        "gcs_score": (0, 3, 4, 10),
        "heart_rate_score": (0, 1, 3, 4, 6),
        "mbp_score": (0, 2, 3, 4),
        "resp_rate_score": (0, 1, 6, 9, 10),
        "temp_score": (0, 2, 3, 4, 6),
        "urineoutput_score": (0, 1, 5, 8, 10),
        "mechvent_score": (0, 9),
        "electivesurgery_score": (0, 6),
    },
    # Continuous results: both a number and null where null is possible.
    "meld-24h": {},
    "urine-output-rate": {},
    "vasopressor-equivalents": {},
}  # fmt: skip

NULLABLE: dict[str, tuple[str, ...]] = {
    "creatinine-baseline": ("scr_min", "scr_baseline"),
    "suspicion-infection": (
        "specimen",
        "antibiotic_time",
        "suspected_infection_time",
        "culture_time",
    ),
    "urine-output-rate": ("weight", "uo_mlkghr_6hr", "uo_mlkghr_12hr", "uo_mlkghr_24hr"),
    "vasopressor-equivalents": ("norepinephrine_equivalent_dose",),
}
"""Columns without levels that can be null: both must occur."""

_INF = float("inf")


def bands(*edges: float) -> tuple[tuple[float, float], ...]:
    """The half-open ranges between the edges, both ends open."""
    return tuple(pairwise((-_INF, *edges, _INF)))


BANDS: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {
    ("first_day_vitalsign", "heart_rate_max"): bands(
        88.5, 100, 106.2, 107, 110, 120, 125.1, 140, 155, 160
    ),
    ("first_day_vitalsign", "heart_rate_min"): bands(30, 33, 40, 50, 70),
    ("first_day_vitalsign", "mbp_min"): bands(20.65, 40, 51, 60, 61.33, 70, 80),
    ("first_day_vitalsign", "mbp_max"): bands(100, 120, 130, 140, 143.45),
    ("first_day_vitalsign", "sbp_min"): bands(40, 70, 90, 100),
    ("first_day_vitalsign", "sbp_max"): bands(200, 240, 270),
    ("first_day_vitalsign", "resp_rate_min"): bands(6, 12, 13, 14),
    ("first_day_vitalsign", "resp_rate_max"): bands(20.1, 22.1, 25, 30.1, 35, 40, 44.1, 50),
    ("first_day_vitalsign", "temperature_min"): bands(33, 33.22, 33.5, 34, 35, 35.94, 36, 36.4),
    ("first_day_vitalsign", "temperature_max"): bands(35.94, 36.89, 38.01, 39, 39.89, 40),
    ("first_day_vitalsign", "glucose_max"): bands(200, 350),
    ("first_day_vitalsign", "glucose_min"): bands(40, 60),
    ("first_day_lab", "hematocrit_max"): bands(41, 50),
    ("first_day_lab", "wbc_min"): bands(1, 2.5, 3, 4),
    ("first_day_lab", "wbc_max"): bands(12.1, 20, 25, 50),
    ("first_day_lab", "creatinine_max"): bands(0.5, 1, 1.2, 1.5, 1.95, 3.5, 4.1, 5),
    ("first_day_lab", "bun_max"): bands(17, 20, 28, 40, 56, 80, 84),
    ("first_day_lab", "sodium_max"): bands(135, 145, 155),
    ("first_day_lab", "sodium_min"): bands(120, 125, 135, 137.1),
    ("first_day_lab", "albumin_min"): bands(2, 2.5),
    ("first_day_lab", "albumin_max"): bands(4.5),
    ("first_day_lab", "bilirubin_total_max"): bands(1.0, 1.2, 2, 3, 4, 5, 6, 8, 12),
    ("first_day_lab", "platelets_min"): bands(20, 50, 100, 150),
    ("first_day_lab", "potassium_min"): bands(3),
    ("first_day_lab", "potassium_max"): bands(5),
    ("first_day_lab", "bicarbonate_min"): bands(15, 20),
    ("first_day_lab", "bands_max"): bands(10.1),
    ("first_day_lab", "inr_max"): bands(1, 1.1),
    ("first_day_lab", "pt_max"): bands(15.1),
    ("first_day_urine_output", "urineoutput"): bands(
        200, 400, 410, 500, 600, 671.09, 750, 900, 1000, 1427, 1500, 2000, 2544.15, 4000, 6896.81
    ),
    ("first_day_bg_art", "pao2fio2ratio_min"): bands(100, 200, 300, 400),
    ("first_day_bg_art", "po2_max"): bands(50, 70, 80),
    ("first_day_bg_art", "aado2_max"): bands(100, 250, 350, 500),
    ("first_day_bg_art", "pco2_min"): bands(32),
}  # fmt: skip
"""Ranges of derived first-day values; each must have a stay, and null must occur."""

MIMIC_NEEDED = {table for table, _ in BANDS} | {"kdigo_stages", "first_day_rrt", "crrt", "bg"}
"""Derived tables that the tests read besides those of the targets."""
