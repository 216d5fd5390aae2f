-- purpose: Liver, muscle and pancreas enzymes and bilirubin of one lab specimen.
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
    max(valuenum) FILTER (WHERE itemid = 50861) AS alt,
    max(valuenum) FILTER (WHERE itemid = 50863) AS alp,
    max(valuenum) FILTER (WHERE itemid = 50878) AS ast,
    max(valuenum) FILTER (WHERE itemid = 50867) AS amylase,
    max(valuenum) FILTER (WHERE itemid = 50885) AS bilirubin_total,
    max(valuenum) FILTER (WHERE itemid = 50883) AS bilirubin_direct,
    max(valuenum) FILTER (WHERE itemid = 50884) AS bilirubin_indirect,
    max(valuenum) FILTER (WHERE itemid = 50910) AS ck_cpk,
    max(valuenum) FILTER (WHERE itemid = 50911) AS ck_mb,
    max(valuenum) FILTER (WHERE itemid = 50927) AS ggt,
    max(valuenum) FILTER (WHERE itemid = 50954) AS ld_ldh
FROM mimiciv_hosp.labevents
WHERE
    itemid IN (
        50861, 50863, 50878, 50867, 50885, 50883, 50884, 50910, 50911, 50927, 50954
    )
    AND valuenum > 0
GROUP BY specimen_id
