-- purpose: Twelve central-laboratory chemistry results of one lab specimen.
-- grain: one row per specimen with at least one number above zero (an anion gap may have any sign)
-- key: specimen_id
-- reads:
--   mimiciv_hosp.labevents (subject_id, hadm_id, specimen_id, charttime, itemid, valuenum)
-- deviations: none
SELECT
    max(subject_id) AS subject_id,
    max(hadm_id) AS hadm_id,
    max(charttime) AS charttime,
    specimen_id,
    -- Above its limit a value is no value, but the specimen keeps its row.
    max(valuenum) FILTER (WHERE itemid = 50862 AND valuenum <= 10) AS albumin,
    max(valuenum) FILTER (WHERE itemid = 50930 AND valuenum <= 10) AS globulin,
    max(valuenum) FILTER (WHERE itemid = 50976 AND valuenum <= 20) AS total_protein,
    max(valuenum) FILTER (WHERE itemid = 50868 AND valuenum <= 10000) AS aniongap,
    max(valuenum) FILTER (WHERE itemid = 50882 AND valuenum <= 10000) AS bicarbonate,
    max(valuenum) FILTER (WHERE itemid = 51006 AND valuenum <= 300) AS bun,
    max(valuenum) FILTER (WHERE itemid = 50893 AND valuenum <= 10000) AS calcium,
    max(valuenum) FILTER (WHERE itemid = 50902 AND valuenum <= 10000) AS chloride,
    max(valuenum) FILTER (WHERE itemid = 50912 AND valuenum <= 150) AS creatinine,
    max(valuenum) FILTER (WHERE itemid = 50931 AND valuenum <= 10000) AS glucose,
    max(valuenum) FILTER (WHERE itemid = 50983 AND valuenum <= 200) AS sodium,
    max(valuenum) FILTER (WHERE itemid = 50971 AND valuenum <= 30) AS potassium
FROM mimiciv_hosp.labevents
WHERE
    itemid IN (
        50862, 50930, 50976, 50868, 50882, 51006, 50893, 50902, 50912, 50931, 50983, 50971
    )
    AND valuenum IS NOT NULL
    AND (valuenum > 0 OR itemid = 50868)
GROUP BY specimen_id
