-- purpose: Oxford Acute Severity of Illness Score of the first ICU day; what is missing scores 0.
-- grain: one row per ICU stay whose admission and patient are known
-- key: stay_id
-- reads:
--   mimiciv_derived.oasis (subject_id, hadm_id, stay_id, oasis, preiculos_score, age_score,
--     gcs_score, heart_rate_score, mbp_score, resp_rate_score, temp_score, urineoutput_score,
--     mechvent_score, electivesurgery_score)
-- deviations: none of its own
SELECT
    subject_id,
    hadm_id,
    stay_id,
    oasis,
    coalesce(preiculos_score, 0) AS preiculos_score,
    coalesce(age_score, 0) AS age_score,
    coalesce(gcs_score, 0) AS gcs_score,
    coalesce(heart_rate_score, 0) AS heart_rate_score,
    coalesce(mbp_score, 0) AS mbp_score,
    coalesce(resp_rate_score, 0) AS resp_rate_score,
    coalesce(temp_score, 0) AS temp_score,
    coalesce(urineoutput_score, 0) AS urineoutput_score,
    coalesce(mechvent_score, 0) AS mechvent_score,
    coalesce(electivesurgery_score, 0) AS electivesurgery_score
FROM mimiciv_derived.oasis
