-- counts: Stays whose lowest total was charted at several times with different components.
-- of: ICU stays with a Glasgow Coma Scale in the window
-- targets: apsiii-24h, gcs-24h
-- why: The public first-day table leaves the choice open. APS III points depend on the
--   components; gcs-24h reports those of the earliest time.
WITH in_window AS (
    SELECT
        stay.stay_id,
        gcs.gcs,
        (coalesce(gcs.gcs_motor, 6), coalesce(gcs.gcs_verbal, 5), coalesce(gcs.gcs_eyes, 4))
            AS parts
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.gcs AS gcs
        ON
            stay.stay_id = gcs.stay_id
            AND gcs.charttime >= stay.intime - INTERVAL 6 HOURS
            AND gcs.charttime <= stay.intime + INTERVAL 24 HOURS
),

lowest AS (
    SELECT *
    FROM in_window
    QUALIFY rank() OVER (PARTITION BY stay_id ORDER BY gcs) = 1
),

by_stay AS (
    SELECT
        stay_id,
        count(DISTINCT parts) AS n
    FROM lowest
    GROUP BY stay_id
)

SELECT
    count(*) FILTER (WHERE n > 1) AS affected,
    count(*) AS total
FROM by_stay
