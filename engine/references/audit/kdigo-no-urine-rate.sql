-- counts: ICU stays with urine in the first 48 hours and no rate of 6 hours at any record.
-- of: ICU stays with urine in the first 48 hours
-- targets: kdigo-48h
-- why: Sparse charting has no stage by urine: anuria charted rarely is missed.
WITH by_stay AS (
    SELECT
        stay.stay_id,
        count(uo.uo_rt_6hr) AS rates
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.kdigo_uo AS uo
        ON
            stay.stay_id = uo.stay_id
            AND stay.intime <= uo.charttime
            AND uo.charttime <= stay.intime + INTERVAL 48 HOURS
    GROUP BY stay.stay_id
)

SELECT
    count(*) FILTER (WHERE rates = 0) AS affected,
    count(*) AS total
FROM by_stay
