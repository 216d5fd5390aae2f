"""Still more errors of the same kinds, where the others are few; written before any was tried."""

from __future__ import annotations

from planted_errors import edit, wrap

PLANTED = (
    edit("fahrenheit_kept", "mimic-sirs-24h-raw", "unit-conversion unit-factor", "1.8|32",
         vitalsign=("(valuenum - 32) / 1.8", "valuenum")),
    edit("cancer_icd9_only", "mimic-charlson-raw",
         "item-set rule-dropped source-dropped condition-dropped", "c77|metastatic",
         charlson=("    ('metastatic_solid_tumor', 10, 3, 'C77 C78 C79 C80'),\n", "")),
    edit("gap_of_four_hours", "mimic-ventilation", "window interval-split", "4|split",
         ventilation=("INTERVAL 14 HOUR", "INTERVAL 4 HOUR")),
    edit("heart_rate_mean", "eicu-oasis", "mean-worst", "heart rate|number",
         reference=("max(number) FILTER (\n            WHERE label = 'Heart Rate'",
                    "avg(number) FILTER (\n            WHERE label = 'Heart Rate'")),
    edit("bilirubin_micromoles", "mimic-meld-24h-raw", "unit-factor unit-conversion",
         "bilirubin|17.1",
         meld=("0.378 * coalesce(ln(lab.bilirubin_total_max), 0)",
               "0.378 * coalesce(ln(lab.bilirubin_total_max * 17.1), 0)")),
    wrap("age_next_year", "mimic-creatinine-baseline-raw", "constant-offset", "age",
         "SELECT * REPLACE (age + 1 AS age) FROM reference"),
    edit("latest_suspicion", "mimic-sepsis3-raw", "first-last", "suspected_infection_time",
         sepsis3=("soi.suspected_infection_time ASC NULLS FIRST",
                  "soi.suspected_infection_time DESC")),
    edit("rates_added_up", "mimic-vasopressor-equivalents", "sum-aggregate",
         "norepinephrine_equivalent_dose",
         reference=("max(norepinephrine_equivalent_dose)",
                    "sum(norepinephrine_equivalent_dose)")),
    edit("irrigation_counted", "mimic-urine-output-rate-raw",
         "rule-dropped condition-dropped item-set", "227488",
         urine_output=("sum(if(itemid = 227488 AND value > 0, -value, value))", "sum(value)")),
    wrap("joined_by_hospital_stay", "eicu-gcs", "one-to-many-join", "repeated|join",
         "SELECT r.* FROM reference r JOIN reference o USING (patienthealthsystemstayid)"),
    edit("latest_culture", "mimic-suspicion-infection-raw", "first-last",
         "chartdate|charttime|culture",
         reference=("culture.chartdate ASC NULLS FIRST, culture.charttime ASC NULLS FIRST",
                    "culture.chartdate DESC, culture.charttime DESC")),
    edit("mean_ratio", "mimic-sapsii-24h-raw", "mean-worst", "pao2fio2ratio",
         sapsii=("min(bg.pao2fio2ratio)", "avg(bg.pao2fio2ratio)")),
    edit("single_times_of_a_mask", "mimic-ventilation-raw",
         "condition-dropped condition-changed rule-dropped", "noninvasivevent",
         ventilation=("HAVING min(charttime) < max(charttime)",
                      ("HAVING min(charttime) < max(charttime) "
                      "OR max(ventilation_status) = 'NonInvasiveVent'"))),
)  # fmt: skip
