-- purpose: SIRS criteria met around the first ICU day (Bone et al. 1992).
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id)
--   mimiciv_derived.first_day_vitalsign (stay_id, temperature_min, temperature_max, heart_rate_max,
--     resp_rate_max)
--   mimiciv_derived.first_day_bg_art (stay_id, pco2_min)
--   mimiciv_derived.first_day_lab (stay_id, wbc_min, wbc_max, bands_max)
-- deviations: none of its own
WITH scored AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        CASE
            WHEN vital.temperature_min < 36.0 OR vital.temperature_max > 38.0 THEN 1
            WHEN vital.temperature_min IS NULL THEN NULL
            ELSE 0
        END AS temp_score,
        CASE
            WHEN vital.heart_rate_max > 90.0 THEN 1
            WHEN vital.heart_rate_max IS NULL THEN NULL
            ELSE 0
        END AS heart_rate_score,
        CASE
            WHEN vital.resp_rate_max > 20.0 OR bg.pco2_min < 32.0 THEN 1
            WHEN coalesce(vital.resp_rate_max, bg.pco2_min) IS NULL THEN NULL
            ELSE 0
        END AS resp_score,
        CASE
            WHEN lab.wbc_min < 4.0 OR lab.wbc_max > 12.0 OR lab.bands_max > 10 THEN 1
            WHEN coalesce(lab.wbc_min, lab.bands_max) IS NULL THEN NULL
            ELSE 0
        END AS wbc_score
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON stay.stay_id = vital.stay_id
    LEFT JOIN mimiciv_derived.first_day_bg_art AS bg ON stay.stay_id = bg.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON stay.stay_id = lab.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    coalesce(temp_score, 0)
    + coalesce(heart_rate_score, 0)
    + coalesce(resp_score, 0)
    + coalesce(wbc_score, 0) AS sirs,
    temp_score,
    heart_rate_score,
    resp_score,
    wbc_score
FROM scored
