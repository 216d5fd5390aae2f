-- purpose: Coagulation tests of one lab specimen.
-- grain: one row per specimen with a number for at least one of the six
-- key: specimen_id
-- reads:
--   mimiciv_hosp.labevents (subject_id, hadm_id, specimen_id, charttime, itemid, valuenum)
-- deviations: none
SELECT
    max(subject_id) AS subject_id,
    max(hadm_id) AS hadm_id,
    max(charttime) AS charttime,
    specimen_id,
    max(valuenum) FILTER (WHERE itemid = 51196) AS d_dimer,
    max(valuenum) FILTER (WHERE itemid = 51214) AS fibrinogen,
    max(valuenum) FILTER (WHERE itemid = 51297) AS thrombin,
    max(valuenum) FILTER (WHERE itemid = 51237) AS inr,
    max(valuenum) FILTER (WHERE itemid = 51274) AS pt,
    max(valuenum) FILTER (WHERE itemid = 51275) AS ptt
FROM mimiciv_hosp.labevents
WHERE itemid IN (51196, 51214, 51297, 51237, 51274, 51275) AND valuenum IS NOT NULL
GROUP BY specimen_id
