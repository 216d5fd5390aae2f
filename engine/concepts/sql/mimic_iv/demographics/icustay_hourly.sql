-- purpose: A grid of clock hours for each ICU stay, from 24 hours before the first heart rate.
-- grain: one row per stay and hour
-- key: stay_id, hr
-- reads:
--   mimiciv_derived.icustay_times (stay_id, intime_hr, outtime_hr)
-- deviations: none
WITH span AS (
    SELECT
        stay_id,
        -- The whole hour at or after the first heart rate.
        date_trunc('hour', intime_hr)
        + if(intime_hr = date_trunc('hour', intime_hr), INTERVAL 0 HOURS, INTERVAL 1 HOUR) AS base,
        ceil((epoch_us(outtime_hr) - epoch_us(intime_hr)) / 3600000000)::BIGINT AS hours
    FROM mimiciv_derived.icustay_times
    WHERE intime_hr IS NOT NULL AND outtime_hr IS NOT NULL
),

hour_of_stay AS (
    SELECT
        stay_id,
        base,
        unnest(range(-24, hours + 1)) AS hr
    FROM span
)

SELECT
    stay_id,
    hr,
    base + to_hours(hr) AS endtime
FROM hour_of_stay
