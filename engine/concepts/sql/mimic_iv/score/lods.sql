-- purpose: Logistic Organ Dysfunction System of the first ICU day (Le Gall et al. 1996).
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime, outtime)
--   mimiciv_hosp.admissions (hadm_id)
--   mimiciv_hosp.patients (subject_id)
--   mimiciv_icu.chartevents (stay_id, charttime, itemid, value)
--   mimiciv_derived.bg (hadm_id, charttime, pao2fio2ratio)
--   mimiciv_derived.ventilation (stay_id, starttime, endtime, ventilation_status)
--   mimiciv_derived.first_day_gcs (stay_id, gcs_min)
--   mimiciv_derived.first_day_vitalsign (stay_id, heart_rate_min, heart_rate_max, sbp_min, sbp_max)
--   mimiciv_derived.first_day_urine_output (stay_id, urineoutput)
--   mimiciv_derived.first_day_lab (stay_id, bun_max, creatinine_max, wbc_min, wbc_max,
--     platelets_min, bilirubin_total_max, pt_min, pt_max)
-- deviations: none of its own
WITH cpap AS (
    SELECT
        stay.stay_id,
        min(chart.charttime) - INTERVAL 1 HOUR AS starttime,
        max(chart.charttime) + INTERVAL 4 HOURS AS endtime
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_icu.chartevents AS chart
        ON
            stay.stay_id = chart.stay_id
            AND stay.intime <= chart.charttime
            AND chart.charttime <= stay.intime + INTERVAL 24 HOURS
    WHERE
        chart.itemid = 226732
        AND (contains(lower(chart.value), 'cpap') OR contains(lower(chart.value), 'bipap mask'))
    GROUP BY stay.stay_id
),

-- Gases of any specimen, over the whole stay: the public convention.
gas AS (
    SELECT
        stay.stay_id,
        min(bg.pao2fio2ratio) AS pao2fio2ratio_min
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.bg AS bg
        ON
            stay.hadm_id = bg.hadm_id
            AND stay.intime <= bg.charttime
            AND stay.outtime > bg.charttime
    LEFT JOIN cpap ON stay.stay_id = cpap.stay_id
    WHERE
        (bg.charttime >= cpap.starttime AND bg.charttime <= cpap.endtime)
        OR EXISTS (
            SELECT 1
            FROM mimiciv_derived.ventilation AS vent
            WHERE
                vent.stay_id = stay.stay_id
                AND vent.ventilation_status = 'InvasiveVent'
                AND bg.charttime >= vent.starttime
                AND bg.charttime <= vent.endtime
        )
    GROUP BY stay.stay_id
),

scored AS (
    SELECT
        stay.stay_id,
        CASE
            WHEN gcs.gcs_min IS NULL OR gcs.gcs_min < 3 THEN NULL
            WHEN gcs.gcs_min <= 5 THEN 5
            WHEN gcs.gcs_min <= 8 THEN 3
            WHEN gcs.gcs_min <= 13 THEN 1
            ELSE 0
        END AS neurologic,
        CASE
            WHEN vital.heart_rate_max IS NULL AND vital.sbp_min IS NULL THEN NULL
            WHEN vital.heart_rate_min < 30 OR vital.sbp_min < 40 THEN 5
            WHEN vital.sbp_min < 70 OR vital.sbp_max >= 270 THEN 3
            WHEN vital.heart_rate_max >= 140 OR vital.sbp_max >= 240 OR vital.sbp_min < 90 THEN 1
            ELSE 0
        END AS cardiovascular,
        CASE
            WHEN
                lab.bun_max IS NULL OR uo.urineoutput IS NULL OR lab.creatinine_max IS NULL
                THEN NULL
            WHEN uo.urineoutput < 500 OR lab.bun_max >= 56 THEN 5
            WHEN
                lab.creatinine_max >= 1.60
                OR uo.urineoutput < 750
                OR lab.bun_max >= 28
                OR uo.urineoutput >= 10000
                THEN 3
            WHEN lab.creatinine_max >= 1.20 OR lab.bun_max >= 17 OR lab.bun_max >= 7.50 THEN 1
            ELSE 0
        END AS renal,
        CASE
            WHEN gas.pao2fio2ratio_min >= 150 THEN 1
            WHEN gas.pao2fio2ratio_min < 150 THEN 3
            ELSE 0
        END AS pulmonary,
        CASE
            WHEN lab.wbc_max IS NULL AND lab.platelets_min IS NULL THEN NULL
            WHEN lab.wbc_min < 1.0 THEN 3
            WHEN lab.wbc_min < 2.5 OR lab.platelets_min < 50 OR lab.wbc_max >= 50 THEN 1
            ELSE 0
        END AS hematologic,
        CASE
            WHEN lab.pt_max IS NULL AND lab.bilirubin_total_max IS NULL THEN NULL
            WHEN lab.bilirubin_total_max >= 2.0 OR lab.pt_max > 15 OR lab.pt_min < 3.0 THEN 1
            ELSE 0
        END AS hepatic
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_hosp.admissions AS adm ON stay.hadm_id = adm.hadm_id
    INNER JOIN mimiciv_hosp.patients AS pat ON stay.subject_id = pat.subject_id
    LEFT JOIN gas ON stay.stay_id = gas.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS gcs ON stay.stay_id = gcs.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON stay.stay_id = vital.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS uo ON stay.stay_id = uo.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON stay.stay_id = lab.stay_id
)

SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    coalesce(scored.neurologic, 0)
    + coalesce(scored.cardiovascular, 0)
    + coalesce(scored.renal, 0)
    + coalesce(scored.pulmonary, 0)
    + coalesce(scored.hematologic, 0)
    + coalesce(scored.hepatic, 0) AS lods,
    scored.neurologic,
    scored.cardiovascular,
    scored.renal,
    scored.pulmonary,
    scored.hematologic,
    scored.hepatic
FROM mimiciv_icu.icustays AS stay
LEFT JOIN scored ON stay.stay_id = scored.stay_id
