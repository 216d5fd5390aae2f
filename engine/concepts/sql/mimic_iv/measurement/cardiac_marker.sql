-- purpose: Troponin T, CK-MB and NT-proBNP of one lab specimen.
-- grain: one row per specimen with a number for at least one of the three
-- key: specimen_id
-- reads:
--   mimiciv_hosp.labevents (subject_id, hadm_id, specimen_id, charttime, itemid, valuenum)
-- deviations: none
SELECT
    max(subject_id) AS subject_id,
    max(hadm_id) AS hadm_id,
    max(charttime) AS charttime,
    specimen_id,
    max(valuenum) FILTER (WHERE itemid = 51003) AS troponin_t,
    max(valuenum) FILTER (WHERE itemid = 50911) AS ck_mb,
    max(valuenum) FILTER (WHERE itemid = 50963) AS ntprobnp
FROM mimiciv_hosp.labevents
WHERE itemid IN (51003, 50911, 50963) AND valuenum IS NOT NULL
GROUP BY specimen_id
