-- counts: Stays with a total of 15 that stands for a tube.
-- of: ICU stays with a Glasgow Coma Scale in the window
-- targets: apsiii-24h, gcs-24h, oasis-24h, sapsii-24h, sepsis3, sofa-24h
-- why: While the tube is charted as no response the total is 15: sedated and intubated patients
--   look awake.
WITH by_stay AS (
    SELECT
        stay.stay_id,
        bool_or(gcs.gcs_verbal = 0 AND gcs.gcs = 15) AS has_tube
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.gcs AS gcs
        ON
            stay.stay_id = gcs.stay_id
            AND gcs.charttime >= stay.intime - INTERVAL 6 HOURS
            AND gcs.charttime <= stay.intime + INTERVAL 24 HOURS
    GROUP BY stay.stay_id
)

SELECT
    count(*) FILTER (WHERE has_tube) AS affected,
    count(*) AS total
FROM by_stay
