"""More errors of the same kinds, written after the signatures were done and never tuned to."""

from __future__ import annotations

from planted_errors import edit, wrap

PLANTED = (
    edit("aado2_mean", "mimic-apsiii-24h-raw", "mean-worst", "aado2",
         reference=("max(aado2) FILTER", "avg(aado2) FILTER")),
    wrap("copied_dementia", "mimic-charlson-raw", "copied-column", "dementia",
         "SELECT * REPLACE (paraplegia AS dementia) FROM reference"),
    wrap("baseline_micromoles", "mimic-creatinine-baseline", "unit-factor", "88.4",
         "SELECT * REPLACE (scr_baseline * 88.4 AS scr_baseline) FROM reference"),
    edit("short_window", "eicu-gcs", "window", "720|1440",
         reference=("BETWEEN -360 AND 1440", "BETWEEN -360 AND 720")),
    edit("eyes_left_null", "eicu-gcs", "missing-left-null null-versus-normal", "eyes",
         reference=("coalesce(lowest.eyes, 4)", "lowest.eyes")),
    edit("urine_strict", "eicu-oasis", "rule-dropped", "airway|oobintubday1|intubated",
         reference=("        OR coalesce(pred.oobintubday1 = 1, FALSE)\n", "")),
    edit("until_twelve", "mimic-gcs-24h-raw", "window", "12",
         reference=("stay.intime + INTERVAL 24 HOURS", "stay.intime + INTERVAL 12 HOURS")),
    edit("crrt_ignored", "mimic-kdigo-48h", "source-dropped rule-dropped missing-as-value", "crrt",
         kdigo_stages=(("            coalesce(by_urine.stage, 0),\n"
                        "            coalesce(by_crrt.stage, 0)\n"),
                      "            coalesce(by_urine.stage, 0)\n")),
    edit("sodium_highest", "mimic-meld-24h-raw", "min-max", "sodium",
         first_day_lab=("min(lab.sodium) AS sodium_min", "max(lab.sodium) AS sodium_min")),
    wrap("oasis_per_patient", "mimic-oasis-24h-raw", "filtered-cohort grain", "first stay|patient",
         "SELECT r.* FROM reference r JOIN mimiciv_icu.icustays i USING (stay_id) QUALIFY "
         "row_number() OVER (PARTITION BY i.subject_id ORDER BY i.intime) = 1"),
    edit("mean_pressure", "mimic-oasis-24h", "mean-worst", "mbp",
         first_day_vitalsign=("min(vital.mbp)", "avg(vital.mbp)")),
    wrap("saps_without_age", "mimic-sapsii-24h-raw", "sum-of-parts", "age_score",
         "SELECT * REPLACE (sapsii - age_score AS sapsii) FROM reference"),
    wrap("sepsis_a_day_late", "mimic-sepsis3-raw", "off-by-day", "sofa_time",
         "SELECT * REPLACE (sofa_time + INTERVAL 1 DAY AS sofa_time) FROM reference"),
    edit("breaths_from_twenty", "mimic-sirs-24h-raw", "threshold-edge", "resp_rate",
         sirs=("vital.resp_rate_max > 20.0", "vital.resp_rate_max >= 20.0")),
    edit("vent_ignored", "mimic-sofa-24h", "rule-dropped condition-dropped", "vent",
         reference=("WHEN ratio.vent < 100 THEN 4\n", "WHEN FALSE THEN 4\n")),
    edit("sofa_full_day_after", "mimic-sofa-24h-raw", "window", "24|48",
         reference=("intime + INTERVAL 24 HOURS", "intime + INTERVAL 48 HOURS")),
    wrap("infection_by_date", "mimic-suspicion-infection", "date-only", "antibiotic_time",
         "SELECT * REPLACE (date_trunc('day', antibiotic_time) AS antibiotic_time) "
         "FROM reference"),
    wrap("swapped_volumes", "mimic-urine-output-rate", "swapped-columns",
         "urineoutput_6hr|urineoutput_12hr",
         "SELECT * REPLACE (urineoutput_6hr AS urineoutput_12hr, "
         "urineoutput_12hr AS urineoutput_6hr) FROM reference"),
    edit("dopamine_tenfold", "mimic-vasopressor-equivalents-raw", "unit-conversion", "dopamine",
         norepinephrine_equivalent_dose=("dopamine / 100", "dopamine")),
    wrap("ventilation_capitals", "mimic-ventilation", "label-spelling", "capital|spelling|labels",
         "SELECT * REPLACE (upper(ventilation_status) AS ventilation_status) FROM reference"),
)  # fmt: skip
