-- counts: Stays without any Glasgow Coma Scale in the window.
-- of: ICU stays
-- targets: gcs-24h
-- why: Missing is reported as 15 with normal components, so such stays look awake.
SELECT
    count(*) FILTER (
        WHERE NOT EXISTS (
            SELECT 1
            FROM mimiciv_derived.gcs AS gcs
            WHERE
                gcs.stay_id = stay.stay_id
                AND gcs.charttime >= stay.intime - INTERVAL 6 HOURS
                AND gcs.charttime <= stay.intime + INTERVAL 24 HOURS
        )
    ) AS affected,
    count(*) AS total
FROM mimiciv_icu.icustays AS stay
