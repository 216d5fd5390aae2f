-- purpose: Net urine volume at each charted time.
-- grain: one row per stay and chart time with a urine item
-- key: stay_id, charttime
-- reads:
--   mimiciv_icu.outputevents (stay_id, charttime, itemid, value)
-- deviations: none
SELECT
    stay_id,
    charttime,
    -- What was let in for irrigation (227488) comes out again and is no urine.
    sum(if(itemid = 227488 AND value > 0, -value, value)) AS urineoutput
FROM mimiciv_icu.outputevents
WHERE
    itemid IN (
        226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567, 226557, 226558,
        227488, 227489
    )
GROUP BY stay_id, charttime
