-- purpose: Body weight on the first ICU day.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.weight_durations (stay_id, starttime, weight, weight_type)
-- deviations: none
SELECT
    stay.subject_id,
    stay.stay_id,
    avg(weight.weight) FILTER (WHERE weight.weight_type = 'admit') AS weight_admit,
    avg(weight.weight) AS weight,
    min(weight.weight) AS weight_min,
    max(weight.weight) AS weight_max
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.weight_durations AS weight
    ON
        stay.stay_id = weight.stay_id
        AND weight.starttime <= stay.intime + INTERVAL 24 HOURS
GROUP BY stay.subject_id, stay.stay_id
