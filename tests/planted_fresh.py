"""A fourth batch, of what agents get wrong in practice; every error and every expected name was
written down before any of it was tried.

At the first trial 17 of the 24 were named first, none later in the list, and seven were not named
as written down:

- asthma_forgotten (27 s): nothing fitted.
- oldest_left_null (1 s): the total follows from its parts; 0 instead of one fixed value.
- any_support_ventilates (4 s): a choice of items left out, and the right condition with it; only
  the kind is another than the one written down.
- room_air_assumed (53 s): the total follows from its parts, and nothing for the parts.
- cefazolin_forgotten (18 s): columns of the agent's own copied, for 5 % of the cells.
- every_weight_joined (104 s): one of the two bounds left out, as a window.
- ends_at_the_last_charting (13 s): a window without the 14 hours.

Of those named first, celsius_only was told as another item in the place of the one left out, and
high_flow_is_oxygen (105 s) as a label left out, for a third of the cells.

The kinds of changes that these seven lacked were then added to the search, and a few faults of it
mended; from then on they are no longer held out.
"""

from __future__ import annotations

from planted_errors import edit, wrap

PLANTED = (
    edit("gases_of_the_whole_stay", "mimic-apsiii-24h", "window condition-dropped rule-dropped",
         "outtime|24",
         reference=("least(stay.outtime, stay.intime + INTERVAL 24 HOURS) > bg.charttime",
                    "stay.outtime > bg.charttime")),
    edit("only_with_a_condition", "mimic-charlson-raw", "inner-join filtered-cohort",
         "flag|condition|diagnos|comorbid", charlson=("LEFT JOIN flag", "INNER JOIN flag")),
    edit("asthma_forgotten", "mimic-charlson-raw",
         "item-set rule-dropped source-dropped condition-dropped condition-changed", "j4",
         charlson=("'J40..J47 J60..J67'", "'J40..J44 J60..J67'")),
    edit("creatinine_at_admission", "mimic-creatinine-baseline-raw", "first-last", "creatinine",
         creatinine_baseline=("min(creatinine)", "arg_min(creatinine, charttime)")),
    edit("one_label_of_two", "eicu-gcs",
         "item-set rule-dropped condition-dropped source-dropped", "score (glasgow coma scale)",
         reference=(("            WHEN\n"
                    "                nursingchartcelltypevallabel = 'Score (Glasgow Coma Scale)'\n"
                    "                AND nursingchartcelltypevalname = 'Value'\n"
                    "                THEN 'total'\n"), "")),
    edit("oldest_left_null", "eicu-oasis",
         "rule-dropped condition-dropped missing-left-null missing-as-value", "> 89",
         reference=("if(pat.age = '> 89', 91, try_cast(pat.age AS INTEGER))",
                    "try_cast(pat.age AS INTEGER)")),
    edit("tube_summed_as_zero", "mimic-gcs-24h-raw", "rule-dropped condition-dropped", "verbal = 0",
         gcs=("        WHEN verbal = 0 THEN 15\n", "")),
    edit("last_stage", "mimic-kdigo-48h", "first-last", "charttime|aki_stage",
         reference=("coalesce(max(kdigo.aki_stage), 0)",
                    "coalesce(arg_max(kdigo.aki_stage, kdigo.charttime), 0)")),
    edit("mean_creatinine", "mimic-meld-24h-raw", "mean-worst", "creatinine",
         first_day_lab=("max(lab.creatinine) AS creatinine_max",
                        "avg(lab.creatinine) AS creatinine_max")),
    edit("any_support_ventilates", "mimic-oasis-24h-raw",
         "condition-dropped rule-dropped condition-changed", "invasivevent|ventilation_status",
         oasis=(("vent.stay_id = stay.stay_id\n"
                "                AND vent.ventilation_status = 'InvasiveVent'\n"),
                "vent.stay_id = stay.stay_id\n")),
    edit("potassium_strict", "mimic-sapsii-24h-raw", "threshold-edge threshold",
         "potassium_max|5.0",
         sapsii=("chem.potassium_max >= 5.0", "chem.potassium_max > 5.0")),
    edit("highest_bicarbonate", "mimic-sapsii-24h", "min-max", "bicarbonate",
         sapsii=("min(lab.bicarbonate) AS bicarbonate_min",
                 "max(lab.bicarbonate) AS bicarbonate_min")),
    edit("start_of_the_hour", "mimic-sepsis3-raw", "off-by-hour", "sofa_time",
         sepsis3=("sofa.endtime AS sofa_time", "sofa.starttime AS sofa_time")),
    edit("one_day_before", "mimic-sepsis3-raw", "window", "48|24",
         sepsis3=("INTERVAL 48 HOURS", "INTERVAL 24 HOURS")),
    edit("celsius_only", "mimic-sirs-24h-raw", "item-set source-dropped", "223761",
         vitalsign=("(avg(number) FILTER (WHERE itemid IN (223761, 223762)))",
                    "(avg(number) FILTER (WHERE itemid = 223762))")),
    edit("room_air_assumed", "mimic-sofa-24h-raw", "missing-as-value fallback",
         "fio2_chartevents|21",
         bg=("100 * po2 / coalesce(fio2, fio2_chartevents) AS pao2fio2ratio",
             "100 * po2 / coalesce(fio2, fio2_chartevents, 21) AS pao2fio2ratio")),
    wrap("stays_of_a_day", "mimic-sofa-24h", "filtered-cohort", "length|los|24|1 day|one day|hours",
         "SELECT r.* FROM reference r JOIN mimiciv_icu.icustays i USING (stay_id) "
         "WHERE i.outtime >= i.intime + INTERVAL 24 HOURS"),
    edit("dated_by_the_antibiotic", "mimic-suspicion-infection",
         "copied-column fallback source-dropped rule-dropped",
         "antibiotic_time|before.culture_time",
         reference=("coalesce(before.culture_time, ordered.starttime)", "ordered.starttime")),
    edit("cefazolin_forgotten", "mimic-suspicion-infection-raw",
         "item-set source-dropped rule-dropped", "cefazolin", antibiotic=("('cefazolin'), ", "")),
    edit("admission_weight_only", "mimic-urine-output-rate-raw",
         "item-set condition-changed source-dropped", "224639|daily",
         weight_durations=("chart.itemid IN (226512, 224639)", "chart.itemid = 226512")),
    edit("every_weight_joined", "mimic-urine-output-rate", "one-to-many-join condition-dropped",
         "weight|repeated|join",
         urine_output_rate=(("        AND summed.charttime > weight.starttime\n"
                            "        AND summed.charttime <= weight.endtime\n"), "")),
    wrap("equal_doses_merged", "mimic-vasopressor-equivalents-raw", "interval-merged",
         "merged|adjacent|touch",
         "WITH flagged AS (SELECT *, (lag(endtime) OVER w IS DISTINCT FROM starttime OR "
         "lag(norepinephrine_equivalent_dose) OVER w IS DISTINCT FROM "
         "norepinephrine_equivalent_dose)::INTEGER AS is_new FROM reference "
         "WINDOW w AS (PARTITION BY stay_id ORDER BY starttime, endtime)), "
         "numbered AS (SELECT *, sum(is_new) OVER (PARTITION BY stay_id ORDER BY starttime, "
         "endtime) AS run FROM flagged) "
         "SELECT stay_id, min(starttime) AS starttime, max(endtime) AS endtime, "
         "any_value(norepinephrine_equivalent_dose) AS norepinephrine_equivalent_dose "
         "FROM numbered GROUP BY stay_id, run"),
    edit("ends_at_the_last_charting", "mimic-ventilation", "interval-end rule-dropped",
         "lasts_until|charttime_after|endtime",
         ventilation=(("        CASE\n            WHEN charttime_after < charttime + INTERVAL 14 "
                      "HOUR THEN charttime_after\n            ELSE charttime\n        END AS "
                      "lasts_until"), "        charttime AS lasts_until")),
    edit("high_flow_is_oxygen", "mimic-ventilation-raw",
         "label-renamed rule-dropped condition-dropped condition-changed interval-merged",
         "hfnc|high flow nasal cannula", ventilation=("THEN 'HFNC'", "THEN 'SupplementalOxygen'")),
)  # fmt: skip
