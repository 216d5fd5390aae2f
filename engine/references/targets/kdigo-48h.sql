-- purpose: Highest acute kidney injury stage of the first 48 ICU hours.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id, intime)
--   mimiciv_derived.kdigo_stages (stay_id, charttime, aki_stage, aki_stage_creat, aki_stage_uo,
--     aki_stage_crrt)
-- deviations: none of its own
SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    coalesce(max(kdigo.aki_stage), 0) AS aki_stage,
    coalesce(max(kdigo.aki_stage_creat), 0) AS aki_stage_creat,
    coalesce(max(kdigo.aki_stage_uo), 0) AS aki_stage_uo,
    coalesce(max(kdigo.aki_stage_crrt), 0) AS aki_stage_crrt
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.kdigo_stages AS kdigo
    ON
        stay.stay_id = kdigo.stay_id
        AND stay.intime <= kdigo.charttime
        AND kdigo.charttime <= stay.intime + INTERVAL 48 HOURS
GROUP BY stay.subject_id, stay.hadm_id, stay.stay_id
