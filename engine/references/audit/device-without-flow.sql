-- counts: Times with an oxygen device and no oxygen flow.
-- of: times with a charted oxygen device
-- targets: apsiii-24h, oasis-24h, sapsii-24h, sepsis3, sofa-24h, ventilation
-- why: A device without a flow at its minute is not seen: support is missed or begins late.
WITH device AS (
    SELECT DISTINCT
        subject_id,
        charttime
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226732 AND value IS NOT NULL
),

flow AS (
    SELECT DISTINCT
        subject_id,
        charttime
    FROM mimiciv_icu.chartevents
    WHERE itemid IN (223834, 227582, 227287) AND value IS NOT NULL
)

SELECT
    count(*) FILTER (WHERE flow.subject_id IS NULL) AS affected,
    count(*) AS total
FROM device
LEFT JOIN flow ON device.subject_id = flow.subject_id AND device.charttime = flow.charttime
