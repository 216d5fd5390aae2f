-- purpose: Charted intracranial pressure.
-- grain: one row per stay and chart time with a pressure event
-- key: subject_id, stay_id, charttime
-- reads:
--   mimiciv_icu.chartevents (subject_id, stay_id, charttime, itemid, valuenum)
-- deviations: none
SELECT
    subject_id,
    stay_id,
    charttime,
    max(valuenum) FILTER (WHERE valuenum > 0 AND valuenum < 100) AS icp
FROM mimiciv_icu.chartevents
WHERE itemid IN (220765, 227989)
GROUP BY subject_id, stay_id, charttime
