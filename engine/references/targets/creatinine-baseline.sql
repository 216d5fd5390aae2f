-- purpose: Estimated serum creatinine before the illness.
-- grain: one row per hospital admission of a patient of 18 years or more
-- key: hadm_id
-- reads:
--   mimiciv_derived.creatinine_baseline (hadm_id, gender, age, scr_min, ckd, mdrd_est,
--     scr_baseline)
-- deviations: none
SELECT
    hadm_id,
    gender,
    age,
    scr_min,
    ckd,
    mdrd_est,
    scr_baseline
FROM mimiciv_derived.creatinine_baseline
