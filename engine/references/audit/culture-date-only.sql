-- counts: Cultures without a time of day.
-- of: cultures
-- targets: sepsis3, suspicion-infection
-- why: They count by days, their time is midnight, and the two families order them differently.
WITH culture AS (
    SELECT
        micro_specimen_id,
        max(charttime) AS charttime
    FROM mimiciv_hosp.microbiologyevents
    GROUP BY micro_specimen_id
)

SELECT
    count(*) FILTER (WHERE charttime IS NULL) AS affected,
    count(*) AS total
FROM culture
