-- purpose: Whether, and which, dialysis was recorded around the first ICU day.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.rrt (stay_id, charttime, dialysis_present, dialysis_active, dialysis_type)
-- deviations: The order of the types in dialysis_type is undefined in the public code; here it is
--   alphabetical.
SELECT
    stay.subject_id,
    stay.stay_id,
    max(rrt.dialysis_present) AS dialysis_present,
    max(rrt.dialysis_active) AS dialysis_active,
    string_agg(DISTINCT rrt.dialysis_type, ', ' ORDER BY rrt.dialysis_type) AS dialysis_type
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.rrt AS rrt
    ON
        stay.stay_id = rrt.stay_id
        AND rrt.charttime >= stay.intime - INTERVAL 6 HOURS
        AND rrt.charttime <= stay.intime + INTERVAL 24 HOURS
GROUP BY stay.subject_id, stay.stay_id
