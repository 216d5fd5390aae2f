-- counts: ICU stays with dialysis only by documentation, never running, in the window.
-- of: ICU stays with dialysis in the window
-- targets: meld-24h
-- why: A catheter or its dressing sets creatinine to 4.
WITH by_stay AS (
    SELECT
        stay.stay_id,
        bool_or(coalesce(rrt.dialysis_active = 1, FALSE)) AS active
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.rrt AS rrt
        ON
            stay.stay_id = rrt.stay_id
            AND rrt.charttime >= stay.intime - INTERVAL 6 HOURS
            AND rrt.charttime <= stay.intime + INTERVAL 24 HOURS
    WHERE rrt.dialysis_present = 1
    GROUP BY stay.stay_id
)

SELECT
    count(*) FILTER (WHERE NOT active) AS affected,
    count(*) AS total
FROM by_stay
