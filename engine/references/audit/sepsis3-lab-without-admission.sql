-- counts: Creatinine, bilirubin and platelet results without an admission.
-- of: results of the three
-- targets: sepsis3
-- why: Hourly SOFA joins laboratory by the admission that is recorded with the result; these are
--   not seen.
SELECT
    count(*) FILTER (WHERE hadm_id IS NULL) AS affected,
    count(*) AS total
FROM mimiciv_hosp.labevents
WHERE itemid IN (50912, 50885, 51265) AND valuenum IS NOT NULL
