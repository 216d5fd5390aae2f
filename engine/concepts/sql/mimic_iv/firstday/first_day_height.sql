-- purpose: Height charted around the first ICU day.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.height (stay_id, charttime, height)
-- deviations: none
SELECT
    stay.subject_id,
    stay.stay_id,
    avg(height.height)::DECIMAL(18, 3)::DECIMAL(18, 2) AS height -- rounded twice
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.height AS height
    ON
        stay.stay_id = height.stay_id
        AND height.charttime >= stay.intime - INTERVAL 6 HOURS
        AND height.charttime <= stay.intime + INTERVAL 24 HOURS
GROUP BY stay.subject_id, stay.stay_id
