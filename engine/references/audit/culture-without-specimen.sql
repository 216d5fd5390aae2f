-- counts: Cultures without a kind of specimen.
-- of: cultures
-- targets: suspicion-infection
-- why: They make no suspicion but lend their time.
WITH culture AS (
    SELECT
        micro_specimen_id,
        max(spec_type_desc) AS specimen
    FROM mimiciv_hosp.microbiologyevents
    GROUP BY micro_specimen_id
)

SELECT
    count(*) FILTER (WHERE specimen IS NULL) AS affected,
    count(*) AS total
FROM culture
