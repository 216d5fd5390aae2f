-- counts: Gases that share patient and time with another gas.
-- of: gases with a pO2
-- targets: apsiii-24h, sapsii-24h, sepsis3, sirs-24h, sofa-24h
-- why: Only one gas of a time counts; the public code leaves the choice open, here the smallest
--   specimen number stays.
WITH gas AS (
    SELECT
        specimen_id,
        max(subject_id) AS subject_id,
        max(charttime) AS charttime
    FROM mimiciv_hosp.labevents
    WHERE itemid = 50821 AND valuenum IS NOT NULL
    GROUP BY specimen_id
)

SELECT
    count(*) FILTER (WHERE n > 1) AS affected,
    count(*) AS total
FROM (SELECT count(*) OVER (PARTITION BY subject_id, charttime) AS n FROM gas) AS counted
