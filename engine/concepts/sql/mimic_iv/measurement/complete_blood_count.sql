-- purpose: Complete blood count of one lab specimen.
-- grain: one row per specimen with at least one number above zero
-- key: specimen_id
-- reads:
--   mimiciv_hosp.labevents (subject_id, hadm_id, specimen_id, charttime, itemid, valuenum)
-- deviations: none
SELECT
    max(subject_id) AS subject_id,
    max(hadm_id) AS hadm_id,
    max(charttime) AS charttime,
    specimen_id,
    max(valuenum) FILTER (WHERE itemid = 51221) AS hematocrit,
    max(valuenum) FILTER (WHERE itemid = 51222) AS hemoglobin,
    max(valuenum) FILTER (WHERE itemid = 51248) AS mch,
    max(valuenum) FILTER (WHERE itemid = 51249) AS mchc,
    max(valuenum) FILTER (WHERE itemid = 51250) AS mcv,
    max(valuenum) FILTER (WHERE itemid = 51265) AS platelet,
    max(valuenum) FILTER (WHERE itemid = 51279) AS rbc,
    max(valuenum) FILTER (WHERE itemid = 51277) AS rdw,
    max(valuenum) FILTER (WHERE itemid = 52159) AS rdwsd,
    max(valuenum) FILTER (WHERE itemid = 51301) AS wbc
FROM mimiciv_hosp.labevents
WHERE
    itemid IN (51221, 51222, 51248, 51249, 51250, 51265, 51279, 51277, 52159, 51301)
    AND valuenum > 0
GROUP BY specimen_id
