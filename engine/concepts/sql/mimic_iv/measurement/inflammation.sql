-- purpose: C-reactive protein of one lab specimen.
-- grain: one row per specimen with a value above zero
-- key: specimen_id
-- reads:
--   mimiciv_hosp.labevents (subject_id, hadm_id, specimen_id, charttime, itemid, valuenum)
-- deviations: none
SELECT
    max(subject_id) AS subject_id,
    max(hadm_id) AS hadm_id,
    max(charttime) AS charttime,
    specimen_id,
    max(valuenum) AS crp
FROM mimiciv_hosp.labevents
WHERE itemid = 50889 AND valuenum > 0
GROUP BY specimen_id
