-- purpose: First and last charted heart rate of each ICU stay, the observed start and end.
-- grain: one row per ICU stay
-- key: stay_id
-- reads:
--   mimiciv_icu.icustays (subject_id, hadm_id, stay_id)
--   mimiciv_icu.chartevents (stay_id, charttime, itemid)
-- deviations: none
WITH heart_rate AS (
    SELECT
        stay_id,
        min(charttime) AS intime_hr,
        max(charttime) AS outtime_hr
    FROM mimiciv_icu.chartevents
    WHERE itemid = 220045 -- whatever its value
    GROUP BY stay_id
)

SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    heart_rate.intime_hr,
    heart_rate.outtime_hr
FROM mimiciv_icu.icustays AS stay
LEFT JOIN heart_rate ON stay.stay_id = heart_rate.stay_id
