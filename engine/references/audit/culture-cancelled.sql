-- counts: Cultures that are positive only by an organism called CANCELLED.
-- of: cultures
-- targets: suspicion-infection
-- why: A cancelled culture counts as growth.
WITH culture AS (
    SELECT
        micro_specimen_id,
        bool_or(org_name = 'CANCELLED' AND coalesce(org_itemid != 90856, FALSE)) AS cancelled,
        bool_or(
            org_name NOT IN ('', 'CANCELLED') AND coalesce(org_itemid != 90856, FALSE)
        ) AS grown
    FROM mimiciv_hosp.microbiologyevents
    GROUP BY micro_specimen_id
)

SELECT
    count(*) FILTER (WHERE cancelled AND NOT coalesce(grown, FALSE)) AS affected,
    count(*) AS total
FROM culture
