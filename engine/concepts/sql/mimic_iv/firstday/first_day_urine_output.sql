-- purpose: Total urine volume of the first 24 ICU hours.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, stay_id, intime)
--   mimiciv_derived.urine_output (stay_id, charttime, urineoutput)
-- deviations: none
SELECT
    stay.subject_id,
    stay.stay_id,
    sum(uo.urineoutput) AS urineoutput
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.urine_output AS uo
    ON
        stay.stay_id = uo.stay_id
        AND uo.charttime >= stay.intime -- no hours before the stay, unlike the other first days
        AND uo.charttime <= stay.intime + INTERVAL 24 HOURS
GROUP BY stay.subject_id, stay.stay_id
