-- counts: Gas specimens with a pCO2 but no pO2.
-- of: gas specimens with a pCO2
-- targets: apsiii-24h, sirs-24h
-- why: A gas without a pO2 does not exist here, so its pCO2 and pH are not seen.
WITH gas AS (
    SELECT
        specimen_id,
        bool_or(itemid = 50821 AND valuenum IS NOT NULL) AS has_po2,
        bool_or(itemid = 50818 AND valuenum IS NOT NULL) AS has_pco2
    FROM mimiciv_hosp.labevents
    WHERE itemid IN (50818, 50821)
    GROUP BY specimen_id
)

SELECT
    count(*) FILTER (WHERE NOT has_po2) AS affected,
    count(*) AS total
FROM gas
WHERE has_pco2
