-- purpose: Charted heart rhythm and ectopy.
-- grain: one row per patient and chart time with at least one of the items
-- key: subject_id, charttime
-- reads:
--   mimiciv_icu.chartevents (subject_id, stay_id, charttime, itemid, value)
-- deviations: none
SELECT
    subject_id,
    charttime,
    max(value) FILTER (WHERE itemid = 220048) AS heart_rhythm,
    max(value) FILTER (WHERE itemid = 224650) AS ectopy_type,
    max(value) FILTER (WHERE itemid = 224651) AS ectopy_frequency,
    max(value) FILTER (WHERE itemid = 226479) AS ectopy_type_secondary,
    max(value) FILTER (WHERE itemid = 226480) AS ectopy_frequency_secondary
FROM mimiciv_icu.chartevents
WHERE itemid IN (220048, 224650, 224651, 226479, 226480) AND stay_id IS NOT NULL
GROUP BY subject_id, charttime
