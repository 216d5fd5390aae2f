-- purpose: SIRS criteria met around the first ICU day; what is missing scores 0.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_derived.sirs (subject_id, hadm_id, stay_id, sirs, temp_score, heart_rate_score,
--     resp_score, wbc_score)
-- deviations: none of its own
SELECT
    subject_id,
    hadm_id,
    stay_id,
    sirs,
    coalesce(temp_score, 0) AS temp_score,
    coalesce(heart_rate_score, 0) AS heart_rate_score,
    coalesce(resp_score, 0) AS resp_score,
    coalesce(wbc_score, 0) AS wbc_score
FROM mimiciv_derived.sirs
