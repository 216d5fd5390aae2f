-- purpose: The time for which a charted body weight is taken to hold.
-- grain: one row per charted weight, and at most one back-filled row per stay
-- key: none
-- reads:
--   mimiciv_icu.chartevents (stay_id, charttime, itemid, valuenum)
--   mimiciv_icu.icustays (stay_id, intime, outtime)
-- deviations: Weights of a stay that start at the same time are undefined in the public code; here
--   an admission weight stands before a daily one, then the smaller weight before the larger, and
--   the last of them runs on.
WITH weight AS (
    SELECT
        chart.stay_id,
        chart.charttime,
        chart.valuenum AS weight,
        if(chart.itemid = 226512, 'admit', 'daily') AS weight_type,
        stay.intime,
        stay.outtime,
        row_number() OVER (
            PARTITION BY chart.stay_id, chart.itemid
            ORDER BY chart.charttime ASC NULLS FIRST, chart.valuenum
        ) AS rank_of_type
    FROM mimiciv_icu.chartevents AS chart
    INNER JOIN mimiciv_icu.icustays AS stay ON chart.stay_id = stay.stay_id
    WHERE chart.itemid IN (226512, 224639) AND chart.valuenum > 0
),

started AS (
    SELECT
        * EXCLUDE (charttime, rank_of_type),
        -- The first admission weight holds from two hours before the stay, whenever charted.
        if(
            weight_type = 'admit' AND rank_of_type = 1, intime - INTERVAL 2 HOURS, charttime
        ) AS starttime
    FROM weight
),

ended AS (
    SELECT
        *,
        coalesce(
            lead(starttime) OVER in_order, outtime + INTERVAL 2 HOURS
        ) AS endtime,
        row_number() OVER in_order AS rank_of_stay
    FROM started
    WINDOW in_order AS (PARTITION BY stay_id ORDER BY starttime, weight_type, weight)
)

SELECT
    stay_id,
    starttime,
    endtime,
    weight,
    weight_type
FROM ended

UNION ALL

-- Back-fill: the first weight also holds before it was charted.
SELECT
    stay_id,
    intime - INTERVAL 2 HOURS AS starttime,
    starttime AS endtime,
    weight,
    weight_type
FROM ended
WHERE rank_of_stay = 1 AND intime < starttime
